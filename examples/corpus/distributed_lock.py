"""A distributed lock with epochs: each transfer of the lock has a higher epoch.

Source: aman-goel/ivybench, i4/ivy/distributed_lock.ivy. Nothing departs. Default sizes: 2 nodes, 4 epochs.
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
    forall,
    integers,
    labels,
    parameter,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    nodes: int = parameter(2, "nodes")
    epochs: int = parameter(4, "epochs")
    accept: str = switch(("newer", "any"), "the transfers that a node accepts", "a mistake")


class State(StateSpace):
    """The epochs of the nodes, the transfers, and who held the lock in which epoch. n1 begins, in epoch 2."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = labels("node", "n", parameters.nodes)
        self.epoch = integers(1, parameters.epochs)
        self.held = family(BOOL, self.node, initial=lambda n: n == "n1")
        self.at = family(self.epoch, self.node, initial=lambda n: 2 if n == "n1" else 1)
        self.transfer = family(BOOL, self.epoch, self.node)
        self.locked = family(BOOL, self.epoch, self.node)


def grant(s: State, old: Parameter, new: Parameter, epoch: Parameter) -> Action:
    """Send the lock to a node, with a higher epoch."""
    then = [s.transfer[epoch, new].set(True), s.held[old].set(False)]
    return Action(when=s.held[old] & (epoch > s.at[old]), then=then, actor=old)


def accept(s: State, node: Parameter, epoch: Parameter) -> Action:
    """Take the lock, if the epoch is newer."""
    newer = epoch > s.at[node] if s.parameters.accept == "newer" else True
    return Action(
        when=s.transfer[epoch, node] & newer,
        then=[s.held[node].set(True), s.at[node].set(epoch), s.locked[epoch, node].set(True)],
        actor=node,
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    one = Property(
        name="one-holder-per-epoch",
        meaning="no two nodes hold the lock in one epoch",
        holds=forall(s.epoch, lambda e: ~at_least(2, s.node, lambda n: s.locked[e, n])),
        witness=exists(s.node, lambda n: s.locked[p.epochs, n]),
        witness_meaning="a node holds the lock in the last epoch",
    )
    actions = (each(grant, s, s.node, s.node, s.epoch), each(accept, s, s.node, s.epoch))
    return System(s, actions, (one,))


PROTOCOL = Protocol(
    "distributed-lock",
    "a lock moves with higher and higher epochs",
    Parameters(),
    build,
    sources=("ivybench, i4/ivy/distributed_lock.ivy",),
)
