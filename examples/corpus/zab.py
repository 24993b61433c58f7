"""Zab, the broadcast protocol of ZooKeeper: a leader recovers the history of a quorum, and proposes to it.

Source: Disalg-ICS-NJU/zookeeper-tla-spec, high-level-spec/Zab.tla. What departs: a transaction is the epoch
in which it was written, and its place; a message names a place instead of a zxid; the channels belong to the
connection of a follower, because they are empty without one; with at most 3 servers the sets of a leader are
flags of its followers, since one answer makes a quorum; a leader that gives up forgets what it led; the bound
of epochs keeps nobody from joining; and the bound of transactions is one for each history.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
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
    count,
    definition,
    each,
    exists,
    exists_over,
    family,
    forall,
    forall_over,
    if_,
    implies,
    integers,
    is_in,
    labels,
    majority,
    maximum,
    members,
    optional,
    parameter,
    set_of,
    subsets,
    switch,
    variable,
)


@dataclass(frozen=True)
class Parameters:
    """One instance, and five rules."""

    servers: int = parameter(2, "servers", least=2, most=3)
    transactions: int = parameter(1, "transactions of a history")
    epochs: int = parameter(2, "epochs")
    timeouts: int = parameter(1, "connections that time out", least=0)
    restarts: int = parameter(1, "restarts of a server", least=0)
    propose_to: str = switch(
        ("synchronizing", "synchronized"),
        "whether proposals go to followers that were sent the history, or only once they have it",
        "issues.md of the source, issue 1",
    )
    again: str = switch(
        ("ignored", "refused"),
        "whether a follower may hear a proposal that its history has",
        "issues.md of the source, issue 2",
    )
    commit_upto: str = switch(
        ("committed", "acknowledged"),
        "whether a follower that joins is told what is committed, or what it acknowledged",
        "issues.md of the source, issue 3",
    )
    recovery: str = switch(
        ("epoch", "length"),
        "whether the epoch of a server counts when a leader chooses the history",
        "Zab.tla, MoreResentOrEqual; a mistake",
    )
    store: str = switch(
        ("together", "epoch_first"),
        "whether a follower stores a new epoch and its history in one step",
        "ZOOKEEPER-4643",
    )


class Role(Enum):
    """The state of a server."""

    LOOKING = "looking"
    FOLLOWING = "following"
    LEADING = "leading"


class Phase(Enum):
    """The phase of a server that follows or leads."""

    DISCOVERY = "discovery"
    SYNCHRONIZATION = "synchronization"
    BROADCAST = "broadcast"


class Kind(Enum):
    """The kind of a message; none after the end of a channel."""

    NONE = "none"
    CEPOCH = "CEPOCH"
    NEWEPOCH = "NEWEPOCH"
    ACKEPOCH = "ACKEPOCH"
    NEWLEADER = "NEWLEADER"
    ACKLD = "ACKLD"
    COMMITLD = "COMMITLD"
    PROPOSE = "PROPOSE"
    ACK = "ACK"
    COMMIT = "COMMIT"


class State(StateSpace):
    """The servers, and the connection of each follower with its channels. Epoch and place 0 are none."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = p = parameters
        self.server = labels("server", "s", p.servers)
        self.place = integers(1, p.transactions)
        self.way = Sort("way", ("down", "up"))
        self.positions = range(1, 2 * p.transactions + 2)
        self.position = integers(1, len(self.positions))
        places, epochs, nobody = integers(0, p.transactions), integers(0, p.epochs), optional(self.server)

        self.oracle = variable(nobody)
        self.role = family(members(Role), self.server)
        self.phase = family(members(Phase), self.server)
        self.accepted = family(epochs, self.server)
        self.current = family(epochs, self.server)
        self.history = family(epochs, self.server, self.place)
        self.committed = family(places, self.server)
        self.half = family(BOOL, self.server)

        self.chosen = family(BOOL, self.server)
        self.proposed = family(places, self.server)
        self.acks = family(subsets(self.server), self.server, self.place)

        self.follows = family(nobody, self.server)
        self.synchronizing = family(BOOL, self.server)
        self.synchronized = family(BOOL, self.server)
        self.kind = family(members(Kind), self.way, self.server, self.position)
        self.about = family(places, self.way, self.server, self.position)

        self.timed_out = variable(integers(0, p.timeouts))
        self.restarted = variable(integers(0, p.restarts))
        self.wrong = variable(BOOL)

    @definition
    def length(self, server: TermLike) -> Term:
        """Return the length of a history."""
        return count(self.place, lambda k: self.history[server, k] > 0)

    @definition
    def last_epoch(self, server: TermLike) -> Term:
        """Return the epoch of the last transaction of a history; 0 if there is none."""
        return maximum(self.place, lambda k: self.history[server, k])

    def arrives(self, way: str, follower: TermLike, kind: Kind) -> Term:
        """Return whether the first message of a channel is of a kind."""
        return self.kind[way, follower, 1] == kind

    def first(self, way: str, follower: TermLike) -> Term:
        """Return the place that the first message of a channel names."""
        return self.about[way, follower, 1]

    def receive(self, way: str, follower: TermLike) -> list[Any]:
        """Return the updates that take the first message of a channel away."""
        kind, about, last = self.kind, self.about, len(self.positions)
        return [
            update
            for p in self.positions
            for update in (
                kind[way, follower, p].set(kind[way, follower, p + 1] if p < last else Kind.NONE),
                about[way, follower, p].set(about[way, follower, p + 1] if p < last else 0),
            )
        ]

    def send(
        self, way: str, follower: TermLike, kind: Kind, place: TermLike = 0, when: TermLike = True
    ) -> list[Any]:
        """Return the updates that add a message at the end of a channel."""

        def is_end(p: int) -> Term:
            free = self.kind[way, follower, p] == Kind.NONE
            return free & (self.kind[way, follower, p - 1] != Kind.NONE) if p > 1 else free

        return [
            update
            for p in self.positions
            for update in (
                self.kind[way, follower, p].set(kind, when=is_end(p) & when),
                self.about[way, follower, p].set(place, when=is_end(p) & when),
            )
        ]

    def keeps_quorum(self, leader: TermLike, without: TermLike) -> Term:
        """Return whether a leader has a quorum without one of its followers."""
        others = count(self.server, lambda s: (self.follows[s] == leader) & (s != without))
        return (others + 1) * 2 > len(self.server)

    def is_down(self, server: TermLike, cause: TermLike) -> Term:
        """Return whether a server goes back to the election because of another one, or of itself."""
        return (
            (server == cause)
            | (self.follows[server] == cause)
            | exists(
                self.server,
                lambda i: (
                    (self.follows[cause] == i)
                    & ~self.keeps_quorum(i, cause)
                    & ((server == i) | (self.follows[server] == i))
                ),
            )
        )

    def shut_down(self, cause: TermLike) -> list[Any]:
        """Return the updates of servers that go back to the election (FollowerShutdown, LeaderShutdown)."""
        updates = []
        for s in self.server:
            down = self.is_down(s, cause)
            changed: list[tuple[Any, TermLike]] = [
                (self.role[s], Role.LOOKING),
                (self.phase[s], Phase.DISCOVERY),
                (self.half[s], False),
                (self.chosen[s], False),
                (self.proposed[s], 0),
                (self.follows[s], "none"),
                (self.synchronizing[s], False),
                (self.synchronized[s], False),
                *[(self.kind[w, s, p], Kind.NONE) for w in self.way for p in self.position],
                *[(self.about[w, s, p], 0) for w in self.way for p in self.position],
            ]
            updates += [variable.set(value, when=down) for variable, value in changed]
            updates += [self.acks[s, k].remove(q, when=down) for k in self.place for q in self.server]
        return updates


