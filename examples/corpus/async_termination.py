"""Termination detection in a ring, as an abstract specification.

`AsyncTerminationDetection` of `tlaplus/Examples`, `ewd998/AsyncTerminationDetection.tla`: nodes send messages
and become passive, and termination may be detected once all are passive and no message is pending. The
constraint bounds the messages that are pending at a node. `ewd998.py` is checked against it.
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
    always_step,
    anything,
    each,
    family,
    forall,
    implies,
    integers,
    one_of,
    parameter,
    require,
    switch,
    variable,
)


@dataclass(frozen=True)
class Parameters:
    """The sizes."""

    nodes: int = parameter(3, "nodes of the ring (N)")
    most: int = parameter(1, "messages pending at a node, beyond which a state is not left (StateConstraint)")
    wakes: str = switch(("by_message", "alone"), "what makes a passive node active", "not in the original")

    def __post_init__(self) -> None:
        """Check the parameters. Raises BadInput."""
        require("2 <= nodes <= 5", 2 <= self.nodes <= 5, {"nodes": self.nodes}, "valid: 2 to 5")
        require("1 <= most <= 5", 1 <= self.most <= 5, {"most": self.most}, "valid: 1 to 5")


class State(StateSpace):
    """The nodes, and whether termination is detected."""

    def __init__(self, p: Parameters) -> None:
        """Declare the state variables."""
        self.node = integers(0, p.nodes - 1)
        self.active = family(BOOL, self.node, initial=anything)
        self.pending = family(integers(0, p.most + 1), self.node)
        self.detected = variable(BOOL, initial=one_of(False, True))

    @property
    def terminated(self) -> Term:
        """The condition that no node is active, and no message is pending (terminated)."""
        return forall(self.node, lambda n: ~self.active[n] & (self.pending[n] == 0))


def terminate(s: State, node: Parameter) -> Action:
    """Make a node passive (Terminate)."""
    return Action(when=s.active[node], then=[s.active[node].set(False)], actor=node)


def terminate_at_once(s: State, node: Parameter) -> Action:
    """Make the last active node passive, and detect termination at once (Terminate)."""
    others = forall(s.node, lambda n: (s.pending[n] == 0) & (~s.active[n] | (n == node)))
    return Action(
        when=s.active[node] & others, then=[s.active[node].set(False), s.detected.set(True)], actor=node
    )


def send(s: State, node: Parameter, to: Parameter) -> Action:
    """Send a message (SendMsg)."""
    return Action(when=s.active[node], then=[s.pending[to].set(s.pending[to] + 1)], actor=node)


def receive(s: State, node: Parameter) -> Action:
    """Receive a message, and become active (RcvMsg)."""
    then = [s.active[node].set(True), s.pending[node].set(s.pending[node] - 1)]
    return Action(when=s.pending[node] > 0, then=then, actor=node)


def detect(s: State) -> Action:
    """Detect termination (DetectTermination)."""
    return Action(when=s.terminated, then=[s.detected.set(True)])


def wake(s: State, node: Parameter) -> Action:
    """Make a passive node active without a message."""
    return Action(when=~s.active[node], then=[s.active[node].set(True)], actor=node)


def build(p: Parameters) -> System:
    """Return the system of an instance."""
    s = State(p)
    acts = (terminate, terminate_at_once, receive, *((wake,) if p.wakes == "alone" else ()))
    quiescence = always_step(
        "quiescence",
        "what has terminated stays terminated",
        lambda before, after: implies(before.terminated, after.terminated),
    )
    safe = Property(
        name="safe",
        meaning="termination is detected only after it",
        holds=implies(s.detected, s.terminated),
        witness=s.detected,
        witness_meaning="termination is detected",
    )
    return System(
        s,
        (*(each(act, s, s.node) for act in acts), each(send, s, s.node, s.node), each(detect, s)),
        (quiescence, safe),
        beginning=implies(s.detected, s.terminated),
        constraint=forall(s.node, lambda n: s.pending[n] <= p.most),
    )


PROTOCOL = Protocol(
    name="async-termination",
    summary="termination detection in a ring, as an abstract specification",
    defaults=Parameters(),
    build=build,
    sources=(
        "https://github.com/tlaplus/Examples/blob/master/specifications/ewd998/AsyncTerminationDetection.tla",
    ),
)
