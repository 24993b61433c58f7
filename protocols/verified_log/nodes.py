"""A log node (LogNode.p) stores, suspends, closes and serves segments.

It learns of a segment from the first append, suspend or close order.
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.quantifiers import at_least, exists
from fencepost.encoding.language.terms import FALSE, Parameter, Term, Update, any_of, lift
from fencepost.protocols.verified_log.state import NOTHING, Log, SegmentStatus, ServedSegment


def handle_append(s: Log, segment: Parameter, entry: Parameter, node: Parameter) -> Action:
    """Store an entry after the node's last one, unless the segment is suspended or closed there."""
    index, status = (segment, entry, node), s.status[node, segment]
    sealed = status == SegmentStatus.CLOSED
    if s.parameters.suspended_appends == "refused":
        sealed = sealed | (status == SegmentStatus.SUSPENDED)
    length = s.length(node, segment)
    in_order = s.last_of(node, segment) < entry
    stores = ~sealed & in_order
    return Action(
        when=s.up[node],
        then=[
            s.status[node, segment].set(SegmentStatus.OPEN, when=status == SegmentStatus.UNKNOWN),
            s.ever_stored[entry, node].set(True, when=stores),
            *(s.log[node, segment, i].set(entry, when=stores & (length + 1 == i)) for i in s.place),
            s.mishap["node_disorder"].set(True, when=~sealed & ~in_order),
        ],
        received=s.append.deliver(*index),
        sent=[s.append_answer.send(*index, when=sealed | in_order, sealed=sealed)],
    )


def handle_suspend(s: Log, segment: Parameter, node: Parameter, sending: Parameter) -> Action:
    """Suspend a segment, even a closed one, and answer with its length and last entry."""
    index = segment, node, sending
    kept = FALSE if s.parameters.suspend_demotes == "yes" else s.status[node, segment] == SegmentStatus.CLOSED
    count, entry = s.length(node, segment), s.last_of(node, segment)
    return Action(
        when=s.up[node],
        then=[
            s.status[node, segment].set(SegmentStatus.SUSPENDED, when=~kept),
            s.mishap["closed_changed"].set(
                True, when=~kept & (s.status[node, segment] == SegmentStatus.CLOSED)
            ),
        ],
        received=s.suspend.deliver(*index),
        sent=[s.suspend_answer.send(*index, count=count, last=entry)],
    )


def handle_close(s: Log, segment: Parameter, order: Parameter, node: Parameter, sending: Parameter) -> Action:
    """Close a segment with the order's number of entries, and store the last one if only it is missing."""
    index = segment, order, node, sending
    count, entry = s.close_count(segment, order), s.close_entry(segment, order)
    before = [s.log[node, segment, i] for i in s.place]
    after = [_closed_content(s, node, segment, lift(i), count, entry) for i in s.place]
    closed = s.status[node, segment] == SegmentStatus.CLOSED
    return Action(
        when=s.up[node],
        then=[
            s.status[node, segment].set(SegmentStatus.CLOSED),
            *(had.set(has) for had, has in zip(before, after, strict=True)),
            *_complaints(s, node, segment, count),
            *(
                s.mishap["closed_changed"].set(True, when=closed & _differ(before, after)),
                s.mishap["cut_committed"].set(True, when=_cuts(s, segment, before, after)),
            ),
        ],
        received=s.close.deliver(*index),
        sent=[s.close_answer.send(*index)],
    )


def _closed_content(s: Log, node: Term, segment: Term, place: Term, count: Term, entry: Term) -> Term:
    """Return the content of that place on the node after a close order."""
    had, length = s.log[node, segment, place], s.length(node, segment)
    cut = {
        "to-count": count < place,
        "none": FALSE,
        "last": (place == length) & (s.status[node, segment] != SegmentStatus.CLOSED),
    }[s.parameters.truncation]
    left = if_(cut, NOTHING, had)
    if s.parameters.takeover == "no" or s.parameters.completion == "no":
        return left
    return if_((length + 1 == place) & (place == count), entry, left)


def _complaints(s: Log, node: Term, segment: Term, count: Term) -> list[Update]:
    """Return the update for the handler's assertion that enough entries are there.

    It applies only if the close cuts to the count of the order.
    """
    if s.parameters.truncation != "to-count":
        return []
    lacks = 1 if s.parameters.takeover == "yes" and s.parameters.completion == "yes" else 0
    short = s.length(node, segment) + lacks < count
    return [s.mishap["wrong_length"].set(True, when=short)]


def _differ(before: Sequence[Term], after: Sequence[Term]) -> Term:
    return any_of(*(had != has for had, has in zip(before, after, strict=True)))


def _cuts(s: Log, segment: Term, before: Sequence[Term], after: Sequence[Term]) -> Term:
    """Return whether an entry that was committed in this segment is removed."""

    def was_committed(had: Term) -> Term:
        return exists(s.entry, lambda e: (e == had) & s.committed_in[e, segment])

    return any_of(
        *(
            (had != NOTHING) & (has == NOTHING) & was_committed(had)
            for had, has in zip(before, after, strict=True)
        )
    )


def handle_read(
    s: Log, consumer: Parameter, segment: Parameter, place: Parameter, attempt: Parameter, node: Parameter
) -> Action:
    """Answer a read with the entry, with nothing yet, or with "go to the next segment"."""
    index = consumer, segment, place, attempt, node
    serves = s.serves(node, segment, place)
    answer = if_(
        serves,
        ServedSegment.ENTRY,
        if_(s.says_next(node, segment, place), ServedSegment.NEXT_SEGMENT, ServedSegment.NOTHING),
    )
    entry = if_(serves, s.entry_at(node, segment, place), NOTHING)
    return Action(
        when=s.up[node],
        received=s.read.deliver(*index),
        sent=[s.read_answer.send(*index, answer=answer, entry=entry)],
    )


def crash(s: Log, node: Parameter) -> Action:
    """Crash a node for good."""
    spent = at_least(s.parameters.crashes, s.node, lambda n: ~s.up[n])
    return Action(
        when=s.up[node] & ~spent,
        then=[s.up[node].set(False)],
        actor=node,
        note="crashes",
        fault="crashes",
    )
