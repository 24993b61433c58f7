"""Paxos Commit: one instance of Paxos for each resource manager decides whether it has prepared.

Source: tlaplus/Examples, transaction_commit/PaxosCommit.tla (Gray and Lamport, Consensus on Transaction
Commit). The state is that of the spec. The messages are a set that only grows, so each possible message is
one Boolean. One thing departs: the majority and the value of a leader are arguments of its action, instead
of bound in its guard. TLC's configuration has two resource managers, three acceptors and the ballots 0 and 1,
without symmetry, view or constraint.
"""

from __future__ import annotations

from collections.abc import Callable
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
    exists,
    exists_over,
    family,
    forall,
    forall_over,
    implies,
    integers,
    labels,
    members,
    parameter,
    variable,
)


@dataclass(frozen=True)
class Parameters:
    """One instance."""

    managers: int = parameter(1, "resource managers")
    acceptors: int = parameter(3, "acceptors")
    ballots: int = parameter(2, "ballots, the first of which is 0")


class Phase(Enum):
    """The phase of a resource manager."""

    WORKING = "working"
    PREPARED = "prepared"
    COMMITTED = "committed"
    ABORTED = "aborted"


class Vote(Enum):
    """The value of an instance of Paxos, or none."""

    NONE = "none"
    PREPARED = "prepared"
    ABORTED = "aborted"


