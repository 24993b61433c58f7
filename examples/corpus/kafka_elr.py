"""Kafka's replication with eligible leader replicas (KIP-966): a broker that lost its log must not lead.

Source: Vanlightly/kafka-tlaplus, kraft/kip-966. It is an abstraction of one partition, and much departs: a
fetch and its answer are one step and bring the whole log; a broker learns the newest metadata at once; an
election is a step of its own; a broker that loses its log registers again in the same step; a record is the
leader epoch in which it was written; no reassignment, no last known ELR. Default sizes: 2 brokers, a log of 1
record, a minimum of 2 in-sync replicas, 2 leader epochs, 5 versions of the partition, 1 lost log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fencepost.encoding.language import (
    BOOL,
    Action,
    Parameter,
    Property,
    Protocol,
    StateSpace,
    Subset,
    System,
    Term,
    TermLike,
    at,
    each,
    exists_over,
    family,
    forall,
    forall_over,
    if_,
    implies,
    integers,
    is_in,
    is_prefix,
    labels,
    length,
    optional,
    parameter,
    sequences,
    set_of,
    size,
    subsets,
    switch,
    those,
    variable,
)


@dataclass(frozen=True)
class Parameters:
    """One instance, and three rules about replicas."""

    brokers: int = parameter(2, "brokers, each with a replica")
    records: int = parameter(1, "records of the log")
    min_isr: int = parameter(2, "in-sync replicas without which nothing is committed (MinISR)")
    epochs: int = parameter(2, "leader epochs")
    versions: int = parameter(5, "versions of the partition (partition epoch)")
    losses: int = parameter(1, "logs that are lost (DataLossShutdownLimit)")
    recovery: str = switch(
        ("elr", "last_replica"),
        "whether replicas that leave a small ISR stay eligible, or the last one stays in the ISR",
        "KIP-966; Kafka before it",
    )
    commit: str = switch(
        ("maximal", "known"),
        "whether a record must be on the replicas of a requested ISR too",
        "kafka_replication_kip_966.tla: maximal ISR",
    )
    high_watermark: str = switch(
        ("min_isr", "always"),
        "whether records are committed only while the ISR is large enough",
        "kip_966_functions.tla, SafeToAdvanceHwm",
    )


class State(StateSpace):
    """The controller's partition, and what each broker knows of it. Broker b1 leads at first."""

    def __init__(self, parameters: Parameters) -> None:
        """Declare the state variables."""
        self.parameters = parameters
        p = parameters
        self.broker = labels("broker", "b", p.brokers)
        self.epoch_value = integers(1, p.epochs)
        self.index = integers(1, p.records)
        replicas, everybody = subsets(self.broker), list(self.broker)
        self.isr = variable(replicas, initial=everybody)
        self.elr = variable(replicas)
        self.leader = variable(optional(self.broker), initial="b1")
        self.leader_epoch = variable(self.epoch_value)
        self.version = variable(integers(1, p.versions))
        self.unfenced = variable(replicas, initial=everybody)

        self.seen = family(integers(0, p.versions), self.broker, initial=1)
        self.epoch = family(integers(0, p.epochs), self.broker, initial=1)
        self.leads = family(BOOL, self.broker, initial=lambda b: b == "b1")
        self.known = family(replicas, self.broker, initial=everybody)
        self.asked = family(replicas, self.broker, initial=everybody)
        self.log = family(sequences(self.epoch_value, most=p.records), self.broker)
        self.fetched = family(integers(0, p.records), self.broker, self.broker)

        self.committed = family(BOOL, self.index, self.epoch_value)
        self.lost = variable(integers(0, p.losses))

    def has(self, broker: TermLike, index: TermLike, epoch: TermLike) -> Term:
        """Return whether a record is at an index of the log of a broker."""
        log = self.log[broker]
        return (length(log) >= index) & (at(log, index) == epoch)


