"""A leader election: a node leads with the votes of a quorum.

Source: aman-goel/ivybench, ex/ivy/quorum-leader-election.ivy. Two things depart: the quorums are the sets of
more than half of the nodes, and the quorum of the leader is not kept. Default size: 3 nodes.
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
    any_of,
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
    subsets,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    nodes: int = parameter(3, "nodes")
    votes: str = switch(("one", "many"), "whether a node votes once", "a mistake")


class State(StateSpace):
    """The votes and the leaders."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = labels("node", "n", parameters.nodes)
        self.quorum = subsets(self.node)
        self.voted = family(BOOL, self.node, self.node)
        self.leader = family(BOOL, self.node)


def vote(s: State, voter: Parameter, node: Parameter) -> Action:
    """Vote for a node."""
    first = any_of(s.parameters.votes != "one", forall(s.node, lambda n: ~s.voted[voter, n]))
    return Action(when=first, then=[s.voted[voter, node].set(True)], actor=voter)


def become_leader(s: State, node: Parameter, quorum: Subset) -> Action:
    """Become a leader with the votes of a quorum."""
    elected = forall(s.node, lambda n: implies(is_in(n, quorum), s.voted[n, node]))
    return Action(when=majority(quorum, s.node) & elected, then=[s.leader[node].set(True)], actor=node)


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    one = Property(
        name="one-leader",
        meaning="no two nodes are leaders",
        holds=~at_least(2, s.node, lambda n: s.leader[n]),
        witness=exists(s.node, lambda n: s.leader[n]),
        witness_meaning="a node is the leader",
    )
    return System(s, (each(vote, s, s.node, s.node), each(become_leader, s, s.node, s.quorum)), (one,))


PROTOCOL = Protocol(
    "quorum-leader-election",
    "a node leads with the votes of a quorum",
    Parameters(),
    build,
    sources=("ivybench, ex/ivy/quorum-leader-election.ivy",),
)
