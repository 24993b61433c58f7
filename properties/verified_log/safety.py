"""Properties of a Verified Log: its author's specifications, and the promises of his posts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import at_least, exists, exists_over, forall, forall_over
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import FALSE, Term, all_of, any_of, lift
from fencepost.properties.verified_log import explanations
from fencepost.properties.verified_log.reads import read_so_far
from fencepost.protocols.verified_log.state import (
    NOTHING,
    Log,
    Order,
    ProducerPhase,
    Reading,
    SegmentStatus,
    ServedSegment,
)


def verified_log_properties(system: System) -> tuple[Property, ...]:
    """Return the properties of an instance, the author's first."""
    s = system.state
    assert isinstance(s, Log)
    p = s.parameters
    return (
        *([durability(s)] if p.coordinator == "no" else [commit_durability(s)]),
        *([read_committed(s)] if p.consumers and p.coordinator == "yes" else []),
        *([servable_committed(s)] if p.coordinator == "yes" else []),
        *([single_active_producer(s), naive_single_producer(s)] if p.takeover == "yes" else []),
        progress(s),
        assertions(s),
        *(_stronger(s) if p.coordinator == "yes" else _at_stage_01(s)),
    )


def _at_stage_01(s: Log) -> list[Property]:
    """Return the properties that folder 01 keeps and that none of its monitors checks."""
    return [commit_durability(s), *([consumer_in_order(s)] if s.parameters.consumers else [])]


def _stronger(s: Log) -> list[Property]:
    """Return the properties that the author's posts state and that none of his monitors checks."""
    p = s.parameters
    return [
        closed_agreement(s),
        closed_stability(s),
        committed_not_truncated(s),
        commit_on_all(s),
        *([committed_kept(s)] if p.crashes < p.replicas else []),
        *([consumer_complete(s)] if p.consumers else []),
        *([answers_end_orders(s)] if p.retry_close == "yes" else []),
        *([grants_respect_takeover(s)] if p.takeover == "yes" else []),
    ]


def durability(s: Log) -> Property:
    """Return the property Durability of folder 01."""
    return Property(
        name="durability",
        meaning="every entry that a node sends to a consumer was stored by R nodes before",
        holds=forall(s.entry, lambda e: implies(_reported(s, e), _stored_on_all(s, e))),
        witness=exists(s.entry, lambda e: _reported(s, e)),
        witness_meaning="a node sends an entry to a consumer",
        explain=partial(explanations.explain_uncommitted, s),
    )


def commit_durability(s: Log) -> Property:
    """Return the property CommitDurability.

    It goes by the number of the entry, over all segments. A node that once stored the entry counts for ever.
    """
    return Property(
        name="commit-durability",
        meaning="every committed entry was stored by R nodes, in any segments, or the "
        "coordinator vouches for it",
        holds=forall(s.entry, lambda e: implies(s.committed[e], s.durable[e] | _stored_on_all(s, e))),
        witness=exists(s.entry, lambda e: s.committed[e]),
        witness_meaning="an entry is committed",
    )


def read_committed(s: Log) -> Property:
    """Return the property ReadCommitted."""
    return Property(
        name="read-committed",
        meaning="every entry that a node sends to a consumer is committed",
        holds=forall(s.entry, lambda e: implies(_reported(s, e), s.committed[e])),
        witness=exists(s.entry, lambda e: _reported(s, e)),
        witness_meaning="a node sends an entry to a consumer",
        explain=partial(explanations.explain_uncommitted, s),
    )


def servable_committed(s: Log) -> Property:
    """Return the property ReadCommitted for any possible reader, also for instances without a consumer."""

    def served(n: Term, t: Term, i: Term) -> Term:
        return s.serves(n, t, i) & (s.log[n, t, i] != NOTHING) & s.up[n]

    def committed(n: Term, t: Term, i: Term) -> Term:
        return exists(s.entry, lambda e: (s.log[n, t, i] == e) & s.committed[e])

    over = s.node, s.segment, s.place
    return Property(
        name="servable-entries-committed",
        meaning="every entry that a node would send to a reader is committed",
        holds=forall_over(over, lambda n, t, i: implies(served(n, t, i), committed(n, t, i))),
        witness=exists_over(over, served),
        witness_meaning="a node would send an entry to a reader",
        explain=partial(explanations.explain_uncommitted, s),
    )


