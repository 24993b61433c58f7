"""A sharded key-value store: a key and its value move from node to node.

Source: aman-goel/ivybench, mypyv/ivy/sharded_kv.ivy. One thing departs: in the original any owners are
possible at first, here an action gives each key its first owner. Default sizes: 2 keys, 2 values, 2 nodes.
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
    each,
    everywhere,
    exists_over,
    family,
    forall_over,
    implies,
    labels,
    parameter,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    keys: int = parameter(2, "keys")
    values: int = parameter(2, "values")
    nodes: int = parameter(2, "nodes")
    reshard: str = switch(("moves", "copies"), "whether the old owner forgets the key", "a mistake")


class State(StateSpace):
    """The tables of the nodes, the owners of the keys, and the transfers under way."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.key = labels("key", "k", parameters.keys)
        self.value = labels("value", "v", parameters.values)
        self.node = labels("node", "n", parameters.nodes)
        self.table = family(BOOL, self.node, self.key, self.value)
        self.owner = family(BOOL, self.node, self.key)
        self.transfer = family(BOOL, self.node, self.key, self.value)
        self.begun = family(BOOL, self.key)


def begin(s: State, node: Parameter, key: Parameter) -> Action:
    """Give a key its first owner."""
    then = [s.begun[key].set(True), s.owner[node, key].set(True)]
    return Action(when=~s.begun[key], then=then, actor="operator")


def reshard(s: State, key: Parameter, value: Parameter, old: Parameter, new: Parameter) -> Action:
    """Send a key with its value to another node."""
    then = [s.transfer[new, key, value].set(True)]
    if s.parameters.reshard == "moves":
        then += [s.table[old, key, value].set(False), s.owner[old, key].set(False)]
    return Action(when=s.table[old, key, value], then=then, actor=old)


def receive(s: State, node: Parameter, key: Parameter, value: Parameter) -> Action:
    """Receive a key with its value, and own it."""
    then = [s.table[node, key, value].set(True), s.owner[node, key].set(True)]
    arrived = s.transfer[node, key, value]
    return Action(when=arrived, then=[s.transfer[node, key, value].set(False), *then], actor=node)


def put(s: State, node: Parameter, key: Parameter, value: Parameter) -> Action:
    """Give a key a new value at its owner."""
    then = everywhere(s.value, lambda v: s.table[node, key, v].set(v == value))
    return Action(when=s.owner[node, key], then=then, actor=node)


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    unique = Property(
        name="keys-unique",
        meaning="a key has one value, on one node",
        holds=forall_over(
            (s.key, s.node, s.node, s.value, s.value),
            lambda k, m, n, v, w: implies(s.table[m, k, v] & s.table[n, k, w], (m == n) & (v == w)),
        ),
        witness=exists_over((s.node, s.key, s.value), lambda n, k, v: s.table[n, k, v]),
        witness_meaning="a key has a value",
    )
    actions = (
        each(begin, s, s.node, s.key),
        each(put, s, s.node, s.key, s.value),
        each(reshard, s, s.key, s.value, s.node, s.node),
        each(receive, s, s.node, s.key, s.value),
    )
    return System(s, actions, (unique,))


PROTOCOL = Protocol(
    "sharded-kv",
    "a key and its value move from node to node",
    Parameters(),
    build,
    sources=("ivybench, mypyv/ivy/sharded_kv.ivy",),
)
