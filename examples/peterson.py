"""Peterson's algorithm: of two processes one at a time is in the critical section, and neither starves.

A process raises its flag, gives the turn to the other one, and waits until the other has lowered its flag or
given back the turn. It need not begin, so `begin` is not fair. Once it has begun, some one of its steps is
taken if one is enabled all the time: `fair="weak, any of steps by process"`.

    fencepost check examples/peterson.py
    fencepost check examples/peterson.py --set first=turn

Source: Peterson, Myths About the Mutual Exclusion Problem, 1981.
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
    BEGUN = "begun"
    WAITING = "waiting"
    INSIDE = "inside"


@dataclass(frozen=True)
class Parameters:
    """The first of two assignments: `turn` is a well-known mistake."""

    first: str = switch(("flag", "turn"), "what a process sets first", "a planted bug")


class State(StateSpace):
    """The flags, the turn, and the places."""

    def __init__(self, p: Parameters) -> None:
        """Declare the variables."""
        self.parameters = p
        self.process = integers(1, 2)
        self.flag = family(BOOL, self.process)
        self.turn = variable(self.process)
        self.place = family(members(Place), self.process)


def begin(s: State, process: Parameter) -> Action:
    """Begin to wait for the critical section."""
    first = s.flag[process].set(True) if s.parameters.first == "flag" else s.turn.set(3 - process)
    return Action(
        when=s.place[process] == Place.OUTSIDE,
        then=[first, s.place[process].set(Place.BEGUN)],
        actor=process,
    )


def give_way(s: State, process: Parameter) -> Action:
    """Give the turn to the other process."""
    second = s.turn.set(3 - process) if s.parameters.first == "flag" else s.flag[process].set(True)
    return Action(
        when=s.place[process] == Place.BEGUN,
        then=[second, s.place[process].set(Place.WAITING)],
        actor=process,
    )


def enter(s: State, process: Parameter) -> Action:
    """Enter, if the other process does not want to or has given back the turn."""
    other = if_(process == 1, s.flag[2], s.flag[1])
    return Action(
        when=(s.place[process] == Place.WAITING) & (~other | (s.turn == process)),
        then=[s.place[process].set(Place.INSIDE)],
        actor=process,
    )


def leave(s: State, process: Parameter) -> Action:
    """Leave, and lower the flag."""
    return Action(
        when=s.place[process] == Place.INSIDE,
        then=[s.flag[process].set(False), s.place[process].set(Place.OUTSIDE)],
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
        & exists(s.process, lambda i: s.place[i] == Place.WAITING),
        witness_meaning="one process is inside, and the other one waits",
    )
    starves = leads_to(
        "nobody-starves",
        "process 1 enters once it has begun",
        s.place[1] == Place.BEGUN,
        s.place[1] == Place.INSIDE,
    )
    actions = (
        each(begin, s, s.process),
        each(give_way, s, s.process, fair=STEPS),
        each(enter, s, s.process, fair=STEPS),
        each(leave, s, s.process, fair=STEPS),
    )
    return System(s, actions, (one, starves))


PROTOCOL = Protocol("peterson", "mutual exclusion of two processes", Parameters(), build)
