"""A sharded key-value store: nodes hand keys to each other in messages, and no key is lost.

Source: aman-goel/ivybench, mypyv/ivy/sharded_kv_no_lost_keys.ivy. Nothing departs: at first each key
has one owner, which is any node. Default sizes: 2 nodes, 2 keys, 2 values.
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
    anything,
    at_least,
    each,
    exists,
    exists_over,
    family,
    forall,
    labels,
    parameter,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    nodes: int = parameter(2, "nodes")
    keys: int = parameter(2, "keys")
    values: int = parameter(2, "values")
    network: str = switch(("reliable", "lossy"), "whether a message can be lost", "a mistake")


class State(StateSpace):
    """The tables, the owners and the messages."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = labels("node", "n", parameters.nodes)
        self.key = labels("key", "k", parameters.keys)
        self.value = labels("value", "v", parameters.values)
        pairs = (self.node, self.key, self.value)
        self.table = family(BOOL, *pairs)
        self.owner = family(BOOL, self.node, self.key, initial=anything)
        self.sent = family(BOOL, *pairs)


def put(s: State, node: Parameter, key: Parameter, value: Parameter) -> Action:
    """Store a value at the owner of its key."""
    return Action(
        when=s.owner[node, key], then=[s.table[node, key, v].set(value == v) for v in s.value], actor=node
    )


def reshard(s: State, old: Parameter, new: Parameter, key: Parameter, value: Parameter) -> Action:
    """Hand a key with its value to another node."""
    return Action(
        when=s.table[old, key, value],
        then=[
            s.table[old, key, value].set(False),
            s.owner[old, key].set(False),
            s.sent[new, key, value].set(True),
        ],
        actor=old,
    )


def receive(s: State, node: Parameter, key: Parameter, value: Parameter) -> Action:
    """Become the owner of a key that was handed over."""
    return Action(
        when=s.sent[node, key, value],
        then=[
            s.sent[node, key, value].set(False),
            s.table[node, key, value].set(True),
            s.owner[node, key].set(True),
        ],
        actor=node,
    )


def lose(s: State, node: Parameter, key: Parameter, value: Parameter) -> Action:
    """Lose a message."""
    return Action(
        when=s.sent[node, key, value],
        then=[s.sent[node, key, value].set(False)],
        actor="network",
        fault="lost",
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    pairs = (s.node, s.key, s.value)
    under_way = exists_over(pairs, lambda n, k, v: s.sent[n, k, v])
    kept = Property(
        name="no-lost-keys",
        meaning="each key has an owner while no message is under way",
        holds=under_way | forall(s.key, lambda k: exists(s.node, lambda n: s.owner[n, k])),
        witness=under_way,
        witness_meaning="a key is handed over",
    )
    actions = (
        each(put, s, *pairs),
        each(reshard, s, s.node, *pairs),
        each(receive, s, *pairs),
        *((each(lose, s, *pairs),) if p.network == "lossy" else ()),
    )
    owners = forall(s.key, lambda k: at_least(1, s.node, lambda n: s.owner[n, k]))
    one_each = forall(s.key, lambda k: ~at_least(2, s.node, lambda n: s.owner[n, k]))
    return System(s, actions, (kept,), beginning=owners & one_each)


PROTOCOL = Protocol(
    "no-lost-keys",
    "nodes hand keys of a store to each other",
    Parameters(),
    build,
    sources=("ivybench, mypyv/ivy/sharded_kv_no_lost_keys.ivy",),
)
