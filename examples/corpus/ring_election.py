"""Leader election in a ring (Chang and Roberts): the highest identity comes round to its node.

Source: aman-goel/ivybench, ex/ivy/ring.ivy. One thing departs: the identities ascend around the ring, where
the original has any arrangement. A message that was received may stay under way, as there. Default size: 4.
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
    Term,
    each,
    exists,
    family,
    forall,
    implies,
    integers,
    parameter,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    nodes: int = parameter(4, "nodes of the ring")
    forward: str = switch(("higher", "all"), "the identities that a node passes on", "a mistake")


class State(StateSpace):
    """The identities under way, each to a node, and the leaders."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = integers(1, parameters.nodes)
        self.pending = family(BOOL, self.node, self.node)
        self.leader = family(BOOL, self.node)

    def follows(self, node: Parameter, after: Parameter) -> Term:
        """Return whether a node is next to another one in the ring."""
        last = (after == self.parameters.nodes) & (node == 1)
        return (node == after + 1) | last


def send(s: State, node: Parameter, after: Parameter) -> Action:
    """Send the own identity to the next node."""
    return Action(when=s.follows(after, node), then=[s.pending[node, after].set(True)], actor=node)


def receive(s: State, sender: Parameter, node: Parameter, after: Parameter, stays: Parameter) -> Action:
    """Receive an identity: become the leader if it is the own one, or pass a higher one on."""
    arrived = s.follows(after, node) & s.pending[sender, node]
    passes = (sender != node) & (sender >= node) if s.parameters.forward == "higher" else sender != node
    return Action(
        when=arrived,
        then=[
            s.pending[sender, node].set(stays),
            s.leader[node].set(True, when=sender == node),
            s.pending[sender, after].set(True, when=passes),
        ],
        actor=node,
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    highest = Property(
        name="leader-is-highest",
        meaning="a leader has the highest identity",
        holds=forall(s.node, lambda n: implies(s.leader[n], n == p.nodes)),
        witness=exists(s.node, lambda n: s.leader[n]),
        witness_meaning="there is a leader",
    )
    actions = (each(send, s, s.node, s.node), each(receive, s, s.node, s.node, s.node, BOOL))
    return System(s, actions, (highest,))


PROTOCOL = Protocol(
    "ring-election",
    "the highest identity comes round to its node",
    Parameters(),
    build,
    sources=("ivybench, ex/ivy/ring.ivy",),
)
