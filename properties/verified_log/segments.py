"""Invariants about segments and their owners: grants of the coordinator, and knowledge of producers."""

from __future__ import annotations

from functools import partial

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import at_least, exists, forall, forall_over
from fencepost.encoding.language.system import Invariant, invariant
from fencepost.encoding.language.terms import FALSE, TRUE, Term, all_of, any_of
from fencepost.properties.verified_log.words import following_is, sendings
from fencepost.protocols.verified_log.state import (
    NOBODY,
    NOTHING,
    Log,
    LookupAnswer,
    ProducerPhase,
    SegmentStatus,
)


@invariant("every received message was sent")
def received_was_sent(s: Log) -> Term:
    """Return the invariant that no message is invented."""
    return all_of(
        *(
            forall_over(
                kind.over,
                lambda *index, kind=kind: implies(kind.is_received(*index), kind.is_sent(*index)),
            )
            for kind in s.channels
        )
    )


@invariant("segments are granted one after another, each to one producer and on R nodes")
def segments_in_order(s: Log) -> Term:
    """Return the invariant about granted segments."""

    def untouched(t: Term) -> Term:
        return all_of(
            s.owner[t] == NOBODY,
            s.taken_by[t] == NOBODY,
            ~s.in_takeover[t],
            ~s.is_followed(t),
            forall(s.node, lambda n: ~s.placed[t, n]),
        )

    most = s.parameters.replicas
    return forall(
        s.segment,
        lambda t: all_of(
            implies(~s.granted[t], untouched(t)),
            implies(
                s.granted[t],
                all_of(
                    s.owner[t] != NOBODY,
                    at_least(most, s.node, lambda n: s.placed[t, n]),
                    ~at_least(most + 1, s.node, lambda n: s.placed[t, n]),
                ),
            ),
        ),
    )


@invariant("only the nodes of a segment get orders about it, know of it and hold entries of it")
def nodes_of_a_segment(s: Log) -> Term:
    """Return the invariant that other nodes have nothing to do with a segment."""
    p = s.parameters

    def unasked(t: Term, n: Term) -> Term:
        parts = [s.status[n, t] == SegmentStatus.UNKNOWN, forall(s.order, lambda o: ~s.pending[t, o, n])]
        parts += [forall(s.place, lambda i: s.log[n, t, i] == NOTHING)]
        if p.coordinator == "yes":
            parts.append(forall_over((s.order, sendings(s)), lambda o, k: ~s.close.is_sent(t, o, n, k)))
        if p.takeover == "yes":
            parts.append(forall(s.suspend.about["sending"], lambda k: ~s.suspend.is_sent(t, n, k)))
        return all_of(*parts)

    return forall_over((s.segment, s.node), lambda t, n: implies(~s.placed[t, n], unasked(t, n)))


@invariant(
    "a producer writes only to its own segments, and is told to write only to those, after it has begun"
)
def producers_own_segments(s: Log) -> Term:
    """Return the invariant that producers write only to segments that they own."""
    coordinated, taking = s.parameters.coordinator == "yes", s.parameters.takeover == "yes"
    never = [
        *([] if coordinated else [ProducerPhase.WANT]),
        *([] if taking else [ProducerPhase.TAKEOVER, ProducerPhase.HALTED]),
    ]

    def sound(p: Term) -> Term:
        before = (s.phase[p] == ProducerPhase.IDLE) | (s.phase[p] == ProducerPhase.TAKEOVER)
        writing = (s.phase[p] == ProducerPhase.WRITE) | (s.phase[p] == ProducerPhase.DONE)
        return all_of(
            implies(before, s.at[p] == 0),
            implies(writing, s.at[p] > 0),
            implies(s.took_over[p], s.at[p] > 0),
            *(s.phase[p] != phase for phase in never),
            implies(s.phase[p] == ProducerPhase.WANT, s.at[p] > 0) if taking else TRUE,
        )

    def owned(p: Term, t: Term) -> Term:
        granted = s.new_segment_granted.is_sent(p, t) if coordinated else FALSE
        begun = implies(s.owner[t] == p, s.phase[p] != ProducerPhase.IDLE) if coordinated else TRUE
        return all_of(
            implies(any_of(s.at[p] == t, granted), s.owner[t] == p),
            implies(s.count[p, t] > 0, (s.owner[t] == p) & (t <= s.at[p])),
            begun,
        )

    return forall(s.producer, sound) & forall_over((s.producer, s.segment), owned)


