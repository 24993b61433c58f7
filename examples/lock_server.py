"""A lock server: nodes ask a server for a lock, and give it back by a message.

The protocol is mypyvy's `lockserv`, with the same state and actions (aman-goel/ivybench,
mypyv/pyv/lockserv.pyv). A node may ask again at any time, so executions do not end. The file declares no
invariants. The fairness is our own.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.language import (
    BOOL,
    Action,
    Liveness,
    Parameter,
    Property,
    Protocol,
    StateSpace,
    System,
    at_least,
    each,
    exists,
    family,
    labels,
    leads_to,
    message,
    parameter,
    switch,
    variable,
)


@dataclass(frozen=True)
class Parameters:
    """The number of nodes, and what the server remembers."""

    nodes: int = parameter(3, "nodes that ask for the lock")
    server: str = switch(
        ("remembers", "forgets"), "whether the server notes that it has granted the lock", "a mistake"
    )


class State(StateSpace):
    """The messages under way, the nodes that hold the lock, and whether the server has it, as at first."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = labels("node", "n", parameters.nodes)

        self.asked = family(BOOL, self.node)
        self.granted = family(BOOL, self.node)
        self.returned = family(BOOL, self.node)
        self.holds = family(BOOL, self.node)
        self.available = variable(BOOL, initial=True)


def ask(s: State, node: Parameter) -> Action:
    """Ask the server for the lock, at any time (send_lock)."""
    return Action(
        when=~s.asked[node],
        then=[s.asked[node].set(True)],
        actor=node,
        sent=[message("ask", node, "server")],
    )


def grant(s: State, node: Parameter) -> Action:
    """Grant the lock to a node that has asked, if the server has it (recv_lock)."""
    noted = [s.available.set(False)] if s.parameters.server == "remembers" else []
    return Action(
        when=s.asked[node] & s.available,
        then=[s.asked[node].set(False), s.granted[node].set(True), *noted],
        actor="server",
        received=message("ask", node, "server"),
        sent=[message("grant", "server", node)],
    )


def take(s: State, node: Parameter) -> Action:
    """Receive the grant, and hold the lock (recv_grant)."""
    return Action(
        when=s.granted[node],
        then=[s.granted[node].set(False), s.holds[node].set(True)],
        actor=node,
        received=message("grant", "server", node),
    )


def give_back(s: State, node: Parameter) -> Action:
    """Stop holding the lock, and tell the server (unlock)."""
    return Action(
        when=s.holds[node],
        then=[s.holds[node].set(False), s.returned[node].set(True)],
        actor=node,
        sent=[message("give back", node, "server")],
    )


def take_back(s: State, node: Parameter) -> Action:
    """Receive the lock from a node; the server has it again (recv_unlock)."""
    return Action(
        when=s.returned[node],
        then=[s.returned[node].set(False), s.available.set(True)],
        actor="server",
        received=message("give back", node, "server"),
    )


def one_holder(s: State) -> Property:
    """Return the main property."""
    return Property(
        name="one-holder",
        meaning="no two nodes hold the lock at once",
        holds=~at_least(2, s.node, lambda n: s.holds[n]),
        witness=exists(s.node, lambda n: s.holds[n]),
        witness_meaning="a node holds the lock",
    )


def asker_served(s: State) -> Liveness:
    """Return the property of liveness. It needs strong fairness: a grant to another node disables one."""
    return leads_to(
        name="asker-served",
        meaning="node n1 holds the lock once it has asked",
        trigger=s.asked["n1"],
        goal=s.holds["n1"],
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    actions = (
        each(ask, s, s.node),
        each(grant, s, s.node, fair="strong"),
        *(each(handler, s, s.node, fair="weak") for handler in (take, give_back, take_back)),
    )
    return System(s, actions, (one_holder(s), asker_served(s)))


PROTOCOL = Protocol(
    name="lock-server",
    summary="nodes ask a server for a lock and give it back, for ever",
    defaults=Parameters(),
    build=build,
    sources=("mypyvy, examples/fol/lockserv.pyv", "ivybench, mypyv/pyv/lockserv.pyv"),
    not_modelled=("nodes or servers that crash", "messages that are lost: one that never arrives is late"),
)
