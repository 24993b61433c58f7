"""Election of a leader in a ring: each node knows its own identity and the next node, and nothing else.

The algorithm is that of Chang and Roberts. A node sends its identity around the ring. A node hands on the
identities that are larger than its own, and a node that gets its own identity back is the leader. Nobody
knows how the identities lie in the ring, so an execution may begin with any of them at any node.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.language import (
    BOOL,
    Action,
    Message,
    Parameter,
    Property,
    Protocol,
    StateSpace,
    System,
    TermLike,
    anything,
    at_least,
    each,
    exists,
    family,
    forall_over,
    integers,
    labels,
    message,
    parameter,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """The size of the ring, and what its nodes may begin with."""

    nodes: int = parameter(3, "nodes in the ring")
    identities: str = switch(
        ("any", "different"),
        "whether two nodes may begin with the same identity",
        "an assumption",
    )


class Ring(StateSpace):
    """The nodes with their identities, which never change, and the identities on their way."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = labels("node", "n", parameters.nodes)
        self.identity = integers(1, parameters.nodes)
        ring = self.node.values

        self.own = family(self.identity, self.node, initial=anything)
        self.next = family(self.node, self.node, initial=lambda n: ring[(ring.index(n) + 1) % len(ring)])
        self.previous = family(self.node, self.node, initial=lambda n: ring[ring.index(n) - 1])
        self.sent = family(BOOL, self.identity, self.node)
        self.taken = family(BOOL, self.identity, self.node)
        self.leads = family(BOOL, self.node)


def told(s: Ring, identity: TermLike, sender: TermLike, when: TermLike = True) -> Message:
    """Return the message that brings an identity to the next node."""
    return message("candidate", sender, s.next[sender], about={"identity": identity}, when=when)


def start(s: Ring, node: Parameter) -> Action:
    """Send the identity of a node to the next one."""
    own = s.own[node]
    return Action(
        when=~s.sent[own, s.next[node]],
        then=[s.sent[own, s.next[node]].set(True)],
        actor=node,
        sent=[told(s, own, node)],
    )


def take(s: Ring, node: Parameter, identity: Parameter) -> Action:
    """Take an identity: hand it on if it is larger than the node's own, lead if it is the node's own."""
    larger = (s.own[node] < identity) & ~s.sent[identity, s.next[node]]
    return Action(
        when=s.sent[identity, node] & ~s.taken[identity, node],
        then=[
            s.taken[identity, node].set(True),
            s.sent[identity, s.next[node]].set(True, when=larger),
            s.leads[node].set(True, when=s.own[node] == identity),
        ],
        actor=node,
        received=told(s, identity, s.previous[node]),
        sent=[told(s, identity, node, when=larger)],
    )


def one_leader(s: Ring) -> Property:
    """Return the property."""
    return Property(
        name="one-leader",
        meaning="at most one node leads",
        holds=~at_least(2, s.node, lambda n: s.leads[n]),
        witness=exists(s.node, lambda n: s.leads[n]),
        witness_meaning="a node leads",
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = Ring(p)
    different = forall_over((s.node, s.node), lambda n, m: (n == m) | (s.own[n] != s.own[m]))
    return System(
        s,
        (each(start, s, s.node), each(take, s, s.node, s.identity)),
        (one_leader(s),),
        beginning=different if p.identities == "different" else None,
    )


PROTOCOL = Protocol(
    name="ring-leader",
    summary="nodes in a ring elect the one with the largest identity",
    defaults=Parameters(),
    build=build,
    sources=("Chang and Roberts, An Improved Algorithm for Decentralized Extrema-Finding (CACM, 1979)",),
    not_modelled=("messages that are lost", "nodes that crash"),
)
