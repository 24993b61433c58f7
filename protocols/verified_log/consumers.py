"""A consumer (Consumer.p) finds out where a segment is, and reads it from any of its nodes.

A consumer that is told that nothing is there asks again when its timer fires. In the P code it asks at
once. It asks for the same thing `reads` times at most.
"""

from __future__ import annotations

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.quantifiers import at_least
from fencepost.encoding.language.terms import FALSE, Parameter, Term, any_of
from fencepost.protocols.verified_log.state import Log, Reading, ServedSegment


def start_consumer(s: Log, consumer: Parameter) -> Action:
    """Start a consumer: it asks for the first segment, or without a coordinator reads the last node."""
    if s.parameters.coordinator == "yes":
        phase, asked = Reading.LOCATE, s.where.send(consumer, 1, 1)
    else:
        phase, asked = Reading.READ, s.read.send(consumer, 1, 1, 1, s.read_node.values[-1])
    return Action(
        when=s.reading[consumer] == Reading.IDLE,
        then=[s.reading[consumer].set(phase)],
        actor=consumer,
        sent=[asked],
        note="starts",
    )


def repeat_where(s: Log, consumer: Parameter, segment: Parameter, attempt: Parameter) -> Action:
    """Ask again where a segment is."""
    return Action(
        when=_locates(s, consumer, segment) & s.is_next(s.where, consumer, segment, attempt),
        actor=consumer,
        sent=[s.where.send(consumer, segment, attempt)],
        note="times out",
    )


def repeat_read(
    s: Log, consumer: Parameter, segment: Parameter, place: Parameter, attempt: Parameter, node: Parameter
) -> Action:
    """Ask again for the entry at a place, from the same node or another."""
    asked = any_of(*(s.read.is_sent(consumer, segment, place, attempt - 1, n) for n in s.read_node))
    again = any_of(*(s.read.is_sent(consumer, segment, place, attempt, n) for n in s.read_node))
    return Action(
        when=_awaits(s, consumer, segment, place) & asked & ~again & s.placed[segment, node],
        actor=consumer,
        sent=[s.read.send(consumer, segment, place, attempt, node)],
        note="times out",
    )


def receive_where_answer(
    s: Log, consumer: Parameter, segment: Parameter, attempt: Parameter, node: Parameter
) -> Action:
    """Receive the location of the segment, and read from one of its nodes."""
    index = consumer, segment, attempt
    return Action(
        when=_locates(s, consumer, segment) & s.found[index] & s.placed[segment, node],
        then=[s.reading[consumer].set(Reading.READ)],
        received=s.where_answer.deliver(*index),
        sent=[s.read.send(consumer, segment, 1, 1, node)],
    )


def receive_useless_where_answer(
    s: Log, consumer: Parameter, segment: Parameter, attempt: Parameter
) -> Action:
    """Receive an answer that the segment does not exist yet, or one that is no longer needed."""
    index = consumer, segment, attempt
    return Action(
        when=~_locates(s, consumer, segment) | ~s.found[index],
        received=s.where_answer.deliver(*index),
    )


def receive_entry(
    s: Log,
    consumer: Parameter,
    segment: Parameter,
    place: Parameter,
    attempt: Parameter,
    node: Parameter,
    following: Parameter,
) -> Action:
    """Receive the requested entry, and ask any node for the one at the next place."""
    index = consumer, segment, place, attempt, node
    entry, last = s.served_entry[index], s.last_read[consumer]
    fits = (entry == last) | (entry == last + 1) | _is_first_of_newcomer(s, entry)
    ends = _has_read_enough(s, consumer, entry)
    return Action(
        when=_awaits(s, consumer, segment, place)
        & (s.served[index] == ServedSegment.ENTRY)
        & s.placed[segment, following],
        then=[
            s.reads_at[consumer].set(place + 1),
            s.last_read[consumer].set(entry, when=last < entry),
            *(s.seen[consumer, e].set(True, when=entry == e) for e in s.entry),
            s.reading[consumer].set(Reading.DONE, when=ends),
            s.mishap["gap"].set(True, when=~fits),
        ],
        received=s.read_answer.deliver(*index),
        sent=[s.read.send(consumer, segment, place + 1, 1, following, when=~ends)],
    )


def receive_next_segment(
    s: Log, consumer: Parameter, segment: Parameter, place: Parameter, attempt: Parameter, node: Parameter
) -> Action:
    """Receive the answer that the segment has ended, and ask where the next one is."""
    index = consumer, segment, place, attempt, node
    return Action(
        when=_awaits(s, consumer, segment, place) & (s.served[index] == ServedSegment.NEXT_SEGMENT),
        then=[
            s.reads_from[consumer].set(segment + 1),
            s.reads_at[consumer].set(1),
            s.reading[consumer].set(Reading.LOCATE),
        ],
        received=s.read_answer.deliver(*index),
        sent=[s.where.send(consumer, segment + 1, 1)],
    )


def receive_useless_read_answer(
    s: Log, consumer: Parameter, segment: Parameter, place: Parameter, attempt: Parameter, node: Parameter
) -> Action:
    """Receive an answer that nothing can be read yet, or one that is no longer needed."""
    index = consumer, segment, place, attempt, node
    return Action(
        when=~_awaits(s, consumer, segment, place) | (s.served[index] == ServedSegment.NOTHING),
        received=s.read_answer.deliver(*index),
    )


def _locates(s: Log, consumer: Term, segment: Term) -> Term:
    """Return whether the consumer is asking where that segment is."""
    return (s.reading[consumer] == Reading.LOCATE) & (s.reads_from[consumer] == segment)


def _awaits(s: Log, consumer: Term, segment: Term, place: Term) -> Term:
    """Return whether the consumer is waiting for the entry at that place of that segment."""
    here = (s.reads_from[consumer] == segment) & (s.reads_at[consumer] == place)
    return (s.reading[consumer] == Reading.READ) & here


def _is_first_of_newcomer(s: Log, entry: Term) -> Term:
    """Return whether the entry is the first of a producer: with take-over a gap may precede it.

    The P code recognises it as a multiple of ten.
    """
    if s.parameters.takeover == "no":
        return FALSE
    return any_of(*(entry == first for first in range(1, len(s.entry) + 1, s.parameters.entries)))


def _has_read_enough(s: Log, consumer: Term, entry: Term) -> Term:
    """Return whether the consumer has read all but the last entry.

    04 compares the entry's number; earlier stages count entries.
    """
    enough = s.parameters.entries - 1
    if s.parameters.takeover == "yes":
        return entry == len(s.entry) - 1
    if enough == 0:
        return FALSE
    return at_least(enough, s.entry, lambda e: s.seen[consumer, e] | (entry == e))
