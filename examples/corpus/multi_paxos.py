"""MultiPaxos: replicas agree on a log of writes and reads of a key, and clients see a linearizable order.

Source: tlaplus/Examples, MultiPaxos-SMR/MultiPaxos.tla. The state is that of the spec. A ballot has one
proposer, so a message is a Boolean and fields of its ballot, and the senders of a kind of reply are a set.
TLC's small configuration has 3 replicas, a write, a read and 2 ballots, with a symmetry of the replicas,
and no view or constraint. By default two things are as in the spec: leaders take the commands in one order,
and a commit notice names its slot only.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import permutations, product
from typing import Any

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
    all_of,
    any_of,
    at,
    each,
    exists,
    exists_over,
    family,
    forall,
    forall_over,
    if_,
    implies,
    integers,
    labels,
    length,
    majority,
    members,
    optional,
    parameter,
    sequences,
    size,
    subsets,
    switch,
    variable,
)


@dataclass(frozen=True)
class Parameters:
    """One instance, and four rules of the replicas."""

    replicas: int = parameter(3, "replicas")
    writes: int = parameter(1, "commands that write, each a value of its own")
    reads: int = parameter(1, "commands that read")
    ballots: int = parameter(2, "ballots")
    commit: str = switch(
        ("majority", "one"),
        "whether a leader commits with a majority of the replies or with one",
        "README of the spec: a change that fails the check",
    )
    votes: str = switch(
        ("adopted", "ignored"), "whether a new leader proposes again what a majority voted for", "a mistake"
    )
    requests: str = switch(
        ("in_order", "any"),
        "whether all leaders take the pending commands in one order",
        "MultiPaxos.tla, TakeNewRequest",
    )
    notice: str = switch(
        ("slot", "ballot"),
        "whether a follower commits whatever it accepted, or only in the ballot of the notice",
        "MultiPaxos.tla, HandleCommitNotice; a mend",
    )


class Status(Enum):
    """The status of a slot of a replica."""

    EMPTY = "empty"
    PREPARING = "preparing"
    ACCEPTING = "accepting"
    COMMITTED = "committed"


class State(StateSpace):
    """The replicas, the messages, and what clients observed. Ballot and slot 0 are none."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = p = parameters
        writes, reads = ([f"{k}{i}" for i in range(1, n + 1)] for k, n in (("w", p.writes), ("r", p.reads)))
        self.commands = writes + reads
        self.written = tuple(writes)
        self.replica = labels("replica", "s", p.replicas)
        self.command = Sort("command", tuple(self.commands))
        self.ballot = integers(1, p.ballots)
        self.slot = integers(1, len(self.commands))
        ballot_or_none, some = integers(0, p.ballots), optional(self.command)
        self.value = optional(Sort("write", self.written))
        place = self.commands.index
        self.earlier = family(BOOL, self.command, self.command, initial=lambda c, d: place(c) < place(d))

        self.leader = family(optional(self.replica), self.replica)
        self.kvalue = family(self.value, self.replica)
        self.commit_up_to = family(integers(0, len(self.commands)), self.replica)
        self.prepared = family(ballot_or_none, self.replica)
        self.known = family(ballot_or_none, self.replica)
        self.status = family(members(Status), self.replica, self.slot)
        self.instance = family(some, self.replica, self.slot)
        self.voted_in = family(ballot_or_none, self.replica, self.slot)
        self.voted = family(some, self.replica, self.slot)

        self.proposer = family(optional(self.replica), self.ballot)
        self.promised = family(subsets(self.replica), self.ballot)
        self.promised_vote = family(ballot_or_none, self.ballot, self.replica, self.slot)
        self.promised_command = family(some, self.ballot, self.replica, self.slot)
        self.asked = family(BOOL, self.ballot, self.slot)
        self.proposal = family(some, self.ballot, self.slot)
        self.accepted = family(subsets(self.replica), self.ballot, self.slot)
        self.notice_ballot = self.ballot if p.notice == "ballot" else integers(0, 0)
        self.notice = family(BOOL, self.slot, self.notice_ballot)

        self.pending = family(BOOL, self.command, initial=True)
        self.requested = {c: f"request {c}" for c in self.commands}
        self.acknowledged = {(c, v): f"{c} gave {v}" for c, v in product(self.commands, self.value)}
        events = (*self.requested.values(), *self.acknowledged.values())
        self.position = integers(1, len(events))
        self.observed = variable(sequences(Sort("event", events), most=len(events)))
        self.done = family(BOOL, self.replica)

    def works(self) -> Term:
        """Return whether some command has no answer yet (not terminated)."""
        return exists(self.command, lambda c: self.pending[c])

    def leads(self, replica: TermLike, ballot: TermLike) -> Term:
        """Return whether a replica thinks that it leads a prepared ballot."""
        return (
            (self.leader[replica] == replica)
            & (self.prepared[replica] == ballot)
            & (self.known[replica] == ballot)
        )

    def was_observed(self, event: str) -> Term:
        """Return whether clients observed an event."""
        return exists(self.position, lambda i: (length(self.observed) >= i) & (at(self.observed, i) == event))

    def is_before(self, first: str, second: str) -> Term:
        """Return whether an event was observed before another one."""
        seen = self.observed
        return exists_over(
            (self.position, self.position),
            lambda i, j: (length(seen) >= j) & (i < j) & (at(seen, i) == first) & (at(seen, j) == second),
        )

    def peak(self, ballot: TermLike, replica: TermLike, slot: TermLike) -> Term:
        """Return the command of the highest vote that was promised for a slot, or none (PeakVotedCmd)."""
        if self.parameters.votes == "ignored":
            return self.instance[replica, slot]

        def votes(command: str) -> Term:
            vote, said = self.promised_vote, self.promised_command
            return exists(
                self.replica,
                lambda r: (
                    (said[ballot, r, slot] == command)
                    & forall(self.replica, lambda q: vote[ballot, q, slot] <= vote[ballot, r, slot])
                ),
            )

        found: Term = self.promised_command[ballot, replica, slot]
        for command in self.commands:
            found = if_(votes(command), command, found)
        return found

    def prepare(self, replica: TermLike, ballot: TermLike, proposer: TermLike) -> list[Any]:
        """Return the updates of a replica that goes to a ballot, and promises it with its votes."""
        return [
            self.leader[replica].set(proposer),
            self.known[replica].set(ballot),
            self.promised[ballot].add(replica),
            *[
                update
                for t in self.slot
                for update in (
                    self.status[replica, t].set(
                        Status.PREPARING, when=self.status[replica, t] == Status.ACCEPTING
                    ),
                    self.promised_vote[ballot, replica, t].set(self.voted_in[replica, t]),
                    self.promised_command[ballot, replica, t].set(self.voted[replica, t]),
                )
            ],
        ]

    def vote(self, replica: TermLike, ballot: TermLike, slot: TermLike, command: TermLike) -> list[Any]:
        """Return the updates of a replica that votes for a command."""
        return [
            self.status[replica, slot].set(Status.ACCEPTING),
            self.instance[replica, slot].set(command),
            self.voted_in[replica, slot].set(ballot),
            self.voted[replica, slot].set(command),
            self.accepted[ballot, slot].add(replica),
        ]

    def apply(self, replica: TermLike, slot: TermLike) -> list[Any]:
        """Return the updates of a replica that commits its next slot."""
        command = self.instance[replica, slot]
        return [
            self.status[replica, slot].set(Status.COMMITTED),
            self.commit_up_to[replica].set(slot),
            *[self.kvalue[replica].set(w, when=command == w) for w in self.written],
        ]


