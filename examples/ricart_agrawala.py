"""The algorithm of Ricart and Agrawala: nodes ask all other nodes before they enter a critical section.

The protocol is that of DistAI, with the same state and actions (aman-goel/ivybench,
distai/ivy/Ricart-Agrawala.ivy). It has no clocks: of two nodes that ask each other, either may reply, but
not both. Nodes enter and leave again and again, so executions do not end. The file declares no
invariants.
"""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.language import (
    BOOL,
    Action,
    Message,
    Parameter,
    Property,
    Protocol,
    StateSpace,
    System,
    TermLike,
    at_least,
    each,
    everywhere,
    exists,
    family,
    forall,
    labels,
    leads_to,
    message,
    parameter,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """The number of nodes, and whom a node lets pass."""

    nodes: int = parameter(3, "nodes that enter the critical section")
    consent: str = switch(
        ("one-way", "mutual"), "whether two nodes may have the consent of each other", "a mistake"
    )


class State(StateSpace):
    """The requests and the replies, each of a requester and a responder, and the nodes that have entered."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.node = labels("node", "n", parameters.nodes)

        self.requested = family(BOOL, self.node, self.node)
        self.replied = family(BOOL, self.node, self.node)
        self.holds = family(BOOL, self.node)


def asking(requester: TermLike, responder: TermLike) -> Message:
    """Return the message that asks a node for its consent."""
    return message("request", requester, responder)


def request(s: State, requester: Parameter, responder: Parameter) -> Action:
    """Ask another node for its consent."""
    return Action(
        when=(requester != responder) & ~s.requested[requester, responder],
        then=[s.requested[requester, responder].set(True)],
        actor=requester,
        sent=[asking(requester, responder)],
    )


def reply(s: State, requester: Parameter, responder: Parameter) -> Action:
    """Consent, unless the responder is inside or has the consent of the requester."""
    first = ~s.replied[responder, requester] if s.parameters.consent == "one-way" else True
    waiting = s.requested[requester, responder] & ~s.replied[requester, responder]
    return Action(
        when=(requester != responder) & waiting & first & ~s.holds[responder],
        then=[s.requested[requester, responder].set(False), s.replied[requester, responder].set(True)],
        actor=responder,
        received=asking(requester, responder),
        note="{requester} has the consent",
    )


def enter(s: State, requester: Parameter) -> Action:
    """Enter the critical section with the consent of all other nodes."""
    return Action(
        when=forall(s.node, lambda n: (n == requester) | s.replied[requester, n]),
        then=[s.holds[requester].set(True)],
        actor=requester,
    )


def leave(s: State, requester: Parameter) -> Action:
    """Leave the critical section, and give up every consent."""
    given_up = everywhere(s.node, lambda n: s.replied[requester, n].set(False))
    return Action(when=s.holds[requester], then=[s.holds[requester].set(False), *given_up], actor=requester)


def one_inside(s: State) -> Property:
    """Return the main property."""
    return Property(
        name="one-inside",
        meaning="no two nodes are in the critical section at once",
        holds=~at_least(2, s.node, lambda n: s.holds[n]),
        witness=exists(s.node, lambda n: s.holds[n]),
        witness_meaning="a node is in the critical section",
    )


def enters(s: State) -> Property:
    """Return the property of liveness. Without clocks three nodes can wait for each other for ever."""
    first = "n1"
    return leads_to(
        name="enters",
        meaning="node n1 enters once it has asked all others",
        trigger=forall(s.node, lambda n: (n == first) | s.requested[first, n] | s.replied[first, n]),
        goal=s.holds[first],
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    pairs = each(request, s, s.node, s.node), each(reply, s, s.node, s.node, fair="strong")
    inside = [each(handler, s, s.node, fair="weak") for handler in (enter, leave)]
    return System(s, (*pairs, *inside), (one_inside(s), enters(s)))


PROTOCOL = Protocol(
    name="ricart-agrawala",
    summary="nodes enter a critical section with the consent of all others, for ever",
    defaults=Parameters(),
    build=build,
    sources=(
        "Ricart and Agrawala, An Optimal Algorithm for Mutual Exclusion in Computer Networks (CACM, 1981)",
        "DistAI, protocols/Ricart-Agrawala; ivybench, distai/ivy/Ricart-Agrawala.ivy",
    ),
    not_modelled=("clocks, which decide between two requests", "the way of a reply: it arrives at once"),
)
