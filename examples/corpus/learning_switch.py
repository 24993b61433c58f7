"""Learning switches: a switch learns the way back to a node from the packets that it forwards.

Source: aman-goel/ivybench, mypyv/ivy/learning_switch.ivy. One thing departs: a step removes no packet, where
in the original it may remove many. A guard asks only for a packet that is there, so each table that the
original reaches is reached here. Default size: 3 nodes.
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
    TermLike,
    each,
    everywhere,
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
    learn: str = switch(("once", "always"), "whether a switch learns a way only if it has none", "a mistake")


class State(StateSpace):
    """For each node the paths towards it, and the packets under way."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = labels("node", "n", parameters.nodes)
        self.table = family(BOOL, self.node, self.node, self.node, initial=lambda t, x, y: x == y)
        self.pending = family(BOOL, self.node, self.node, self.node, self.node)


def new_packet(s: State, source: Parameter, target: Parameter) -> Action:
    """Send a packet."""
    return Action(
        when=~s.pending[source, target, source, source],
        then=[s.pending[source, target, source, source].set(True)],
        actor=source,
    )


def forward(s: State, source: Parameter, target: Parameter, old: Parameter, new: Parameter) -> Action:
    """Receive a packet from a switch, learn the way back, and send it to all."""
    unknown = forall(s.node, lambda w: implies(w != new, ~s.table[source, new, w]))
    learns = (source != new) & (unknown if s.parameters.learn == "once" else True)
    return Action(
        when=s.pending[source, target, old, new],
        then=[
            *everywhere(s.node, lambda d: s.pending[source, target, new, d].set(True)),
            *[
                s.table[source, x, y].set(
                    True, when=learns & s.table[source, x, new] & s.table[source, old, y]
                )
                for x in s.node
                for y in s.node
            ],
        ],
        actor=new,
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)

    def is_tree(t: TermLike, x: TermLike, y: TermLike, z: TermLike) -> Term:
        path = s.table
        along = implies(path[t, x, y] & path[t, y, z], path[t, x, z])
        back = implies(path[t, x, y] & path[t, y, x], x == y)
        apart = implies(path[t, x, y] & path[t, x, z], path[t, y, z] | path[t, z, y])
        return path[t, x, x] & along & back & apart

    trees = Property(
        name="no-loops",
        meaning="the ways to each node are a tree",
        holds=forall_over((s.node, s.node, s.node, s.node), is_tree),
        witness=exists_over((s.node, s.node, s.node), lambda t, x, y: (x != y) & s.table[t, x, y]),
        witness_meaning="a switch has learnt a way",
    )
    actions = (each(new_packet, s, s.node, s.node), each(forward, s, s.node, s.node, s.node, s.node))
    return System(s, actions, (trees,))


PROTOCOL = Protocol(
    "learning-switch",
    "a switch learns the ways back",
    Parameters(),
    build,
    sources=("ivybench, mypyv/ivy/learning_switch.ivy",),
)
