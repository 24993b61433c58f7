"""Explanations of counterexamples of a Verified Log: a sentence on what broke and why, from the trace."""

from __future__ import annotations

import itertools

from fencepost.encoding.language.sorts import Value, show
from fencepost.encoding.language.traces import Trace, TraceStep
from fencepost.protocols.verified_log.state import NOTHING, Log, ProducerPhase, SegmentStatus


def explain_truncation(s: Log, trace: Trace) -> str:
    """Say which committed entry is removed, and with which two counts the segment was closed."""
    last = trace.steps[-1]
    node, segment = last.actor, last.arguments["segment"]
    gone = [
        trace.value(s.log, *index, after=last.index - 1)
        for index in trace.changed(last, s.log)
        if trace.value(s.log, *index) == NOTHING
    ]
    entry = next(e for e in gone if trace.value(s.committed_in, e, segment))
    committed = trace.last_change(s.committed_in, entry, segment, to=True)
    return (
        f"{show(committed.actor)} declared entry {entry} committed in step {committed.index}, and "
        f"{show(node)} removes it from segment {segment} in step {last.index}{_because(trace, last)}."
    )


def _because(trace: Trace, last: TraceStep) -> str:
    """Return the close order that a step obeys, and another order with a different count if there is one."""
    assert last.received is not None
    sent = trace.sent_at.get(last.received.key)
    count = last.received.fields.get("count")
    others = [
        step
        for step in trace.steps
        for message in step.sent
        if message.kind == "close"
        and message.fields["segment"] == last.arguments["segment"]
        and message.fields["count"] != count
    ]
    obeyed = f": it obeys the close order of step {sent}, which has the count {count}"
    return obeyed + (f", while that of step {others[0].index} has another count" if others else "")


def explain_reopening(s: Log, trace: Trace) -> str:
    """Say which node had closed the segment, and which order changed that."""
    last = trace.steps[-1]
    node, segment = last.actor, last.arguments["segment"]
    closed = trace.last_change(s.status, node, segment, to=SegmentStatus.CLOSED, before=last.index)
    change = "suspends it again" if last.action == "handle suspend" else "closes it with other entries"
    assert last.received is not None
    return (
        f"{show(node)} closed segment {segment} in step {closed.index}. In step {last.index} it {change}, "
        f"because of an order that was sent in step {trace.sent_at.get(last.received.key)}."
    )


def explain_disagreement(s: Log, trace: Trace) -> str:
    """Say which nodes closed the segment with which entries."""
    for segment in s.segment:
        closed = [n for n in s.node if trace.value(s.status, n, segment) is SegmentStatus.CLOSED]
        contents = {show(node): _contents(s, trace, node, segment) for node in closed}
        if len(set(contents.values())) > 1:
            held = ", ".join(f"{node} holds {has or 'nothing'}" for node, has in contents.items())
            return (
                f"Segment {segment} is closed with different entries: {held}. Readers of the two get "
                "different entries."
            )
    return "Two nodes have closed a segment with different entries."


def explain_stuck(s: Log, trace: Trace) -> str:
    """Say why the log cannot make progress any more."""
    halted = [p for p in s.producer if trace.value(s.phase, p) is ProducerPhase.HALTED]
    if halted:
        producer = show(halted[-1])
        step = trace.last_change(s.phase, halted[-1], to=ProducerPhase.HALTED)
        return (
            f"{producer}, the last producer, halted in step {step.index} as if another producer had taken "
            "over. Nobody will write its remaining entries."
        )
    silent = [str(step.actor) for step in trace.steps if step.action == "crash"]
    lost = [m for step in trace.steps for m in step.sent if m.kind == "close" and m.lost]
    reasons = [
        *(f"{node} has crashed" for node in silent),
        *(f"the close order to {show(m.receiver)} is lost and not sent again" for m in lost),
    ]
    return (
        "No node will ever tell a reader that the segment is closed, so no reader gets to the entries after "
        f"it{': ' + '; '.join(reasons) if reasons else ''}."
    )


def explain_uncommitted(s: Log, trace: Trace) -> str:
    """Say which entry a reader gets from which node although nobody declared it committed."""
    last = trace.steps[-1]
    held = {trace.value(s.log, n, segment, p) for n in s.node for segment in s.segment for p in s.place}
    unheard = [e for e in s.entry if e in held and not trace.value(s.committed, e)]
    entry = unheard[0] if unheard else "an entry"
    return (
        f"{show(last.actor)} serves entry {entry} after step {last.index}, but nobody has declared it "
        "committed."
    )


def explain_late_commit(s: Log, trace: Trace) -> str:
    """Say which producer commits which entry, and which producer was active."""
    last = trace.steps[-1]
    entry, producer = last.arguments["entry"], show(last.actor)
    active = trace.value(s.active)
    taken = trace.last_change(s.active, to=active)
    sent = trace.value(s.highest, last.actor)
    allowed = (
        "sent it while it was active itself" if sent >= int(entry) else f"sent no more than {sent} before"
    )
    return (
        f"{producer} commits entry {entry} in step {last.index}, although {show(active)} has been the active "
        f"producer since step {taken.index}; {producer} {allowed}."
    )


def explain_skipped(s: Log, trace: Trace) -> str:
    """Say which committed entry a consumer has skipped."""
    for entry, segment, consumer in itertools.product(s.entry, s.segment, s.consumer):
        committed = trace.value(s.committed_in, entry, segment)
        passed = segment in s.segment.values[: trace.value(s.reads_from, consumer) - 1]
        if committed and passed and not trace.value(s.seen, consumer, entry):
            return (
                f"{show(consumer)} has left segment {segment} without entry {entry}, which was committed "
                "there."
            )
    return "A consumer has left a segment without an entry that was committed there."


def _contents(s: Log, trace: Trace, node: Value, segment: Value) -> str:
    held = (trace.value(s.log, node, segment, place) for place in s.place)
    return ", ".join(f"entry {e}" for e in held if e != NOTHING)