def single_active_producer(s: Log) -> Property:
    """Return the property SingleActiveProducer."""
    meaning = (
        "a producer that is not the active one commits only entries that it sent while it was the active one"
    )
    return _single_producer(s, "single-active-producer", meaning, ~s.mishap["two_active"])


def naive_single_producer(s: Log) -> Property:
    """Return the author's first attempt at SingleActiveProducer (post 5), which gives a false alarm."""
    meaning = "only the active producer commits anything"
    return _single_producer(s, "naive-single-producer", meaning, ~s.mishap["not_active"])


def _single_producer(s: Log, name: str, meaning: str, holds: Term) -> Property:
    first = s.producer.values[0]
    return Property(
        name=name,
        meaning=meaning,
        holds=holds,
        witness=(s.highest[first] != NOTHING) & (s.active != first),
        witness_meaning="a producer takes over from another one that was active",
        explain=partial(explanations.explain_late_commit, s),
    )


def progress(s: Log) -> Property:
    """Return the property Progress, stated with traps.

    A trap is a situation that lasts for ever and in which too few entries can still be reported.
    """
    found = traps(s)
    ended = s.phase[s.producer.values[-1]] == ProducerPhase.DONE
    return Property(
        name="progress",
        meaning="all entries of the last producer but one can still be reported to a consumer",
        holds=~any_of(*found.values()),
        witness=ended if s.parameters.entries > 1 else FALSE,
        witness_meaning="the last producer has written all its entries, and it has two or more",
        traps=found,
        explain=partial(explanations.explain_stuck, s),
    )


def traps(s: Log) -> dict[str, Term]:
    """Return the traps by name: predicates that no action makes false and that contradict Progress."""
    if s.parameters.coordinator == "no":
        return {"nothing more is written": _stopped(s)}
    return {
        "the last producer has halted": _halted(s),
        **{f"segment {t} stays open": _stays_open(s, lift(t)) for t in s.segment},
    }


def _stopped(s: Log) -> Term:
    """Return whether nothing is in flight and the node that is read has too few entries.

    It is for stages without a coordinator.
    """
    under_way = exists_over(
        (s.segment, s.entry, s.node),
        lambda t, e, n: s.append.under_way(t, e, n) | s.append_answer.under_way(t, e, n),
    )
    read = s.read_node.values[-1]

    def offered(e: Term) -> Term:
        return exists(s.place, lambda i: s.serves(read, 1, i) & (s.log[read, 1, i] == e))

    started = s.phase[s.producer.values[0]] != ProducerPhase.IDLE
    return started & ~under_way & ~_enough(s, lambda e: offered(e) | _reported(s, e))


def _halted(s: Log) -> Term:
    """Return whether the last producer has halted with too few entries that a reader can still find.

    An entry counts if a node that is up stores it or may still receive it.
    """
    last = s.producer.values[-1]

    def may_be_read(e: Term) -> Term:
        def here(n: Term) -> Term:
            coming = exists(s.segment, lambda t: s.append.is_sent(t, e, n) & ~s.append.is_received(t, e, n))
            return s.up[n] & (s.ever_stored[e, n] | coming)

        return _reported(s, e) | exists(s.node, here)

    return (s.phase[last] == ProducerPhase.HALTED) & ~_enough(s, may_be_read)


