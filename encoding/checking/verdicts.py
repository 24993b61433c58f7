"""Verdicts, and the results that carry them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from fencepost.encoding.language.traces import Trace


class Verdict(Enum):
    """What is known of a property, worst first."""

    VIOLATED = "violated"
    """A trace, replayed step by step by the concrete reading."""
    UNDECIDED = "undecided"
    """Time, memory or the solver gave out; the result says how deep it came."""
    VACUOUS = "vacuous"
    """The witness is unreachable within the bound: nothing was tested."""
    HOLDS = "holds"
    """No violation within the bound given, and longer executions exist."""
    PROVED = "proved"
    """Every execution of the instance is covered; the result's `basis` says how."""


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The first in the order of the enumeration."""
    order = list(Verdict)
    return min(verdicts, key=order.index)


class Basis(Enum):
    """Why a verdict `proved` covers every execution."""

    ROUNDS = "rounds"
    """No execution in normal form is longer than the rounds that were searched."""
    INDUCTION = "induction"
    """What holds up to the last of some rounds holds after it, and it does hold at first."""
    ALL_SIZES = "all-sizes"


@dataclass(frozen=True)
class Result:
    """What was found of one property: plain data, without solver objects.

    `rounds` is how many rounds the trace takes, or cover every execution, or were searched; `searched` the
    deepest round searched. `steps` is the length of the trace. `minimized` says what was made small in it: its `steps`,
    or its `faults`, then crashes among them, then steps. `fewest` says whether none has fewer at all (`proved`) or
    within `searched` rounds (`within-rounds`). `complete` says that no execution
    within the caps is longer than what was searched. `bound` is the largest number of steps asked for.
    `witness` says that the property's witness was reached. `faults` counts the faults of the trace.
    `induction` is over how many rounds a proof by induction goes, `invariants` what it carries along.
    `certificate` is the folder with the certificate of a proof.
    """

    property: str
    verdict: Verdict
    rounds: int
    seconds: float
    solver: str
    complete: bool = False
    witness: bool = False
    basis: Basis | None = None
    bound: int | None = None
    searched: int = 0
    steps: int | None = None
    minimized: str = "none"
    fewest: str | None = None
    faults: Mapping[str, int] | None = None
    reason: str | None = None
    trace: Trace | None = None
    more_traces: tuple[Trace, ...] = field(default=())
    induction: int | None = None
    invariants: tuple[str, ...] = ()
    certificate: str | None = None

    def __post_init__(self) -> None:
        if (self.verdict is Verdict.PROVED) != (self.basis is not None):
            raise ValueError("a verdict is proved if and only if it has a basis")
        if (self.basis is Basis.INDUCTION) != (self.induction is not None):
            raise ValueError("a proof is by induction if and only if it is over some rounds")
        covered = self.complete or self.basis is Basis.INDUCTION
        if self.verdict is Verdict.PROVED and not (covered and self.witness):
            raise ValueError("proved needs a complete search or an induction, and a reachable witness")
        if self.certificate is not None and self.verdict is not Verdict.PROVED:
            raise ValueError("only what is proved has a certificate")
        if (self.verdict is Verdict.VIOLATED) != (self.trace is not None):
            raise ValueError("a verdict is violated if and only if there is a replayed trace")

    def to_json(self) -> dict[str, object]:
        """The form in `fencepost.check/2`."""
        return {
            "property": self.property,
            "verdict": self.verdict.value,
            "basis": self.basis.value if self.basis else None,
            "rounds": self.rounds,
            "searched": self.searched,
            "steps": self.steps,
            "minimized": self.minimized if self.trace else None,
            "fewest": self.fewest,
            "faults": dict(self.faults) if self.faults is not None else None,
            "complete": self.complete,
            "induction": self.induction,
            "invariants": list(self.invariants),
            "bound": self.bound,
            "witness": self.witness,
            "reason": self.reason,
            "seconds": round(self.seconds, 3),
            "solver": self.solver,
            "trace": self.trace.to_json() if self.trace else None,
            "more_traces": [trace.to_json() for trace in self.more_traces],
            "certificate": self.certificate,
        }
