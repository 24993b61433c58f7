"""Brokers take turns to serve a topic, for ever: a protocol with cycles, proved by induction."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.language import (
    BOOL,
    Action,
    Invariant,
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
    implies,
    labels,
    parameter,
    switch,
)


@dataclass(frozen=True)
class Parameters:
    """The number of brokers, and when a broker gives up the topic."""

    brokers: int = parameter(2, "brokers that may serve the topic")
    release: str = switch(
        ("closed", "at-once"), "a broker gives up a topic that it has closed, or closes it later", "a race"
    )


class State(StateSpace):
    """The owner in the metadata store, and the brokers that serve. At first there are none."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.broker = labels("broker", "b", parameters.brokers)

        self.owns = family(BOOL, self.broker)
        self.serves = family(BOOL, self.broker)


def acquire(s: State, broker: Parameter) -> Action:
    """Write the broker's name into the metadata store if no name is there."""
    return Action(when=forall(s.broker, lambda b: ~s.owns[b]), then=[s.owns[broker].set(True)], actor=broker)


def open_topic(s: State, broker: Parameter) -> Action:
    """Start to serve, as the owner."""
    return Action(when=s.owns[broker], then=[s.serves[broker].set(True)], actor=broker)


def close_topic(s: State, broker: Parameter) -> Action:
    """Stop serving."""
    return Action(when=s.serves[broker], then=[s.serves[broker].set(False)], actor=broker)


def release(s: State, broker: Parameter) -> Action:
    """Remove the owner's name from the metadata store."""
    done = ~s.serves[broker] if s.parameters.release == "closed" else True
    return Action(when=s.owns[broker] & done, then=[s.owns[broker].set(False)], actor=broker)


def one_server(s: State) -> Property:
    """Return the main property."""
    return Property(
        name="one-server",
        meaning="no two brokers serve the topic at once",
        holds=~at_least(2, s.broker, lambda b: s.serves[b]),
        witness=exists(s.broker, lambda b: s.serves[b]),
        witness_meaning="a broker serves the topic",
    )


def invariants(s: State) -> tuple[Invariant, ...]:
    """Return the invariants that the proof by induction needs."""
    return (
        Invariant(
            name="servers-own",
            meaning="a broker that serves the topic owns it",
            holds=forall(s.broker, lambda b: implies(s.serves[b], s.owns[b])),
        ),
        Invariant(
            name="one-owner",
            meaning="no two brokers own the topic",
            holds=~at_least(2, s.broker, lambda b: s.owns[b]),
        ),
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    actions = tuple(each(handler, s, s.broker) for handler in (acquire, open_topic, close_topic, release))
    return System(s, actions, (one_server(s),), default_rounds=4, invariants=invariants(s))


PROTOCOL = Protocol(
    name="one-owner",
    summary="brokers take turns to serve a topic, for ever",
    defaults=Parameters(),
    build=build,
    not_modelled=("brokers that crash, or that the metadata store takes for dead",),
)
