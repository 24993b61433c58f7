"""Invariants examined one by one, for an author who looks for those that a proof needs.

For each: which action breaks it, from which state, and whether an execution leads there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.events import PreparationPhase
from fencepost.encoding.errors import InternalError
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.induction.directed_simulation import falsified
from fencepost.encoding.induction.orbits import representatives
from fencepost.encoding.induction.proof_obligations import (
    INITIALLY,
    WELL_DEFINED,
    ObligationQuestion,
    obligations,
)
from fencepost.encoding.induction.smallest_cti import CtiState, smallest
from fencepost.encoding.induction.withdrawal import ObligationSolver, Withdrawn
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.state import Variable, decode
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.traces import Subject, Trace
from fencepost.encoding.rounds.confirmation import Confirmation
from fencepost.encoding.rounds.preparation import Prepared, prepare
from fencepost.encoding.rounds.round_solver import RoundSolver
from fencepost.encoding.rounds.search import executed
from fencepost.encoding.solving.solvers import Progress, backend

FEW_SLICES = 4
"""The slices of conflicts that a question may take when it is first asked. Later it may take more."""

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class FalseClaim:
    """A replayed execution to a state in which the claim is false."""

    name: str
    trace: Trace


@dataclass(frozen=True)
class Breaks:
    """A counterexample to induction: an action makes the claim false in a state in which all claims hold.

    `before` lists the variables of that state that differ from their one initial value, `changes` what the
    action changes. The state may be unreachable. `action` is None if the claim is false initially.
    """

    name: str
    action: str | None
    before: tuple[str, ...]
    changes: tuple[str, ...]


@dataclass(frozen=True)
class NeverFalse:
    """A claim that no execution within that many rounds makes false."""

    name: str
    rounds: int


@dataclass(frozen=True)
class InductiveInvariant:
    """A claim that no action makes false in a state in which all claims hold."""

    name: str


Examined = FalseClaim | Breaks | NeverFalse | InductiveInvariant | PreparationPhase | Progress


def examine(
    system: System, subject: Subject, properties: Sequence[Property], rounds: int
) -> Iterator[Examined]:
    """Yield what is found about the invariants and these properties."""
    claims = [*system.invariants, *(Invariant(p.name, p.meaning, p.holds) for p in properties)]
    examination = Examination(Replayer(system, subject))
    yield PreparationPhase("simulation")
    false = set()
    for simulated in falsified(system, claims):
        (claim,) = (c for c in claims if c.name == simulated.property)
        yield examination.falsified(claim, *simulated.execution(system))
        false.add(claim.name)
    yield PreparationPhase("induction")
    left = [claim for claim in claims if claim.name not in false]
    broken = yield from examination.breaks(left)
    yield from examination.rounds(
        [claim for claim in left if claim.name in broken], rounds, WELL_DEFINED in broken
    )


def _within(
    slices: int, answer: Generator[Progress, None, Answer]
) -> Generator[Progress, None, Answer | None]:
    """Return the answer, or None if the solver needs more slices of conflicts for it."""
    for _ in range(slices):
        try:
            progress = next(answer)
        except StopIteration as ended:
            found: Answer = ended.value
            return found
        yield progress
    return None


@dataclass(frozen=True)
class Examination:
    """A system whose claims are examined."""

    replayer: Replayer

    @property
    def system(self) -> System:
        """The system that the claims are about."""
        return self.replayer.system

    @cached_property
    def symbolic(self) -> Symbolic:
        """The actions of the system as formulas."""
        return Symbolic(self.system)

    @cached_property
    def written(self) -> list[Variable]:
        """The variables that are no constants."""
        return [v for v in self.system.variables if v.place in self.symbolic.varying]

    def choices(self, positions: Iterable[int]) -> list[str]:
        """Return the names of the choices at these positions."""
        return [self.system.choices[position].name for position in positions]

    def falsified(
        self, claim: Invariant, actions: list[GroundAction], choices: list[str], beginning: Sequence[int]
    ) -> FalseClaim:
        """Replay the execution."""
        return FalseClaim(claim.name, self.replayer.spare_faults(claim, actions, choices, beginning))

    def breaks(self, claims: Sequence[Invariant]) -> Generator[Examined, None, set[str]]:
        """Return the names of the claims that some action can make false although all of them hold.

        `WELL_DEFINED` is one of the claims. Yield of each other claim that it is inductive once that is
        known. A question that takes long is put off, and asked again about each claim by itself. So a
        time-out leaves only the claims open that take long.
        """
        asked = obligations(self.symbolic, claims, [INITIALLY, *representatives(self.symbolic, claims)])
        asker = ObligationSolver(asked, backend("cadical"))
        firsts = self.system.firsts
        first = [[firsts[v.place][0] == value for value in v.domain.values[1:]] for v in self.written]
        names = {claim.name for claim in claims}
        open_ones, inductive = names | {WELL_DEFINED}, set[str]()
        waiting = deque((question, frozenset(question.fails), FEW_SLICES) for question in asked.questions)
        while waiting:
            question, about, slices = waiting.popleft()
            about &= open_ones
            answer = yield from _within(slices, asker.ask(question, names, about))
            if answer is None:
                waiting.extend((question, frozenset([name]), 2 * slices) for name in sorted(about))
            elif isinstance(answer, Withdrawn):
                for name in answer.claims:
                    start = yield from smallest(asker, asked, question, names, name, first)
                    yield self._described(claims, question, name, start)
                open_ones.difference_update(answer.claims)
                waiting.appendleft((question, about, slices))
            left = {WELL_DEFINED, *inductive}.union(*(about for _, about, _ in waiting))
            settled = [claim.name for claim in claims if claim.name in open_ones - left]
            inductive.update(settled)
            yield from map(InductiveInvariant, settled)
        return (names | {WELL_DEFINED}) - open_ones

    def _described(
        self, claims: Sequence[Invariant], question: ObligationQuestion, name: str, start: CtiState
    ) -> Breaks:
        """Return a counterexample to induction in the words of traces.

        Raises InternalError unless the concrete reading agrees.
        """
        values = {v: decode(v, list(bits)) for v, bits in zip(self.written, start.values, strict=True)}
        lost = self.choices(start.choices)
        firsts = self.system.firsts
        unusual = [f"{v.name} = {show(value)}" for v, value in values.items() if firsts[v.place] != (value,)]
        before = (*unusual, *(f"{choice} = yes" for choice in lost))
        if question.slot == INITIALLY:
            return Breaks(name, None, before, ())
        action = self.symbolic.actions[question.slot]
        if name == WELL_DEFINED:
            return Breaks(name, action.name, before, ())
        state, after = self.replayer.follow_from(self.replayer.state(values, lost), [action])
        holds = {claim.name: self.replayer.concrete.predicate(claim.holds) for claim in claims}
        if not all(holds[claim](state) for claim in holds) or holds[name](after):
            raise InternalError(
                f"{action.name}: the solver finds that it breaks {name}, and the concrete reading does not"
            )
        return Breaks(name, action.name, before, tuple(self._changes(state, after)))

    def _changes(self, state: State, after: State) -> Iterator[str]:
        value = self.replayer.concrete.value
        for v in self.system.variables:
            if state[v.place] != after[v.place]:
                yield f"{v.name}: {show(value(state, v))} → {show(value(after, v))}"

    def rounds(self, claims: Sequence[Invariant], most: int, steps: bool) -> Iterator[Examined]:
        """Search ever more rounds for executions that make one of these claims false.

        With `steps`, search for badly defined steps too, and raise ModelError if one is found.
        """
        if not claims and not steps:
            return
        *_, prepared = prepare(self.system, (), claims)
        assert isinstance(prepared, Prepared)
        actions, open_ones = prepared.actions(self.system), list(claims)
        session = RoundSolver(prepared.template, "cadical")
        while (open_ones or steps) and session.rounds < most:
            session.deepen()
            yield session.progress()
            if steps and session.solve([session.unrolling.output("wrong", session.rounds)]):
                Confirmation(self.replayer, prepared).wrong(executed(session))
            for claim in list(open_ones):
                if session.solve([-session.unrolling.output(f"invariant:{claim.name}", session.rounds)]):
                    execution = executed(session)
                    fired = [actions[slot] for slot in execution.slots]
                    yield self.falsified(claim, fired, self.choices(execution.choices), execution.beginning)
                    open_ones.remove(claim)
        names = [*(claim.name for claim in open_ones), *([WELL_DEFINED] if steps else [])]
        yield from (NeverFalse(name, session.rounds) for name in names)
