"""Whether a refinement holds on one instance: its facts are inductive, and the core can follow every action under them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fencepost.encoding.all_sizes.following import Follower, Strays
from fencepost.encoding.all_sizes.refinement import Refinement, unmet_axioms
from fencepost.encoding.all_sizes.refining import Refining
from fencepost.encoding.concrete.compiling import State
from fencepost.encoding.errors import InternalError
from fencepost.encoding.induction.asking import Asker, Withdrawn
from fencepost.encoding.induction.obligations import INITIALLY, obligations
from fencepost.encoding.induction.orbits import representatives
from fencepost.encoding.language.state import Variable, decode
from fencepost.encoding.solving.answers import TIME_OUT, Deadline, Yes, answered
from fencepost.encoding.solving.logic import TRUE, Formula, conj, disj
from fencepost.encoding.solving.solvers import Progress, backend

T = TypeVar("T")


@dataclass(frozen=True)
class Tied:
    """What was asked of an instance and had no answer: the core follows each action, and the facts are inductive."""

    actions: int
    facts: int


@dataclass(frozen=True)
class Untied:
    """Why a refinement does not hold: an action and what goes wrong, in words."""

    why: str


def settle(refinement: Refinement, by: Deadline) -> Tied | Untied:
    """Whether a refinement holds on its instance. Raises SolverGaveUpError, by the deadline too."""
    unmet = unmet_axioms(refinement.core)
    if unmet:
        return Untied(f"the core's instance does not meet {', '.join(unmet)}")
    try:
        follower = Follower(refinement)
        follower.begin(follower.whole.initial())
    except Strays as why:
        return Untied(f"at first: {why}")
    refining = Refining(refinement)
    broken = _not_inductive(refining, by)
    if broken is not None:
        return Untied(broken)
    return _strays(refining, follower, by)


def _not_inductive(refining: Refining, by: Deadline) -> str | None:
    """An action that makes a fact false, in words; None if there is none."""
    facts = refining.refinement.facts
    names = {fact.name for fact in facts}
    asked = obligations(refining.whole, facts, [INITIALLY, *representatives(refining.whole, facts)])
    asker = Asker(asked, backend("cadical"))
    for question in asked.questions:
        answer = _answer(asker.ask(question, names | set(question.fails)), by)
        if isinstance(answer, Withdrawn):
            action = "at first" if question.slot == INITIALLY else refining.whole.actions[question.slot].name
            return f"{action}: does not keep {', '.join(answer.claims)}, which the refinement rests on"
    return None


MAPPING = -2
"""Stands for an action's slot in the question whether the mapping is a function."""


def _strays(refining: Refining, follower: Follower, by: Deadline) -> Tied | Untied:
    """Ask action by action; what a solver finds is followed by the concrete reading before anyone sees it."""
    facts = [refining.whole.predicate(fact.holds) for fact in refining.refinement.facts]
    any_state, under_facts = refining.whole.states(), refining.whole.states()
    under_facts.add(*facts)
    for slot, happens, ways in _questions(refining):
        states = any_state if slot == INITIALLY else under_facts
        answer = answered(states.ask(conj((happens, disj(ways.values()))), by=by), "z3, following")
        if isinstance(answer, Yes):
            found = [name for name, way in ways.items() if _is_true(answer.model, way)]
            return Untied(_told(refining, follower, slot, found, _state(refining, answer.model)))
    return Tied(len(refining.whole.actions), len(facts))


def _questions(refining: Refining) -> Iterator[tuple[int, Formula, Mapping[str, Formula]]]:
    """For the mapping, the properties and each action: when it is asked about, and the ways in which it may fail."""
    yield MAPPING, TRUE, refining.not_a_function()
    yield INITIALLY, TRUE, refining.unimplied()
    for slot, straying in enumerate(refining.strayings()):
        yield slot, straying.happens, straying.ways


def _is_true(model: Any, formula: Formula) -> bool:
    return str(model.eval(formula, model_completion=True)) == "True"


def _state(refining: Refining, model: Any) -> State:
    """The state of the whole that a model stands for, with every choice made."""
    whole = refining.whole

    def code(variable: Variable) -> int:
        true = [_is_true(model, bit) for bit in whole.bits[variable.place]]
        return variable.domain.values.index(decode(variable, true))

    return bytes(map(code, whole.system.variables))


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


def _answer(asking: Generator[Progress, None, T], by: Deadline) -> T:
    """What the question comes to. Raises SolverGaveUpError if the time is up between two slices of work."""
    while True:
        if by.passed():
            answered(TIME_OUT, "induction")
        try:
            next(asking)
        except StopIteration as stop:
            answer: T = stop.value
            return answer