def become_leader(s: State, replica: Parameter, ballot: Parameter) -> Action:
    """Propose a ballot that nobody else proposed, and promise it (BecomeLeader)."""
    free = (s.proposer[ballot] == "none") & (ballot > s.known[replica])
    return Action(
        when=s.works() & (s.leader[replica] != replica) & free,
        then=[
            *s.prepare(replica, ballot, replica),
            s.prepared[replica].set(0),
            s.proposer[ballot].set(replica),
        ],
        actor=replica,
    )


def promise(s: State, replica: Parameter, ballot: Parameter) -> Action:
    """Promise a higher ballot, and tell the votes (HandlePrepare)."""
    return Action(
        when=s.works() & (s.proposer[ballot] != "none") & (ballot > s.known[replica]),
        then=s.prepare(replica, ballot, s.proposer[ballot]),
        actor=replica,
    )


def finish_prepare(s: State, replica: Parameter, ballot: Parameter) -> Action:
    """Adopt the highest votes of a majority, and propose them again (HandlePrepareReplies)."""
    waits = (s.leader[replica] == replica) & (s.prepared[replica] == 0) & (s.known[replica] == ballot)
    updates = [s.prepared[replica].set(ballot)]
    for t in s.slot:
        status, peak = s.status[replica, t], s.peak(ballot, replica, t)
        resumed = (status == Status.PREPARING) | ((status == Status.EMPTY) & (peak != "none"))
        sent = resumed | (status == Status.ACCEPTING)
        updates += [
            s.instance[replica, t].set(peak),
            status.set(Status.ACCEPTING, when=resumed),
            s.asked[ballot, t].set(True, when=sent),
            s.proposal[ballot, t].set(peak, when=sent),
        ]
    return Action(
        when=s.works() & waits & majority(s.promised[ballot], s.replica), then=updates, actor=replica
    )


