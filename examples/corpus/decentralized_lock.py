"""A lock that nodes hand to each other in messages, with an epoch for each transfer.

Source: aman-goel/ivybench, ex/ivy/decentralized-lock.ivy. Nothing departs. Default sizes: 3 nodes, 3 epochs
after the first one.
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
    exists,
    family,
    integers,
    labels,
    parameter,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    nodes: int = parameter(3, "nodes")
    epochs: int = parameter(3, "epochs after the first one, 0")
    take: str = switch(("newer", "any"), "the messages with which a node takes the lock", "a mistake")


class State(StateSpace):
    """The holder, the messages and the epochs. Node n1 has the lock at first."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = labels("node", "n", parameters.nodes)
        self.time = integers(0, parameters.epochs)
        self.has_lock = family(BOOL, self.node, initial=lambda n: n == "n1")
        self.sent = family(BOOL, self.node, self.time)
        self.epoch = family(self.time, self.node)


def take_lock(s: State, node: Parameter, time: Parameter) -> Action:
    """Take the lock with a message of a later epoch."""
    newer = time > s.epoch[node] if s.parameters.take == "newer" else True
    return Action(
        when=s.sent[node, time] & newer,
        then=[s.has_lock[node].set(True), s.epoch[node].set(time)],
        actor=node,
    )


def release_lock(s: State, node: Parameter, other: Parameter, time: Parameter) -> Action:
    """Hand the lock to a node, in a later epoch."""
    return Action(
        when=s.has_lock[node] & (time > s.epoch[node]),
        then=[s.has_lock[node].set(False), s.sent[other, time].set(True)],
        actor=node,
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    exclusive = Property(
        name="exclusive",
        meaning="no two nodes have the lock",
        holds=~at_least(2, s.node, lambda n: s.has_lock[n]),
        witness=exists(s.node, lambda n: s.has_lock[n] & (s.epoch[n] > 1)),
        witness_meaning="the lock was handed on",
    )
    actions = (
        each(release_lock, s, s.node, s.node, s.time),
        each(take_lock, s, s.node, s.time),
    )
    return System(s, actions, (exclusive,))


PROTOCOL = Protocol(
    "decentralized-lock",
    "nodes hand a lock to each other in messages with epochs",
    Parameters(),
    build,
    sources=("ivybench, ex/ivy/decentralized-lock.ivy",),
)
