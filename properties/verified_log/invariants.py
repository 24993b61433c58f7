"""Why a Verified Log is safe: invariants that every action keeps if all of them hold before it.

With them every property that holds is proved by induction over one action, for executions of any length.
docs/why-safe.md has those that a known bug breaks, with the rule of the protocol behind each. Some
invariants hold only with a repair, and are declared only with it.
"""

from __future__ import annotations

from fencepost.encoding.language.system import Invariant, System
from fencepost.properties.verified_log import closes, entries, reads, segments, takeovers
from fencepost.protocols.verified_log.state import Log


def log_invariants(system: System) -> tuple[Invariant, ...]:
    """Return the invariants of a log. An invariant comes before those that rest on it."""
    s = system.state
    assert isinstance(s, Log)
    p = s.parameters
    coordinated, taking = p.coordinator == "yes", p.takeover == "yes"
    return (
        segments.received_was_sent(s),
        segments.segments_in_order(s),
        segments.nodes_of_a_segment(s),
        segments.producers_own_segments(s),
        *([segments.asked_after_writing(s), segments.answers_are_true(s)] if coordinated else []),
        segments.answers_tell_nodes(s),
        entries.written_in_order(s),
        entries.sent_to_all_nodes(s),
        entries.answers_to_appends(s),
        entries.acks_are_of_this_entry(s),
        entries.committed_by_all(s),
        entries.logs_as_sent(s),
        entries.accepted_is_stored(s),
        entries.committed_for_a_reason(s),
        closes.sealed_by_order(s),
        *(_closing(s) if coordinated else []),
        *([closes.crashes_are_counted(s)] if p.crashes else []),
        *(_takeovers(s) if taking else []),
        *(_reading(s) if p.consumers else []),
    )


def _closing(s: Log) -> list[Invariant]:
    return [
        closes.closed_at_the_count(s),
        closes.orders_have_reasons(s),
        closes.followed_for_a_reason(s),
        closes.orders_are_repeated(s),
    ]


def _takeovers(s: Log) -> list[Invariant]:
    p = s.parameters
    return [
        takeovers.taken_by_another(s),
        takeovers.suspended_takes_no_more(s),
        takeovers.vouched_is_enough(s),
        *([takeovers.newcomers_wait(s)] if p.overlap == "no" else []),
        takeovers.newcomers_are_last(s),
        takeovers.taken_from_the_inactive(s),
        takeovers.sent_late_is_not_committed(s),
        *([takeovers.one_order(s)] if p.one_order == "yes" else []),
        *([takeovers.turns_in_order(s)] if p.one_order == "yes" and p.late_takeover == "ignored" else []),
    ]


def _reading(s: Log) -> list[Invariant]:
    p = s.parameters
    coordinated, taking = p.coordinator == "yes", p.takeover == "yes"
    stays = not taking or (p.one_order == "yes" and p.suspend_demotes == "no")
    return [
        reads.served_is_committed(s),
        reads.read_so_far(s),
        *([reads.left_for_a_reason(s)] if coordinated else []),
        *([reads.last_read_was_sent(s)] if taking else []),
        reads.read_without_gaps(s),
        *([reads.left_when_closed(s)] if stays and coordinated else []),
    ]
