"""What is told of a check under way: all that `knowledge` hears, from searches, inductions and replays."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.induction.over_rounds import Inductive, NotInductive
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.rounds.search import (
    Clean,
    Complete,
    Longer,
    Surpassed,
    Upheld,
    Witnessed,
)


@dataclass(frozen=True)
class Replayed:
    """A violation that a search found, and that the concrete reading has replayed.

    `rounds` is how many it takes, `costs` the value of each objective.
    """

    property: str
    trace: Trace
    rounds: int
    costs: tuple[int, ...]


@dataclass(frozen=True)
class Untrue:
    """A replayed trace to a state in which an invariant is false: nothing is proved with it."""

    trace: Trace

    def __str__(self) -> str:
        return f"the invariant {self.trace.property} is false after {amount(len(self.trace.steps), 'step')}"


@dataclass(frozen=True)
class ByActions:
    """Induction over one action proves the property, from these facts and other properties."""

    property: str
    facts: tuple[str, ...]


@dataclass(frozen=True)
class NotByActions:
    """It does not, for that reason."""

    property: str
    reason: str


@dataclass(frozen=True)
class Unreached:
    """Induction over one action proves that the property's witness is never true."""

    property: str


@dataclass(frozen=True)
class Seen:
    """The property's witness is reached at the end of a walk that the concrete reading has taken."""

    property: str


Heard = (
    Replayed
    | ByActions
    | NotByActions
    | Unreached
    | Seen
    | Untrue
    | Witnessed
    | Clean
    | Upheld
    | Inductive
    | NotInductive
    | Complete
    | Longer
    | Surpassed
)
