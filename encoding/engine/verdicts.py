"""Verdicts, and the results that carry them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from fencepost.encoding.engine.limits import Minimize
from fencepost.encoding.engine.messages import Visited
from fencepost.encoding.engine.named_clauses import NamedClause
from fencepost.encoding.language.traces import Trace


class Verdict(Enum):
    """The verdicts on a property, the worst first."""

    VIOLATED = "violated"
    """A trace, replayed step by step by the concrete reading."""
    UNDECIDED = "undecided"
    """Time, memory or the solver gave out. The result says how many rounds were finished."""
    VACUOUS = "vacuous"
    """The witness is unreachable within the bound: nothing was tested."""
    HOLDS = "holds"
    """No violation within the bound given, and longer executions exist."""
    PROVED = "proved"
    """Every execution of the instance is covered. The result's `basis` says how."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict that comes first in the enumeration."""
    order = list(Verdict)
    return min(verdicts, key=order.index)


class Basis(Enum):
    """Why a verdict `proved` covers every execution."""

    ROUNDS = "rounds"
    """No execution in normal form is longer than the rounds that were searched."""
    INDUCTION = "induction"
    """The property holds initially, and every action preserves it."""
    ENUMERATION = "enumeration"
    """The property holds in every reachable state. They were visited on plain values, without a solver."""


class LiveBasis(Enum):
    """How a property of liveness was decided."""

    STATES = "states"
    """No fair component of the graph of all states owes it."""
    ENDS = "ends"
    """Every execution ends, and no fair one in a state that owes it."""
    ROUNDS = "rounds"
    """While it is owed, fairness to all fair actions comes about at most so many times."""
    LOOPS = "loops"
    """No fair loop owes it; or one does, if it is violated."""


@dataclass(frozen=True)
class Live:
    """What a result about liveness rests on.

    `rounds` is the number of rounds of fairness, if these are the basis. `fair` names the fair actions, and
    `excused` the caps of the model that the property excuses.
    """

    by: LiveBasis
    rounds: int | None
    fair: tuple[str, ...]
    excused: tuple[str, ...] = ()


class Fewest(Enum):
    """The executions among which no counterexample costs less than the one given."""

    OF_ALL = "of-all"
    """All executions within the limits."""
    WITHIN_ROUNDS = "within-rounds"
    """Executions of as many rounds as were searched."""


@dataclass(frozen=True)
class Reached:
    """How far the engines came where a property is undecided.

    - `longer`: some execution needs more rounds than that. None if that was not asked.
    - `frames`, `clauses`: those of IC3, of which `clauses` stand for all clauses that are like them. None if
      it did not begin.
    - `states`, `steps`: the states that an enumeration visited, and the steps to those farthest away. None
      without an enumeration.
    - `memory`: the most bytes that one process had. None if that is not known.
    """

    longer: int | None = None
    frames: int | None = None
    clauses: int | None = None
    states: int | None = None
    steps: int | None = None
    memory: int | None = None


@dataclass(frozen=True)
class Result:
    """The result of a check for one property: plain data, without solver objects.

    - `searched`: the deepest round searched.
    - `covering`: the number of rounds that cover every execution within the limits, if they were searched.
    - `found_in`: the number of rounds of the trace.
    - `rounds`: the one of these three numbers that the verdict speaks of.
    - `steps`, `faults`: the length of the trace, and the number of its faults by kind.
    - `shortest_at_least`: no violation takes fewer steps. None if that is not known, or without a violation.
    - `patience_is_over`: whether the search for shorter traces ended because of `Limits.patience`.
    - `minimized`: what was made small in the trace.
    - `bound`: the largest number of steps asked for.
    - `witness`: whether the property's witness was reached.
    - `unreachable`: whether the witness is proved to be out of reach of every execution within the budgets.
    - `invariants`: the names of the invariants that a proof by induction uses.
    - `found`: the clauses that a proof by induction over one action uses and that an engine found.
    - `reached`: how far the engines came, if the property is undecided.
    - `visited`: the visited states, if they are all that are reachable within the limits.
    - `live`: what the verdict rests on, if the property is one of liveness.
    - `certificate`: the folder with the certificate of a proof.
    """

    property: str
    verdict: Verdict
    seconds: float
    solver: str
    searched: int = 0
    covering: int | None = None
    found_in: int | None = None
    witness: bool = False
    unreachable: bool = False
    basis: Basis | None = None
    bound: int | None = None
    steps: int | None = None
    minimized: Minimize = Minimize.NONE
    fewest: Fewest | None = None
    shortest_at_least: int | None = None
    patience_is_over: bool = False
    faults: Mapping[str, int] | None = None
    reason: str | None = None
    trace: Trace | None = None
    more_traces: tuple[Trace, ...] = field(default=())
    invariants: tuple[str, ...] = ()
    found: tuple[NamedClause, ...] = ()
    visited: Visited | None = None
    certificate: str | None = None
    reached: Reached | None = None
    live: Live | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for fields that contradict each other."""
        if (self.verdict is Verdict.PROVED) != (self.basis is not None):
            raise ValueError("a verdict is proved if and only if it has a basis")
        if (self.basis is Basis.ENUMERATION) and self.visited is None:
            raise ValueError("a proof by enumeration says which states were visited")
        covered = self.complete or self.basis is Basis.INDUCTION
        if self.verdict is Verdict.PROVED and not (covered and self.witness):
            raise ValueError("proved needs a complete search or an induction, and a reachable witness")
        if self.found and self.basis is not Basis.INDUCTION:
            raise ValueError("only a proof by induction over one action uses clauses that were found")
        if self.certificate is not None and self.verdict is not Verdict.PROVED:
            raise ValueError("only what is proved has a certificate")
        if (self.shortest_at_least or 0) > (self.steps or 0):
            raise ValueError("no trace has fewer steps than any violation takes")
        if (self.verdict is Verdict.VIOLATED) != (self.trace is not None):
            raise ValueError("a verdict is violated if and only if there is a replayed trace")

    @cached_property
    def complete(self) -> bool:
        """Whether every execution within the limits was searched."""
        return self.covering is not None or self.visited is not None

    @cached_property
    def rounds(self) -> int:
        """The rounds of the trace, or those that cover every execution, or those searched."""
        if self.found_in is not None:
            return self.found_in
        decided = self.covering is not None and self.verdict is not Verdict.UNDECIDED
        return self.covering if decided and self.covering is not None else self.searched


@dataclass(frozen=True)
class Outcome:
    """The outcome of a check: a result for each property, in the order of the question."""

    results: tuple[Result, ...]
    seconds: float
    interrupted: bool
    spent: Mapping[str, float]
    """Seconds by part of the work: building, commutation, CNF, solving."""

    @property
    def decisive(self) -> Result:
        """The result that decides if one violation is enough: the first with the worst verdict."""
        verdict = worst(result.verdict for result in self.results)
        return next(result for result in self.results if result.verdict is verdict)