def lead(s: State, server: Parameter) -> Action:
    """Lead, as the election says (UpdateLeader, FollowLeader)."""
    return Action(
        when=s.role[server] == Role.LOOKING,
        then=[s.oracle.set(server), s.role[server].set(Role.LEADING)],
        actor=server,
    )


def follow(s: State, server: Parameter) -> Action:
    """Follow the leader that the election names (FollowLeader)."""
    other = (s.oracle != "none") & (s.oracle != server)
    return Action(
        when=(s.role[server] == Role.LOOKING) & other,
        then=[s.role[server].set(Role.FOLLOWING)],
        actor=server,
    )


def time_out(s: State, follower: Parameter) -> Action:
    """Lose a connection; a leader without a quorum gives up (Timeout)."""
    return Action(
        when=(s.follows[follower] != "none") & (s.timed_out < s.parameters.timeouts),
        then=[*s.shut_down(follower), s.timed_out.set(s.timed_out + 1)],
        actor=follower,
        fault="timeouts",
    )


def restart(s: State, server: Parameter) -> Action:
    """Restart a server, which keeps its epochs and its history (Restart)."""
    return Action(
        when=s.restarted < s.parameters.restarts,
        then=[*s.shut_down(server), s.committed[server].set(0), s.restarted.set(s.restarted + 1)],
        actor=server,
        fault="restarts",
    )


