"""Facts looked at one by one, for those who look for the ones that a proof needs: which action breaks which, from where, and
whether any execution does.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from fencepost.encoding.concrete.compiler import State
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.engine.confirmation import Confirmation
from fencepost.encoding.engine.events import PreparationPhase
from fencepost.encoding.engine.preparation import Prepared, prepare
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
from fencepost.encoding.language.state import Variable, decode, show
from fencepost.encoding.language.system import GroundAction, Invariant, Property, System
from fencepost.encoding.language.traces import Subject, Trace
from fencepost.encoding.rounds.round_solver import RoundSolver
from fencepost.encoding.rounds.search import executed
from fencepost.encoding.solving.solvers import Progress, backend


@dataclass(frozen=True)
class Falsified:
    """A replayed execution leads to a state in which the claim is false."""

    name: str
    trace: Trace


@dataclass(frozen=True)
class Breaks:
    """From some state in which all claims hold, an action makes the claim false; or it is false at first, by no action.

    `before` says what of that state is not as at first, `changes` what the action changes. No execution need lead there.
    """

    name: str
    action: str | None
    before: tuple[str, ...]
    changes: tuple[str, ...]


@dataclass(frozen=True)
class NeverFalse:
    """No execution within so many rounds makes the claim false."""

    name: str
    rounds: int


@dataclass(frozen=True)
class InductiveInvariant:
    """No action makes the claim false from a state in which all claims hold, those too that other actions break."""

    name: str


Found = Falsified | Breaks | NeverFalse | InductiveInvariant | PreparationPhase | Progress


def examine(
    send: object, system: System, subject: Subject, properties: Sequence[Property], rounds: int
) -> list[Iterator[Found]]:
    """What the process runs that looks at the facts of a system and at these properties."""
    return [_examine(system, subject, properties, rounds)]


def _examine(
    system: System, subject: Subject, properties: Sequence[Property], rounds: int
) -> Iterator[Found]:
    claims = [*system.invariants, *(Invariant(p.name, p.meaning, p.holds) for p in properties)]
    looking = _Looking(Replayer(system, subject))
    yield PreparationPhase("walks")
    false = set()
    for walked in falsified(system, claims):
        actions = [system.ground_actions[number] for number in walked.actions]
        (claim,) = (c for c in claims if c.name == walked.name)
        yield looking.falsified(claim, actions, walked.choices)
        false.add(claim.name)
    yield PreparationPhase("induction")
    left = [claim for claim in claims if claim.name not in false]
    broken = yield from looking.breaks(left)
    yield from (InductiveInvariant(claim.name) for claim in left if claim.name not in broken)
    yield from looking.rounds(
        [claim for claim in left if claim.name in broken], rounds, WELL_DEFINED in broken
    )


@dataclass(frozen=True)
class _Looking:
    """A system whose claims are looked at."""

    replayer: Replayer

    @property
    def system(self) -> System:
        """What the claims are about."""
        return self.replayer.system

    @cached_property
    def symbolic(self) -> Symbolic:
        """Its actions as formulas."""
        return Symbolic(self.system)

    @cached_property
    def written(self) -> list[Variable]:
        """What some action writes."""
        return [v for v in self.system.variables if v.place in self.symbolic.written]

    def choices(self, positions: Iterable[int]) -> list[str]:
        """The choices at these positions, by name."""
        return [self.system.choices[position].name for position in positions]

    def falsified(
        self, claim: Invariant, actions: Sequence[GroundAction], choices: Iterable[int]
    ) -> Falsified:
        """The execution, replayed."""
        trace = self.replayer.spare_faults(claim, actions, self.choices(choices))
        return Falsified(claim.name, trace)

    def breaks(self, claims: Sequence[Invariant]) -> Generator[Found, None, set[str]]:
        """Ask each action which of the claims it can make false if all of them hold; the names of those that one can.

        `WELL_DEFINED` is among the claims.
        """
        asked = obligations(self.symbolic, claims, [INITIALLY, *representatives(self.symbolic, claims)])
        asker = ObligationSolver(asked, backend("cadical"))
        initial = self.system.initial
        first = [[initial[v.place] == value for value in v.domain.values[1:]] for v in self.written]
        names = {claim.name for claim in claims}
        open_ones = names | {WELL_DEFINED}
        for question in asked.questions:
            while True:
                answer = yield from asker.ask(question, names, open_ones)
                if not isinstance(answer, Withdrawn):
                    break
                for name in answer.claims:
                    start = yield from smallest(asker, asked, question, names, name, first)
                    yield self._told(claims, question, name, start)
                open_ones.difference_update(answer.claims)
        return (names | {WELL_DEFINED}) - open_ones

    def _told(
        self, claims: Sequence[Invariant], question: ObligationQuestion, name: str, start: CtiState
    ) -> Breaks:
        """A counterexample to induction in the words of traces; raises InternalError unless the concrete reading agrees."""
        if question.slot == INITIALLY:
            return Breaks(name, None, (), ())
        values = {v: decode(v, list(bits)) for v, bits in zip(self.written, start.values, strict=True)}
        lost = self.choices(start.choices)
        first = self.system.initial
        unusual = [f"{v.name} = {show(value)}" for v, value in values.items() if value != first[v.place]]
        before = (*unusual, *(f"{choice} = yes" for choice in lost))
        action = self.symbolic.actions[question.slot]
        if name == WELL_DEFINED:
            return Breaks(name, action.name, before, ())
        state, after = self.replayer.follow([action], lost, values)
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

    def rounds(self, claims: Sequence[Invariant], most: int, steps: bool) -> Iterator[Found]:
        """Ask ever more rounds whether one of these claims is ever false; about `steps`, whether one is badly defined.

        Raises ModelError for a step that is.
        """
        if not claims and not steps:
            return
        *_, prepared = prepare(lambda message: None, self.system, (), claims)[0]
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
                    yield self.falsified(claim, fired, execution.choices)
                    open_ones.remove(claim)
        names = [*(claim.name for claim in open_ones), *([WELL_DEFINED] if steps else [])]
        yield from (NeverFalse(name, session.rounds) for name in names)
