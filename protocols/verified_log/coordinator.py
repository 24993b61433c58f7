"""The coordinator (Coordinator.p) grants segments, and has the last one closed before the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.messages import Message
from fencepost.encoding.language.quantifiers import exists, exists_over, forall
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Term, TermLike, Update, all_of, lift
from fencepost.protocols.verified_log.state import COORDINATOR, NOTHING, Log, LookupAnswer, Order


class MessageEffect(NamedTuple):
    """A part of what a handler does: updates of the state, and the messages sent."""

    then: list[Update]
    sent: list[Message]


def report_failure(s: Log, node: Parameter) -> Action:
    """Tell the coordinator that a node has crashed (eInformNodeFailure)."""
    return Action(
        when=~s.up[node] & ~s.failed[node],
        then=[s.failed[node].set(True)],
        actor=COORDINATOR,
        note="is told that {node} has crashed",
    )


def handle_first_request(s: Log, producer: Parameter, attempt: Parameter) -> Action:
    """Open the first segment for a producer that has none, or answer that there is one."""
    index = producer, lift(0), attempt
    exists_already, own = s.granted[1], s.owner[1] == producer
    answers = _answering(s, index, exists_already, own)
    grant = _grant_first(s, producer, ~exists_already)
    return Action(
        when=_first_is_known(s, exists_already),
        then=grant.then,
        received=s.new_segment.deliver(*index),
        sent=[*answers, *grant.sent],
    )


def handle_request(s: Log, producer: Parameter, segment: Parameter, attempt: Parameter) -> Action:
    """Order the last segment closed for a producer that asks for the next one.

    If the next one is granted already, the answer says so. While a take-over is under way, every producer
    is told so instead.
    """
    index = producer, segment, attempt
    taking = s.being_taken_over() if s.parameters.takeover == "yes" else FALSE
    followed = s.is_followed(segment)
    answers = _answering(s, index, followed, s.owns(producer, segment + 1), taking)
    closing = _order_close(
        s, segment, Order.ASKED, attempt, ~taking & ~followed, s.count[producer, segment], lift(NOTHING)
    )
    no_such = ~taking & ~followed & ~s.granted[segment]
    return Action(
        then=[*closing.then, s.mishap["no_such_segment"].set(True, when=no_such)],
        received=s.new_segment.deliver(*index),
        sent=[*answers, *closing.sent],
    )


def _answering(
    s: Log, index: tuple[Term, ...], followed: Term, own: Term, taking: Term = FALSE
) -> Iterator[Message]:
    """Yield the answers to a request for a granted segment, or during a take-over."""
    answer = if_(taking, LookupAnswer.IN_TAKEOVER, if_(own, LookupAnswer.OK, LookupAnswer.ALREADY))
    yield s.new_segment_answer.send(*index, when=taking | followed, answer=answer)
    if s.parameters.double_answer == "yes":
        yield s.second_new_segment_answer.send(*index, when=~taking & followed & own)


def _grant_first(s: Log, producer: Term, when: Term) -> MessageEffect:
    """Return the effect of granting the first segment, on the first R nodes.

    Any R nodes would do, because nothing distinguishes them yet.
    """
    then = [
        s.granted[1].set(True, when=when),
        s.owner[1].set(producer, when=when),
        *(s.placed[1, n].set(True, when=when) for n in _first_nodes(s)),
    ]
    return MessageEffect(then, [s.new_segment_granted.send(producer, 1, when=when)])


def _first_is_known(s: Log, granted: Term) -> Term:
    """Return whether no node of the first segment is known to have crashed when it is opened."""
    return granted | all_of(*(~s.failed[n] for n in _first_nodes(s)))


def _first_nodes(s: Log) -> list[Value]:
    return list(s.node)[: s.parameters.replicas]


def _order_close(
    s: Log, segment: Term, order: Order, sending: TermLike, when: Term, count: Term, entry: Term
) -> MessageEffect:
    """Return the effect of ordering every node to close the segment, and of remembering the order."""
    then = []
    if s.parameters.retry_close == "yes":
        then = [s.pending[segment, order, n].set(True, when=when & s.placed[segment, n]) for n in s.node]
    sent = [
        s.close.send(segment, order, n, sending, when=when & s.placed[segment, n], count=count, last=entry)
        for n in s.node
    ]
    return MessageEffect(then, sent)


def _grant_after(s: Log, segment: Term, producer: Term, placement: Term) -> MessageEffect:
    """Return the effect of opening the next segment for the producer, on the placement's nodes."""
    opened = segment + 1
    past = exists(s.segment, lambda t: s.in_takeover[t] & (s.taken_by[t] != producer))
    then = [
        s.granted[opened].set(True),
        s.owner[opened].set(producer),
        *(s.placed[opened, n].set(s.holds_node(placement, n)) for n in s.node),
        s.mishap["granted_past_takeover"].set(True, when=past),
    ]
    return MessageEffect(
        then, [s.new_segment_granted.send(p, opened, when=producer == p) for p in s.producer]
    )