def connect(s: State, follower: Parameter, leader: Parameter) -> Action:
    """Connect to the leader, and tell the accepted epoch (ConnectAndFollowerSendCEPOCH)."""
    ready = (s.role[leader] == Role.LEADING) & (s.role[follower] == Role.FOLLOWING)
    return Action(
        when=ready & (s.oracle == leader) & (s.follows[follower] == "none"),
        then=[s.follows[follower].set(leader), *s.send("up", follower, Kind.CEPOCH)],
        actor=follower,
    )


def choose_epoch(s: State, leader: Parameter, follower: Parameter) -> Action:
    """Choose a new epoch once a quorum told theirs, and tell it (LeaderProcessCEPOCH)."""
    own, theirs = s.accepted[leader], s.accepted[follower]
    highest = if_(theirs > own, theirs, own)
    room = s.chosen[leader] | (highest < s.parameters.epochs)
    return Action(
        when=(s.follows[follower] == leader) & s.arrives("up", follower, Kind.CEPOCH) & room,
        then=[
            own.set(highest + 1, when=~s.chosen[leader]),
            s.chosen[leader].set(True),
            *s.receive("up", follower),
            *s.send("down", follower, Kind.NEWEPOCH),
        ],
        actor=leader,
    )


def accept_epoch(s: State, follower: Parameter, leader: Parameter) -> Action:
    """Accept an epoch that is not older, and tell the history (FollowerProcessNEWEPOCH)."""
    told = (s.follows[follower] == leader) & s.arrives("down", follower, Kind.NEWEPOCH)
    return Action(
        when=told & (s.accepted[leader] >= s.accepted[follower]),
        then=[
            s.accepted[follower].set(s.accepted[leader]),
            s.phase[follower].set(Phase.SYNCHRONIZATION),
            *s.receive("down", follower),
            *s.send("up", follower, Kind.ACKEPOCH),
        ],
        actor=follower,
    )


def refuse_epoch(s: State, follower: Parameter, leader: Parameter) -> Action:
    """Leave a leader whose epoch is older (FollowerProcessNEWEPOCH)."""
    told = (s.follows[follower] == leader) & s.arrives("down", follower, Kind.NEWEPOCH)
    return Action(
        when=told & (s.accepted[leader] < s.accepted[follower]),
        then=s.shut_down(follower),
        actor=follower,
    )


def is_better(s: State, other: TermLike, own: TermLike) -> Term:
    """Return whether a server has a more recent history than another one (MoreResentOrEqual)."""
    longer = s.length(other) > s.length(own)
    if s.parameters.recovery == "length":
        return longer
    last, mine = s.last_epoch(other), s.last_epoch(own)
    more = (last > mine) | ((last == mine) & longer)
    return (s.current[other] > s.current[own]) | ((s.current[other] == s.current[own]) & more)


def synchronize(s: State, leader: Parameter, follower: Parameter) -> Action:
    """Choose the history of a quorum, and send it (LeaderProcessACKEPOCH)."""
    new = s.phase[leader] == Phase.DISCOVERY
    takes = new & is_better(s, follower, leader)
    length = if_(takes, s.length(follower), s.length(leader))
    return Action(
        when=(s.follows[follower] == leader) & s.arrives("up", follower, Kind.ACKEPOCH),
        then=[
            s.current[leader].set(s.accepted[leader], when=new),
            s.phase[leader].set(Phase.SYNCHRONIZATION, when=new),
            s.proposed[leader].set(length, when=new),
            *[s.history[leader, k].set(s.history[follower, k], when=takes) for k in s.place],
            *[s.acks[leader, k].add(leader, when=new & (length >= k)) for k in s.place],
            s.synchronizing[follower].set(True),
            *s.receive("up", follower),
            *s.send("down", follower, Kind.NEWLEADER, length),
        ],
        actor=leader,
    )


def begin_history(s: State, follower: Parameter, leader: Parameter) -> Action:
    """Store the new epoch, and not yet the history (FollowerProcessNEWLEADER in two steps)."""
    told = (s.follows[follower] == leader) & s.arrives("down", follower, Kind.NEWLEADER)
    return Action(
        when=told & ~s.half[follower],
        then=[s.current[follower].set(s.accepted[follower]), s.half[follower].set(True)],
        actor=follower,
    )


