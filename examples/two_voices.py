"""A coordinator tells participants the outcome; a standby that thinks it dead tells them too."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fencepost.encoding.language import (
    Action,
    Message,
    Parameter,
    Property,
    Protocol,
    Read,
    StateSpace,
    System,
    TermLike,
    choice,
    each,
    exists,
    family,
    forall,
    if_,
    labels,
    members,
    message,
    parameter,
    switch,
    to_each,
)


@dataclass(frozen=True)
class Parameters:
    """One instance, and the action of a standby that hears nothing."""

    participants: int = parameter(2, "participants, all of them prepared")
    standby: str = switch(
        ("aborts", "asks"),
        "the standby aborts, or first asks for the decision",
        "a time-out is no proof",
    )


class Voice(Enum):
    """The sender of an order."""

    COORDINATOR = "coordinator"
    STANDBY = "standby"


class Outcome(Enum):
    """The outcome of the transaction, as far as it is known."""

    OPEN = "open"
    COMMIT = "commit"
    ABORT = "abort"


class State(StateSpace):
    """The outcome that each voice sent, and the one that each participant took. At first all are open."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.voice = members(Voice)
        self.participant = labels("participant", "p", parameters.participants)

        self.said = family(members(Outcome), self.voice)
        self.taken = family(members(Outcome), self.participant)

        self.order_lost = choice(self.voice, self.participant, fault="lost")


def order(voice: TermLike, participant: TermLike, outcome: TermLike, lost: Read | None = None) -> Message:
    """Return the message of a voice that tells a participant the outcome."""
    return message("order", voice, participant, says={"outcome": outcome}, lost=lost)


def decide(s: State) -> Action:
    """Commit, and tell all participants, unless the standby has aborted already."""
    me, commit = Voice.COORDINATOR, Outcome.COMMIT
    mine = s.said[Voice.STANDBY] == Outcome.OPEN if s.parameters.standby == "asks" else True
    return Action(
        when=(s.said[me] == Outcome.OPEN) & mine,
        then=[s.said[me].set(commit)],
        actor=me,
        sent=[to_each(s.participant, lambda p: order(me, p, commit, lost=s.order_lost[me, p]))],
    )


def step_in(s: State) -> Action:
    """Tell all participants the outcome, as the standby that has not heard from the coordinator."""
    me, decided = Voice.STANDBY, s.said[Voice.COORDINATOR] != Outcome.OPEN
    asks = s.parameters.standby == "asks"
    outcome = if_(decided, Outcome.COMMIT, Outcome.ABORT) if asks else Outcome.ABORT
    return Action(
        when=s.said[me] == Outcome.OPEN,
        then=[s.said[me].set(outcome)],
        actor=me,
        sent=[to_each(s.participant, lambda p: order(me, p, outcome, lost=s.order_lost[me, p]))],
    )


def obey(s: State, participant: Parameter, voice: Parameter) -> Action:
    """Follow the first order that reaches the participant."""
    outcome = s.said[voice]
    told = (outcome != Outcome.OPEN) & ~s.order_lost[voice, participant]
    return Action(
        when=told & (s.taken[participant] == Outcome.OPEN),
        then=[s.taken[participant].set(outcome)],
        actor=participant,
        received=order(voice, participant, outcome),
    )


def agreed(s: State) -> Property:
    """Return the main property."""
    committed = exists(s.participant, lambda p: s.taken[p] == Outcome.COMMIT)
    aborted = exists(s.participant, lambda p: s.taken[p] == Outcome.ABORT)
    return Property(
        name="agreed",
        meaning="no participant commits what another one aborts",
        holds=~(committed & aborted),
        witness=forall(s.voice, lambda v: s.said[v] != Outcome.OPEN)
        & forall(s.participant, lambda p: s.taken[p] != Outcome.OPEN),
        witness_meaning="both voices have spoken, and every participant has heard one",
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    actions = (each(decide, s), each(step_in, s), each(obey, s, s.participant, s.voice))
    return System(s, actions, (agreed(s),))


PROTOCOL = Protocol(
    name="two-voices",
    summary="a coordinator tells participants how a transaction ended; a standby may speak in its stead",
    defaults=Parameters(),
    build=build,
    not_modelled=("more than one standby", "a coordinator that decides to abort"),
)
