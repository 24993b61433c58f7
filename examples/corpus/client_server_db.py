"""Clients, a server and its database: each response that a client receives matches a request of the client.

Source: aman-goel/ivybench, mypyv/ivy/client_server_db_ae.ivy. Nothing departs: the relation of requests and
responses is any. Default sizes: 2 nodes, 2 requests, 2 responses, 2 identities of database requests.
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
    each,
    exists,
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

    nodes: int = parameter(2, "nodes")
    requests: int = parameter(2, "requests")
    responses: int = parameter(2, "responses")
    identities: int = parameter(2, "identities of database requests")
    identity: str = switch(("new", "any"), "the identity that the server takes", "a mistake")


class State(StateSpace):
    """The relation of requests and responses, the messages, and whose request an identity stands for."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = labels("node", "n", parameters.nodes)
        self.request = labels("request", "r", parameters.requests)
        self.response = labels("response", "p", parameters.responses)
        self.identity = labels("identity", "i", parameters.identities)
        self.match = family(BOOL, self.request, self.response, initial=anything)
        self.request_sent = family(BOOL, self.node, self.request)
        self.response_sent = family(BOOL, self.node, self.response)
        self.received = family(BOOL, self.node, self.response)
        self.db_request = family(BOOL, self.identity, self.request)
        self.db_response = family(BOOL, self.identity, self.response)
        self.owner = family(BOOL, self.identity, self.node)


def ask(s: State, node: Parameter, request: Parameter) -> Action:
    """Send a request to the server."""
    return Action(
        when=~s.request_sent[node, request], then=[s.request_sent[node, request].set(True)], actor=node
    )


def ask_database(s: State, node: Parameter, request: Parameter, identity: Parameter) -> Action:
    """Send a request to the database, with a new identity."""
    new = forall(s.node, lambda n: ~s.owner[identity, n]) if s.parameters.identity == "new" else True
    return Action(
        when=s.request_sent[node, request] & new,
        then=[s.owner[identity, node].set(True), s.db_request[identity, request].set(True)],
        actor="server",
    )


def look_up(s: State, identity: Parameter, request: Parameter, response: Parameter) -> Action:
    """Find a response that matches."""
    return Action(
        when=s.db_request[identity, request] & s.match[request, response],
        then=[s.db_response[identity, response].set(True)],
        actor="database",
    )


def answer(s: State, node: Parameter, identity: Parameter, response: Parameter) -> Action:
    """Send a response to the node to which the identity belongs."""
    return Action(
        when=s.db_response[identity, response] & s.owner[identity, node],
        then=[s.response_sent[node, response].set(True)],
        actor="server",
    )


def receive(s: State, node: Parameter, response: Parameter) -> Action:
    """Receive a response."""
    return Action(
        when=s.response_sent[node, response], then=[s.received[node, response].set(True)], actor=node
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    matched = Property(
        name="matched",
        meaning="each response received matches a request of its node",
        holds=forall_over(
            (s.node, s.response),
            lambda n, a: implies(
                s.received[n, a], exists(s.request, lambda r: s.request_sent[n, r] & s.match[r, a])
            ),
        ),
        witness=exists_over((s.node, s.response), lambda n, a: s.received[n, a]),
        witness_meaning="a response is received",
    )
    actions = (
        each(ask, s, s.node, s.request),
        each(ask_database, s, s.node, s.request, s.identity),
        each(look_up, s, s.identity, s.request, s.response),
        each(answer, s, s.node, s.identity, s.response),
        each(receive, s, s.node, s.response),
    )
    return System(s, actions, (matched,))


PROTOCOL = Protocol(
    "client-server-db",
    "a server asks a database, and answers its clients",
    Parameters(),
    build,
    sources=("ivybench, mypyv/ivy/client_server_db_ae.ivy",),
)