def take_request(
    s: State, replica: Parameter, ballot: Parameter, slot: Parameter, command: Parameter
) -> Action:
    """Propose a pending command for the next empty slot (TakeNewRequest)."""

    def unseen(c: TermLike) -> Term:
        return s.pending[c] & forall(s.slot, lambda t: s.instance[replica, t] != c)

    status = s.status[replica, slot]
    filled = forall(s.slot, lambda t: implies(t < slot, s.status[replica, t] != Status.EMPTY))
    turn = (
        []
        if s.parameters.requests == "any"
        else [forall(s.command, lambda c: implies(s.earlier[c, command], ~unseen(c)))]
    )
    event = s.requested
    return Action(
        when=all_of(s.leads(replica, ballot), status == Status.EMPTY, filled, unseen(command), *turn),
        then=[
            *s.vote(replica, ballot, slot, command),
            s.asked[ballot, slot].set(True),
            s.proposal[ballot, slot].set(command),
            *[s.observed.append(event[c], when=(command == c) & ~s.was_observed(event[c])) for c in event],
        ],
        actor=replica,
    )


def accept(s: State, replica: Parameter, ballot: Parameter, slot: Parameter) -> Action:
    """Vote as proposed, unless a higher ballot was promised (HandleAccept)."""
    newer = (ballot >= s.known[replica]) & (ballot > s.voted_in[replica, slot])
    return Action(
        when=s.works() & s.asked[ballot, slot] & newer,
        then=[
            *s.vote(replica, ballot, slot, s.proposal[ballot, slot]),
            s.leader[replica].set(s.proposer[ballot]),
            s.known[replica].set(ballot),
        ],
        actor=replica,
    )


def commit(s: State, replica: Parameter, ballot: Parameter, slot: Parameter) -> Action:
    """Commit the next slot once a majority accepted it, and answer the client (HandleAcceptReplies)."""
    votes = s.accepted[ballot, slot]
    enough = majority(votes, s.replica) if s.parameters.commit == "majority" else size(votes) >= 1
    ready = (s.commit_up_to[replica] == slot - 1) & (s.status[replica, slot] == Status.ACCEPTING)
    given = s.instance[replica, slot], s.kvalue[replica]
    return Action(
        when=s.works() & s.leads(replica, ballot) & ready & enough,
        then=[
            *s.apply(replica, slot),
            *[s.pending[c].set(False, when=given[0] == c) for c in s.commands],
            *[
                s.observed.append(e, when=(given[0] == c) & (given[1] == v) & ~s.was_observed(e))
                for (c, v), e in s.acknowledged.items()
            ],
            s.notice[slot, ballot if s.parameters.notice == "ballot" else 0].set(True),
        ],
        actor=replica,
    )


