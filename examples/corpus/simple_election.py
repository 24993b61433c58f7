"""A simple election: an acceptor promises once, and a proposer with a majority leads.

Source: aman-goel/ivybench, ex/ivy/simple-election.ivy. One thing departs: the quorums are the majorities,
where the original has any sets that overlap. Default sizes: 3 acceptors, 3 proposers.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    forall,
    labels,
    parameter,
)


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    acceptors: int = parameter(3, "acceptors")
    proposers: int = parameter(3, "proposers")


class State(StateSpace):
    """The proposers that have begun, the promises, and the leaders."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.acceptor = labels("acceptor", "a", parameters.acceptors)
        self.proposer = labels("proposer", "p", parameters.proposers)
        self.begun = family(BOOL, self.proposer)
        self.promise = family(BOOL, self.acceptor, self.proposer)
        self.leader = family(BOOL, self.proposer)


def propose(s: State, proposer: Parameter) -> Action:
    """Ask all acceptors (send_1a)."""
    return Action(when=~s.begun[proposer], then=[s.begun[proposer].set(True)], actor=proposer)


def promise(s: State, acceptor: Parameter, proposer: Parameter) -> Action:
    """Promise to follow a proposer, once (send_1b)."""
    first = forall(s.proposer, lambda p: ~s.promise[acceptor, p])
    then = [s.promise[acceptor, proposer].set(True)]
    return Action(when=s.begun[proposer] & first, then=then, actor=acceptor)


def lead(s: State, proposer: Parameter) -> Action:
    """Lead with a majority (decide)."""
    chosen = at_least(len(s.acceptor) // 2 + 1, s.acceptor, lambda a: s.promise[a, proposer])
    return Action(when=chosen, then=[s.leader[proposer].set(True)], actor=proposer)


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    one = Property(
        name="one-leader",
        meaning="no two proposers lead",
        holds=~at_least(2, s.proposer, lambda q: s.leader[q]),
        witness=exists(s.proposer, lambda q: s.leader[q]),
        witness_meaning="there is a leader",
    )
    actions = (
        each(propose, s, s.proposer),
        each(promise, s, s.acceptor, s.proposer),
        each(lead, s, s.proposer),
    )
    return System(s, actions, (one,))


PROTOCOL = Protocol(
    "simple-election",
    "an acceptor promises once",
    Parameters(),
    build,
    sources=("ivybench, ex/ivy/simple-election.ivy",),
)
