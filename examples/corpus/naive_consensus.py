"""A naive consensus: a quorum that agrees decides a value, which is then learned.

Source: aman-goel/ivybench, ex/ivy/naive_consensus.ivy. One thing departs: the quorums are the sets of more
than half of the nodes, where the original has any sets that overlap. Default sizes: 3 nodes, 2 values.
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
    Subset,
    System,
    at_least,
    each,
    exists,
    family,
    forall,
    implies,
    is_in,
    labels,
    majority,
    parameter,
    size,
    subsets,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    nodes: int = parameter(3, "nodes")
    values: int = parameter(2, "values")
    quorums: str = switch(("majorities", "any"), "the sets of nodes that decide", "a mistake")


class State(StateSpace):
    """The votes, the quorums that decided, and the decisions."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = labels("node", "n", parameters.nodes)
        self.value = labels("value", "v", parameters.values)
        self.quorum = subsets(self.node)
        self.vote = family(BOOL, self.node, self.value)
        self.decided = family(self.quorum, self.value)
        self.learned = family(BOOL, self.value)


def cast_vote(s: State, node: Parameter, value: Parameter) -> Action:
    """Vote once."""
    first = forall(s.value, lambda v: ~s.vote[node, v])
    return Action(when=first, then=[s.vote[node, value].set(True)], actor=node)


def collect_votes(s: State, quorum: Subset, value: Parameter) -> Action:
    """Decide a value for which a quorum voted."""
    large = majority(quorum, s.node) if s.parameters.quorums == "majorities" else size(quorum) > 0
    agreed = forall(s.node, lambda n: implies(is_in(n, quorum), s.vote[n, value]))
    return Action(when=large & agreed, then=[s.decided[value].set(quorum)], actor="learner")


def learn(s: State, value: Parameter) -> Action:
    """Learn a decided value."""
    return Action(when=size(s.decided[value]) > 0, then=[s.learned[value].set(True)], actor="learner")


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    agreement = Property(
        name="agreement",
        meaning="no two values are learned",
        holds=~at_least(2, s.value, lambda v: s.learned[v]),
        witness=exists(s.value, lambda v: s.learned[v]),
        witness_meaning="a value is learned",
    )
    actions = (
        each(cast_vote, s, s.node, s.value),
        each(collect_votes, s, s.quorum, s.value),
        each(learn, s, s.value),
    )
    return System(s, actions, (agreement,))


PROTOCOL = Protocol(
    "naive-consensus",
    "a quorum that agrees decides a value",
    Parameters(),
    build,
    sources=("ivybench, ex/ivy/naive_consensus.ivy",),
)
