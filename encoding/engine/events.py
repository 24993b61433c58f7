"""Events of a check: what searches, proofs and replays report, and what a listener is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fencepost.encoding.engine.messages import (
    Clean,
    Complete,
    Longer,
    Surpassed,
    Visited,
    Visiting,
    Witnessed,
)
from fencepost.encoding.engine.named_clauses import NamedClause
from fencepost.encoding.engine.verdicts import Outcome
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.solving.solvers import Progress


@dataclass(frozen=True)
class Replayed:
    """A violation that a search found and that the concrete reading has replayed.

    `rounds` is the number of rounds that it takes, None if no search by rounds found it. `costs` has the
    value of each objective.
    """

    property: str
    trace: Trace
    rounds: int | None
    costs: tuple[int, ...]


@dataclass(frozen=True)
class ByActions:
    """Induction over one action proves the property.

    `invariants` are the names of the declared invariants and other properties that the proof uses, `found`
    the clauses that it uses and that an engine found.
    """

    property: str
    invariants: tuple[str, ...]
    found: tuple[NamedClause, ...] = ()


@dataclass(frozen=True)
class NotByActions:
    """Induction over one action does not prove the property, for this reason."""

    property: str
    reason: str


@dataclass(frozen=True)
class Unreached:
    """A proof that the property's witness is never true."""

    property: str


@dataclass(frozen=True)
class StepsAtLeast:
    """A violation takes at least so many steps: an enumeration visited all nearer states."""

    property: str
    steps: int


@dataclass(frozen=True)
class Seen:
    """A simulation or an enumeration reaches the property's witness, and a replay has confirmed it."""

    property: str


@dataclass(frozen=True)
class PatienceOver:
    """The end of the time in which a counterexample of the property is made smaller."""

    property: str


Heard = (
    Replayed
    | PatienceOver
    | ByActions
    | NotByActions
    | Unreached
    | Seen
    | StepsAtLeast
    | Visited
    | Witnessed
    | Clean
    | Complete
    | Longer
    | Surpassed
)
"""Evidence for `Knowledge`."""


@dataclass(frozen=True)
class PreparationPhase:
    """The start of one part of the preparation."""

    name: str


@dataclass(frozen=True)
class TasksOver:
    """The end of a worker. `names` are those of its tasks, as its progress named them."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Remark:
    """A sentence for the author of a model, such as why a property is not inductive."""

    text: str


@dataclass(frozen=True)
class Open:
    """The properties that are not decided yet."""

    properties: tuple[str, ...]


@dataclass(frozen=True)
class Silence:
    """A second in which no worker reported anything."""


@dataclass(frozen=True)
class Underway:
    """The start of a check. From now on `outcome` returns what the check has found so far."""

    outcome: Callable[[], Outcome]


Event = Progress | Visiting | PreparationPhase | TasksOver | Remark | Replayed | Open | Silence | Underway
"""The events that a listener gets. A replayed violation may be followed by a smaller one."""

Listener = Callable[[Event], None]