def take_history(s: State, follower: Parameter, leader: Parameter) -> Action:
    """Store the history of the leader, and acknowledge it (FollowerProcessNEWLEADER)."""
    length = s.first("down", follower)
    told = (s.follows[follower] == leader) & s.arrives("down", follower, Kind.NEWLEADER)
    ready = s.half[follower] if s.parameters.store == "epoch_first" else True
    return Action(
        when=told & ready,
        then=[
            s.current[follower].set(s.accepted[follower]),
            s.half[follower].set(False),
            *[s.history[follower, k].set(if_(length >= k, s.history[leader, k], 0)) for k in s.place],
            *s.receive("down", follower),
            *s.send("up", follower, Kind.ACKLD, length),
        ],
        actor=follower,
    )


def establish(s: State, leader: Parameter, follower: Parameter) -> Action:
    """Commit the history once a quorum has it, and tell those that have it (LeaderProcessACKLD)."""
    place, new = s.first("up", follower), s.phase[leader] == Phase.SYNCHRONIZATION
    later = s.committed[leader] if s.parameters.commit_upto == "committed" else place
    return Action(
        when=(s.follows[follower] == leader) & s.arrives("up", follower, Kind.ACKLD),
        then=[
            *[s.acks[leader, k].add(follower, when=place >= k) for k in s.place],
            s.committed[leader].set(s.length(leader), when=new),
            s.phase[leader].set(Phase.BROADCAST),
            s.synchronized[follower].set(True),
            *s.receive("up", follower),
            *s.send("down", follower, Kind.COMMITLD, if_(new, s.length(leader), later)),
        ],
        actor=leader,
    )


def commit_history(s: State, follower: Parameter) -> Action:
    """Commit as far as the leader says (FollowerProcessCOMMITLD)."""
    place = s.first("down", follower)
    return Action(
        when=s.arrives("down", follower, Kind.COMMITLD),
        then=[
            s.committed[follower].set(place),
            s.phase[follower].set(Phase.BROADCAST),
            s.wrong.set(True, when=place > s.length(follower)),
            *s.receive("down", follower),
        ],
        actor=follower,
    )


def write(s: State, leader: Parameter) -> Action:
    """Append a transaction to the history of the leader (LeaderProcessRequest)."""
    serves = (s.role[leader] == Role.LEADING) & (s.phase[leader] == Phase.BROADCAST)
    return Action(
        when=serves & (s.length(leader) < s.parameters.transactions),
        then=[
            update
            for k in range(1, s.parameters.transactions + 1)
            for update in (
                s.history[leader, k].set(s.current[leader], when=s.length(leader) == k - 1),
                s.acks[leader, k].add(leader, when=s.length(leader) == k - 1),
            )
        ],
        actor=leader,
    )


def propose(s: State, leader: Parameter, place: Parameter) -> Action:
    """Propose the next transaction of the leader (LeaderBroadcastPROPOSE)."""
    heard = s.synchronizing if s.parameters.propose_to == "synchronizing" else s.synchronized
    return Action(
        when=(s.phase[leader] == Phase.BROADCAST)
        & (s.proposed[leader] == place - 1)
        & (s.length(leader) >= place),
        then=[
            s.proposed[leader].set(place),
            *[
                update
                for q in s.server
                for update in s.send("down", q, Kind.PROPOSE, place, when=(s.follows[q] == leader) & heard[q])
            ],
        ],
        actor=leader,
    )


def store(s: State, follower: Parameter, leader: Parameter, place: Parameter) -> Action:
    """Store the next transaction, and acknowledge it (FollowerProcessPROPOSE)."""
    told = (s.follows[follower] == leader) & s.arrives("down", follower, Kind.PROPOSE)
    is_next, known = s.length(follower) == place - 1, s.length(follower) >= place
    wrong = ~is_next if s.parameters.again == "refused" else ~is_next & ~known
    return Action(
        when=told & (s.first("down", follower) == place),
        then=[
            s.history[follower, place].set(s.history[leader, place], when=is_next),
            s.wrong.set(True, when=wrong),
            *s.receive("down", follower),
            *s.send("up", follower, Kind.ACK, place, when=is_next),
        ],
        actor=follower,
    )


