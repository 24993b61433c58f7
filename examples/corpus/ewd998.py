"""Safra's termination detection in a ring, EWD 998.

`EWD998` of `tlaplus/Examples`, `ewd998/EWD998.tla`, by Kuppe, Lamport and others. Each node counts its
messages, and a token goes round and adds the counters. The property `TDSpec` of the original says that each
step is one of `async_termination.py`. The constraint bounds what is pending, the counters and the token.
"""

from __future__ import annotations

from dataclasses import dataclass

import async_termination as abstract  # type: ignore[import-not-found]  # a file beside this one

from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    Property,
    Protocol,
    StateSpace,
    System,
    Term,
    any_of,
    anything,
    each,
    family,
    forall,
    implies,
    integers,
    leads_to,
    parameter,
    refines,
    require,
    switch,
    variable,
)

SYSTEM = "weak, any of system"
"""The fairness of the token: some step with it is taken if one is enabled all the time (WF_vars(System))."""


@dataclass(frozen=True)
class Parameters:
    """The sizes, and two rules."""

    nodes: int = parameter(3, "nodes of the ring (N)")
    most: int = parameter(1, "the largest counter, and messages pending, of states that are left")
    token: int = parameter(2, "the largest sum in the token of states that are left")
    on_receipt: str = switch(("blackens", "keeps"), "the colour of a node that receives a message", "rule 3")
    detects: str = switch(
        ("passive", "any"),
        "whether node 0 detects termination only while it is passive",
        "terminationDetected",
    )
    bounds: str = switch(
        ("left_out", "stop"),
        "states beyond the bounds are reached and not left, or no step leads there; liveness needs `stop`",
        "not in the original",
    )

    def __post_init__(self) -> None:
        """Check the parameters. Raises BadInput."""
        require("2 <= nodes <= 5", 2 <= self.nodes <= 5, {"nodes": self.nodes}, "valid: 2 to 5")
        require("1 <= most <= 5", 1 <= self.most <= 5, {"most": self.most}, "valid: 1 to 5")
        require("1 <= token <= 9", 1 <= self.token <= 9, {"token": self.token}, "valid: 1 to 9")


class State(StateSpace):
    """The nodes and the token."""

    def __init__(self, p: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = p
        self.node = integers(0, p.nodes - 1)
        self.other = integers(1, p.nodes - 1)
        least = -(p.nodes - 1) * (p.most + 1)
        self.active = family(BOOL, self.node, initial=anything)
        self.is_black = family(BOOL, self.node, initial=anything)
        self.counter = family(integers(least, p.most + 1), self.node, initial=0)
        self.pending = family(integers(0, p.most + 1), self.node)
        self.token_at = variable(self.node, initial=anything)
        self.token_sum = variable(integers(least, p.token + p.most + 1), initial=0)
        self.token_black = variable(BOOL, initial=True)

    @property
    def terminated(self) -> Term:
        """The condition that no node is active, and no message is on its way (Termination)."""
        return forall(self.node, lambda n: ~self.active[n] & (self.pending[n] == 0))

    def may(self, within: Term) -> Term:
        """Return whether a step may happen that keeps within the bounds if this holds."""
        return any_of(within, self.parameters.bounds == "left_out")

    @property
    def detected(self) -> Term:
        """The condition that node 0 knows that all are passive (terminationDetected)."""
        passive = ~self.active[0] if self.parameters.detects == "passive" else True
        white = ~self.token_black & ~self.is_black[0]
        return (self.token_at == 0) & white & (self.token_sum + self.counter[0] == 0) & passive


def initiate_probe(s: State) -> Action:
    """Send the token round again from node 0 (InitiateProbe)."""
    failed = s.token_black | s.is_black[0] | (s.counter[0] + s.token_sum > 0)
    last = s.parameters.nodes - 1
    then = [s.token_at.set(last), s.token_sum.set(0), s.token_black.set(False), s.is_black[0].set(False)]
    return Action(when=(s.token_at == 0) & failed, then=then, actor="node 0")


def pass_token(s: State, node: Parameter) -> Action:
    """Add the counter of a passive node, and pass the token (PassToken)."""
    total = s.token_sum + s.counter[node]
    return Action(
        when=~s.active[node] & (s.token_at == node) & s.may(total <= s.parameters.token),
        then=[
            s.token_at.set(s.token_at - 1),
            s.token_sum.set(total),
            s.token_black.set(s.is_black[node] | s.token_black),
            s.is_black[node].set(False),
        ],
        actor=node,
    )


def send(s: State, node: Parameter, to: Parameter) -> Action:
    """Send a message to another node (SendMsg)."""
    then = [s.counter[node].set(s.counter[node] + 1), s.pending[to].set(s.pending[to] + 1)]
    most = s.parameters.most
    within = s.may((s.counter[node] < most) & (s.pending[to] < most))
    return Action(when=s.active[node] & (node != to) & within, then=then, actor=node)


def receive(s: State, node: Parameter) -> Action:
    """Receive a message, and become active and black (RecvMsg)."""
    then = [
        s.pending[node].set(s.pending[node] - 1),
        s.counter[node].set(s.counter[node] - 1),
        s.active[node].set(True),
        s.is_black[node].set(True, when=s.parameters.on_receipt == "blackens"),
    ]
    return Action(when=s.pending[node] > 0, then=then, actor=node)


def deactivate(s: State, node: Parameter) -> Action:
    """Make a node passive (Deactivate)."""
    return Action(when=s.active[node], then=[s.active[node].set(False)], actor=node)


def build(p: Parameters) -> System:
    """Return the system of an instance."""
    s = State(p)
    detects_termination = Property(
        name="detects-termination",
        meaning="node 0 detects termination only after it",
        holds=implies(s.detected, s.terminated),
        witness=s.detected,
        witness_meaning="termination is detected",
    )
    refinement = refines(
        "is-async-termination",
        "each step is one of the abstract specification",
        abstract.build(abstract.Parameters(p.nodes, p.most)),
        {"active": lambda n: s.active[n], "pending": lambda n: s.pending[n], "detected": s.detected},
        witness=s.detected,
        witness_meaning="termination is detected",
    )
    is_detected = leads_to(
        "is-detected",
        "node 0 detects termination once all have terminated (Liveness)",
        s.terminated,
        s.detected,
    )
    stops = p.bounds == "stop"
    bounds = forall(s.node, lambda n: (s.counter[n] <= p.most) & (s.pending[n] <= p.most))
    return System(
        s,
        (
            each(initiate_probe, s, fair=SYSTEM),
            each(pass_token, s, s.other, fair=SYSTEM),
            each(send, s, s.node, s.node),
            each(receive, s, s.node),
            each(deactivate, s, s.node),
        ),
        (detects_termination, refinement, *stops * (is_detected,)),
        constraint=None if stops else bounds & (s.token_sum <= p.token),
    )


PROTOCOL = Protocol(
    name="ewd998",
    summary="Safra's termination detection in a ring",
    defaults=Parameters(),
    build=build,
    sources=("https://github.com/tlaplus/Examples/blob/master/specifications/ewd998/EWD998.tla",),
)
