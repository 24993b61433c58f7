"""A decentralized lock: the node that has the lock sends it to another one.

Source: aman-goel/ivybench, ex/ivy/simple-decentralized-lock.ivy. The fairness and the liveness
are our own. Default size: 4 nodes.
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
    always_eventually,
    at_least,
    each,
    exists,
    family,
    labels,
    parameter,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    nodes: int = parameter(4, "nodes")
    send: str = switch(("gives", "keeps"), "whether the sender gives the lock up", "a mistake")


class State(StateSpace):
    """The messages under way, and the nodes that have the lock."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = labels("node", "n", parameters.nodes)
        self.message = family(BOOL, self.node, self.node)
        self.locked = family(BOOL, self.node, initial=lambda n: n == "n1")


def send(s: State, source: Parameter, target: Parameter) -> Action:
    """Send the lock to a node."""
    given = [s.locked[source].set(False)] if s.parameters.send == "gives" else []
    then = [s.message[source, target].set(True), *given]
    return Action(when=s.locked[source], then=then, actor=source)


def receive(s: State, source: Parameter, target: Parameter) -> Action:
    """Receive the lock."""
    then = [s.message[source, target].set(False), s.locked[target].set(True)]
    return Action(when=s.message[source, target], then=then, actor=target)


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    exclusive = Property(
        name="exclusive",
        meaning="no two nodes have the lock at once",
        holds=~at_least(2, s.node, lambda n: s.locked[n]),
        witness=exists(s.node, lambda n: (n != "n1") & s.locked[n]),
        witness_meaning="the lock has moved",
    )
    reached = always_eventually("lock-arrives", "node n2 has the lock again and again", s.locked["n2"])
    pairs = s.node, s.node
    actions = each(send, s, *pairs, fair="strong"), each(receive, s, *pairs, fair="weak")
    return System(s, actions, (exclusive, reached))


PROTOCOL = Protocol(
    "simple-decentralized-lock",
    "the node that has the lock sends it to another one",
    Parameters(),
    build,
    sources=("ivybench, ex/ivy/simple-decentralized-lock.ivy",),
)