def write(s: State, broker: Parameter) -> Action:
    """Append a record to the log of a leader."""
    return Action(
        when=s.leads[broker] & (length(s.log[broker]) < s.parameters.records),
        then=[s.log[broker].append(s.epoch[broker])],
        actor=broker,
    )


def fetch(s: State, broker: Parameter, leader: Parameter) -> Action:
    """Fetch the log of the leader of the own epoch, which learns how far the own log agrees with it."""
    own, theirs = s.log[broker], s.log[leader]
    same_epoch = s.leads[leader] & ~s.leads[broker] & (s.epoch[broker] == s.epoch[leader])
    return Action(
        when=(broker != leader) & same_epoch,
        then=[
            s.fetched[leader, broker].set(if_(is_prefix(own, theirs), length(own), 0)),
            own.set(theirs),
        ],
        actor=broker,
    )


def commit(s: State, leader: Parameter, index: Parameter) -> Action:
    """Advance the high watermark over a record that the replicas in question have."""
    p = s.parameters
    needed = s.known[leader] | s.asked[leader] if p.commit == "maximal" else s.known[leader]
    stored = forall(
        s.broker,
        lambda b: implies(is_in(b, needed) & (b != leader), s.fetched[leader, b] >= index),
    )
    large = size(s.known[leader]) >= p.min_isr if p.high_watermark == "min_isr" else True
    return Action(
        when=s.leads[leader] & (length(s.log[leader]) >= index) & stored & large,
        then=[
            s.committed[i, e].set(True, when=(index >= i) & s.has(leader, i, e))
            for i in s.index
            for e in s.epoch_value
        ],
        actor=leader,
    )


def ask_for(s: State, leader: Parameter, broker: Parameter) -> Action:
    """Ask the controller to take a replica out of the ISR, or one that caught up into it (AlterPartition)."""
    known = s.known[leader]
    caught_up = s.fetched[leader, broker] == length(s.log[leader])
    ready = is_in(broker, known) | caught_up
    return Action(
        when=s.leads[leader] & (leader != broker) & (s.asked[leader] == known) & ready,
        then=[
            s.asked[leader].add(broker, when=~is_in(broker, known)),
            s.asked[leader].remove(broker, when=is_in(broker, known)),
        ],
        actor=leader,
    )


def elr_after(s: State, isr: Subset, removed: Subset) -> Subset:
    """Return the ELR after replicas left the ISR: it is empty while the ISR is large enough."""
    grown = (s.elr | removed) - isr
    kept = (size(isr) < s.parameters.min_isr) & (s.parameters.recovery == "elr")
    return those(s.broker, lambda b: is_in(b, grown) & kept)


def alter(s: State, leader: Parameter) -> Action:
    """Change the ISR as a leader asks that knows the newest version (AlterPartition at the controller)."""
    asked = s.asked[leader]
    newest = (s.leader == leader) & (s.seen[leader] == s.version) & (asked != s.known[leader])
    return Action(
        when=newest & (asked <= s.unfenced) & (s.version < s.parameters.versions),
        then=[s.isr.set(asked), s.elr.set(elr_after(s, asked, s.isr - asked)), s.version.set(s.version + 1)],
        actor="controller",
    )


def without(s: State, broker: TermLike) -> list[Any]:
    """Return the updates that fence a broker; only the last replica may stay in the ISR without ELR."""
    one = set_of(s.broker, broker)
    stays = (s.isr == one) & (s.parameters.recovery == "last_replica")
    isr = s.isr - those(s.broker, lambda b: (b == broker) & ~stays)
    elr = elr_after(s, isr, s.isr - isr)
    return [isr, elr, s.leader.set("none", when=s.leader == broker), s.unfenced.remove(broker)]


def fence(s: State, broker: Parameter) -> Action:
    """Fence a broker that was not heard for a while."""
    isr, elr, *others = without(s, broker)
    return Action(
        when=is_in(broker, s.unfenced) & (s.version < s.parameters.versions),
        then=[s.isr.set(isr), s.elr.set(elr), s.version.set(s.version + 1), *others],
        actor="controller",
    )


