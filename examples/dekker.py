"""Dekker's algorithm: of two processes one at a time is in the critical section, and neither starves.

A process raises its flag. If the flag of the other one is raised and the other one has the turn, it lowers
its flag until it has the turn. Without this step back (`both=insist`) both may wait for ever.

    fencepost check examples/dekker.py
    fencepost check examples/dekker.py --set both=insist

Source: Dijkstra, Cooperating Sequential Processes, 1965.
"""

from dataclasses import dataclass
from enum import Enum

from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    Property,
    Protocol,
    StateSpace,
    System,
    Term,
    at_least,
    each,
    exists,
    family,
    if_,
    integers,
    leads_to,
    members,
    switch,
    variable,
)

STEPS = "weak, any of steps by process"


class Place(Enum):
    """Where a process is."""

    OUTSIDE = "outside"
    TRYING = "trying"
    BACK = "stepped back"
    INSIDE = "inside"


@dataclass(frozen=True)
class Parameters:
    """What a process does if both want to enter: `insist` is a planted mistake."""

    both: str = switch(("step_back", "insist"), "what a process does without the turn", "a planted bug")


class State(StateSpace):
    """The flags, the turn, and the places."""

    def __init__(self, p: Parameters) -> None:
        """Declare the variables."""
        self.parameters = p
        self.process = integers(1, 2)
        self.flag = family(BOOL, self.process)
        self.turn = variable(self.process)
        self.place = family(members(Place), self.process)

    def flag_of_other(self, process: Parameter) -> Term:
        """Return whether the flag of the other process is raised."""
        return if_(process == 1, self.flag[2], self.flag[1])


def begin(s: State, process: Parameter) -> Action:
    """Raise the flag."""
    return Action(
        when=s.place[process] == Place.OUTSIDE,
        then=[s.flag[process].set(True), s.place[process].set(Place.TRYING)],
        actor=process,
    )


def enter(s: State, process: Parameter) -> Action:
    """Enter, if the flag of the other process is not raised."""
    return Action(
        when=(s.place[process] == Place.TRYING) & ~s.flag_of_other(process),
        then=[s.place[process].set(Place.INSIDE)],
        actor=process,
    )


def step_back(s: State, process: Parameter) -> Action:
    """Lower the flag, because the other process has the turn."""
    may = s.parameters.both == "step_back"
    return Action(
        when=(s.place[process] == Place.TRYING) & s.flag_of_other(process) & (s.turn != process) & may,
        then=[s.flag[process].set(False), s.place[process].set(Place.BACK)],
        actor=process,
    )


def come_forward(s: State, process: Parameter) -> Action:
    """Raise the flag again once the turn is given."""
    return Action(
        when=(s.place[process] == Place.BACK) & (s.turn == process),
        then=[s.flag[process].set(True), s.place[process].set(Place.TRYING)],
        actor=process,
    )


def leave(s: State, process: Parameter) -> Action:
    """Give the turn to the other process, and lower the flag."""
    return Action(
        when=s.place[process] == Place.INSIDE,
        then=[
            s.turn.set(3 - process),
            s.flag[process].set(False),
            s.place[process].set(Place.OUTSIDE),
        ],
        actor=process,
    )


def build(p: Parameters) -> System:
    """Return the system."""
    s = State(p)
    one = Property(
        name="one-at-a-time",
        meaning="no two processes are in the critical section",
        holds=~at_least(2, s.process, lambda i: s.place[i] == Place.INSIDE),
        witness=exists(s.process, lambda i: s.place[i] == Place.INSIDE)
        & exists(s.process, lambda i: s.place[i] == Place.TRYING),
        witness_meaning="one process is inside, and the other one tries",
    )
    starves = leads_to(
        "nobody-starves",
        "process 1 enters once it has begun",
        s.place[1] == Place.TRYING,
        s.place[1] == Place.INSIDE,
    )
    steps = (enter, step_back, come_forward, leave)
    actions = (each(begin, s, s.process), *(each(step, s, s.process, fair=STEPS) for step in steps))
    return System(s, actions, (one, starves))


PROTOCOL = Protocol("dekker", "mutual exclusion of two processes", Parameters(), build)
