"""Transaction commit: the abstract protocol that two-phase commit and Paxos Commit implement.

Source: aman-goel/ivybench, tla/ivy/TCommit.ivy. Nothing departs; a manager has one phase instead of four
Booleans. Default size: 4 managers.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fencepost.encoding.language import (
    Action,
    Parameter,
    Property,
    Protocol,
    StateSpace,
    System,
    each,
    exists,
    exists_over,
    family,
    forall,
    is_one_of,
    labels,
    members,
    parameter,
)


class Phase(Enum):
    """The phase of a manager."""

    WORKING = "working"
    PREPARED = "prepared"
    COMMITTED = "committed"
    ABORTED = "aborted"


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    managers: int = parameter(4, "resource managers")


class State(StateSpace):
    """The phases of the managers."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.manager = labels("manager", "r", parameters.managers)
        self.phase = family(members(Phase), self.manager)


def prepare(s: State, manager: Parameter) -> Action:
    """Prepare."""
    then = [s.phase[manager].set(Phase.PREPARED)]
    return Action(when=s.phase[manager] == Phase.WORKING, then=then, actor=manager)


def commit(s: State, manager: Parameter) -> Action:
    """Commit once all have prepared or committed."""
    ready = forall(s.manager, lambda m: is_one_of(s.phase[m], (Phase.PREPARED, Phase.COMMITTED)))
    then = [s.phase[manager].set(Phase.COMMITTED)]
    return Action(when=(s.phase[manager] == Phase.PREPARED) & ready, then=then, actor=manager)


def abort(s: State, manager: Parameter) -> Action:
    """Abort while nobody has committed."""
    none = forall(s.manager, lambda m: s.phase[m] != Phase.COMMITTED)
    open_ = is_one_of(s.phase[manager], (Phase.WORKING, Phase.PREPARED))
    return Action(when=open_ & none, then=[s.phase[manager].set(Phase.ABORTED)], actor=manager)


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    consistent = Property(
        name="consistent",
        meaning="no manager commits a transaction that another one aborts",
        holds=~exists_over(
            (s.manager, s.manager),
            lambda m, n: (s.phase[m] == Phase.COMMITTED) & (s.phase[n] == Phase.ABORTED),
        ),
        witness=exists(s.manager, lambda m: s.phase[m] == Phase.COMMITTED),
        witness_meaning="a manager has committed",
    )
    return System(
        s, tuple(each(handler, s, s.manager) for handler in (prepare, commit, abort)), (consistent,)
    )


PROTOCOL = Protocol(
    "transaction-commit",
    "all managers commit or none",
    Parameters(),
    build,
    sources=("ivybench, tla/ivy/TCommit.ivy",),
)