def _is_known(s: Log, placement: Term) -> Term:
    """Return whether none of the placement's nodes is known to have crashed."""
    return all_of(*(implies(s.holds_node(placement, n), ~s.failed[n]) for n in s.node))


def receive_close_answer(
    s: Log, segment: Parameter, node: Parameter, sending: Parameter, placement: Parameter
) -> Action:
    """Open the next segment for its producer when the first node has closed the last one."""
    index = segment, lift(Order.ASKED), node, sending
    grant = _grant_after(s, segment, s.owner[segment], placement)
    return Action(
        when=s.is_last(segment) & _is_known(s, placement),
        then=[*grant.then, *_forget(s, index)],
        received=s.close_answer.deliver(*index),
        sent=grant.sent,
    )


def receive_late_close_answer(
    s: Log, segment: Parameter, order: Parameter, node: Parameter, sending: Parameter
) -> Action:
    """Receive the answer of a node that closed a segment that is no longer the last."""
    index = segment, order, node, sending
    return Action(
        when=s.is_followed(segment),
        then=list(_forget(s, index)),
        received=s.close_answer.deliver(*index),
    )


def _forget(s: Log, index: tuple[Term, ...]) -> Iterator[Update]:
    """Yield the update that ends repeating an order, if its answer is recognised."""
    segment, order, node, _ = index
    if s.parameters.retry_close == "yes" and s.parameters.ack_matches == "yes":
        yield s.pending[segment, order, node].set(False)


def handle_take_over(s: Log, producer: Parameter, attempt: Parameter) -> Action:
    """Have the last segment suspended for a producer that takes the log over.

    The coordinator opens the first segment if there is none. It does not answer while a take-over of the
    last segment is under way, whichever producer asked. The owner of the last segment is told that it owns
    it.
    """
    empty = ~s.granted[1]
    busy = exists(s.segment, lambda t: s.in_takeover[t] & s.is_last(t))
    own = exists(s.segment, lambda t: s.is_last(t) & (s.owner[t] == producer))
    suspends = ~empty & ~busy & ~own & ~_waits(s) & ~_is_outdated(s, producer)
    grant = _grant_first(s, producer, empty)
    # Without suspending, the coordinator opens the next segment instead (open_at_once).
    sealed = TRUE if s.parameters.seal == "suspend" else ~suspends
    return Action(
        when=_first_is_known(s, ~empty) & sealed,
        then=[
            *grant.then,
            *(s.in_takeover[t].set(s.is_last(t), when=suspends) for t in s.segment),
            *(s.taken_by[t].set(producer, when=suspends & s.is_last(t)) for t in s.segment),
        ],
        received=s.take_over.deliver(producer, attempt),
        sent=[
            *grant.sent,
            s.take_over_answer.send(producer, attempt, when=~busy & own, segment=s.last()),
            *(
                s.suspend.send(t, n, 1, when=suspends & s.is_last(t) & s.placed[t, n])
                for t in s.segment
                for n in s.node
            ),
        ],
    )


def _waits(s: Log) -> Term:
    """Return whether the last segment is being closed for its owner (one_order=yes).

    Its close orders carry the owner's count.
    """
    if s.parameters.one_order == "no":
        return FALSE
    return exists(s.segment, lambda t: s.is_last(t) & exists(s.node, lambda n: s.pending[t, Order.ASKED, n]))