class State(StateSpace):
    """The managers, the acceptors in each instance of Paxos, and the messages that were sent."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables. A ballot of -1 is none."""
        self.parameters = parameters
        last = parameters.ballots - 1
        self.manager = labels("manager", "r", parameters.managers)
        self.acceptor = labels("acceptor", "a", parameters.acceptors)
        self.ballot = integers(0, last)
        self.later = integers(1, last)
        self.voted_in = integers(-1, last)
        self.vote = members(Vote)
        names = [str(acceptor) for acceptor in self.acceptor]
        majorities = list(combinations(names, len(names) // 2 + 1))
        of = {"{" + ",".join(chosen) + "}": chosen for chosen in majorities}
        self.majority = Sort("majority", tuple(of))
        self.contains = family(BOOL, self.majority, self.acceptor, initial=lambda q, a: a in of[q])

        self.phase = family(members(Phase), self.manager)
        self.promised = family(self.ballot, self.manager, self.acceptor)
        self.voted = family(self.voted_in, self.manager, self.acceptor)
        self.value = family(self.vote, self.manager, self.acceptor)

        at = (self.manager, self.ballot)
        self.sent_1a = family(BOOL, self.manager, self.later)
        self.sent_1b = family(BOOL, self.manager, self.later, self.voted_in, self.vote, self.acceptor)
        self.sent_2a = family(BOOL, *at, self.vote)
        self.sent_2b = family(BOOL, *at, self.vote, self.acceptor)
        self.commit = variable(BOOL)
        self.abort = variable(BOOL)

    def all_of_some(self, agrees: Callable[[TermLike], Term]) -> Term:
        """Return whether all acceptors of some majority agree."""
        return exists(self.majority, lambda q: self.all_of(q, agrees))

    def all_of(self, majority: TermLike, agrees: Callable[[TermLike], TermLike]) -> Term:
        """Return whether all acceptors of a majority agree."""
        return forall(self.acceptor, lambda a: implies(self.contains[majority, a], agrees(a)))

    def decided(self, manager: TermLike, vote: Vote) -> Term:
        """Return whether the instance of a manager has chosen a vote."""
        return exists(self.ballot, lambda b: self.all_of_some(lambda a: self.sent_2b[manager, b, vote, a]))


def prepare(s: State, manager: Parameter) -> Action:
    """Prepare, and propose so in ballot 0 (RMPrepare)."""
    return Action(
        when=s.phase[manager] == Phase.WORKING,
        then=[s.phase[manager].set(Phase.PREPARED), s.sent_2a[manager, 0, Vote.PREPARED].set(True)],
        actor=manager,
    )


def give_up(s: State, manager: Parameter) -> Action:
    """Abort, and propose so in ballot 0 (RMChooseToAbort)."""
    return Action(
        when=s.phase[manager] == Phase.WORKING,
        then=[s.phase[manager].set(Phase.ABORTED), s.sent_2a[manager, 0, Vote.ABORTED].set(True)],
        actor=manager,
    )


def hear_commit(s: State, manager: Parameter) -> Action:
    """Learn that the transaction is committed (RMRcvCommitMsg)."""
    return Action(when=s.commit, then=[s.phase[manager].set(Phase.COMMITTED)], actor=manager)


def hear_abort(s: State, manager: Parameter) -> Action:
    """Learn that the transaction is aborted (RMRcvAbortMsg)."""
    return Action(when=s.abort, then=[s.phase[manager].set(Phase.ABORTED)], actor=manager)


def phase_1a(s: State, manager: Parameter, ballot: Parameter) -> Action:
    """Begin a later ballot for a manager (Phase1a)."""
    return Action(
        when=~s.sent_1a[manager, ballot], then=[s.sent_1a[manager, ballot].set(True)], actor="leader"
    )


def phase_1b(s: State, acceptor: Parameter, manager: Parameter, ballot: Parameter) -> Action:
    """Promise a ballot, and say the last vote (Phase1b)."""
    own = manager, acceptor
    last = s.voted[own], s.value[own]
    return Action(
        when=s.sent_1a[manager, ballot] & (s.promised[own] < ballot),
        then=[s.promised[own].set(ballot), s.sent_1b[manager, ballot, *last, acceptor].set(True)],
        actor=acceptor,
    )


def phase_2a(s: State, manager: Parameter, ballot: Parameter, majority: Parameter, vote: Parameter) -> Action:
    """Propose the latest vote that a majority reports, else to abort (Phase2a)."""

    def reports(last: TermLike, value: TermLike, acceptor: TermLike) -> Term:
        return s.contains[majority, acceptor] & s.sent_1b[manager, ballot, last, value, acceptor]

    def none_after(last: TermLike) -> Term:
        return forall_over(
            (s.ballot, s.vote, s.acceptor), lambda b, v, a: implies(b > last, ~reports(b, v, a))
        )

    heard = s.all_of(
        majority,
        lambda a: exists_over((s.voted_in, s.vote), lambda b, v: s.sent_1b[manager, ballot, b, v, a]),
    )
    latest = exists_over((s.ballot, s.acceptor), lambda b, a: reports(b, vote, a) & none_after(b))
    free = (vote == Vote.ABORTED) & none_after(-1)
    unused = forall(s.vote, lambda v: ~s.sent_2a[manager, ballot, v])
    return Action(
        when=unused & heard & (vote != Vote.NONE) & (free | latest),
        then=[s.sent_2a[manager, ballot, vote].set(True)],
        actor="leader",
    )


def phase_2b(s: State, acceptor: Parameter, manager: Parameter, ballot: Parameter, vote: Parameter) -> Action:
    """Vote as proposed, unless a later ballot was promised (Phase2b)."""
    own = manager, acceptor
    return Action(
        when=s.sent_2a[manager, ballot, vote] & (s.promised[own] <= ballot) & (vote != Vote.NONE),
        then=[
            s.promised[own].set(ballot),
            s.voted[own].set(ballot),
            s.value[own].set(vote),
            s.sent_2b[manager, ballot, vote, acceptor].set(True),
        ],
        actor=acceptor,
    )


def decide_commit(s: State) -> Action:
    """Announce the commit: all instances have chosen so (Decide)."""
    ready = forall(s.manager, lambda m: s.decided(m, Vote.PREPARED))
    return Action(when=ready, then=[s.commit.set(True)], actor="leader")


def decide_abort(s: State) -> Action:
    """Announce the abort: one instance has chosen so (Decide)."""
    ready = exists(s.manager, lambda m: s.decided(m, Vote.ABORTED))
    return Action(when=ready, then=[s.abort.set(True)], actor="leader")


def consistent(s: State) -> Property:
    """Return the property TCConsistent."""
    return Property(
        name="consistent",
        meaning="no manager commits a transaction that another one aborts",
        holds=~exists_over(
            (s.manager, s.manager),
            lambda m, n: (s.phase[m] == Phase.COMMITTED) & (s.phase[n] == Phase.ABORTED),
        ),
        witness=exists(s.manager, lambda m: s.phase[m] == Phase.COMMITTED),
        witness_meaning="a manager has committed",
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    actions = (
        each(prepare, s, s.manager),
        each(give_up, s, s.manager),
        each(phase_1a, s, s.manager, s.later),
        each(phase_1b, s, s.acceptor, s.manager, s.later),
        each(phase_2a, s, s.manager, s.later, s.majority, s.vote),
        each(phase_2b, s, s.acceptor, s.manager, s.ballot, s.vote),
        each(decide_commit, s),
        each(decide_abort, s),
        each(hear_commit, s, s.manager),
        each(hear_abort, s, s.manager),
    )
    return System(s, actions, (consistent(s),))


PROTOCOL = Protocol(
    name="paxos-commit",
    summary="Paxos decides for each resource manager whether it has prepared",
    defaults=Parameters(),
    build=build,
    sources=("tlaplus/Examples, transaction_commit/PaxosCommit.tla",),
)
