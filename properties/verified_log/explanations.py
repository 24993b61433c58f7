"""One sentence on what a counterexample of a Verified Log broke and why, read off the replayed trace."""

from __future__ import annotations

import itertools

from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.state import show
from fencepost.encoding.language.traces import Trace, TraceStep
from fencepost.protocols.verified_log.state import NOTHING, Log, ProducerPhase, SegmentStatus


def explain_truncation(s: Log, trace: Trace) -> str:
    """Which committed entry is removed, and which two counts the segment was closed with."""
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
        f"Entry {entry}, which {show(committed.actor)} declared committed in step {committed.index}, is removed from "
        f"segment {segment} by {show(node)} in step {last.index}{_because(trace, last)}."
    )


def _because(trace: Trace, last: TraceStep) -> str:
    """The close order that did it, and a later one with another count, if there is one."""
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
    told = f": it obeys a close order of step {sent}, which counts {count}"
    return told + (f", though that of step {others[0].index} counts otherwise" if others else "")


def explain_reopening(s: Log, trace: Trace) -> str:
    """Who had closed the segment, and what undid it."""
    last = trace.steps[-1]
    node, segment = last.actor, last.arguments["segment"]
    closed = trace.last_change(s.status, node, segment, to=SegmentStatus.CLOSED, before=last.index)
    what = "suspends it again" if last.action == "handle suspend" else "closes it with other entries"
    assert last.received is not None
    return (
        f"{show(node)} had closed segment {segment} in step {closed.index}, and {what} in step {last.index}, by an "
        f"order that was sent in step {trace.sent_at.get(last.received.key)}."
    )


def explain_disagreement(s: Log, trace: Trace) -> str:
    """Which nodes closed the segment with which entries."""
    for segment in s.segment:
        closed = [n for n in s.node if trace.value(s.status, n, segment) is SegmentStatus.CLOSED]
        contents = {show(node): _contents(s, trace, node, segment) for node in closed}
        if len(set(contents.values())) > 1:
            held = ", ".join(f"{node} holds {has or 'nothing'}" for node, has in contents.items())
            return f"Segment {segment} is closed with different entries: {held}. A reader of one is told what a reader of the other is not."
    return "Two nodes have closed a segment with different entries."


def explain_stuck(s: Log, trace: Trace) -> str:
    """Which trap it is."""
    halted = [p for p in s.producer if trace.value(s.phase, p) is ProducerPhase.HALTED]
    if halted:
        producer = show(halted[-1])
        step = trace.last_change(s.phase, halted[-1], to=ProducerPhase.HALTED)
        return (
            f"{producer}, the last producer, halted in step {step.index}, as if another one had the log; nobody else "
            "will write what it has not written."
        )
    silent = [str(step.actor) for step in trace.steps if step.action == "crash"]
    lost = [m for step in trace.steps for m in step.sent if m.kind == "close" and m.lost]
    reasons = [
        *(f"{node} has crashed" for node in silent),
        *(f"the close order to {show(m.receiver)} is lost, and not sent again" for m in lost),
    ]
    return (
        "No node will ever tell a reader that the segment is over, and what comes after it will never be read"
        f"{': ' + '; '.join(reasons) if reasons else ''}."
    )


def explain_uncommitted(s: Log, trace: Trace) -> str:
    """Which entry a reader gets that nobody declared committed, and from which node."""
    last = trace.steps[-1]
    held = {trace.value(s.log, n, segment, p) for n in s.node for segment in s.segment for p in s.place}
    unheard = [e for e in s.entry if e in held and not trace.value(s.committed, e)]
    entry = unheard[0] if unheard else "an entry"
    return f"{show(last.actor)} serves entry {entry} after step {last.index}, and nobody has declared it committed."


def explain_late_commit(s: Log, trace: Trace) -> str:
    """Who commits what, and who was active."""
    last = trace.steps[-1]
    entry, producer = last.arguments["entry"], show(last.actor)
    active = trace.value(s.active)
    taken = trace.last_change(s.active, to=active)
    sent = trace.value(s.highest, last.actor)
    allowed = (
        "sent it while it was active itself" if sent >= int(entry) else f"sent no more than {sent} before"
    )
    return (
        f"{producer} commits entry {entry} in step {last.index}, though {show(active)} has been the active producer "
        f"since step {taken.index}; {producer} {allowed}."
    )


def explain_skipped(s: Log, trace: Trace) -> str:
    """Which entry a consumer has left behind."""
    for entry, segment, consumer in itertools.product(s.entry, s.segment, s.consumer):
        committed = trace.value(s.committed_in, entry, segment)
        passed = segment in s.segment.values[: trace.value(s.reads_from, consumer) - 1]
        if committed and passed and not trace.value(s.seen, consumer, entry):
            return f"{show(consumer)} has gone on from segment {segment} without entry {entry}, which was committed in it."
    return "A consumer has gone on without an entry that was committed."


def _contents(s: Log, trace: Trace, node: Value, segment: Value) -> str:
    held = (trace.value(s.log, node, segment, place) for place in s.place)
    return ", ".join(f"entry {e}" for e in held if e != NOTHING)
