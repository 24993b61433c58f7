"""Consensus by an election: the leader that a majority elected decides a value.

Source: aman-goel/ivybench, mypyv/ivy/consensus_epr.ivy. One thing departs: the quorums are the majorities,
where the original has any sets that overlap. Default sizes: 3 nodes, 2 values.
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
    exists_over,
    family,
    forall,
    forall_over,
    implies,
    labels,
    parameter,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    nodes: int = parameter(3, "nodes")
    values: int = parameter(2, "values")
    votes: str = switch(("one", "many"), "whether a node votes once", "a mistake")


class State(StateSpace):
    """Requests and votes under way, votes counted, leaders and decisions."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = labels("node", "n", parameters.nodes)
        self.value = labels("value", "v", parameters.values)
        self.asked = family(BOOL, self.node, self.node)
        self.voted = family(BOOL, self.node)
        self.vote_sent = family(BOOL, self.node, self.node)
        self.votes = family(BOOL, self.node, self.node)
        self.leader = family(BOOL, self.node)
        self.decided = family(BOOL, self.node, self.value)


def ask(s: State, source: Parameter, target: Parameter) -> Action:
    """Ask a node for its vote."""
    return Action(when=~s.asked[source, target], then=[s.asked[source, target].set(True)], actor=source)


def vote(s: State, source: Parameter, target: Parameter, stays: Parameter) -> Action:
    """Vote for a node that has asked. The request may stay under way."""
    first = ~s.voted[source] if s.parameters.votes == "one" else True
    sent = [s.vote_sent[source, target].set(True), s.voted[source].set(True)]
    return Action(
        when=first & s.asked[target, source], then=[*sent, s.asked[target, source].set(stays)], actor=source
    )


def count(s: State, node: Parameter, sender: Parameter) -> Action:
    """Receive a vote."""
    return Action(when=s.vote_sent[sender, node], then=[s.votes[node, sender].set(True)], actor=node)


def lead(s: State, node: Parameter) -> Action:
    """Become the leader with a majority."""
    chosen = at_least(len(s.node) // 2 + 1, s.node, lambda n: s.votes[node, n])
    return Action(when=chosen, then=[s.leader[node].set(True)], actor=node)


def decide(s: State, node: Parameter, value: Parameter) -> Action:
    """Decide a value, once."""
    first = s.leader[node] & forall(s.value, lambda v: ~s.decided[node, v])
    return Action(when=first, then=[s.decided[node, value].set(True)], actor=node)


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    agreement = Property(
        name="agreement",
        meaning="no two values are decided",
        holds=forall_over(
            (s.node, s.node, s.value, s.value),
            lambda m, n, v, w: implies(s.decided[m, v] & s.decided[n, w], v == w),
        ),
        witness=exists_over((s.node, s.value), lambda n, v: s.decided[n, v]),
        witness_meaning="a value is decided",
    )
    actions = (
        each(ask, s, s.node, s.node),
        each(vote, s, s.node, s.node, BOOL),
        each(count, s, s.node, s.node),
        each(lead, s, s.node),
        each(decide, s, s.node, s.value),
    )
    return System(s, actions, (agreement,))


PROTOCOL = Protocol(
    "consensus-epr",
    "the leader that a majority elected decides a value",
    Parameters(),
    build,
    sources=("ivybench, mypyv/ivy/consensus_epr.ivy",),
)
