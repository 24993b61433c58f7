"""One sentence on what a counterexample of a Verified Log broke and why, read off the replayed trace."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fencepost.encoding.language.state import show
from fencepost.encoding.language.traces import Trace, TraceStep
from fencepost.protocols.verified_log.state import Phase, Status


def explain_truncation(trace: Trace) -> str:
    """Which committed entry is removed, and which two counts the segment was closed with."""
    last = trace.steps[-1]
    node, segment = last.actor, last.arguments["segment"]
    gone = [int(trace.states[-2][name]) for name in _changed(last, "log") if last.changes[name] == 0]
    entry = next(e for e in gone if _holds(trace, f"committed_in[{e}, {segment}]"))
    committed = trace.last_change(f"committed_in[{entry}, {segment}]", True)
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


def explain_reopening(trace: Trace) -> str:
    """Who had closed the segment, and what undid it."""
    last = trace.steps[-1]
    node, segment = last.actor, last.arguments["segment"]
    closed = trace.last_change(f"status[{show(node)}, {segment}]", Status.CLOSED.value, before=last.index)
    what = "suspends it again" if last.action == "handle suspend" else "closes it with other entries"
    assert last.received is not None
    return (
        f"{show(node)} had closed segment {segment} in step {closed.index}, and {what} in step {last.index}, by an "
        f"order that was sent in step {trace.sent_at.get(last.received.key)}."
    )


def explain_disagreement(trace: Trace) -> str:
    """Which nodes closed the segment with which entries."""
    state = trace.states[-1]
    for segment in sorted({str(i[1]) for _, i in _family(state, "status")}):
        contents = {
            str(node): _contents(trace, str(node), segment)
            for name, (node, s) in _family(state, "status")
            if str(s) == segment and state[name] == Status.CLOSED.value
        }
        if len(set(contents.values())) > 1:
            held = ", ".join(f"{node} holds {has or 'nothing'}" for node, has in contents.items())
            return f"Segment {segment} is closed with different entries: {held}. A reader of one is told what a reader of the other is not."
    return "Two nodes have closed a segment with different entries."


def explain_stuck(trace: Trace) -> str:
    """Which trap it is."""
    state = trace.states[-1]
    halted = [name for name, _ in _family(state, "phase") if state[name] == Phase.HALTED.value]
    if halted:
        producer = _index(halted[-1])[0]
        step = trace.last_change(halted[-1], Phase.HALTED.value)
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


def explain_uncommitted(trace: Trace) -> str:
    """Which entry a reader gets that nobody declared committed, and from which node."""
    last = trace.steps[-1]
    entry = next(
        (
            value
            for name, value in sorted(trace.states[-1].items())
            if name.startswith("log[") and value and not _holds(trace, f"committed[{value}]")
        ),
        "an entry",
    )
    return f"{show(last.actor)} serves entry {entry} after step {last.index}, and nobody has declared it committed."


def explain_late_commit(trace: Trace) -> str:
    """Who commits what, and who was active."""
    last = trace.steps[-1]
    entry, producer = last.arguments["entry"], show(last.actor)
    active = trace.states[-1]["active"]
    taken = trace.last_change("active", active)
    sent = int(trace.states[-1][f"highest[{producer}]"])
    allowed = (
        "sent it while it was active itself" if sent >= int(entry) else f"sent no more than {sent} before"
    )
    return (
        f"{producer} commits entry {entry} in step {last.index}, though {show(active)} has been the active producer "
        f"since step {taken.index}; {producer} {allowed}."
    )


def explain_skipped(trace: Trace) -> str:
    """Which entry a consumer has left behind."""
    state = trace.states[-1]
    for name, (entry, segment) in _family(state, "committed_in"):
        for reader, (consumer,) in _family(state, "reads_from"):
            passed = int(str(segment)) < int(state[reader])
            if state[name] is True and passed and not _holds(trace, f"seen[{consumer}, {entry}]"):
                return f"{consumer} has gone on from segment {segment} without entry {entry}, which was committed in it."
    return "A consumer has gone on without an entry that was committed."


def _contents(trace: Trace, node: str, segment: str) -> str:
    state = trace.states[-1]
    held = [state[name] for name, (n, s, _) in _family(state, "log") if (n, s) == (node, segment)]
    return ", ".join(f"entry {e}" for e in held if e)


def _family(state: object, family: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The variables of a family, each with its index."""
    assert hasattr(state, "__iter__")
    for name in state:
        if name.startswith(f"{family}["):
            yield name, _index(name)


def _index(name: str) -> tuple[str, ...]:
    found = re.search(r"\[(.*)\]", name)
    return tuple(found.group(1).split(", ")) if found else ()


def _changed(step: TraceStep, family: str) -> list[str]:
    return [name for name in step.changes if name.startswith(f"{family}[")]


def _holds(trace: Trace, variable: str) -> bool:
    return trace.states[-1].get(variable) is True
