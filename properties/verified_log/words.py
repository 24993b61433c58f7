"""Predicates of the invariants of a Verified Log.

An entry is *sent in* a segment if its owner sent it to the nodes of the segment. The *base* of a segment is
the first entry that was sent in it. A node *accepted* an entry if it answered the append without refusing it.
A segment is *taken* if the next segment belongs to another producer.
"""

from __future__ import annotations

from fencepost.encoding.language.quantifiers import exists, exists_over
from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.language.terms import FALSE, Term, TermLike, all_of, any_of
from fencepost.protocols.verified_log.state import Log, ProducerPhase, SegmentStatus


def numbers(sort: Sort) -> list[int]:
    """Return the values of a range."""
    return [value for value in sort.values if isinstance(value, int)]


def sent_in(s: Log, segment: TermLike, entry: TermLike) -> Term:
    """Return whether the entry was sent to nodes of the segment."""
    return exists(s.node, lambda n: s.append.is_sent(segment, entry, n))


def is_base(s: Log, segment: TermLike, entry: TermLike) -> Term:
    """Return whether the entry is the first one that was sent in the segment."""
    earlier = exists(s.entry, lambda e: (e < entry) & sent_in(s, segment, e))
    return sent_in(s, segment, entry) & ~earlier


def is_at(s: Log, segment: TermLike, entry: Term, place: Term) -> Term:
    """Return whether the entry was sent in the segment as the one with that number."""
    at = exists(s.entry, lambda base: is_base(s, segment, base) & (base + place == entry + 1))
    return sent_in(s, segment, entry) & at


def done_in(s: Log, segment: TermLike, entry: TermLike) -> Term:
    """Return whether the segment's owner committed the entry there.

    The committed entries are the first ones from the base, as many as the owner has counted.
    """
    return exists_over(
        (s.producer, s.entry),
        lambda p, base: all_of(
            s.owner[segment] == p,
            is_base(s, segment, base),
            base <= entry,
            entry < base + s.count[p, segment],
        ),
    )


def accepted(s: Log, segment: TermLike, entry: TermLike, node: TermLike) -> Term:
    """Return whether the node answered that append and did not refuse it."""
    return s.append_answer.is_sent(segment, entry, node) & ~s.sealed[segment, entry, node]


def writes_to(s: Log, producer: TermLike, segment: TermLike) -> Term:
    """Return whether the producer is writing to the segment."""
    return (s.phase[producer] == ProducerPhase.WRITE) & (s.at[producer] == segment)


def is_sealed(s: Log, node: TermLike, segment: TermLike) -> Term:
    """Return whether the node refuses further appends to the segment."""
    return any_of(
        s.status[node, segment] == SegmentStatus.CLOSED, s.status[node, segment] == SegmentStatus.SUSPENDED
    )


def was_closed(s: Log, node: TermLike, segment: TermLike) -> Term:
    """Return whether the node obeyed an order to close the segment."""
    return exists(s.order, lambda o: obeyed(s, node, segment, o))


def obeyed(s: Log, node: TermLike, segment: TermLike, order: TermLike) -> Term:
    """Return whether the node obeyed that order to close the segment."""
    if s.parameters.coordinator == "no":
        return FALSE
    return exists(sendings(s), lambda k: s.close.is_received(segment, order, node, k))


def ordered(s: Log, segment: TermLike, order: TermLike) -> Term:
    """Return whether some node was sent that order to close the segment."""
    return exists_over((s.node, sendings(s)), lambda n, k: s.close.is_sent(segment, order, n, k))


def is_taken(s: Log, segment: Term) -> Term:
    """Return whether the next segment belongs to another producer."""
    return exists(s.segment, lambda u: all_of(u == segment + 1, s.granted[u], s.owner[u] != s.owner[segment]))


def following_is(s: Log, segment: Term, producer: TermLike) -> Term:
    """Return whether the next segment belongs to the producer."""
    return exists(s.segment, lambda u: (u == segment + 1) & (s.owner[u] == producer))


def sendings(s: Log) -> Sort:
    """Return the sort of the repetitions of an order to close a segment."""
    return s.close.about["sending"]