def unfence(s: State, broker: Parameter) -> Action:
    """Unfence a broker."""
    return Action(when=~is_in(broker, s.unfenced), then=[s.unfenced.add(broker)], actor="controller")


def lose_log(s: State, broker: Parameter) -> Action:
    """Restart a broker that lost its log, and register it: it is fenced, and no longer eligible."""
    isr, elr, *others = without(s, broker)
    return Action(
        when=(s.lost < s.parameters.losses) & (s.version < s.parameters.versions),
        then=[
            s.lost.set(s.lost + 1),
            s.log[broker].truncate(0),
            s.leads[broker].set(False),
            s.seen[broker].set(0),
            s.epoch[broker].set(0),
            s.isr.set(isr),
            s.elr.set(elr - set_of(s.broker, broker)),
            s.version.set(s.version + 1),
            *others,
            *[s.fetched[b, broker].set(0) for b in s.broker],
        ],
        actor=broker,
        fault="losses",
    )


def elect(s: State, broker: Parameter) -> Action:
    """Elect a leader from the ISR, or from the ELR if the ISR is empty."""
    from_elr = (size(s.isr) == 0) & is_in(broker, s.elr)
    eligible = is_in(broker, s.unfenced) & (is_in(broker, s.isr) | from_elr)
    p = s.parameters
    room = (s.version < p.versions) & (s.leader_epoch < p.epochs)
    return Action(
        when=(s.leader == "none") & eligible & room,
        then=[
            s.leader.set(broker),
            s.leader_epoch.set(s.leader_epoch + 1),
            s.version.set(s.version + 1),
            s.isr.add(broker),
            s.elr.remove(broker),
        ],
        actor="controller",
    )


def learn(s: State, broker: Parameter) -> Action:
    """Learn the newest metadata, and lead if it says so."""
    new_epoch = s.epoch[broker] != s.leader_epoch
    return Action(
        when=s.seen[broker] != s.version,
        then=[
            s.seen[broker].set(s.version),
            s.epoch[broker].set(s.leader_epoch),
            s.leads[broker].set(s.leader == broker),
            s.known[broker].set(s.isr),
            s.asked[broker].set(s.isr),
            *[s.fetched[broker, b].set(0, when=new_epoch) for b in s.broker],
        ],
        actor=broker,
    )


def build(p: Parameters) -> System:
    """Return the transition system of one instance."""
    s = State(p)
    complete = Property(
        name="leader-complete",
        meaning="the leader has each committed record (LeaderCompletenessProperty)",
        holds=forall_over(
            (s.broker, s.index, s.epoch_value),
            lambda b, i, e: implies((s.leader == b) & s.committed[i, e], s.has(b, i, e)),
        ),
        witness=(s.leader_epoch > 1) & exists_over((s.index, s.epoch_value), lambda i, e: s.committed[i, e]),
        witness_meaning="a record is committed, and a second leader is elected",
    )
    actions = (
        each(write, s, s.broker),
        each(fetch, s, s.broker, s.broker),
        each(commit, s, s.broker, s.index),
        each(ask_for, s, s.broker, s.broker),
        each(alter, s, s.broker),
        each(fence, s, s.broker),
        each(lose_log, s, s.broker),
        each(unfence, s, s.broker),
        each(elect, s, s.broker),
        each(learn, s, s.broker),
    )
    return System(s, actions, (complete,), caps={"lost logs": p.losses})


PROTOCOL = Protocol(
    "kafka-elr",
    "Kafka replicates a partition with in-sync and eligible leader replicas",
    Parameters(),
    build,
    sources=("Vanlightly/kafka-tlaplus, kraft/kip-966",),
    not_modelled=("the broker epochs of KIP-903", "reassignment", "unclean recovery"),
)
