"""The state of a Verified Log: producers, log nodes, the coordinator, consumers, and messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial

from fencepost.encoding.language.channels import Channel, channel
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.quantifiers import exists, maximum
from fencepost.encoding.language.queues import queues
from fencepost.encoding.language.sorts import (
    BOOL,
    Sort,
    integers,
    labels,
    members,
    optional,
    show,
    subsets_of_size,
)
from fencepost.encoding.language.state import StateSpace, definition, family, variable
from fencepost.encoding.language.terms import Constant, Read, Term, TermLike, any_of, as_type, lift
from fencepost.protocols.verified_log.parameters import LogParameters

NOTHING = 0
"""The number for no entry. Entries count from 1."""

NOBODY = "nobody"

COORDINATOR = "coordinator"


class ProducerPhase(Enum):
    """The phase of a producer (the states of Producer.p)."""

    IDLE = "idle"
    TAKEOVER = "taking over"
    WANT = "wants a segment"
    WRITE = "writing"
    DONE = "done"
    HALTED = "halted"


class SegmentStatus(Enum):
    """A node's status of a segment (tSegmentStatus)."""

    UNKNOWN = "unknown"
    OPEN = "open"
    SUSPENDED = "suspended"
    CLOSED = "closed"


class LookupAnswer(Enum):
    """The coordinator's answer to a producer that asks for a segment (tNewSegmentResponseStatus)."""

    NONE = "none"
    OK = "ok"
    ALREADY = "already"
    IN_TAKEOVER = "in take-over"


class Order(Enum):
    """The reason for closing a segment: its owner asked for the next one, or a producer takes over."""

    ASKED = "asked"
    TAKEN = "taken over"


class Reading(Enum):
    """The phase of a consumer (the states of Consumer.p)."""

    IDLE = "idle"
    LOCATE = "locating"
    READ = "reading"
    DONE = "done"


class ServedSegment(Enum):
    """A node's answer to a reader (tReadResponseStatus)."""

    NONE = "none"
    ENTRY = "entry"
    NOTHING = "nothing"
    NEXT_SEGMENT = "next segment"


