"""Two-phase commit: participants prepare, and a coordinator decides.

The model is that of Gray and Lamport (Consensus on Transaction Commit). Stateright's examples/2pc.rs is the
same model: 288 states for three participants, 8,832 for five. A second delivery of a message changes nothing,
so here each message is received once; the states are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fencepost.encoding.language import (
    BOOL,
    Action,
    Invariant,
    Message,
    Parameter,
    Property,
    Protocol,
    StateSpace,
    System,
    Term,
    TermLike,
    at_least,
    each,
    exists,
    family,
    forall,
    implies,
    labels,
    members,
    message,
    parameter,
    switch,
    to_each,
    variable,
)


@dataclass(frozen=True)
class Parameters:
    """One instance, and the votes that the coordinator waits for."""

    participants: int = parameter(3, "participants of the transaction")
    votes: str = switch(
        ("all", "majority"), "who must have prepared before the coordinator commits", "a mistake"
    )


class Phase(Enum):
    """The phase of a participant."""

    WORKING = "working"
    PREPARED = "prepared"
    COMMITTED = "committed"
    ABORTED = "aborted"


class Decision(Enum):
    """The decision of the coordinator, which it has sent to all participants."""

    OPEN = "open"
    COMMIT = "commit"
    ABORT = "abort"


class State(StateSpace):
    """The phases, the votes and the decision. At first all are working and nothing is decided."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.participant = labels("participant", "p", parameters.participants)

        self.phase = family(members(Phase), self.participant)
        self.voted = family(BOOL, self.participant)
        self.heard = family(BOOL, self.participant)
        self.decision = variable(members(Decision))

    def all_are(self, phase: Phase) -> Term:
        """Return whether every participant is in that phase."""
        return forall(self.participant, lambda p: self.phase[p] == phase)


def vote(participant: TermLike) -> Message:
    """Return the message of a participant that is prepared to commit or abort."""
    return message("prepared", participant, "coordinator")


def order(decision: str, participant: TermLike) -> Message:
    """Return the message with the coordinator's decision."""
    return message(decision, "coordinator", participant)


def prepare(s: State, participant: Parameter) -> Action:
    """Prepare to commit, and tell the coordinator (RMPrepare)."""
    return Action(
        when=s.phase[participant] == Phase.WORKING,
        then=[s.phase[participant].set(Phase.PREPARED), s.voted[participant].set(True)],
        actor=participant,
        sent=[vote(participant)],
    )


def give_up(s: State, participant: Parameter) -> Action:
    """Abort a participant that has not prepared (RMChooseToAbort)."""
    return Action(
        when=s.phase[participant] == Phase.WORKING,
        then=[s.phase[participant].set(Phase.ABORTED)],
        actor=participant,
    )


def hear_vote(s: State, participant: Parameter) -> Action:
    """Receive the message that a participant is prepared (TMRcvPrepared)."""
    return Action(
        when=(s.decision == Decision.OPEN) & s.voted[participant] & ~s.heard[participant],
        then=[s.heard[participant].set(True)],
        actor="coordinator",
        received=vote(participant),
    )


def decide_commit(s: State) -> Action:
    """Decide to commit, once enough participants are prepared (TMCommit)."""
    count = s.parameters.participants
    enough = count if s.parameters.votes == "all" else count // 2 + 1
    return Action(
        when=(s.decision == Decision.OPEN) & at_least(enough, s.participant, lambda p: s.heard[p]),
        then=[s.decision.set(Decision.COMMIT)],
        actor="coordinator",
        sent=[to_each(s.participant, lambda p: order("commit", p))],
    )


def decide_abort(s: State) -> Action:
    """Decide to abort, at any time before a commit (TMAbort)."""
    return Action(
        when=s.decision == Decision.OPEN,
        then=[s.decision.set(Decision.ABORT)],
        actor="coordinator",
        sent=[to_each(s.participant, lambda p: order("abort", p))],
    )