def hear_commit(s: State, replica: Parameter, slot: Parameter) -> Action:
    """Commit the next slot as a leader says (HandleCommitNotice)."""
    ready = (s.commit_up_to[replica] == slot - 1) & (s.status[replica, slot] == Status.ACCEPTING)
    told = exists(s.notice_ballot, lambda b: s.notice[slot, b] & (b <= s.voted_in[replica, slot]))
    return Action(
        when=s.works() & (s.leader[replica] != replica) & ready & told,
        then=s.apply(replica, slot),
        actor=replica,
    )


def finish(s: State, replica: Parameter) -> Action:
    """End the loop of a replica when all commands have an answer (Done)."""
    return Action(when=~s.works() & ~s.done[replica], then=[s.done[replica].set(True)], actor=replica)


def linearizable(s: State) -> Property:
    """Return the property Linearizability."""

    def is_explained_by(order: tuple[str, ...]) -> Term:
        said, last = [], "none"
        for command in order:
            said += [~s.was_observed(e) for (c, v), e in s.acknowledged.items() if c == command and v != last]
            last = command if command in s.written else last
        late = [
            s.is_before(e, s.requested[first])
            for i, first in enumerate(order)
            for (c, _), e in s.acknowledged.items()
            if c in order[i + 1 :]
        ]
        return all_of(*said) & ~any_of(*late)

    return Property(
        name="linearizable",
        meaning="once all commands have an answer, some order explains the answers (Linearizability)",
        holds=s.works() | any_of(*[is_explained_by(order) for order in permutations(s.commands)]),
        witness=~s.works(),
        witness_meaning="all commands have an answer",
    )


def one_command(s: State) -> Property:
    """Return the property that committed slots agree."""

    def committed(replica: TermLike, slot: TermLike) -> Term:
        return s.status[replica, slot] == Status.COMMITTED

    return Property(
        name="one-command",
        meaning="no two replicas commit different commands in a slot",
        holds=forall_over(
            (s.replica, s.replica, s.slot),
            lambda r, q, t: implies(committed(r, t) & committed(q, t), s.instance[r, t] == s.instance[q, t]),
        ),
        witness=exists_over(
            (s.replica, s.replica, s.slot), lambda r, q, t: (r != q) & committed(r, t) & committed(q, t)
        ),
        witness_meaning="two replicas have committed a slot",
    )


def proposes_commands(s: State) -> Property:
    """Return the part of the type invariant that says what an Accept message carries."""
    return Property(
        name="proposes-commands",
        meaning="each proposal has a command",
        holds=forall_over(
            (s.ballot, s.slot), lambda b, t: implies(s.asked[b, t], s.proposal[b, t] != "none")
        ),
        witness=exists_over((s.ballot, s.slot), lambda b, t: s.asked[b, t]),
        witness_meaning="there is a proposal",
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    actions = (
        each(become_leader, s, s.replica, s.ballot),
        each(promise, s, s.replica, s.ballot),
        each(finish_prepare, s, s.replica, s.ballot),
        each(take_request, s, s.replica, s.ballot, s.slot, s.command),
        each(accept, s, s.replica, s.ballot, s.slot),
        each(commit, s, s.replica, s.ballot, s.slot),
        each(hear_commit, s, s.replica, s.slot),
        each(finish, s, s.replica),
    )
    return System(s, actions, (linearizable(s), one_command(s), proposes_commands(s)))


PROTOCOL = Protocol(
    "multi-paxos",
    "replicas agree on a log of commands, ballot after ballot",
    Parameters(),
    build,
    sources=("tlaplus/Examples, MultiPaxos-SMR/MultiPaxos.tla and MultiPaxos_MC.tla",),
)
