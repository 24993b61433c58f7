"""Atomic commitment with a simple broadcast (Babaoglu and Toueg): a crash may interrupt the broadcast.

Source: tlaplus/Examples, acp/ACP_SB.tla, with ACP_SB_TLC.cfg: 3 participants, no symmetry, view or
constraint. Faulty is not alive, so it is no variable. One thing departs: an action chooses the votes, so
there is one state and one step more than in TLC.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import combinations

from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    Property,
    Protocol,
    Sort,
    StateSpace,
    System,
    Term,
    TermLike,
    each,
    everywhere,
    exists,
    family,
    forall,
    forall_over,
    if_,
    implies,
    labels,
    members,
    parameter,
    switch,
    variable,
)


class Decision(Enum):
    """The decision, or its broadcast to one participant."""

    OPEN = "open"
    COMMIT = "commit"
    ABORT = "abort"


class Vote(Enum):
    """A vote: none is one that does not exist yet, or that the coordinator waits for."""

    NONE = "none"
    YES = "yes"
    NO = "no"


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    participants: int = parameter(2, "participants")
    votes: str = switch(("all", "some"), "the votes that a commit needs", "a mistake")


class State(StateSpace):
    """The participants, and the coordinator with its requests, votes and broadcast."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.participant = labels("participant", "p", parameters.participants)
        names = [str(participant) for participant in self.participant]
        sizes = range(len(names) + 1)
        of = {"{" + ",".join(c) + "}": c for size in sizes for c in combinations(names, size)}
        self.subset = Sort("subset", tuple(of))
        self.contains = family(BOOL, self.subset, self.participant, initial=lambda c, p: p in of[c])

        self.vote = family(members(Vote), self.participant)
        self.alive = family(BOOL, self.participant, initial=True)
        self.decision = family(members(Decision), self.participant)
        self.vote_sent = family(BOOL, self.participant)
        self.requested = family(BOOL, self.participant)
        self.heard = family(members(Vote), self.participant)
        self.broadcast = family(members(Decision), self.participant)
        self.decided = variable(members(Decision))
        self.coordinator = variable(BOOL, initial=True)

    def begun(self) -> Term:
        """Return whether the votes exist."""
        return forall(self.participant, lambda p: self.vote[p] != Vote.NONE)

    def waits(self, participant: TermLike) -> Term:
        """Return whether the coordinator waits for the vote of a participant."""
        asked = forall(self.participant, lambda p: self.requested[p])
        waiting = asked & (self.heard[participant] == Vote.NONE)
        return self.coordinator & (self.decided == Decision.OPEN) & waiting

    def open(self, participant: TermLike) -> Term:
        """Return whether a participant is alive and has not decided."""
        return self.alive[participant] & (self.decision[participant] == Decision.OPEN)


def begin(s: State, yes: Parameter) -> Action:
    """Choose the votes."""
    then = everywhere(s.participant, lambda p: s.vote[p].set(if_(s.contains[yes, p], Vote.YES, Vote.NO)))
    return Action(when=~s.begun(), then=then, actor="operator")


def request(s: State, participant: Parameter) -> Action:
    """Ask a participant for its vote."""
    ready = s.begun() & s.coordinator & ~s.requested[participant]
    return Action(when=ready, then=[s.requested[participant].set(True)], actor="coordinator")


def hear_vote(s: State, participant: Parameter) -> Action:
    """Receive a vote (getVote)."""
    return Action(
        when=s.waits(participant) & s.vote_sent[participant],
        then=[s.heard[participant].set(s.vote[participant])],
        actor="coordinator",
    )


def detect_fault(s: State, participant: Parameter) -> Action:
    """Abort, because a participant died before it voted (detectFault)."""
    silent = ~s.alive[participant] & ~s.vote_sent[participant]
    then = [s.decided.set(Decision.ABORT)]
    return Action(when=s.waits(participant) & silent, then=then, actor="coordinator")


def decide(s: State) -> Action:
    """Decide from the votes (makeDecision)."""
    heard = forall(s.participant, lambda p: s.heard[p] != Vote.NONE)
    quantify = forall if s.parameters.votes == "all" else exists
    commit = quantify(s.participant, lambda p: s.heard[p] == Vote.YES)
    return Action(
        when=s.coordinator & (s.decided == Decision.OPEN) & heard,
        then=[s.decided.set(if_(commit, Decision.COMMIT, Decision.ABORT))],
        actor="coordinator",
    )


def broadcast(s: State, participant: Parameter) -> Action:
    """Send the decision to one participant (coordBroadcast)."""
    unsent = (s.decided != Decision.OPEN) & (s.broadcast[participant] == Decision.OPEN)
    then = [s.broadcast[participant].set(s.decided)]
    return Action(when=s.coordinator & unsent, then=then, actor="coordinator")


def coordinator_dies(s: State) -> Action:
    """Let the coordinator die."""
    then = [s.coordinator.set(False)]
    return Action(when=s.begun() & s.coordinator, then=then, actor="coordinator", fault="crashes")


def send_vote(s: State, participant: Parameter) -> Action:
    """Send the vote."""
    ready = s.alive[participant] & s.requested[participant]
    return Action(when=ready, then=[s.vote_sent[participant].set(True)], actor=participant)


def abort_on_vote(s: State, participant: Parameter) -> Action:
    """Abort after an own vote against."""
    against = s.vote_sent[participant] & (s.vote[participant] == Vote.NO)
    then = [s.decision[participant].set(Decision.ABORT)]
    return Action(when=s.open(participant) & against, then=then, actor=participant)


def abort_unasked(s: State, participant: Parameter) -> Action:
    """Abort, because the coordinator died before it asked (abortOnTimeoutRequest)."""
    unasked = ~s.coordinator & ~s.requested[participant]
    then = [s.decision[participant].set(Decision.ABORT)]
    return Action(when=s.open(participant) & unasked, then=then, actor=participant)


def learn(s: State, participant: Parameter) -> Action:
    """Decide as the coordinator has sent (decide)."""
    told = s.broadcast[participant] != Decision.OPEN
    then = [s.decision[participant].set(s.broadcast[participant])]
    return Action(when=s.open(participant) & told, then=then, actor=participant)


def dies(s: State, participant: Parameter) -> Action:
    """Let a participant die."""
    ready = s.begun() & s.alive[participant]
    return Action(when=ready, then=[s.alive[participant].set(False)], actor=participant, fault="crashes")


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    consistent = Property(
        name="consistent",
        meaning="a commit has all votes, and no abort beside it (AC1, AC2)",
        holds=forall_over(
            (s.participant, s.participant),
            lambda m, n: implies(
                s.decision[m] == Decision.COMMIT,
                (s.decision[n] != Decision.ABORT) & (s.vote[n] == Vote.YES),
            ),
        ),
        witness=exists(s.participant, lambda m: s.decision[m] == Decision.COMMIT),
        witness_meaning="a participant has committed",
    )
    one = (request, send_vote, hear_vote, detect_fault)
    two = (broadcast, abort_on_vote, abort_unasked, learn, dies)
    actions = (
        each(begin, s, s.subset),
        *(each(handler, s, s.participant) for handler in one),
        each(decide, s),
        *(each(handler, s, s.participant) for handler in two),
        each(coordinator_dies, s),
    )
    return System(s, actions, (consistent,))


PROTOCOL = Protocol(
    "acp-sb",
    "atomic commitment with a broadcast that a crash interrupts",
    Parameters(),
    build,
    sources=("tlaplus/Examples, acp/ACP_SB.tla",),
)