def commit(s: State, participant: Parameter) -> Action:
    """Commit a participant by the coordinator's order (RMRcvCommitMsg)."""
    return Action(
        when=(s.decision == Decision.COMMIT) & (s.phase[participant] != Phase.COMMITTED),
        then=[s.phase[participant].set(Phase.COMMITTED)],
        actor=participant,
        received=order("commit", participant),
    )


def abort(s: State, participant: Parameter) -> Action:
    """Abort a participant by the coordinator's order (RMRcvAbortMsg)."""
    return Action(
        when=(s.decision == Decision.ABORT) & (s.phase[participant] != Phase.ABORTED),
        then=[s.phase[participant].set(Phase.ABORTED)],
        actor=participant,
        received=order("abort", participant),
    )


def consistent(s: State) -> Property:
    """Return the main property; its witness is Stateright's "commit agreement"."""
    committed = exists(s.participant, lambda p: s.phase[p] == Phase.COMMITTED)
    aborted = exists(s.participant, lambda p: s.phase[p] == Phase.ABORTED)
    return Property(
        name="consistent",
        meaning="no participant commits what another one aborts",
        holds=~(committed & aborted),
        witness=s.all_are(Phase.COMMITTED),
        witness_meaning="all participants have committed",
    )


def abort_is_final(s: State) -> Property:
    """Return the property whose witness is Stateright's "abort agreement"."""
    return Property(
        name="abort-is-final",
        meaning="nobody commits once the coordinator has aborted",
        holds=forall(
            s.participant, lambda p: implies(s.decision == Decision.ABORT, s.phase[p] != Phase.COMMITTED)
        ),
        witness=(s.decision == Decision.ABORT) & s.all_are(Phase.ABORTED),
        witness_meaning="the coordinator has aborted, and so have all participants",
    )


def invariants(s: State) -> tuple[Invariant, ...]:
    """Return the invariants with which each action alone can be proved, for any number of participants."""

    def soundly(phase: Phase, reason: Term) -> Term:
        return forall(s.participant, lambda p: implies(s.phase[p] == phase, reason))

    everybody = forall(s.participant, lambda p: s.heard[p])
    return (
        Invariant(
            "heard-has-voted",
            "a participant that the coordinator has heard from has voted, and a voter never works again",
            forall(
                s.participant,
                lambda p: implies(s.heard[p], s.voted[p]) & implies(s.voted[p], s.phase[p] != Phase.WORKING),
            ),
        ),
        Invariant(
            "commit-is-of-all",
            "the coordinator commits only after all have voted, and participants only after the coordinator",
            implies(s.decision == Decision.COMMIT, everybody)
            & soundly(Phase.COMMITTED, s.decision == Decision.COMMIT),
        ),
        Invariant(
            "abort-is-told-or-own",
            "a participant that has voted aborts only by the coordinator's order",
            forall(
                s.participant,
                lambda p: implies((s.phase[p] == Phase.ABORTED) & s.voted[p], s.decision == Decision.ABORT),
            ),
        ),
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    actions = [
        each(prepare, s, s.participant),
        each(give_up, s, s.participant),
        each(hear_vote, s, s.participant),
        each(decide_commit, s),
        each(decide_abort, s),
        each(commit, s, s.participant),
        each(abort, s, s.participant),
    ]
    return System(s, tuple(actions), (consistent(s), abort_is_final(s)), invariants=invariants(s))


PROTOCOL = Protocol(
    name="two-phase-commit",
    summary="participants prepare, a coordinator decides whether all of them commit",
    defaults=Parameters(),
    build=build,
    sources=(
        "Gray and Lamport, Consensus on Transaction Commit, section 3 (TwoPhase.tla)",
        "stateright, examples/2pc.rs",
    ),
    not_modelled=("a coordinator that fails: participants that have prepared would wait for ever",),
)