def _stays_open(s: Log, segment: Term) -> Term:
    """Return whether a segment is followed by others and no node of it can ever tell a consumer so."""

    def may_close(n: Term) -> Term:
        closed = s.status[n, segment] == SegmentStatus.CLOSED
        waiting = exists(s.order, lambda o: s.pending[segment, o, n] | _close_under_way(s, segment, o, n))
        return s.placed[segment, n] & s.up[n] & (closed | waiting)

    last = s.producer.values[-1]
    phase = s.phase[last]
    begun = (phase != ProducerPhase.IDLE) & (phase != ProducerPhase.TAKEOVER)
    done_here = begun & ((segment < s.at[last]) | (s.at[last] == segment) & (phase != ProducerPhase.WRITE))
    readers = _readers_before(s, segment)

    def may_be_read(e: Term) -> Term:
        before = exists(s.segment, lambda t: (t < segment) & _sent_in(s, e, t))
        later = exists(s.entry, lambda f: (e < f) & _sent_in(s, f, segment))
        return _reported(s, e) | before | _sent_in(s, e, segment) & later

    return all_of(
        s.granted[1] & s.granted[segment] & s.is_followed(segment),
        ~exists(s.node, may_close),
        done_here,
        readers,
        ~_enough(s, may_be_read),
    )


def _readers_before(s: Log, segment: Term) -> Term:
    """Return whether no consumer has passed the segment yet."""
    if not s.parameters.consumers:
        return lift(True)
    return forall(s.consumer, lambda c: (s.reads_from[c] <= segment) & (s.reading[c] != Reading.DONE))


def _close_under_way(s: Log, segment: Term, order: Term, node: Term) -> Term:
    return exists(s.close.about["sending"], lambda k: s.close.under_way(segment, order, node, k))


def _enough(s: Log, counts: Callable[[Term], Term]) -> Term:
    """Return whether all entries of the last producer but one satisfy `counts`."""
    p = s.parameters
    first = (p.producers - 1) * p.entries + 1
    return at_least(p.entries - 1, s.entry, lambda e: (first <= e) & counts(e))


def _sent_in(s: Log, entry: Term, segment: Term) -> Term:
    return exists(s.node, lambda n: s.append.is_sent(segment, entry, n))


def _stored_on_all(s: Log, entry: Term) -> Term:
    return at_least(s.parameters.replicas, s.node, lambda n: s.ever_stored[entry, n])


def _reported(s: Log, entry: Term) -> Term:
    """Return whether a node has sent the entry to a consumer."""
    if not s.parameters.consumers:
        return FALSE

    def sent(*index: Term) -> Term:
        return (s.served[index] == ServedSegment.ENTRY) & (s.served_entry[index] == entry)

    return exists_over(s.read.over, sent)


ASSERTIONS = ("node_disorder", "wrong_length", "sealed_other", "no_nodes", "no_such_segment", "gap")


def assertions(s: Log) -> Property:
    """Return the property that the assertions in the handlers of the P code hold."""
    return Property(
        name="assertions",
        meaning="no assertion in a handler fails",
        holds=~any_of(*(s.mishap[name] for name in ASSERTIONS)),
        witness=exists(s.entry, lambda e: s.committed[e]),
        witness_meaning="an entry is committed",
    )


def closed_agreement(s: Log) -> Property:
    """Return the property ClosedAgreement."""

    def closed(n: Term, t: Term) -> Term:
        return s.status[n, t] == SegmentStatus.CLOSED

    def differ(t: Term, n: Term, m: Term) -> Term:
        different = exists(s.place, lambda i: s.log[n, t, i] != s.log[m, t, i])
        return closed(n, t) & closed(m, t) & different

    over, one_node = (s.segment, s.node, s.node), len(s.node) == 1
    return Property(
        name="closed-agreement",
        meaning="two nodes that have closed a segment hold the same entries of it",
        holds=~exists_over(over, differ),
        witness=exists_over(over, lambda t, n, m: closed(n, t) & closed(m, t) & ((n != m) | one_node)),
        witness_meaning="two nodes have closed a segment",
        explain=partial(explanations.explain_disagreement, s),
    )


def closed_stability(s: Log) -> Property:
    """Return the property ClosedStability: a closed segment and its entries are final."""
    return Property(
        name="closed-stability",
        meaning="once a node has closed a segment, the segment stays closed there with the same entries",
        holds=~s.mishap["closed_changed"],
        witness=_some_closed(s),
        witness_meaning="a node has closed a segment",
        explain=partial(explanations.explain_reopening, s),
    )


