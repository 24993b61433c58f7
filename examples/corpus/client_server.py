"""A client and a server: a response that was received matches a request.

Source: aman-goel/ivybench, mypyv/ivy/client_server_ae.ivy. One thing departs: the relation of requests and
responses is any at first in the original, here it grows by an action. Default sizes: 2 of each.
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
    exists,
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

    nodes: int = parameter(2, "nodes")
    requests: int = parameter(2, "requests")
    responses: int = parameter(2, "responses")
    server: str = switch(("matches", "guesses"), "the responses that the server sends", "a mistake")


class State(StateSpace):
    """The relation of requests and responses, and the messages."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = labels("node", "n", parameters.nodes)
        self.request = labels("request", "r", parameters.requests)
        self.response = labels("response", "p", parameters.responses)
        self.match = family(BOOL, self.request, self.response)
        self.asked = family(BOOL, self.node, self.request)
        self.answered = family(BOOL, self.node, self.response)
        self.received = family(BOOL, self.node, self.response)


def relate(s: State, request: Parameter, response: Parameter) -> Action:
    """Let a response match a request."""
    return Action(
        when=~s.match[request, response], then=[s.match[request, response].set(True)], actor="operator"
    )


def ask(s: State, node: Parameter, request: Parameter) -> Action:
    """Send a request."""
    return Action(when=~s.asked[node, request], then=[s.asked[node, request].set(True)], actor=node)


def answer(s: State, node: Parameter, request: Parameter, response: Parameter) -> Action:
    """Send a response that matches."""
    right = s.match[request, response] if s.parameters.server == "matches" else True
    then = [s.answered[node, response].set(True)]
    return Action(when=s.asked[node, request] & right, then=then, actor="server")


def receive(s: State, node: Parameter, response: Parameter) -> Action:
    """Receive a response."""
    return Action(when=s.answered[node, response], then=[s.received[node, response].set(True)], actor=node)


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    matched = Property(
        name="matched",
        meaning="a response that was received matches a request of its node",
        holds=forall_over(
            (s.node, s.response),
            lambda n, q: implies(
                s.received[n, q], exists(s.request, lambda r: s.asked[n, r] & s.match[r, q])
            ),
        ),
        witness=exists_over((s.node, s.response), lambda n, q: s.received[n, q]),
        witness_meaning="a response was received",
    )
    actions = (
        each(relate, s, s.request, s.response),
        each(ask, s, s.node, s.request),
        each(answer, s, s.node, s.request, s.response),
        each(receive, s, s.node, s.response),
    )
    return System(s, actions, (matched,))


PROTOCOL = Protocol(
    "client-server",
    "a response that was received matches a request",
    Parameters(),
    build,
    sources=("ivybench, mypyv/ivy/client_server_ae.ivy",),
)
