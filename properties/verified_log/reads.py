"""Invariants about reads: the entries that nodes serve, and those that consumers have read."""

from __future__ import annotations

from functools import partial

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, exists_over, forall, forall_over
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.system import invariant
from fencepost.encoding.language.terms import FALSE, TRUE, Term, all_of, any_of, lift
from fencepost.properties.verified_log.words import done_in, is_at, is_taken, numbers, ordered
from fencepost.protocols.verified_log.state import NOTHING, Log, Order, SegmentStatus, ServedSegment


@invariant(
    "an entry that a node sent to a consumer is the one at that place of the "
    "segment, and it is committed there"
)
def served_is_committed(s: Log) -> Term:
    """Return the invariant that nodes serve only committed entries."""

    def reason(t: Term, e: Term) -> Term:
        vouched = (s.vouched_entry[t] == e) if s.parameters.takeover == "yes" else FALSE
        return (done_in(s, t, e) | vouched) & s.committed_in[e, t]

    def sound(*index: Term) -> Term:
        _, t, i, _, _ = index
        entry = exists_over(
            (s.entry, s.place),
            lambda e, j: all_of(s.served_entry[index] == e, i == j, is_at(s, t, e, j), reason(t, e)),
        )
        return all_of(
            (s.served[index] != ServedSegment.NONE) == s.read_answer.is_sent(*index),
            s.read_answer.is_sent(*index) == s.read.is_received(*index),
            implies(s.served[index] == ServedSegment.ENTRY, entry),
            implies(s.served[index] != ServedSegment.ENTRY, s.served_entry[index] == NOTHING),
        )

    return forall_over(s.read.over, sound)


@invariant(
    "a consumer has read every entry of its segment before the place that it "
    "reads next, and these entries are committed"
)
def read_so_far(s: Log) -> Term:
    """Return the invariant that a consumer has read everything before its place in its segment."""

    def seen(c: Term, t: Term, i: Term) -> Term:
        entry = exists(s.entry, lambda e: is_at(s, t, e, i) & s.committed_in[e, t] & s.seen[c, e])
        return implies((s.reads_from[c] == t) & (i < s.reads_at[c]), entry)

    return forall_over((s.consumer, s.segment, s.place), seen)


@invariant(
    "a consumer leaves a segment after its owner had it closed and the consumer has read all that the owner "
    "committed there, or if the next segment belongs to another producer"
)
def left_for_a_reason(s: Log) -> Term:
    """Return the invariant that a consumer leaves a segment only when the segment is over."""

    def over(t: Term) -> Term:
        return is_taken(s, t) | ordered(s, t, Order.ASKED)

    def no_more(*index: Term) -> Term:
        _, t, i, _, _ = index
        beyond = forall(s.producer, lambda p: implies(s.owner[t] == p, s.count[p, t] < i))
        return implies(s.served[index] == ServedSegment.NEXT_SEGMENT, over(t) & (is_taken(s, t) | beyond))

    return forall_over(s.read.over, no_more) & forall_over(
        (s.consumer, s.segment), lambda c, t: implies(t < s.reads_from[c], over(t))
    )


@invariant("the last entry that a consumer read is committed in its current segment or in an earlier one")
def last_read_was_sent(s: Log) -> Term:
    """Return the invariant about the last entry that a consumer read."""

    def behind(c: Term, t: Term, e: Term) -> Term:
        return all_of(
            t <= s.reads_from[c], exists(s.place, lambda i: is_at(s, t, e, i)), s.committed_in[e, t]
        )

    return forall_over(
        (s.consumer, s.entry),
        lambda c, e: implies(s.last_read[c] == e, exists(s.segment, lambda t: behind(c, t, e))),
    )


@invariant(
    "a consumer's last read entry is the one before the entry that it reads "
    "next, except for the first entry of a producer"
)
def read_without_gaps(s: Log) -> Term:
    """Return the invariant that a consumer reads the entries of a producer in order."""

    def heir(p: Value, t: int) -> Term:
        before = [s.owner[u] == p for u in numbers(s.segment) if u + 1 == t] or [TRUE]
        return (s.owner[t] == p) | ~s.granted[t] & any_of(*before)

    def may_write(p: Value, t: int) -> Term:
        """Return whether the producer owns or may own the segment, and all from the one that it writes to."""
        between = [
            implies((s.at[p] >= 1) & (s.at[p] <= u), s.owner[u] == p) for u in numbers(s.segment) if u < t
        ]
        return all_of(heir(p, t), *between)

    def here(c: Term, p: Value, t: int, start: Term, first: int) -> Term:
        newcomer = (s.reads_at[c] == 1) & (start == first)
        last, expected = s.last_read[c] + 2, start + s.reads_at[c]
        return implies(
            (s.reads_from[c] == t) & may_write(p, t), (last <= expected) & ((last == expected) | newcomer)
        )

    def of(p: Value) -> Term:
        first, *_ = numbers(s.own(s.only(p)))
        start: Term = lift(first)
        parts: list[Term] = []
        for t in numbers(s.segment):
            parts.append(forall(s.consumer, partial(here, p=p, t=t, start=start, first=first)))
            start = start + s.count[p, t]
        return all_of(*parts)

    return all_of(*(of(p) for p in s.producer))


@invariant(
    "a consumer leaves a segment that some node has closed, after it has read "
    "all entries that the node holds of it"
)
def left_when_closed(s: Log) -> Term:
    """Return the invariant that a consumer leaves a segment at a node that has closed it."""

    def over(*index: Term) -> Term:
        _, t, i, _, n = index
        closed = (s.status[n, t] == SegmentStatus.CLOSED) & (s.length(n, t) < i)
        return implies(s.served[index] == ServedSegment.NEXT_SEGMENT, closed)

    def left(c: Term, t: Term) -> Term:
        def read(n: Term) -> Term:
            held = forall(s.entry, lambda e: implies(s.holds(n, t, e), s.seen[c, e]))
            return (s.status[n, t] == SegmentStatus.CLOSED) & held

        return implies(t < s.reads_from[c], exists(s.node, read))

    return forall_over(s.read.over, over) & forall_over((s.consumer, s.segment), left)
