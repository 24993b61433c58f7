"""Invariants about entries and the nodes that store them: one after another, each on all nodes."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.quantifiers import at_least, exists, exists_over, forall, forall_over
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.system import invariant
from fencepost.encoding.language.terms import FALSE, Term, all_of, lift
from fencepost.properties.verified_log.words import (
    accepted,
    done_in,
    is_at,
    is_sealed,
    is_taken,
    numbers,
    ordered,
    sent_in,
    was_closed,
)
from fencepost.protocols.verified_log.state import NOTHING, Log, Order, ProducerPhase, SegmentStatus


@invariant(
    "a producer sends the entries of a segment one by one, each after it has "
    "committed the entry before, and continues in its next segment"
)
def written_in_order(s: Log) -> Term:
    """Return the invariant that a producer writes one entry at a time, segment after segment."""

    def wrote(p: Value, t: int) -> Term:
        """Return whether the producer owns all segments from this one to the one that it writes to.

        It may own later segments of which it has not heard yet.
        """
        own = (implies(u <= s.at[p], s.owner[u] == p) for u in numbers(s.segment) if u > t)
        return all_of(t <= s.at[p], *own)

    def in_turn(p: Value, t: int, start: Term, last: int) -> Term:
        stop = start + s.count[p, t]
        sent = [
            sent_in(s, t, e) == (wrote(p, t) & (start <= e) & (e <= stop) & (e <= last))
            for e in numbers(s.entry)
        ]
        return implies(s.owner[t] == p, all_of(*sent))

    def own(p: Value, entries: Sequence[int]) -> Term:
        first, last = entries[0], entries[-1]
        start: Term = lift(first)
        parts: list[Term] = []
        for t in numbers(s.segment):
            parts.append(in_turn(p, t, start, last))
            start = start + s.count[p, t]
        done = s.next[p] == last + 1
        return all_of(
            *parts, s.next[p] == start, (s.next[p] <= last) | done, (s.phase[p] == ProducerPhase.DONE) == done
        )

    return all_of(*(own(p, numbers(s.own(s.only(p)))) for p in s.producer))


@invariant("an entry is sent to all nodes of its segment and to no other node")
def sent_to_all_nodes(s: Log) -> Term:
    """Return the invariant about the receivers of an append."""
    return forall_over(
        (s.segment, s.entry, s.node),
        lambda t, e, n: s.append.is_sent(t, e, n) == (s.placed[t, n] & sent_in(s, t, e)),
    )


@invariant(
    "a node answers an append after it has stored the entry, or after it has "
    "refused it because the segment is sealed there"
)
def answers_to_appends(s: Log) -> Term:
    """Return the invariant that answers to appends are true."""

    def sound(t: Term, e: Term, n: Term) -> Term:
        return all_of(
            s.append_answer.is_sent(t, e, n) == s.append.is_received(t, e, n),
            implies(s.sealed[t, e, n], is_sealed(s, n, t)),
            implies(s.append_answer.is_sent(t, e, n), s.status[n, t] != SegmentStatus.UNKNOWN),
            implies(accepted(s, t, e, n), s.ever_stored[e, n]),
        )

    return forall_over((s.segment, s.entry, s.node), sound)


@invariant(
    "a writing producer counts only acks of the entry that it is writing, and at least one of them is missing"
)
def acks_are_of_this_entry(s: Log) -> Term:
    """Return the invariant about the acks that a writing producer counts."""

    def current(p: Term, n: Term) -> Term:
        return exists_over(
            (s.segment, s.entry),
            lambda t, e: all_of(
                s.at[p] == t, s.next[p] == e, s.append_answer.is_received(t, e, n), accepted(s, t, e, n)
            ),
        )

    def stuck(p: Term) -> Term:
        if s.parameters.takeover == "no":
            return FALSE
        return exists(s.segment, lambda t: (s.at[p] == t) & _is_leaving(s, t))

    def sound(p: Term, n: Term) -> Term:
        phase = s.phase[p]
        left = (phase == ProducerPhase.WANT) & stuck(p) | (phase == ProducerPhase.HALTED)
        return if_(phase == ProducerPhase.WRITE, s.acks[p, n] == current(p, n), implies(s.acks[p, n], left))

    def missing(p: Term) -> Term:
        return ~at_least(s.parameters.replicas, s.node, lambda n: s.acks[p, n])

    return forall_over((s.producer, s.node), sound) & forall(
        s.producer, lambda p: implies(s.phase[p] == ProducerPhase.WRITE, missing(p))
    )


def _is_leaving(s: Log, segment: Term) -> Term:
    """Return whether another producer takes the segment over, and its owner has not had it closed."""
    return is_taken(s, segment) | s.in_takeover[segment] & ~ordered(s, segment, Order.ASKED)


@invariant("every node of the segment accepted and acked each entry that a producer committed there")
def committed_by_all(s: Log) -> Term:
    """Return the invariant that a producer commits an entry after all nodes have it."""
    return forall_over(
        (s.segment, s.entry, s.node),
        lambda t, e, n: implies(
            done_in(s, t, e) & s.placed[t, n], accepted(s, t, e, n) & s.append_answer.is_received(t, e, n)
        ),
    )


@invariant("the entries that a node holds of a segment are a prefix of those sent in it")
def logs_as_sent(s: Log) -> Term:
    """Return the invariant that a node's log has no gap."""

    def in_place(n: Term, t: Term, i: Term) -> Term:
        held = s.log[n, t, i]
        there = exists(s.entry, lambda e: (held == e) & is_at(s, t, e, i))
        below = forall(s.place, lambda j: implies(j < i, s.log[n, t, j] != NOTHING))
        return implies(held != NOTHING, there & below)

    return forall_over((s.node, s.segment, s.place), in_place)


@invariant("until a node closes a segment, it holds exactly the entries that it accepted")
def accepted_is_stored(s: Log) -> Term:
    """Return the invariant about the log of a node before the close."""
    return forall_over(
        (s.node, s.segment, s.entry),
        lambda n, t, e: implies(~was_closed(s, n, t), s.holds(n, t, e) == accepted(s, t, e, n)),
    )


@invariant(
    "an entry is committed in a segment by the segment's owner, or because the coordinator vouches for it"
)
def committed_for_a_reason(s: Log) -> Term:
    """Return the invariant that commits are justified."""

    def vouched(e: Term, t: Term) -> Term:
        return is_taken(s, t) & (s.vouched_entry[t] == e) & s.durable[e]

    def sound(e: Term, t: Term) -> Term:
        said = s.committed_in[e, t]
        taken = FALSE if s.parameters.takeover == "no" else vouched(e, t)
        return all_of(
            implies(done_in(s, t, e), said), implies(said, (done_in(s, t, e) | taken) & s.committed[e])
        )

    return forall_over((s.entry, s.segment), sound) & forall(
        s.entry, lambda e: implies(s.committed[e], exists(s.segment, lambda t: s.committed_in[e, t]))
    )
