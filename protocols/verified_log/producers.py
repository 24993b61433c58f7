"""A producer (Producer.p) takes the log over, asks for segments, and writes one entry at a time."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.messages import Message
from fencepost.encoding.language.quantifiers import at_least
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Term, TermLike, Update, lift
from fencepost.protocols.verified_log.state import Log, LookupAnswer, ProducerPhase


def start(s: Log, producer: Parameter) -> Action:
    """Start a producer: it takes the log over (04), asks for a segment (02, 03) or writes (01)."""
    if s.parameters.takeover == "yes":
        sent = [s.take_over.send(producer, 1)]
        phase = ProducerPhase.TAKEOVER
    elif s.parameters.coordinator == "yes":
        sent = [s.new_segment.send(producer, 0, 1)]
        phase = ProducerPhase.WANT
    else:
        sent = list(_writing(s, producer, 1, s.next[producer], TRUE))
        phase = ProducerPhase.WRITE
    then = [s.phase[producer].set(phase)]
    if phase is ProducerPhase.WRITE:
        then += [s.at[producer].set(1), s.knows_nodes[producer].set(True)]
    return Action(
        when=(s.phase[producer] == ProducerPhase.IDLE) & _may_start(s, producer),
        then=then,
        actor=producer,
        sent=sent,
        note="starts",
    )


def _may_start(s: Log, producer: Parameter) -> Term:
    """Return whether the producer before it has taken over, or with overlap=yes has started.

    CreateProducers.p.
    """
    names = s.producer.values
    number = names.index(producer.sort.values[0])
    if number == 0:
        return TRUE
    before = names[number - 1]
    if s.parameters.overlap == "yes":
        return s.phase[before] != ProducerPhase.IDLE
    return s.took_over[before]


def repeat_take_over(s: Log, producer: Parameter, attempt: Parameter) -> Action:
    """Time out while taking over, and send the request again."""
    return Action(
        when=(s.phase[producer] == ProducerPhase.TAKEOVER) & s.is_next(s.take_over, producer, attempt),
        actor=producer,
        sent=[s.take_over.send(producer, attempt)],
        note="times out",
    )


def repeat_request(s: Log, producer: Parameter, after: Parameter, attempt: Parameter) -> Action:
    """Time out while waiting for a segment, and ask again with the same count."""
    return Action(
        when=(s.phase[producer] == ProducerPhase.WANT)
        & (s.at[producer] == after)
        & s.is_next(s.new_segment, producer, after, attempt),
        actor=producer,
        sent=[s.new_segment.send(producer, after, attempt)],
        note="times out",
    )


def time_out(s: Log, producer: Parameter, segment: Parameter) -> Action:
    """Time out while waiting for acks: forget them, and ask for the next segment."""
    return Action(
        when=(s.phase[producer] == ProducerPhase.WRITE) & (s.at[producer] == segment),
        then=[s.phase[producer].set(ProducerPhase.WANT), *(s.acks[producer, n].set(False) for n in s.node)],
        actor=producer,
        sent=[s.new_segment.send(producer, segment, 1)],
        note="times out",
    )


def receive_grant(s: Log, producer: Parameter, segment: Parameter) -> Action:
    """Receive the grant of a new segment."""
    received = s.new_segment_granted.deliver(producer, segment)
    return _hear(s, producer, received, segment, lift(LookupAnswer.OK))


def receive_answer(s: Log, producer: Parameter, after: Parameter, attempt: Parameter) -> Action:
    """Receive the answer that the segment is granted already, or that the log is being taken over."""
    received = s.new_segment_answer.deliver(producer, after, attempt)
    answer, own = s.answered[producer, after, attempt], s.owns(producer, after + 1)
    return _hear(s, producer, received, after + 1, answer, own)


def receive_second_answer(s: Log, producer: Parameter, after: Parameter, attempt: Parameter) -> Action:
    """Receive ALREADY without nodes, after or instead of OK (double_answer=yes)."""
    received = s.second_new_segment_answer.deliver(producer, after, attempt)
    answer, own = lift(LookupAnswer.ALREADY), s.owns(producer, after + 1)
    return _hear(s, producer, received, after + 1, answer, own)


def receive_take_over_answer(s: Log, producer: Parameter, attempt: Parameter, segment: Parameter) -> Action:
    """Receive the answer that the last segment already belongs to the producer."""
    received, here = s.take_over_answer.deliver(producer, attempt), s.taken_at[producer, attempt] == segment
    return _hear(s, producer, received, segment, lift(LookupAnswer.OK), when=here)


def _hear(
    s: Log,
    producer: Parameter,
    received: Message,
    segment: Term,
    answer: Term,
    own: Term = TRUE,
    when: Term = TRUE,
) -> Action:
    """Return the action that receives an answer to a request for a segment (on eNewSegmentResponse).

    A producer that takes over needs OK and accepts any segment. A producer that wants a segment wants the
    next one, and treats OK and ALREADY alike. From 04 on it halts if the log or the segment belongs to
    another producer.
    """
    gives = answer == LookupAnswer.OK
    taking = (s.phase[producer] == ProducerPhase.TAKEOVER) & gives
    wanted = (s.phase[producer] == ProducerPhase.WANT) & (segment == s.at[producer] + 1)
    lost_it = FALSE
    if s.parameters.takeover == "yes":
        lost_it = wanted & ((answer == LookupAnswer.IN_TAKEOVER) | ~own)
    begins = taking | wanted & ~lost_it
    active = taking | (s.active == producer)
    then = [
        s.phase[producer].set(if_(lost_it, ProducerPhase.HALTED, ProducerPhase.WRITE), when=lost_it | begins),
        s.at[producer].set(segment, when=begins),
        s.knows_nodes[producer].set(gives, when=begins),
        s.took_over[producer].set(True, when=begins),
        s.active.set(producer, when=taking),
        s.highest[producer].set(s.next[producer], when=begins & active),
        s.mishap["no_nodes"].set(True, when=begins & ~gives),
    ]
    sent = [
        message
        for t in s.segment
        for message in _writing(s, producer, t, s.next[producer], begins & gives & (segment == t))
    ]
    return Action(when=when & ~s.has_ended(producer), then=then, received=received, sent=sent)


def receive_ack(s: Log, producer: Parameter, segment: Parameter, entry: Parameter, node: Parameter) -> Action:
    """Receive a node's answer to an append; the entry is committed once all nodes have stored it.

    Only answers for the current segment count. The producer counts acks and does not check which entry was
    stored.
    """
    sealed = s.sealed[segment, entry, node]
    listening = (s.phase[producer] == ProducerPhase.WRITE) & (s.at[producer] == segment)
    current = s.next[producer] == entry
    moves_on = listening & sealed & current
    counted = listening & ~sealed
    acked = at_least(s.parameters.replicas, s.node, lambda n: s.acks[producer, n] | (n == node))
    commits = counted & (acked | ~s.knows_nodes[producer])
    following = s.next[producer] + 1
    ends = following > s.own(producer.sort).values[-1]
    then = [
        *(s.acks[producer, n].set(~commits, when=counted & (n == node) | commits) for n in map(lift, s.node)),
        s.count[producer, segment].set(s.count[producer, segment] + 1, when=commits),
        s.next[producer].set(following, when=commits),
        s.phase[producer].set(
            if_(commits, ProducerPhase.DONE, ProducerPhase.WANT), when=commits & ends | moves_on
        ),
        s.highest[producer].set(following, when=commits & ~ends & (s.active == producer)),
        *_announce_commit(s, producer, segment, entry, commits),
        s.mishap["sealed_other"].set(True, when=listening & sealed & ~current),
    ]
    sent = [*_writing(s, producer, segment, following, commits & ~ends)]
    if s.parameters.coordinator == "yes":
        sent.append(s.new_segment.send(producer, segment, 1, when=moves_on))
    return Action(
        when=~s.has_ended(producer),
        then=then,
        received=s.append_answer.deliver(segment, entry, node),
        sent=sent,
    )


def _announce_commit(s: Log, producer: Term, segment: Term, entry: Term, when: Term) -> Iterator[Update]:
    """Yield the updates by which a producer declares an entry committed (eLogEntryCommitted)."""
    active = s.active == producer
    stored = at_least(
        s.parameters.replicas, s.node, lambda n: s.placed[segment, n] & s.holds(n, segment, entry)
    )
    yield s.committed[entry].set(True, when=when)
    yield s.committed_in[entry, segment].set(True, when=when)
    yield s.mishap["thin_commit"].set(True, when=when & ~stored)
    if s.parameters.takeover == "yes":
        yield s.mishap["not_active"].set(True, when=when & ~active)
        yield s.mishap["two_active"].set(True, when=when & ~active & (s.highest[producer] < entry))


def _writing(s: Log, producer: Parameter, segment: TermLike, entry: Term, when: Term) -> Iterator[Message]:
    """Yield the messages that bring an entry to all nodes of its segment (on entry of Produce)."""
    for e in s.own(producer.sort):
        for n in s.node:
            yield s.append.send(segment, e, n, when=when & (entry == e) & s.placed[segment, n])
