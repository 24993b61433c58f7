"""A lock server: a client connects to a server if no other client is connected.

Source: aman-goel/ivybench, i4/ivy/lock_server.ivy. It has no fairness and no liveness; ours are our own.
Default sizes: 3 clients, 2 servers.
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
    exists_over,
    family,
    forall,
    labels,
    parameter,
)


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    clients: int = parameter(3, "clients")
    servers: int = parameter(2, "servers")


class State(StateSpace):
    """The links, and the servers that are free."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.client = labels("client", "c", parameters.clients)
        self.server = labels("server", "s", parameters.servers)
        self.link = family(BOOL, self.client, self.server)
        self.free = family(BOOL, self.server, initial=True)


def connect(s: State, client: Parameter, server: Parameter) -> Action:
    """Connect to a free server."""
    then = [s.link[client, server].set(True), s.free[server].set(False)]
    return Action(when=s.free[server], then=then, actor=client)


def disconnect(s: State, client: Parameter, server: Parameter) -> Action:
    """Free a server."""
    then = [s.link[client, server].set(False), s.free[server].set(True)]
    return Action(when=s.link[client, server], then=then, actor=client)


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    unique = Property(
        name="unique",
        meaning="no two clients are connected to one server",
        holds=forall(s.server, lambda r: ~at_least(2, s.client, lambda c: s.link[c, r])),
        witness=exists_over((s.client, s.server), lambda c, r: s.link[c, r]),
        witness_meaning="a client is connected",
    )
    served = always_eventually(
        "client-served",
        "client c1 is connected again and again",
        exists(s.server, lambda r: s.link["c1", r]),
    )
    pairs = s.client, s.server
    actions = (
        each(connect, s, *pairs, fair="strong, any by client"),
        each(disconnect, s, *pairs, fair="weak"),
    )
    return System(s, actions, (unique, served))


PROTOCOL = Protocol(
    "semaphores",
    "clients connect to servers that are free",
    Parameters(),
    build,
    sources=("ivybench, i4/ivy/lock_server.ivy",),
)
