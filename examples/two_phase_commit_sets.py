"""Two-phase commit with sets: who has prepared, committed and aborted, and whom the coordinator has heard.

It is the model of two_phase_commit.py, with the same 288 states for three participants. A participant that is
in none of the sets is working.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from fencepost.encoding.language import (
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
    each,
    full,
    implies,
    is_in,
    labels,
    majority,
    members,
    message,
    overlap,
    parameter,
    size,
    subsets,
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


class Decision(Enum):
    """The decision of the coordinator, which it has sent to all participants."""

    OPEN = "open"
    COMMIT = "commit"
    ABORT = "abort"


class State(StateSpace):
    """The sets and the decision. At first all are working and nothing is decided."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        self.participant = labels("participant", "p", parameters.participants)
        self.all = full(self.participant)

        self.voted = variable(subsets(self.participant))
        self.heard = variable(subsets(self.participant))
        self.committed = variable(subsets(self.participant))
        self.aborted = variable(subsets(self.participant))
        self.decision = variable(members(Decision))

    def is_working(self, participant: TermLike) -> Term:
        """Return whether a participant has neither voted nor aborted nor committed."""
        return ~is_in(participant, self.voted | self.committed | self.aborted)


def vote(participant: TermLike) -> Message:
    """Return the message of a participant that is prepared to commit or abort."""
    return message("prepared", participant, "coordinator")


def order(decision: str, participant: TermLike) -> Message:
    """Return the message with the coordinator's decision."""
    return message(decision, "coordinator", participant)


def prepare(s: State, participant: Parameter) -> Action:
    """Prepare to commit, and tell the coordinator (RMPrepare)."""
    return Action(
        when=s.is_working(participant),
        then=[s.voted.add(participant)],
        actor=participant,
        sent=[vote(participant)],
    )


def give_up(s: State, participant: Parameter) -> Action:
    """Abort a participant that has not prepared (RMChooseToAbort)."""
    return Action(when=s.is_working(participant), then=[s.aborted.add(participant)], actor=participant)


def hear_vote(s: State, participant: Parameter) -> Action:
    """Receive the message that a participant is prepared (TMRcvPrepared)."""
    return Action(
        when=(s.decision == Decision.OPEN) & is_in(participant, s.voted - s.heard),
        then=[s.heard.add(participant)],
        actor="coordinator",
        received=vote(participant),
    )


def decide_commit(s: State) -> Action:
    """Decide to commit, once enough participants are prepared (TMCommit)."""
    enough = s.heard == s.all if s.parameters.votes == "all" else majority(s.heard, s.all)
    return Action(
        when=(s.decision == Decision.OPEN) & enough,
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
        when=(s.decision == Decision.COMMIT) & ~is_in(participant, s.committed),
        then=[s.committed.add(participant), s.aborted.remove(participant)],
        actor=participant,
        received=order("commit", participant),
    )


def abort(s: State, participant: Parameter) -> Action:
    """Abort a participant by the coordinator's order (RMRcvAbortMsg)."""
    return Action(
        when=(s.decision == Decision.ABORT) & ~is_in(participant, s.aborted),
        then=[s.aborted.add(participant), s.committed.remove(participant)],
        actor=participant,
        received=order("abort", participant),
    )


def consistent(s: State) -> Property:
    """Return the main property; its witness is Stateright's "commit agreement"."""
    return Property(
        name="consistent",
        meaning="no participant commits what another one aborts",
        holds=(size(s.committed) == 0) | (size(s.aborted) == 0),
        witness=s.committed == s.all,
        witness_meaning="all participants have committed",
    )


def abort_is_final(s: State) -> Property:
    """Return the property whose witness is Stateright's "abort agreement"."""
    return Property(
        name="abort-is-final",
        meaning="nobody commits once the coordinator has aborted",
        holds=implies(s.decision == Decision.ABORT, size(s.committed) == 0),
        witness=(s.decision == Decision.ABORT) & (s.aborted == s.all),
        witness_meaning="the coordinator has aborted, and so have all participants",
    )


def invariants(s: State) -> tuple[Invariant, ...]:
    """Return the invariants with which each action alone can be proved, for any number of participants."""
    return (
        Invariant("heard-has-voted", "the coordinator has heard from those that voted", s.heard <= s.voted),
        Invariant(
            "commit-is-of-all",
            "the coordinator commits only after all have voted, and participants only after the coordinator",
            implies(s.decision == Decision.COMMIT, s.heard == s.all)
            & implies(size(s.committed) > 0, s.decision == Decision.COMMIT),
        ),
        Invariant(
            "abort-is-told-or-own",
            "a participant that has voted aborts only by the coordinator's order",
            implies(overlap(s.aborted, s.voted), s.decision == Decision.ABORT),
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
    name="two-phase-commit-sets",
    summary="participants prepare, a coordinator decides whether all of them commit",
    defaults=Parameters(),
    build=build,
    sources=(
        "Gray and Lamport, Consensus on Transaction Commit, section 3 (TwoPhase.tla)",
        "stateright, examples/2pc.rs",
    ),
    not_modelled=("a coordinator that fails: participants that have prepared would wait for ever",),
)