def _is_outdated(s: Log, producer: Term) -> Term:
    """Return whether the producer has owned a segment before (late_takeover=ignored)."""
    if s.parameters.late_takeover == "obeyed":
        return FALSE
    return exists(s.segment, lambda t: s.owner[t] == producer)


def open_at_once(
    s: Log, producer: Parameter, attempt: Parameter, segment: Parameter, placement: Parameter
) -> Action:
    """Open the next segment for a producer that takes over, without suspending (seal=none)."""
    grant = _grant_after(s, segment, producer, placement)
    return Action(
        when=s.is_last(segment) & (s.owner[segment] != producer) & _is_known(s, placement),
        then=grant.then,
        received=s.take_over.deliver(producer, attempt),
        sent=grant.sent,
    )


def receive_suspend_answer(
    s: Log, segment: Parameter, node: Parameter, sending: Parameter, placement: Parameter
) -> Action:
    """Take the content of the first node to suspend as the segment's, and open the next segment.

    The coordinator vouches for the last entry, and has it stored on nodes that lack it.
    """
    index = segment, node, sending
    count, entry, producer = s.suspended_count[index], s.suspended_entry[index], s.taken_by[segment]
    closing = _order_close(s, segment, Order.TAKEN, 1, TRUE, count, entry)
    grant = _grant_after(s, segment, producer, placement)
    return Action(
        when=s.is_last(segment) & s.in_takeover[segment] & _is_known(s, placement),
        then=[
            *closing.then,
            *grant.then,
            s.vouched_count[segment].set(count),
            s.vouched_entry[segment].set(entry),
            *(s.in_takeover[t].set(False) for t in s.segment),
            *(_vouch(s, segment, count, entry, producer) if s.parameters.vouching == "yes" else ()),
        ],
        received=s.suspend_answer.deliver(*index),
        sent=[*closing.sent, *grant.sent],
    )


def _vouch(s: Log, segment: Term, count: Term, entry: Term, producer: Term) -> Iterator[Update]:
    """Yield the updates by which the coordinator vouches for the last entry.

    It declares the entry durable, the producer active, and the entry committed.
    """
    some = count > 0
    yield s.active.set(producer, when=some)
    for e in s.entry:
        yield s.durable[e].set(True, when=some & (entry == e))
        yield s.committed[e].set(True, when=some & (entry == e))
        yield s.committed_in[e, segment].set(True, when=some & (entry == e))


def receive_late_suspend_answer(s: Log, segment: Parameter, node: Parameter, sending: Parameter) -> Action:
    """Receive the answer of a node that suspended a segment no longer last or no longer taken over."""
    return Action(
        when=s.is_followed(segment) | ~s.in_takeover[segment],
        received=s.suspend_answer.deliver(segment, node, sending),
    )


def coordinator_time_out(s: Log, time: Parameter) -> Action:
    """Repeat close orders, except to crashed nodes, and suspend orders."""
    earlier = forall(s.time, lambda t: implies(t < time, s.timed_out[t]))
    waiting = exists_over((s.segment, s.order, s.node), lambda t, o, n: s.pending[t, o, n])
    p = s.parameters
    then: list[Update] = [s.timed_out[time].set(True)]
    sent: list[Message] = []
    if p.retry_close == "yes":
        for t in s.segment:
            for o in s.order:
                for n in s.node:
                    then.append(s.pending[t, o, n].set(False, when=s.failed[n]))
                    wanted = s.pending[t, o, n] & ~s.failed[n]
                    sent.append(s.close.send(t, o, n, time + p.attempts, when=wanted))
    if p.takeover == "yes":
        waiting = waiting | s.being_taken_over()
        sent += [
            s.suspend.send(t, n, time + 1, when=s.in_takeover[t] & s.placed[t, n])
            for t in s.segment
            for n in s.node
        ]
    return Action(
        when=~s.timed_out[time] & earlier & waiting,
        then=then,
        actor=COORDINATOR,
        sent=sent,
        note="times out",
    )


def handle_where(s: Log, consumer: Parameter, segment: Parameter, attempt: Parameter) -> Action:
    """Tell a consumer the nodes of a segment, or that the segment does not exist yet."""
    index = consumer, segment, attempt
    return Action(
        received=s.where.deliver(*index),
        sent=[s.where_answer.send(*index, found=s.granted[segment])],
    )
