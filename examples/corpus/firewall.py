"""A firewall: an outside node may send to an inside one once an inside one has sent to it.

Source: aman-goel/ivybench, mypyv/ivy/firewall.ivy. One thing departs: the number of inside nodes is given,
where the original has any set. Default sizes: 2 inside nodes, 2 outside.
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

    inside: int = parameter(2, "inside nodes")
    outside: int = parameter(2, "outside nodes")
    policy: str = switch(("asked", "open"), "the outside nodes that may send", "a mistake")


class State(StateSpace):
    """The messages that were sent, and the outside nodes that may send."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.inside = labels("inside", "i", parameters.inside)
        self.outside = labels("outside", "o", parameters.outside)
        self.sent_out = family(BOOL, self.inside, self.outside)
        self.sent_in = family(BOOL, self.outside, self.inside)
        self.allowed = family(BOOL, self.outside)


def send_out(s: State, source: Parameter, target: Parameter) -> Action:
    """Send to an outside node, which may answer."""
    then = [s.sent_out[source, target].set(True), s.allowed[target].set(True)]
    return Action(when=~s.sent_out[source, target], then=then, actor=source)


def send_in(s: State, source: Parameter, target: Parameter) -> Action:
    """Send to an inside node, if that is allowed."""
    allowed = s.allowed[source] if s.parameters.policy == "asked" else True
    return Action(
        when=~s.sent_in[source, target] & allowed, then=[s.sent_in[source, target].set(True)], actor=source
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    answered = Property(
        name="only-answers",
        meaning="an outside node sends only after an inside node has sent to it",
        holds=forall_over(
            (s.outside, s.inside),
            lambda o, i: implies(s.sent_in[o, i], exists(s.inside, lambda j: s.sent_out[j, o])),
        ),
        witness=exists_over((s.outside, s.inside), lambda o, i: s.sent_in[o, i]),
        witness_meaning="an outside node has sent",
    )
    actions = (each(send_out, s, s.inside, s.outside), each(send_in, s, s.outside, s.inside))
    return System(s, actions, (answered,))


PROTOCOL = Protocol(
    "firewall",
    "an outside node only answers",
    Parameters(),
    build,
    sources=("ivybench, mypyv/ivy/firewall.ivy",),
)