class Log(StateSpace):
    """One log.

    Producer number i writes the entries (i-1) L + 1 to i L. Segments, and places in them, count from 1.
    """

    def __init__(self, parameters: LogParameters) -> None:
        """Declare the sorts and the state variables."""
        self.parameters = p = parameters
        self.producer = _machines("producer", "p", p.producers)
        self.node = _machines("node", "n", p.nodes)
        self.read_node = self.node if p.coordinator == "yes" else _only("node", self.node.values[-1])
        """The nodes that are read: in stage 01 the last one only."""
        self.consumer = _machines("consumer", "c", max(p.consumers, 1))
        coordinators = [COORDINATOR] if p.coordinator == "yes" else []
        consumers = self.consumer.values if p.consumers else ()
        self.machine = Sort("machine", (*self.producer, *coordinators, *self.node, *consumers))
        self.maybe_producer = optional(self.producer, NOBODY)
        self.entry = integers(1, p.producers * p.entries)
        self.segment = integers(1, p.segments)
        self.place = integers(1, p.entries)
        self.placement = subsets_of_size(
            "placement", self.node, p.replicas, lambda nodes: "+".join(map(show, nodes))
        )
        self.order = members(Order)

        self._producers()
        self._nodes()
        self._coordinator()
        self._ghosts()
        self._mail()

    def _producers(self) -> None:
        self.phase = family(members(ProducerPhase), self.producer, initial=ProducerPhase.IDLE)
        self.at = family(integers(0, self.parameters.segments), self.producer)
        """The segment that the producer writes to, or wrote to last; 0 before the first."""
        self.knows_nodes = family(BOOL, self.producer)
        """Whether the answer that granted the segment named its nodes."""
        self.next = family(integers(1, len(self.entry) + 1), self.producer, initial=self._first_of)
        self.acks = family(BOOL, self.producer, self.node)
        self.count = family(integers(0, self.parameters.entries), self.producer, self.segment)
        """The number of entries committed in that segment, which close orders carry."""
        self.took_over = family(BOOL, self.producer)
        """Whether the producer has been writing, and has reported that so that the next one may start."""

    def _nodes(self) -> None:
        self.up = family(BOOL, self.node, initial=True)
        self.status = family(members(SegmentStatus), self.node, self.segment, initial=self._first_status)
        self.log = family(integers(NOTHING, len(self.entry)), self.node, self.segment, self.place)

    def _coordinator(self) -> None:
        self.granted = family(BOOL, self.segment, initial=self._given)
        self.owner = family(self.maybe_producer, self.segment, initial=self._first_owner)
        self.placed = family(BOOL, self.segment, self.node, initial=lambda s, n: self._given(s))
        self.failed = family(BOOL, self.node)
        """Whether the coordinator was told that the node has crashed."""
        self.pending = family(BOOL, self.segment, self.order, self.node)
        """The close orders that a time-out repeats."""
        self.taken_by = family(self.maybe_producer, self.segment, initial=NOBODY)
        self.in_takeover = family(BOOL, self.segment)
        """Whether the coordinator waits for a node to suspend the segment (currentLogTakeovers)."""
        self.vouched_count = family(integers(0, self.parameters.entries), self.segment)
        self.vouched_entry = family(integers(NOTHING, len(self.entry)), self.segment)
        """The last entry of the first node to suspend the segment; `vouched_count` is that node's length."""

    def _ghosts(self) -> None:
        self.ever_stored = family(BOOL, self.entry, self.node)
        self.committed = family(BOOL, self.entry)
        self.committed_in = family(BOOL, self.entry, self.segment)
        self.durable = family(BOOL, self.entry)
        """Whether the coordinator, which is assumed to be reliable, vouches for the entry."""
        self.active = variable(self.maybe_producer, initial=NOBODY)
        self.highest = family(integers(NOTHING, len(self.entry)), self.producer)
        """The highest entry that the producer sent while it was active (highestPossibleCommit)."""
        self.mishap = {name: self._mishap(name) for name in MISHAPS}

    def _mishap(self, name: str) -> Read:
        setattr(self, name, variable(BOOL))
        mishap: Read = getattr(self, name)
        return mishap

    def _mail(self) -> None:
        p = self.parameters
        kind = partial(channel, lossy=p.losses == "yes", if_sent="skip")
        written = {"segment": self.segment, "entry": self.entry, "node": self.node}
        writer = self.producer, self._writer
        self.sealed = family(BOOL, *written.values())
        self.append = kind("append", writer, "node", about=written)
        self.append_answer = kind(
            "append answer", "node", writer, about=written, says={"sealed": self.sealed}
        )
        if p.consumers:
            self._consumers(kind)
        if p.coordinator == "yes":
            self._segments(kind)
        if p.takeover == "yes":
            self._takeovers(kind)
        if p.resends:
            self.time = integers(1, p.resends)
            self.timed_out = family(BOOL, self.time)
        if p.network != "bag":
            by_link = p.network == "link"
            self.queue = queues(
                self.machine, self.channels, room=p.queue, by_link=by_link, gone=self._is_gone
            )

    @property
    def channels(self) -> Sequence[Channel]:
        """The kinds of messages."""
        return [kind for kind in vars(self).values() if isinstance(kind, Channel)]

    def _segments(self, kind: Callable[..., Channel]) -> None:
        """Declare requests for segments, and orders to close them."""
        p = self.parameters
        attempt, since = integers(1, p.attempts), integers(0, p.segments)
        asked = {"producer": self.producer, "after": since, "attempt": attempt}
        granting = {"producer": self.producer, "segment": self.segment}
        sending = integers(1, p.close_orders)
        closing = {"segment": self.segment, "order": self.order, "node": self.node, "sending": sending}
        self.answered = family(members(LookupAnswer), *asked.values(), initial=LookupAnswer.NONE)
        answer = {"answer": self.answered}
        ok, already = ({"answer": lambda *_, a=a: a} for a in (LookupAnswer.OK, LookupAnswer.ALREADY))
        content = {
            "count": lambda segment, order, *_: self.close_count(segment, order),
            "last": lambda segment, order, *_: self.close_entry(segment, order),
        }
        count = {"count": self._reported_count}
        self.new_segment = kind("new segment", "producer", COORDINATOR, about=asked, says=count)
        self.new_segment_answer = kind(
            "new segment answer", COORDINATOR, "producer", about=asked, says=answer
        )
        if p.double_answer == "yes":
            self.second_new_segment_answer = kind(
                "second new segment answer", COORDINATOR, "producer", about=asked, says=already
            )
        self.new_segment_granted = kind(
            "new segment granted", COORDINATOR, "producer", about=granting, says=ok
        )
        self.close = kind("close", COORDINATOR, "node", about=closing, says=content, notes_losses=True)
        self.close_answer = kind("close answer", "node", COORDINATOR, about=closing)

    def _takeovers(self, kind: Callable[..., Channel]) -> None:
        """Declare requests to take the log over, and orders to suspend a segment."""
        p = self.parameters
        taking = {"producer": self.producer, "attempt": integers(1, p.attempts)}
        suspending = {"segment": self.segment, "node": self.node, "sending": integers(1, 1 + p.resends)}
        self.taken_at = family(integers(0, p.segments), *taking.values())
        self.suspended_count = family(integers(0, p.entries), *suspending.values())
        self.suspended_entry = family(integers(NOTHING, len(self.entry)), *suspending.values())
        last = {"segment": self.taken_at}
        content = {"count": self.suspended_count, "last": self.suspended_entry}
        self.take_over = kind("take over", "producer", COORDINATOR, about=taking)
        self.take_over_answer = kind("take over answer", COORDINATOR, "producer", about=taking, says=last)
        self.suspend = kind("suspend", COORDINATOR, "node", about=suspending)
        self.suspend_answer = kind("suspend answer", "node", COORDINATOR, about=suspending, says=content)

    def _consumers(self, kind: Callable[..., Channel]) -> None:
        """Declare the state variables and messages of consumers."""
        p = self.parameters
        attempt, reading_place = integers(1, p.reads), integers(1, p.entries + 1)
        locating = {"consumer": self.consumer, "segment": self.segment, "attempt": attempt}
        reads = {
            "consumer": self.consumer,
            "segment": self.segment,
            "place": reading_place,
            "attempt": attempt,
            "node": self.node,
        }
        self.reading = family(members(Reading), self.consumer, initial=Reading.IDLE)
        self.reads_from = family(self.segment, self.consumer, initial=1)
        self.reads_at = family(reading_place, self.consumer, initial=1)
        self.last_read = family(integers(NOTHING, len(self.entry)), self.consumer)
        self.seen = family(BOOL, self.consumer, self.entry)
        if p.coordinator == "yes":
            self.found = family(BOOL, *locating.values())
            found = {"found": self.found}
            self.where = kind("where", "consumer", COORDINATOR, about=locating)
            self.where_answer = kind("where answer", COORDINATOR, "consumer", about=locating, says=found)
        self.served = family(members(ServedSegment), *reads.values(), initial=ServedSegment.NONE)
        self.served_entry = family(integers(NOTHING, len(self.entry)), *reads.values())
        content = {"answer": self.served, "entry": self.served_entry}
        self.read = kind("read", "consumer", "node", about=reads)
        self.read_answer = kind("read answer", "node", "consumer", about=reads, says=content)

    def _first_of(self, producer: object) -> int:
        return self.producer.values.index(str(producer)) * self.parameters.entries + 1

    def _given(self, segment: object) -> bool:
        return self.parameters.coordinator == "no"

    def _first_owner(self, segment: object) -> str:
        return str(self.producer.values[0]) if self._given(segment) else NOBODY

    def _first_status(self, node: object, segment: object) -> SegmentStatus:
        return SegmentStatus.OPEN if self._given(segment) else SegmentStatus.UNKNOWN

    def _writer(self, segment: TermLike, entry: TermLike, node: TermLike) -> Term:
        """Return the producer that writes the entry of this append or of its answer."""
        entry = lift(entry)
        writer = as_type(self.producer.values[-1], "machine")
        for producer in reversed(self.producer.values[:-1]):
            writer = if_(entry < self._first_of(producer) + self.parameters.entries, producer, writer)
        return writer

    def _reported_count(self, producer: TermLike, after: TermLike, attempt: TermLike) -> Term:
        """Return the number of entries that the producer has committed in the segment it wants to leave."""
        count: Term = lift(0)
        for t in self.segment:
            count = if_(lift(after) == t, self.count[producer, t], count)
        return count

    def only(self, producer: object) -> Sort:
        """Return that producer alone as an index set, because its actions are about its own entries."""
        return _only("producer", producer)

    def own(self, only: Sort) -> Sort:
        """Return the entries that this producer writes; see `only`."""
        first = self._first_of(only.values[0])
        return integers(first, first + self.parameters.entries - 1)

    @definition
    def has_ended(self, producer: TermLike) -> Term:
        """Return whether the producer has ended: messages that still arrive change nothing."""
        return (self.phase[producer] == ProducerPhase.DONE) | (self.phase[producer] == ProducerPhase.HALTED)

    def _is_gone(self, machine: Term) -> Term:
        """Return whether the machine will never receive anything again."""
        gone = {p: self.has_ended(p) for p in self.producer} | {n: ~self.up[n] for n in self.node}
        if self.parameters.consumers:
            gone |= {c: self.reading[c] == Reading.DONE for c in self.consumer}
        return any_of(*((machine == one) & left for one, left in gone.items()))

    def is_next(self, channel: Channel, *index: TermLike) -> Term:
        """Return whether this attempt to send is the next one; the last index counts attempts."""
        *same, attempt = index
        return channel.is_sent(*same, lift(attempt) - 1) & ~channel.is_sent(*index)

    @definition
    def is_last(self, segment: TermLike) -> Term:
        """Return whether this is the last segment that the coordinator granted."""
        return self.granted[segment] & ~self.is_followed(segment)

    @definition
    def is_followed(self, segment: TermLike) -> Term:
        """Return whether a later segment is granted."""
        return exists(self.segment, lambda t: (t > segment) & self.granted[t])

    @definition
    def last(self) -> Term:
        """Return the last granted segment; 0 if there is none."""
        return maximum(self.segment, lambda t: if_(self.granted[t], t, 0))

    @definition
    def owns(self, producer: TermLike, segment: TermLike) -> Term:
        """Return whether the segment was granted to the producer. `segment` may be one past the last."""
        return exists(self.segment, lambda t: (t == segment) & (self.owner[t] == producer))

    @definition
    def length(self, node: TermLike, segment: TermLike) -> Term:
        """Return the number of entries that the node holds of the segment."""
        return maximum(self.place, lambda i: if_(self.log[node, segment, i] == NOTHING, 0, i))

    @definition
    def entry_at(self, node: TermLike, segment: TermLike, place: TermLike) -> Term:
        """Return the entry at that place; nothing if the place is past the end."""
        return maximum(self.place, lambda i: if_(place == i, self.log[node, segment, i], NOTHING))

    @definition
    def last_of(self, node: TermLike, segment: TermLike) -> Term:
        """Return the last entry that the node holds of the segment."""
        return self.entry_at(node, segment, self.length(node, segment))

    @definition
    def holds(self, node: TermLike, segment: TermLike, entry: TermLike) -> Term:
        """Return whether the node holds the entry in that segment."""
        return exists(self.place, lambda i: self.log[node, segment, i] == entry)

    @definition
    def close_count(self, segment: TermLike, order: TermLike) -> Term:
        """Return the number of committed entries that a close order carries.

        A producer's count of a segment does not change after it has left the segment.
        """
        told: Term = lift(0)
        for producer in self.producer:
            told = if_(self.owner[segment] == producer, self.count[producer, segment], told)
        return if_(lift(order) == Order.TAKEN, self.vouched_count[segment], told)

    @definition
    def close_entry(self, segment: TermLike, order: TermLike) -> Term:
        """Return the last entry that a close order carries: none if the owner asked."""
        return if_(lift(order) == Order.TAKEN, self.vouched_entry[segment], NOTHING)

    @definition
    def serves(self, node: TermLike, segment: TermLike, place: TermLike) -> Term:
        """Return whether the node answers a read of that place with an entry (LogNode.p, eReadRequest)."""
        length = self.length(node, segment)
        closed = self.status[node, segment] == SegmentStatus.CLOSED
        last = {"when-closed": closed, "always": lift(True), "never": lift(False)}[self.parameters.last_entry]
        return (lift(place) < length) | (place == length) & last

    @definition
    def says_next(self, node: TermLike, segment: TermLike, place: TermLike) -> Term:
        """Return whether the node answers a read of that place with "go to the next segment"."""
        closed = self.status[node, segment] == SegmentStatus.CLOSED
        return closed & (self.length(node, segment) <= place) & ~self.serves(node, segment, place)

    @definition
    def being_taken_over(self) -> Term:
        """Return whether the coordinator waits for some segment to be suspended."""
        return exists(self.segment, lambda t: self.in_takeover[t])

    def holds_node(self, placement: Term, node: TermLike) -> Term:
        """Return whether the node belongs to the placement."""
        return any_of(
            *(placement == name for name, nodes in self.placement.parts.items() if _value(node) in nodes)
        )


MISHAPS = (
    "two_active",
    "not_active",
    "thin_commit",
    "cut_committed",
    "closed_changed",
    "granted_past_takeover",
    "node_disorder",
    "wrong_length",
    "sealed_other",
    "no_nodes",
    "no_such_segment",
    "gap",
)
"""Flags for properties about handlers. Each is set in the step where the event happens."""


def _value(node: TermLike) -> object:
    lifted = lift(node)
    assert isinstance(lifted, Constant)
    return lifted.value


def _only(name: str, machine: object) -> Sort:
    return Sort(f"{name} {machine}", (str(machine),), "machine")


def _machines(name: str, prefix: str, count: int) -> Sort:
    return Sort(name, labels(name, prefix, count).values, "machine")
