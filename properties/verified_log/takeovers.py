"""Invariants about takeovers of the log: suspended segments, vouched entries, and their producers."""

from __future__ import annotations

import itertools

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, exists_over, forall, forall_over
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.system import invariant
from fencepost.encoding.language.terms import Term, TermLike, all_of
from fencepost.properties.verified_log.words import accepted, is_at, is_sealed, is_taken, ordered, writes_to
from fencepost.protocols.verified_log.state import NOBODY, NOTHING, Log, LookupAnswer, Order, ProducerPhase


@invariant(
    "a segment is suspended for one other producer, and the next segment goes "
    "to that producer or to the owner"
)
def taken_by_another(s: Log) -> Term:
    """Return the invariant about the segment that a takeover suspends."""

    def sound(t: Term) -> Term:
        return all_of(
            implies(
                s.in_takeover[t], (s.taken_by[t] != NOBODY) & (s.taken_by[t] != s.owner[t]) & s.granted[t]
            ),
            implies(
                is_taken(s, t), exists(s.segment, lambda u: (u == t + 1) & (s.owner[u] == s.taken_by[t]))
            ),
            implies(s.in_takeover[t], ~is_taken(s, t)),
            forall(s.segment, lambda u: implies(s.in_takeover[t] & s.in_takeover[u], t == u)),
            forall(s.producer, lambda p: implies(s.taken_by[t] == p, s.phase[p] != ProducerPhase.IDLE)),
            forall_over(
                (s.node, s.suspend.about["sending"]),
                lambda n, k: implies(s.suspend.is_sent(t, n, k), s.in_takeover[t] | s.is_followed(t)),
            ),
        )

    started = forall_over(
        s.take_over.over,
        lambda p, k: implies(s.take_over.is_sent(p, k), s.phase[p] != ProducerPhase.IDLE),
    )
    return forall(s.segment, sound) & started


def _has_number(s: Log, segment: TermLike, count: Term, entry: Term) -> Term:
    """Return whether the entry is the one with that number in the segment."""
    there = exists_over(
        (s.entry, s.place), lambda e, i: (entry == e) & (count == i) & is_at(s, segment, e, i)
    )
    return (count == 0) & (entry == NOTHING) | there


def _covers(s: Log, segment: TermLike, node: TermLike, count: Term) -> Term:
    """Return whether the node is sealed and the count covers all that the owner commits in the segment.

    It covers the entries that the owner has committed, and those that it can still commit.
    """

    def enough(p: Term) -> Term:
        next_accepted = exists(s.entry, lambda e: (s.next[p] == e) & accepted(s, segment, e, node))
        return all_of(
            s.count[p, segment] <= count,
            implies(writes_to(s, p, segment) & next_accepted, s.count[p, segment] < count),
        )

    return is_sealed(s, node, segment) & forall(
        s.producer, lambda p: implies(s.owner[segment] == p, enough(p))
    )


@invariant(
    "the count that a node reports when it suspends the last segment covers all "
    "that the owner can commit there"
)
def suspended_takes_no_more(s: Log) -> Term:
    """Return the invariant about the answer to a suspend order: the owner cannot commit more than that."""

    def sound(t: Term, n: Term, k: Term) -> Term:
        count = s.suspended_count[t, n, k]
        return all_of(
            s.suspend_answer.is_sent(t, n, k) == s.suspend.is_received(t, n, k),
            implies(
                s.suspend.is_received(t, n, k),
                _has_number(s, t, count, s.suspended_entry[t, n, k])
                & (s.is_followed(t) | _covers(s, t, n, count)),
            ),
        )

    return forall_over((s.segment, s.node, s.suspend.about["sending"]), sound)