def commit(s: State, leader: Parameter, follower: Parameter, place: Parameter) -> Action:
    """Count an acknowledgement, and commit in order what a quorum has (LeaderProcessACK)."""
    told = (s.follows[follower] == leader) & s.arrives("up", follower, Kind.ACK)
    acks = s.acks[leader, place] | set_of(s.server, follower)
    in_order = forall(s.place, lambda k: is_in(follower, s.acks[leader, k]) == (k < place)) | ~exists(
        s.place, lambda k: is_in(follower, s.acks[leader, k])
    )
    counts = in_order & (s.length(leader) >= place)
    commits = counts & majority(acks, s.server) & (s.committed[leader] == place - 1)
    return Action(
        when=told & (s.first("up", follower) == place),
        then=[
            s.acks[leader, place].add(follower, when=counts),
            s.wrong.set(True, when=~counts),
            s.committed[leader].set(place, when=commits),
            *s.receive("up", follower),
            *[
                update
                for q in s.server
                for update in s.send(
                    "down",
                    q,
                    Kind.COMMIT,
                    place,
                    when=commits & (s.follows[q] == leader) & s.synchronized[q],
                )
            ],
        ],
        actor=leader,
    )


def learn_commit(s: State, follower: Parameter) -> Action:
    """Commit the next transaction, which has to be the one that is named (FollowerProcessCOMMIT)."""
    place = s.first("down", follower)
    fits = (s.committed[follower] + 1 == place) & (s.length(follower) >= place)
    return Action(
        when=s.arrives("down", follower, Kind.COMMIT),
        then=[
            s.committed[follower].set(place, when=fits),
            s.wrong.set(True, when=~fits),
            *s.receive("down", follower),
        ],
        actor=follower,
    )


def properties(s: State) -> tuple[Property, ...]:
    """Return the properties: three invariants of the spec."""

    def established(server: TermLike) -> Term:
        return (s.role[server] == Role.LEADING) & (s.phase[server] != Phase.DISCOVERY)

    pair = (s.server, s.server)
    return (
        Property(
            name="prefix-consistent",
            meaning="what two servers committed at a place is the same (PrefixConsistency)",
            holds=forall_over(
                (*pair, s.place),
                lambda i, j, k: implies(
                    (s.committed[i] >= k) & (s.committed[j] >= k), s.history[i, k] == s.history[j, k]
                ),
            ),
            witness=exists_over(pair, lambda i, j: (i != j) & (s.committed[i] > 0) & (s.committed[j] > 0)),
            witness_meaning="two servers have committed a transaction",
        ),
        Property(
            name="one-leader",
            meaning="an epoch has at most one established leader (Leadership1)",
            holds=forall_over(
                pair,
                lambda i, j: implies(
                    established(i) & established(j) & (s.current[i] == s.current[j]), i == j
                ),
            ),
            witness=exists(s.server, established),
            witness_meaning="a leader is established",
        ),
        Property(
            name="as-expected",
            meaning="no server hears what it cannot use (DuringActionCheck)",
            holds=~s.wrong,
            witness=exists(s.server, lambda q: (s.role[q] == Role.FOLLOWING) & (s.committed[q] > 0)),
            witness_meaning="a follower has committed a transaction",
        ),
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    pair = s.server, s.server
    actions = (
        each(lead, s, s.server),
        each(follow, s, s.server),
        each(time_out, s, s.server),
        each(restart, s, s.server),
        each(connect, s, *pair),
        each(choose_epoch, s, *pair),
        each(accept_epoch, s, *pair),
        each(refuse_epoch, s, *pair),
        each(synchronize, s, *pair),
        *([each(begin_history, s, *pair)] if p.store == "epoch_first" else []),
        each(take_history, s, *pair),
        each(establish, s, *pair),
        each(commit_history, s, s.server),
        each(write, s, s.server),
        each(propose, s, s.server, s.place),
        each(store, s, *pair, s.place),
        each(commit, s, *pair, s.place),
        each(learn_commit, s, s.server),
    )
    return System(s, actions, properties(s), caps={"timeouts": p.timeouts, "restarts": p.restarts})


PROTOCOL = Protocol(
    "zab",
    "a leader recovers the history of a quorum, and broadcasts transactions in order",
    Parameters(),
    build,
    sources=(
        "Disalg-ICS-NJU/zookeeper-tla-spec, high-level-spec/Zab.tla; Junqueira, Reed, Serafini, DSN 2011",
    ),
    not_modelled=("client sessions", "clocks", "snapshots"),
)
