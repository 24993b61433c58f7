"""Fast Paxos: acceptors vote for values of their own in a fast ballot, and a coordinator settles collisions.

Source: tlaplus/Examples, SimplifiedFastPaxos/FastPaxos.tla. The state is that of the spec: maxVBallot equals
maxBallot there, and each acceptor votes once in a ballot. One variable more says that a decision has changed,
which never happens. A quorum is named by the replica that it leaves out. TLC's configuration has 4 replicas,
3 values, the ballots 0 to 4, of which 1 and 3 are fast, and a symmetry of replicas and values.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    Property,
    Protocol,
    Sort,
    StateSpace,
    System,
    Term,
    TermLike,
    count,
    each,
    exists,
    family,
    forall,
    integers,
    labels,
    optional,
    parameter,
    switch,
    variable,
)


@dataclass(frozen=True)
class Parameters:
    """One instance, and the rule for a collision."""

    replicas: int = parameter(4, "replicas; a quorum has all but one")
    values: int = parameter(3, "values")
    ballots: int = parameter(4, "ballots after 0; the odd ones are fast")
    collision: str = switch(
        ("majority", "any"),
        "whether the coordinator has to take the value of most votes of a quorum",
        "FastPaxos.tla, ClassicAccept",
    )


class State(StateSpace):
    """The acceptors, the votes, and the proposals of the coordinator."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        ballots = range(1, parameters.ballots + 1)
        self.replica = labels("replica", "r", parameters.replicas)
        self.value = labels("value", "v", parameters.values)
        some = optional(self.value)
        self.ballot = integers(1, parameters.ballots)
        self.fast = Sort("fast", tuple(b for b in ballots if b % 2))
        self.classic = Sort("classic", tuple(b for b in ballots if not b % 2))
        self.any_value = family(BOOL, self.ballot)
        self.proposed = family(some, self.ballot)
        self.voted = family(some, self.ballot, self.replica)
        self.promised = family(integers(0, parameters.ballots), self.replica)
        self.last_value = family(some, self.replica)
        self.decision = variable(some)
        self.chosen = variable(some)
        self.decided_anew = variable(BOOL)

    def all_but(self, left_out: TermLike, holds: Callable[[TermLike], Term]) -> Term:
        """Return whether a condition holds for a quorum."""
        return forall(self.replica, lambda r: (r == left_out) | holds(r))

    def votes(self, ballot: TermLike, left_out: TermLike, value: TermLike) -> Term:
        """Return how many members of a quorum voted for a value."""
        return count(self.replica, lambda r: (r != left_out) & (self.voted[ballot, r] == value))


def offer_any(s: State, ballot: Parameter) -> Action:
    """Let the acceptors choose in a fast ballot (FastAny)."""
    return Action(when=~s.any_value[ballot], then=[s.any_value[ballot].set(True)], actor="coordinator")


def vote_own(s: State, replica: Parameter, ballot: Parameter, value: Parameter) -> Action:
    """Vote for a value in a fast ballot (FastPropose)."""
    last = s.last_value[replica]
    free = (last == "none") | (last == value)
    unused = s.voted[ballot, replica] == "none"
    return Action(
        when=s.any_value[ballot] & (s.promised[replica] <= ballot) & free & unused,
        then=[
            s.promised[replica].set(ballot),
            s.last_value[replica].set(value),
            s.voted[ballot, replica].set(value),
        ],
        actor=replica,
    )


def propose(s: State, ballot: Parameter, fast: Parameter, left_out: Parameter, value: Parameter) -> Action:
    """Settle a collision of an earlier fast ballot (ClassicAccept)."""
    voted = s.all_but(left_out, lambda r: s.voted[fast, r] != "none")
    collision = ~exists(s.value, lambda v: s.votes(fast, left_out, v) == len(s.replica) - 1)
    most = exists(s.value, lambda v: s.votes(fast, left_out, v) * 2 > len(s.replica) - 1)
    allowed = s.votes(fast, left_out, value) > 0
    if s.parameters.collision == "majority":
        allowed = allowed & (~most | (s.votes(fast, left_out, value) * 2 > len(s.replica) - 1))
    free = (s.chosen == "none") | (s.chosen == value)
    return Action(
        when=(fast < ballot) & free & (s.proposed[ballot] == "none") & voted & collision & allowed,
        then=[s.chosen.set(value), s.proposed[ballot].set(value)],
        actor="coordinator",
    )


def vote_proposed(s: State, replica: Parameter, ballot: Parameter, value: Parameter) -> Action:
    """Vote for the proposal of a classic ballot (ClassicAccepted)."""
    return Action(
        when=(s.proposed[ballot] == value) & (s.promised[replica] <= ballot),
        then=[
            s.promised[replica].set(ballot),
            s.last_value[replica].set(value),
            s.voted[ballot, replica].set(value),
        ],
        actor=replica,
    )


def decide(s: State, ballot: Parameter, left_out: Parameter, value: Parameter) -> Action:
    """Decide a value that a quorum voted for (FastDecide, ClassicDecide)."""
    return Action(
        when=s.all_but(left_out, lambda r: s.voted[ballot, r] == value),
        then=[
            s.decided_anew.set(True, when=(s.decision != "none") & (s.decision != value)),
            s.decision.set(value),
        ],
        actor="learner",
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    consistent = Property(
        name="consistent",
        meaning="a decision never changes (PaxosConsistency)",
        holds=~s.decided_anew,
        witness=exists(s.classic, lambda b: (s.decision != "none") & (s.proposed[b] == s.decision)),
        witness_meaning="a collision was settled, and its value is decided",
    )
    actions = (
        each(offer_any, s, s.fast),
        each(vote_own, s, s.replica, s.fast, s.value),
        each(propose, s, s.classic, s.fast, s.replica, s.value),
        each(vote_proposed, s, s.replica, s.classic, s.value),
        each(decide, s, s.ballot, s.replica, s.value),
    )
    return System(s, actions, (consistent,))


PROTOCOL = Protocol(
    "fast-paxos",
    "acceptors vote in fast ballots, and a coordinator settles collisions",
    Parameters(),
    build,
    sources=("tlaplus/Examples, SimplifiedFastPaxos/FastPaxos.tla",),
)
