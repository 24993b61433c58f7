"""Whether a refinement holds on one instance: its facts are inductive, and the core can follow every action under them.

The two are asked side by side, in two processes; where both fail it is the facts that are told.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fencepost.encoding.all_sizes.follower import Follower, Strays
from fencepost.encoding.all_sizes.refinement import Refinement, unmet_axioms
from fencepost.encoding.all_sizes.refinement_formulas import RefinementFormulas
from fencepost.encoding.concrete.compiler import Concrete, State
from fencepost.encoding.errors import InternalError
from fencepost.encoding.induction.orbits import representatives
from fencepost.encoding.induction.proof_obligations import INITIALLY, Obligations, obligations
from fencepost.encoding.induction.withdrawal import ObligationSolver, Withdrawn
from fencepost.encoding.language.state import Variable, decode
from fencepost.encoding.solving.answers import TIME_OUT, Deadline, Yes, answered
from fencepost.encoding.solving.crew import Crew, OutOfTime
from fencepost.encoding.solving.logic import TRUE, Formula, conj, disj
from fencepost.encoding.solving.solvers import Progress, backend
from fencepost.encoding.solving.workers import Ended, Worker, failure

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


EVERY = 50
"""So many actions are followed between two words about how far it is."""


def settle(
    refinement: Refinement, by: Deadline, tell: Callable[[str], None] = lambda done: None
) -> Tied | Untied:
    """Whether a refinement holds on its instance; `tell` hears how far it is.

    Raises SolverGaveUpError, by the deadline too.
    """
    unmet = unmet_axioms(refinement.core)
    if unmet:
        return Untied(f"the core's instance does not meet {', '.join(unmet)}")
    try:
        follower = Follower(refinement)
        follower.begin(follower.whole.initial())
    except Strays as why:
        return Untied(f"at first: {why}")
    refining = RefinementFormulas(refinement)
    facts = {fact.name for fact in refinement.facts}
    slots = [INITIALLY, *representatives(refining.whole, refinement.facts)]
    asked = obligations(refining.whole, refinement.facts, slots)
    with Crew(time.perf_counter() + by.left()) as crew:
        crew.start(Worker("facts", _withdrawals, asked, facts, by, gib=None))
        strays = _strays(refining, follower, by, tell)
        if isinstance(strays, Tied):
            tell(f"{strays.actions} actions followed, facts")
        broken = _broken(crew, refining)
    return Untied(broken) if broken is not None else strays


def _withdrawals(
    send: Callable[[Any], None], asked: Obligations, facts: Collection[str], by: Deadline
) -> list[Iterator[Withdrawn]]:
    """A worker, for the other core: the first action that makes facts false, if one does."""

    def withdrawals() -> Iterator[Withdrawn]:
        asker = ObligationSolver(asked, backend("cadical"))
        for question in asked.questions:
            answer = _answer(asker.ask(question, {*facts, *question.fails}), by)
            if isinstance(answer, Withdrawn):
                yield answer
                return

    return [withdrawals()]


def _broken(crew: Crew, refining: RefinementFormulas) -> str | None:
    """What the worker found, in words; None if nothing. Raises SolverGaveUpError if it has not come to its end in time."""
    found: Withdrawn | None = None
    try:
        for _, said in crew.heard():
            if not isinstance(said, Ended):
                found = said
            elif (failed := failure(said, "facts")) is not None:
                raise failed
    except OutOfTime:
        answered(TIME_OUT, "induction")
    if found is None:
        return None
    action = "at first" if found.slot == INITIALLY else refining.whole.actions[found.slot].name
    return f"{action}: does not keep {', '.join(found.claims)}, which the refinement rests on"


MAPPING = -2
"""Stands for an action's slot in the question whether the mapping is a function."""


def _strays(
    refining: RefinementFormulas, follower: Follower, by: Deadline, tell: Callable[[str], None]
) -> Tied | Untied:
    """Ask action by action; what a solver finds is followed by the concrete reading before anyone sees it."""
    facts = [refining.whole.predicate(fact.holds) for fact in refining.refinement.facts]
    any_state, under_facts = refining.whole.states(), refining.whole.states()
    under_facts.add(*facts)
    for slot, happens, ways in _questions(refining):
        if slot > 0 and slot % EVERY == 0:
            tell(f"{slot} of {len(refining.whole.actions)} actions followed")
        states = any_state if slot == INITIALLY else under_facts
        answer = answered(states.ask(conj((happens, disj(ways.values()))), by=by), "z3, following")
        if isinstance(answer, Yes):
            found = [name for name, way in ways.items() if _is_true(answer.model, way)]
            return Untied(_told(refining, follower, slot, found, _state(refining, answer.model)))
    return Tied(len(refining.whole.actions), len(facts))


def _questions(refining: RefinementFormulas) -> Iterator[tuple[int, Formula, Mapping[str, Formula]]]:
    """For the mapping, the properties and each action: when it is asked about, and the ways in which it may fail."""
    yield MAPPING, TRUE, refining.not_a_function()
    yield INITIALLY, TRUE, refining.unimplied()
    for slot, straying in enumerate(refining.strayings()):
        yield slot, straying.happens, straying.ways


def _is_true(model: Any, formula: Formula) -> bool:
    return str(model.eval(formula, model_completion=True)) == "True"


def _state(refining: RefinementFormulas, model: Any) -> State:
    """The state of the whole that a model stands for, with every choice made."""
    whole = refining.whole

    def code(variable: Variable) -> int:
        true = [_is_true(model, bit) for bit in whole.bits[variable.place]]
        return variable.domain.values.index(decode(variable, true))

    return Concrete(whole.system).state(map(code, whole.system.variables))


def _told(
    refining: RefinementFormulas, follower: Follower, slot: int, ways: Sequence[str], state: State
) -> str:
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