@invariant(
    "the count that the coordinator vouches for in a segment covers all that "
    "the owner has committed there or ever will"
)
def vouched_is_enough(s: Log) -> Term:
    """Return the invariant about the count that the coordinator vouches for."""

    def sound(t: Term) -> Term:
        count, entry = s.vouched_count[t], s.vouched_entry[t]
        covered = exists(s.node, lambda n: s.placed[t, n] & _covers(s, t, n, count))
        committed = forall(s.entry, lambda e: implies(entry == e, s.committed_in[e, t] & s.durable[e]))
        return all_of(
            _has_number(s, t, count, entry),
            implies(is_taken(s, t), covered & committed),
            implies(~is_taken(s, t), count == 0),
        )

    return forall(s.segment, sound)


@invariant("a segment that is ordered closed for its owner is not taken over")
def one_order(s: Log) -> Term:
    """Return the invariant that a segment is closed for its owner or taken over, and never both."""
    return forall(
        s.segment, lambda t: implies(ordered(s, t, Order.ASKED), ~is_taken(s, t) & ~s.in_takeover[t])
    )


@invariant("producers take the log over in their order, each at most once")
def turns_in_order(s: Log) -> Term:
    """Return the invariant about the order of takeovers: nobody takes the log from the last producer."""
    later = list(itertools.combinations(s.producer.values, 2))
    last = s.producer.values[-1]

    def owned(t: Term, u: Term) -> Term:
        return all_of(
            *(implies((s.owner[t] == two) & (s.owner[u] == one), u <= t) for one, two in later),
            *(implies(s.in_takeover[t] & (s.taken_by[t] == one), s.owner[t] != two) for one, two in later),
        )

    told = forall_over(
        s.new_segment.over[1:],
        lambda after, k: s.answered[last, after, k] != LookupAnswer.IN_TAKEOVER,
    )
    return forall_over((s.segment, s.segment), owned) & told & (s.phase[last] != ProducerPhase.HALTED)


@invariant("a producer starts only after the one before it has taken over")
def newcomers_wait(s: Log) -> Term:
    """Return the invariant about the start of a producer."""
    pairs = itertools.pairwise(s.producer.values)
    return all_of(
        *(implies(s.phase[later] != ProducerPhase.IDLE, s.at[earlier] > 0) for earlier, later in pairs)
    )


@invariant("no producer writes to a segment after one that was granted to a later producer")
def newcomers_are_last(s: Log) -> Term:
    """Return the invariant that older producers write to older segments."""

    def stays_before(earlier: Value, later: Value) -> Term:
        return forall(s.segment, lambda t: implies(s.owner[t] == later, s.at[earlier] < t))

    return all_of(*itertools.starmap(stays_before, itertools.combinations(s.producer.values, 2)))


@invariant("the last segment of a working producer that is not the active one is taken over")
def taken_from_the_inactive(s: Log) -> Term:
    """Return the invariant about a producer that works although it is not the active one."""

    def replaced(p: Term, t: Term) -> Term:
        own = exists(s.segment, lambda u: (u == t + 1) & (s.owner[u] == p) & is_taken(s, u))
        return is_taken(s, t) | own

    def sound(p: Term, t: Term) -> Term:
        at_work = (s.phase[p] == ProducerPhase.WRITE) | (s.phase[p] == ProducerPhase.WANT)
        return implies(at_work & (s.at[p] == t) & (s.active != p), replaced(p, t))

    return forall_over((s.producer, s.segment), sound)


@invariant(
    "if a producer sent an entry when it was no longer the active one, some "
    "node of the segment refuses the entry"
)
def sent_late_is_not_committed(s: Log) -> Term:
    """Return the invariant about entries that a producer sends after it stopped being the active one."""

    def blocked(p: Term, t: Term, n: Term) -> Term:
        next_accepted = exists(s.entry, lambda e: (s.next[p] == e) & accepted(s, t, e, n))
        return s.placed[t, n] & is_sealed(s, n, t) & ~next_accepted

    return forall_over(
        (s.producer, s.segment),
        lambda p, t: implies(
            writes_to(s, p, t) & (s.highest[p] < s.next[p]), exists(s.node, lambda n: blocked(p, t, n))
        ),
    )
