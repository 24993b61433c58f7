"""Invariants about orders to close a segment, and about the entries of a node that obeyed one."""

from __future__ import annotations

from functools import partial

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import at_least, exists, exists_over, forall, forall_over
from fencepost.encoding.language.system import Invariant, invariant
from fencepost.encoding.language.terms import FALSE, TRUE, Term, all_of, any_of
from fencepost.properties.verified_log.words import is_sealed, is_taken, obeyed, ordered, sendings, was_closed
from fencepost.protocols.verified_log.state import Log, Order, SegmentStatus


@invariant(
    "a node seals a segment when an order says so and then keeps it sealed, and "
    "it answers a close order once it has closed the segment"
)
def sealed_by_order(s: Log) -> Term:
    """Return the invariant that a node seals a segment only when an order says so."""
    taking = s.parameters.takeover == "yes"
    stays = not taking or s.parameters.suspend_demotes == "no"

    def suspended(n: Term, t: Term) -> Term:
        if not taking:
            return FALSE
        return exists(s.suspend.about["sending"], lambda k: s.suspend.is_received(t, n, k))

    def sound(n: Term, t: Term) -> Term:
        status = s.status[n, t]
        return all_of(
            implies(status == SegmentStatus.SUSPENDED, suspended(n, t)),
            implies(status == SegmentStatus.CLOSED, was_closed(s, n, t)),
            implies(was_closed(s, n, t) | suspended(n, t), is_sealed(s, n, t)),
            implies(was_closed(s, n, t), status == SegmentStatus.CLOSED) if stays else TRUE,
        )

    answered = (
        forall_over(
            s.close_answer.over,
            lambda *index: s.close_answer.is_sent(*index) == s.close.is_received(*index),
        )
        if s.parameters.coordinator == "yes"
        else TRUE
    )
    return forall_over((s.node, s.segment), sound) & answered


@invariant("a node that has closed a segment holds as many entries of it as a close order said")
def closed_at_the_count(s: Log) -> Term:
    """Return the invariant about the length of a closed segment."""

    def told(n: Term, t: Term) -> Term:
        asked = exists(s.producer, lambda p: (s.owner[t] == p) & (s.length(n, t) == s.count[p, t]))
        vouched = s.length(n, t) == s.vouched_count[t]
        return any_of(obeyed(s, n, t, Order.ASKED) & asked, obeyed(s, n, t, Order.TAKEN) & vouched)

    return forall_over((s.node, s.segment), lambda n, t: implies(was_closed(s, n, t), told(n, t)))


@invariant(
    "a segment is ordered closed only if its owner asked for it, or if the next "
    "segment belongs to another producer"
)
def orders_have_reasons(s: Log) -> Term:
    """Return the invariant that close orders are justified."""
    attempt = s.new_segment.about["attempt"]

    def asked(t: Term) -> Term:
        return exists_over(
            (s.producer, attempt), lambda p, k: (s.owner[t] == p) & s.new_segment.is_received(p, t, k)
        )

    def sound(t: Term, n: Term) -> Term:
        def given(o: Order) -> Term:
            return s.pending[t, o, n] | exists(sendings(s), lambda k: s.close.is_sent(t, o, n, k))

        return all_of(
            implies(given(Order.ASKED), asked(t) & ordered(s, t, Order.ASKED)),
            implies(given(Order.TAKEN), is_taken(s, t)),
        )

    return forall_over((s.segment, s.node), sound)


@invariant(
    "a segment is granted only if the one before was ordered closed for its "
    "owner, or if it is granted to another producer"
)
def followed_for_a_reason(s: Log) -> Term:
    """Return the invariant that a new segment is justified."""

    def sound(t: Term) -> Term:
        return implies(s.is_followed(t), ordered(s, t, Order.ASKED) | is_taken(s, t))

    answered = forall_over(
        s.close_answer.over,
        lambda t, o, n, k: implies(s.close_answer.is_received(t, o, n, k), s.is_followed(t)),
    )
    return forall(s.segment, sound) & answered


def orders_are_repeated(s: Log) -> Invariant:
    """Return the invariant that every node learns of a close: readers can then leave the segment."""
    ends = s.parameters.ack_matches == "yes"

    def sound(t: Term, n: Term, o: Order) -> Term:
        closed = ends & s.is_followed(t) & (s.status[n, t] == SegmentStatus.CLOSED)
        given = ordered(s, t, o) if o is Order.ASKED else is_taken(s, t)
        return implies(given & s.placed[t, n], any_of(s.pending[t, o, n], s.failed[n], closed))

    return Invariant(
        name="orders-are-repeated",
        meaning="an order to close a segment is repeated to each of its nodes"
        + (" until the node has closed the segment" if ends else "")
        + ", except for nodes that are known to have crashed",
        holds=all_of(*(forall_over((s.segment, s.node), partial(sound, o=o)) for o in Order)),
    )


@invariant(
    "no more nodes are down than there were crashes, and the coordinator considers no node failed that is up"
)
def crashes_are_counted(s: Log) -> Term:
    """Return the invariant about crashed nodes."""
    return ~at_least(s.parameters.crashes + 1, s.node, lambda n: ~s.up[n]) & forall(
        s.node, lambda n: implies(s.failed[n], ~s.up[n])
    )