@invariant("a producer that asks for the segment after one of its own no longer writes to that segment")
def asked_after_writing(s: Log) -> Term:
    """Return the invariant that a producer asks for a new segment after it has finished the one before."""
    since, attempt = s.new_segment.about["after"], s.new_segment.about["attempt"]
    begun = forall_over(
        (s.producer, since, attempt),
        lambda p, t, k: implies(s.new_segment.is_sent(p, t, k), s.phase[p] != ProducerPhase.IDLE),
    )

    def left(p: Term, t: Term) -> Term:
        here = (s.at[p] == t) & ((s.phase[p] == ProducerPhase.WANT) | (s.phase[p] == ProducerPhase.HALTED))
        return (s.owner[t] == p) & ((t < s.at[p]) | here)

    return (
        forall_over(
            (s.producer, s.segment, attempt),
            lambda p, t, k: implies(s.new_segment.is_sent(p, t, k), left(p, t)),
        )
        & begun
    )


def answers_are_true(s: Log) -> Invariant:
    """Return the invariant that the coordinator's answers are true."""
    since, attempt = s.new_segment.about["after"], s.new_segment.about["attempt"]
    p = s.parameters

    def true(q: Term, after: Term, k: Term) -> Term:
        said = s.answered[q, after, k]
        other = exists(s.segment, lambda u: (u == after + 1) & s.granted[u] & (s.owner[u] != q))
        return implies(
            s.new_segment_answer.is_sent(q, after, k),
            all_of(
                said != LookupAnswer.NONE,
                implies(said == LookupAnswer.IN_TAKEOVER, p.takeover == "yes"),
                implies(said == LookupAnswer.OK, following_is(s, after, q)),
                implies(said == LookupAnswer.ALREADY, other),
            ),
        )

    parts = [forall_over((s.producer, since, attempt), true)]
    if p.takeover == "yes":
        parts.append(
            forall_over(
                (s.producer, attempt),
                lambda q, k: implies(
                    s.take_over_answer.is_sent(q, k),
                    exists(s.segment, lambda t: (s.taken_at[q, k] == t) & (s.owner[t] == q)),
                ),
            )
        )
    else:
        parts += [forall_over((s.producer, since, attempt), partial(_asked_twice, s))]
        parts += [forall_over((s.producer, since), partial(_granted_when_asked, s))]
    return Invariant(
        name="answers-are-true",
        meaning="the coordinator's answers about a segment are true"
        + ("" if p.takeover == "yes" else ", and it answers without a grant only to a repeated request"),
        holds=all_of(*parts),
    )


def _asked_twice(s: Log, q: Term, after: Term, k: Term) -> Term:
    again = exists(
        s.new_segment.about["attempt"], lambda j: (j != k) & s.new_segment.is_received(q, after, j)
    )
    second = (
        s.second_new_segment_answer.is_sent(q, after, k) if s.parameters.double_answer == "yes" else FALSE
    )
    return implies(s.new_segment_answer.is_sent(q, after, k) | second, again)


def _granted_when_asked(s: Log, q: Term, after: Term) -> Term:
    asked = exists(s.new_segment.about["attempt"], lambda k: s.new_segment.is_received(q, after, k))
    return implies(exists(s.segment, lambda u: (u == after + 1) & s.granted[u]), asked)


@invariant("a writing producer knows the nodes of its segment")
def answers_tell_nodes(s: Log) -> Term:
    """Return the invariant that a writing producer knows where to write."""
    return forall(
        s.producer, lambda p: implies((s.phase[p] != ProducerPhase.IDLE) & (s.at[p] > 0), s.knows_nodes[p])
    )
