"""Check of a refinement on one instance: its invariants are inductive, the core follows each action.

Two processes check the two parts at the same time. If both fail, the failure of the invariants is reported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.encoding.all_sizes.follower import Follower, Strays
from fencepost.encoding.all_sizes.refinement import Refinement, unmet_axioms
from fencepost.encoding.all_sizes.refinement_formulas import RefinementFormulas
from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.errors import InternalError
from fencepost.encoding.induction.orbits import representatives
from fencepost.encoding.induction.proof_obligations import INITIALLY, Obligations, obligations
from fencepost.encoding.induction.withdrawal import ObligationSolver, Withdrawn, finished
from fencepost.encoding.language.state import Variable, decode
from fencepost.encoding.solving.answers import TIME_OUT, Deadline, Yes, answered
from fencepost.encoding.solving.crew import Crew, OutOfTime
from fencepost.encoding.solving.logic import TRUE, Formula, conj, disj
from fencepost.encoding.solving.solvers import backend
from fencepost.encoding.solving.workers import Ended, Worker, failure


@dataclass(frozen=True)
class Tied:
    """The result that a refinement holds: the core follows each action, and the invariants are inductive."""

    actions: int
    invariants: int


@dataclass(frozen=True)
class Untied:
    """The result that a refinement does not hold; `why` names an action and what goes wrong."""

    why: str


EVERY = 50
"""The number of actions followed between two reports of progress."""


def check_refinement(
    refinement: Refinement, by: Deadline, report: Callable[[str], None] = lambda progress: None
) -> Tied | Untied:
    """Return whether a refinement holds on its instance; `report` receives the progress in words.

    Raises SolverGaveUpError if a solver gives up, or at the deadline.
    """
    unmet = unmet_axioms(refinement.core)
    if unmet:
        return Untied(f"the core's instance does not meet {', '.join(unmet)}")
    try:
        follower = Follower(refinement)
        for first in Beginnings(follower.whole).states():
            follower.begin(first)
    except Strays as why:
        return Untied(f"initial state: {why}")
    refining = RefinementFormulas(refinement)
    invariants = {invariant.name for invariant in refinement.invariants}
    slots = [INITIALLY, *representatives(refining.whole, refinement.invariants)]
    asked = obligations(refining.whole, refinement.invariants, slots)
    with Crew(time.perf_counter() + by.left()) as crew:
        crew.start(Worker("invariants", _withdrawals, asked, invariants, by, gib=None))
        result = _follow_actions(refining, follower, by, report)
        if isinstance(result, Tied):
            report(f"{result.actions} actions followed, invariants not yet proved")
        broken = _broken(crew, refining)
    return Untied(broken) if broken is not None else result


def _withdrawals(asked: Obligations, invariants: Collection[str], by: Deadline) -> Iterator[Withdrawn]:
    """Yield the first action that makes invariants false, in the other process."""
    solver = ObligationSolver(asked, backend("cadical"))
    for question in asked.questions:
        answer = finished(solver.ask(question, {*invariants, *question.fails}), by)
        if isinstance(answer, Withdrawn):
            yield answer
            return


def _broken(crew: Crew, refining: RefinementFormulas) -> str | None:
    """Return in words which invariants the other process found not to be inductive, or None.

    Raises SolverGaveUpError if the process does not end in time.
    """
    found: Withdrawn | None = None
    try:
        for _, message in crew.heard():
            if not isinstance(message, Ended):
                found = message
            elif (failed := failure(message, "invariants")) is not None:
                raise failed
    except OutOfTime:
        answered(TIME_OUT, "induction")
    if found is None:
        return None
    action = "initial state" if found.slot == INITIALLY else refining.whole.actions[found.slot].name
    return f"{action}: violates {', '.join(found.claims)}, which the refinement assumes"


MAPPING = -2
"""The slot of the question whether the mapping is a function, which has no action."""


def _follow_actions(
    refining: RefinementFormulas, follower: Follower, by: Deadline, report: Callable[[str], None]
) -> Tied | Untied:
    """Return whether the core can follow every action. The concrete reading confirms each failure."""
    invariants = [refining.whole.predicate(i.holds) for i in refining.refinement.invariants]
    any_state, under_invariants = refining.whole.states(), refining.whole.states()
    under_invariants.add(*invariants)
    for slot, happens, ways in _questions(refining):
        if slot > 0 and slot % EVERY == 0:
            report(f"{slot} of {len(refining.whole.actions)} actions followed")
        states = any_state if slot == INITIALLY else under_invariants
        answer = answered(states.ask(conj((happens, disj(ways.values()))), by=by), "z3, following")
        if isinstance(answer, Yes):
            found = [name for name, way in ways.items() if _is_true(answer.model, way)]
            return Untied(_explanation(refining, follower, slot, found, _state(refining, answer.model)))
    return Tied(len(refining.whole.actions), len(invariants))


def _questions(refining: RefinementFormulas) -> Iterator[tuple[int, Formula, Mapping[str, Formula]]]:
    """Yield for the mapping, the properties and each action: a slot, a condition, and the ways to fail."""
    yield MAPPING, TRUE, refining.not_a_function()
    yield INITIALLY, TRUE, refining.unimplied()
    for slot, straying in enumerate(refining.strayings()):
        yield slot, straying.happens, straying.ways


def _is_true(model: Any, formula: Formula) -> bool:
    return str(model.eval(formula, model_completion=True)) == "True"


def _state(refining: RefinementFormulas, model: Any) -> State:
    """Return the state of the whole that a model describes, choices included."""
    whole = refining.whole

    def code(variable: Variable) -> int:
        true = [_is_true(model, bit) for bit in whole.bits[variable.place]]
        return variable.domain.values.index(decode(variable, true))

    return Concrete(whole.system).state(map(code, whole.system.variables))


def _explanation(
    refining: RefinementFormulas, follower: Follower, slot: int, ways: Sequence[str], state: State
) -> str:
    """Return what goes wrong in the concrete reading. Raises InternalError if nothing does."""
    if slot == INITIALLY:
        names = ", ".join(ways)
        return f"{names}: false in a state of the whole in which the core's property holds by the mapping"
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
