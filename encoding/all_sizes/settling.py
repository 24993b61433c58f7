"""Whether a refinement holds on one instance: its facts are inductive, and the core can follow every action under them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fencepost.encoding.all_sizes.following import Follower, Strays
from fencepost.encoding.all_sizes.refinement import Refinement, unmet_axioms
from fencepost.encoding.all_sizes.refining import Refining
from fencepost.encoding.concrete.compiling import State
from fencepost.encoding.errors import InternalError
from fencepost.encoding.formulas.cnf import numbered
from fencepost.encoding.formulas.symbolic import well_formed
from fencepost.encoding.induction.asking import Asker, Withdrawn
from fencepost.encoding.induction.obligations import INITIALLY, Obligations, Question, obligations
from fencepost.encoding.induction.orbits import representatives
from fencepost.encoding.language.state import decode
from fencepost.encoding.solving.logic import TRUE, Formula, disj, named, neg
from fencepost.encoding.solving.solvers import Progress, backend

T = TypeVar("T")


class OutOfTime(Exception):
    """The time for the question is up."""


@dataclass(frozen=True)
class Tied:
    """What was asked of an instance and had no answer: the core follows each action, and the facts are inductive."""

    actions: int
    facts: int


@dataclass(frozen=True)
class Untied:
    """Why a refinement does not hold: an action and what goes wrong, in words."""

    why: str


def settle(refinement: Refinement, keep_on: Callable[[], bool]) -> Tied | Untied:
    """Whether a refinement holds on its instance. Raises OutOfTime when `keep_on` says no."""
    unmet = unmet_axioms(refinement.core)
    if unmet:
        return Untied(f"the core's instance does not meet {', '.join(unmet)}")
    try:
        follower = Follower(refinement)
        follower.begin(follower.whole.initial())
    except Strays as why:
        return Untied(f"at first: {why}")
    refining = Refining(refinement)
    broken = _not_inductive(refining, keep_on)
    if broken is not None:
        return Untied(broken)
    return _strays(refining, follower, keep_on)


def _not_inductive(refining: Refining, keep_on: Callable[[], bool]) -> str | None:
    """An action that makes a fact false, in words; None if there is none."""
    facts = refining.refinement.facts
    names = {fact.name for fact in facts}
    asked = obligations(refining.whole, facts, representatives(refining.whole, facts))
    asker = Asker(asked, backend("cadical"))
    for question in asked.questions:
        answer = _answer(asker.ask(question, names | set(question.fails)), keep_on)
        if isinstance(answer, Withdrawn):
            action = "at first" if question.slot == INITIALLY else refining.whole.actions[question.slot].name
            return f"{action}: does not keep {', '.join(answer.claims)}, which the refinement rests on"
    return None


def _strays(refining: Refining, follower: Follower, keep_on: Callable[[], bool]) -> Tied | Untied:
    """Ask action by action; what a solver finds is followed by the concrete reading before anyone sees it."""
    asked = _questions(refining)
    asker = Asker(asked, backend("cadical"))
    for question in asked.questions:
        facts = [] if question.slot == INITIALLY else list(asked.holds.values())
        model = _answer(asker.solve([*facts, question.happens]), keep_on)
        if model is not None:
            ways = [name for name, literal in question.fails.items() if model[literal - 1] > 0]
            return Untied(_told(refining, follower, question.slot, ways, _state(refining, model)))
    return Tied(len(refining.whole.actions), len(asked.holds))


MAPPING = -2
"""Stands for an action's slot in the question whether the mapping is a function."""


def _questions(refining: Refining) -> Obligations:
    """For the mapping, each property and each action: how the refinement may fail, under one literal for all its ways."""
    whole = refining.whole
    state = [v for v in whole.system.variables if v.place in whole.written]
    bits = [bit for v in state for bit in whole.bits[v.place]]
    choices = [bit for v in whole.system.choices for bit in whole.bits[v.place]]
    holds = {fact.name: named(f"holds:{fact.name}") for fact in refining.refinement.facts}
    constraints = [well_formed(whole.bits[v.place]) for v in state]
    constraints += [
        disj((neg(holds[fact.name]), whole.predicate(fact.holds))) for fact in refining.refinement.facts
    ]
    asked: list[tuple[int, Formula, Mapping[str, Formula]]] = []

    def ask(slot: int, happens: Formula, ways: Mapping[str, Formula]) -> None:
        if not ways:
            return
        wrong = named(f"wrong:{slot}:{len(asked)}")
        literals = {name: named(f"way:{slot}:{name}") for name in ways}
        constraints.extend((disj((neg(wrong), happens)), disj((neg(wrong), *literals.values()))))
        constraints.extend(disj((neg(literals[name]), formula)) for name, formula in ways.items())
        asked.append((slot, wrong, literals))

    ask(MAPPING, TRUE, refining.not_a_function())
    ask(INITIALLY, TRUE, refining.unimplied())
    for slot, straying in enumerate(refining.strayings()):
        ask(slot, straying.happens, straying.ways)
    literals = [f for _, wrong, ways in asked for f in (wrong, *ways.values())]
    cnf = numbered([c for c in constraints if c is not TRUE], [*bits, *choices, *holds.values(), *literals])
    number = cnf.numbers
    return Obligations(
        clauses=cnf.clauses,
        size=cnf.size,
        widths=[len(whole.bits[v.place]) for v in state],
        choices=len(choices),
        initial=[],
        holds={name: number[str(f)] for name, f in holds.items()},
        questions=tuple(
            Question(slot, number[str(wrong)], {name: number[str(f)] for name, f in ways.items()})
            for slot, wrong, ways in asked
        ),
    )


def _state(refining: Refining, model: Sequence[int]) -> State:
    """The state of the whole that a model stands for, with every choice made."""
    whole, codes, position = refining.whole, [], 0
    for v in whole.system.variables:
        if v.place in whole.written:
            width = len(v.domain) - 1
            true = [literal > 0 for literal in model[position : position + width]]
            codes.append(v.domain.values.index(decode(v, true)))
            position += width
        else:
            codes.append(0 if v.is_choice else v.domain.values.index(whole.system.initial[v.place]))
    for v in whole.system.choices:
        codes[v.place] = int(model[position] > 0)
        position += 1
    return bytes(codes)


def _told(refining: Refining, follower: Follower, slot: int, ways: Sequence[str], state: State) -> str:
    """What goes wrong, in the words of the concrete reading; raises InternalError if that does not see it."""
    if slot == INITIALLY:
        return (
            f"{', '.join(ways)}: a property of the core holds by the mapping, and that of the whole does not"
        )
    try:
        if slot == MAPPING:
            follower.mapped(state)
        else:
            action = refining.whole.actions[slot]
            after = next(follower.whole.step(action).successors(state))
            follower.follow(state, action, after)
    except Strays as why:
        return f"{why}" if slot == MAPPING else f"{refining.whole.actions[slot].name}: {why}"
    raise InternalError(
        f"the solver finds {', '.join(ways)}, and the concrete reading does not; please report it"
    )


def _answer(asking: Generator[Progress, None, T], keep_on: Callable[[], bool]) -> T:
    """What the question comes to. Raises OutOfTime when `keep_on` says no between two slices of work."""
    while True:
        if not keep_on():
            raise OutOfTime
        try:
            next(asking)
        except StopIteration as stop:
            answer: T = stop.value
            return answer