def committed_not_truncated(s: Log) -> Property:
    """Return the property CommittedNotTruncated."""
    return Property(
        name="committed-not-truncated",
        meaning="no node removes an entry from the segment in which it was committed",
        holds=~s.mishap["cut_committed"],
        witness=_some_closed(s) & exists(s.entry, lambda e: s.committed[e]),
        witness_meaning="an entry is committed, and a node has closed a segment",
        explain=partial(explanations.explain_truncation, s),
    )


def _some_closed(s: Log) -> Term:
    return exists_over((s.node, s.segment), lambda n, t: s.status[n, t] == SegmentStatus.CLOSED)


def commit_on_all(s: Log) -> Property:
    """Return the first half of the property StrongDurability."""
    return Property(
        name="commit-on-all",
        meaning="when a producer commits an entry, all R nodes of its segment hold it there",
        holds=~s.mishap["thin_commit"],
        witness=exists(s.entry, lambda e: s.committed[e] & ~s.durable[e]),
        witness_meaning="a producer commits an entry",
    )


def committed_kept(s: Log) -> Property:
    """Return the second half of the property StrongDurability: a reader of the segment can get the entry."""

    def kept(e: Term, t: Term) -> Term:
        held = exists(s.node, lambda n: s.up[n] & s.holds(n, t, e) & s.placed[t, n])
        ordered = exists(s.node, lambda n: s.pending[t, Order.TAKEN, n] & s.up[n]) & (s.vouched_entry[t] == e)
        return held | ordered

    return Property(
        name="committed-kept",
        meaning="every committed entry is held by a node that is up, in the segment in "
        "which it was committed, or a repeated close order carries it there",
        holds=forall_over((s.entry, s.segment), lambda e, t: implies(s.committed_in[e, t], kept(e, t))),
        witness=exists(s.entry, lambda e: s.committed[e]),
        witness_meaning="an entry is committed",
    )


def consumer_complete(s: Log) -> Property:
    """Return the property ConsumerComplete."""

    def left(c: Term, t: Term) -> Term:
        return t < s.reads_from[c]

    return Property(
        name="consumer-complete",
        meaning="a consumer that has gone on to a later segment has read all entries "
        "committed in the segments before",
        holds=forall_over(
            (s.consumer, s.segment, s.entry),
            lambda c, t, e: implies(left(c, t) & s.committed_in[e, t], s.seen[c, e]),
        ),
        witness=exists(s.consumer, lambda c: left(c, lift(1)) & exists(s.entry, lambda e: s.seen[c, e])),
        witness_meaning="a consumer has read an entry and gone on to the second segment",
        explain=partial(explanations.explain_skipped, s),
    )


def consumer_in_order(s: Log) -> Property:
    """Return the property that a consumer leaves out no entry of its segment."""
    return Property(
        name="consumer-in-order",
        meaning="a consumer has read every entry of its segment before the place that it reads next",
        holds=read_so_far(s).holds,
        witness=exists_over((s.consumer, s.entry), lambda c, e: s.seen[c, e]),
        witness_meaning="a consumer has read an entry",
    )


def answers_end_orders(s: Log) -> Property:
    """Return the property AckEffective."""

    def answered(t: Term, o: Term, n: Term) -> Term:
        tries = s.close_answer.about["sending"]
        return exists(tries, lambda k: s.close_answer.is_received(t, o, n, k))

    over = s.segment, s.order, s.node
    return Property(
        name="answers-end-orders",
        meaning="a close order that a node has answered is not repeated to it",
        holds=~exists_over(over, lambda t, o, n: answered(t, o, n) & s.pending[t, o, n]),
        witness=exists_over(over, answered),
        witness_meaning="an answer to a close order has been received",
    )


def grants_respect_takeover(s: Log) -> Property:
    """Return the property GrantRespectsTakeover."""
    return Property(
        name="grants-respect-takeover",
        meaning="while a takeover is in progress, no segment is granted to another producer",
        holds=~s.mishap["granted_past_takeover"],
        witness=s.being_taken_over(),
        witness_meaning="a takeover is in progress",
    )
