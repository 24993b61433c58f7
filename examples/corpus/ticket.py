"""A ticket lock: a thread takes a number, and enters when it is served.

Source: aman-goel/ivybench, mypyv/ivy/ticket.ivy. A thread has one place instead of three Booleans. The source
has no fairness and no liveness; ours are our own. Default sizes: 3 threads, 5 tickets.
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
    at_least,
    each,
    exists,
    family,
    integers,
    labels,
    leads_to,
    members,
    parameter,
    switch,
    variable,
)


class Place(Enum):
    """The place of a thread."""

    OUTSIDE = "outside"
    WAITING = "waiting"
    INSIDE = "inside"


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    threads: int = parameter(3, "threads")
    tickets: int = parameter(5, "tickets")
    number: str = switch(("advances", "stays"), "whether the next number advances", "a mistake")


class State(StateSpace):
    """The places and numbers of the threads, the number that is served, and the next one."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.thread = labels("thread", "t", parameters.threads)
        self.ticket = integers(0, parameters.tickets - 1)
        self.place = family(members(Place), self.thread)
        self.number = family(self.ticket, self.thread)
        self.served = variable(self.ticket)
        self.next = variable(self.ticket)


def take(s: State, thread: Parameter) -> Action:
    """Take a number."""
    then = [s.number[thread].set(s.next), s.place[thread].set(Place.WAITING)]
    advanced = [s.next.set(s.next + 1)] if s.parameters.number == "advances" else []
    left = s.next < s.parameters.tickets - 1
    return Action(when=(s.place[thread] == Place.OUTSIDE) & left, then=[*then, *advanced], actor=thread)


def enter(s: State, thread: Parameter) -> Action:
    """Enter once the number is served."""
    served = (s.place[thread] == Place.WAITING) & (s.number[thread] <= s.served)
    return Action(when=served, then=[s.place[thread].set(Place.INSIDE)], actor=thread)


def leave(s: State, thread: Parameter) -> Action:
    """Leave; the next number is served."""
    left = (s.place[thread] == Place.INSIDE) & (s.served < s.parameters.tickets - 1)
    return Action(
        when=left, then=[s.place[thread].set(Place.OUTSIDE), s.served.set(s.served + 1)], actor=thread
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    mutex = Property(
        name="mutex",
        meaning="no two threads are inside at once",
        holds=~at_least(2, s.thread, lambda t: s.place[t] == Place.INSIDE),
        witness=exists(s.thread, lambda t: s.place[t] == Place.INSIDE) & (s.served > 0),
        witness_meaning="a second thread is inside",
    )
    enters = leads_to(
        "enters",
        "thread t1 enters once it has taken a number",
        s.place["t1"] == Place.WAITING,
        s.place["t1"] == Place.INSIDE,
    )
    actions = (
        each(take, s, s.thread),
        each(enter, s, s.thread, fair="weak"),
        each(leave, s, s.thread, fair="weak"),
    )
    return System(s, actions, (mutex, enters))


PROTOCOL = Protocol(
    "ticket",
    "a thread takes a number and enters when it is served",
    Parameters(),
    build,
    sources=("ivybench, mypyv/ivy/ticket.ivy",),
)
