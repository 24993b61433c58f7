"""A consensus without its decision: nodes ask for votes, and one with a quorum becomes the leader.

Source: aman-goel/ivybench, mypyv/ivy/consensus_wo_decide.ivy. Two things depart: the quorums are the sets of
more than half of the nodes, and the voting quorum is empty until one is chosen. Default size: 3 nodes.
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
    variable,
)


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    nodes: int = parameter(3, "nodes")
    votes: str = switch(("one", "many"), "whether a node votes once", "a mistake")


class State(StateSpace):
    """The messages, the votes, the leaders and the voting quorum."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = labels("node", "n", parameters.nodes)
        self.quorum = subsets(self.node)
        self.requested = family(BOOL, self.node, self.node)
        self.voted = family(BOOL, self.node)
        self.vote_sent = family(BOOL, self.node, self.node)
        self.votes = family(BOOL, self.node, self.node)
        self.leader = family(BOOL, self.node)
        self.voting_quorum = variable(self.quorum)


def send_request(s: State, source: Parameter, target: Parameter) -> Action:
    """Ask a node for its vote."""
    return Action(
        when=~s.requested[source, target], then=[s.requested[source, target].set(True)], actor=source
    )


def send_vote(s: State, voter: Parameter, node: Parameter) -> Action:
    """Vote for a node that asked; the request stays."""
    first = ~s.voted[voter] if s.parameters.votes == "one" else True
    return Action(
        when=first & s.requested[node, voter],
        then=[s.vote_sent[voter, node].set(True), s.voted[voter].set(True)],
        actor=voter,
    )


def forget_request(s: State, voter: Parameter, node: Parameter) -> Action:
    """Vote for a node that asked; the request goes."""
    step = send_vote(s, voter, node)
    return Action(when=step.when, then=[*step.then, s.requested[node, voter].set(False)], actor=voter)


def receive_vote(s: State, node: Parameter, voter: Parameter) -> Action:
    """Receive a vote."""
    return Action(when=s.vote_sent[voter, node], then=[s.votes[node, voter].set(True)], actor=node)


def choose_quorum(s: State, quorum: Subset, node: Parameter) -> Action:
    """Choose a quorum that voted for a node."""
    agreed = forall(s.node, lambda n: implies(is_in(n, quorum), s.votes[node, n]))
    return Action(when=majority(quorum, s.node) & agreed, then=[s.voting_quorum.set(quorum)], actor=node)


def become_leader(s: State, node: Parameter) -> Action:
    """Become the leader with the votes of the voting quorum."""
    agreed = forall(s.node, lambda n: implies(is_in(n, s.voting_quorum), s.votes[node, n]))
    chosen = size(s.voting_quorum) > 0
    return Action(when=chosen & agreed, then=[s.leader[node].set(True)], actor=node)


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
    pairs = (s.node, s.node)
    actions = (
        each(send_request, s, *pairs),
        each(send_vote, s, *pairs),
        each(forget_request, s, *pairs),
        each(receive_vote, s, *pairs),
        each(choose_quorum, s, s.quorum, s.node),
        each(become_leader, s, s.node),
    )
    return System(s, actions, (one,))


PROTOCOL = Protocol(
    "consensus-wo-decide",
    "nodes ask for votes, and one with a quorum leads",
    Parameters(),
    build,
    sources=("ivybench, mypyv/ivy/consensus_wo_decide.ivy",),
)
