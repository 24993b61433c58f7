"""Results and traces as text for people."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence

from fencepost.cli.headline import violated
from fencepost.encoding.checking import Limits
from fencepost.encoding.protocol import Protocol
from fencepost.encoding.state import amount, show
from fencepost.encoding.system import Property, System
from fencepost.encoding.traces import Sending, Trace, TraceStep
from fencepost.encoding.verdicts import Result, Verdict

WIDTH = 110
"""Where running text is broken."""


def heading(protocol: Protocol, parameters: object, system: System, limits: Limits) -> str:
    """What was checked: the instance, the switches changed, and every cap in force; budgets of none are left out."""
    subject = protocol.subject(parameters)
    lines = [f"{protocol.name}: {_pairs({name: n for name, n in subject.parameters.items() if n})}"]
    switches = protocol.changed_switches(parameters)
    if switches:
        lines.append(f"switches: {_pairs(switches)}")
    caps = [f"{name} {number}" for name, number in system.caps.items()]
    caps += [f"steps {limits.bound}"] if limits.bound is not None else []
    caps += [f"rounds {limits.rounds}"] if limits.rounds is not None else []
    caps += [f"{name} {number}" for name, number in limits.budgets.items()]
    if caps:
        lines.append(f"every verdict is for this instance; at most: {', '.join(caps)}")
    return "\n".join(lines)


def _pairs(values: Mapping[str, object]) -> str:
    return " ".join(f"{name}={show(value)}" for name, value in values.items())


def verdict_line(result: Result) -> str:
    """One line: the property, the verdict, and what it rests on."""
    return f"{result.property}: {result.verdict.value}{_because(result)}  [{result.seconds:.1f} s]"


def _because(result: Result) -> str:
    match result.verdict:
        case Verdict.VIOLATED:
            return violated(result)
        case Verdict.PROVED if result.induction is not None:
            carried = f" with {amount(len(result.invariants), 'invariant')}" if result.invariants else ""
            over = f"induction over {amount(result.induction, 'round')}{carried}"
            return f": by {over}; no execution of any length violates it"
        case Verdict.PROVED:
            return f": every execution fits in {amount(result.rounds, 'round')}, and none violates it"
        case Verdict.HOLDS if result.bound is not None:
            return f" up to {amount(result.bound, 'step')} (not a proof: longer executions exist)"
        case Verdict.HOLDS:
            return f" up to {amount(result.rounds, 'round')} (not a proof: longer executions exist)"
        case Verdict.VACUOUS:
            return f": nothing was tested; {result.reason}"
        case Verdict.UNDECIDED:
            if result.solver == "walks":
                return f": {result.reason}"
            searched = (
                f"no violation within {amount(result.rounds, 'round')}"
                if result.rounds
                else "no round finished"
            )
            return f": {result.reason}; {searched}"


def trace_text(trace: Trace, prop: Property | None) -> str:
    """A trace as numbered steps: who acts, what is received and sent, and only what changed."""
    width = max((len(show(step.actor)) for step in trace.steps), default=1)
    lines: list[str] = []
    for step in trace.steps:
        margin = " " * (6 + width)
        lines.append(f"{step.index:3}  {show(step.actor):{width}} {_action(step)}")
        lines += [f"{margin}{line}" for line in _messages(trace, step)]
        before = trace.states[step.index - 1]
        changes = [f"{name}: {show(before[name])} → {show(value)}" for name, value in step.changes.items()]
        lines += [f"{margin}  {line}" for line in _wrapped(changes, WIDTH - len(margin))]
    lines += _leftovers(trace)
    if prop is not None:
        lines += textwrap.wrap(f"Violated: {prop.meaning}.", WIDTH)
        if prop.explain is not None:
            lines += textwrap.wrap(_explained(prop.explain, trace), WIDTH)
    return "\n".join(lines)


def _explained(explain: Callable[[Trace], str], trace: Trace) -> str:
    """The property's own sentence; a fault in it must not hide the trace."""
    try:
        return explain(trace)
    except Exception as error:  # noqa: BLE001 - whatever the protocol's author wrote
        return f"(Its explanation failed: {type(error).__name__}: {error})"


def _action(step: TraceStep) -> str:
    arguments = ", ".join(
        f"{name} {show(value)}" for name, value in step.arguments.items() if value != step.actor
    )
    name = f"{step.action} ({arguments})" if arguments else step.action
    return f"{name}: {step.note}" if step.note else name


def _messages(trace: Trace, step: TraceStep) -> Iterable[str]:
    if step.received is not None:
        late = ", LATE: overtaken by a message sent after it" if trace.is_late(step) else ""
        sent = trace.sent_at.get(step.received.key)
        since = f" (sent in step {sent})" if sent is not None else ""
        yield f"← {_message(step.received)} from {show(step.received.sender)}{since}{late}"
    for text, receivers in _gathered(step.sent).items():
        yield f"→ {text} to {', '.join(receivers)}"


def _gathered(sent: Sequence[Sending]) -> dict[str, list[str]]:
    """Messages that differ in their receiver only, on one line; lost ones say so."""
    gathered: dict[str, list[str]] = {}
    for message in sent:
        receiver = f"{show(message.receiver)} (LOST)" if message.lost else show(message.receiver)
        gathered.setdefault(_message(message), []).append(receiver)
    return gathered


def _message(message: Sending) -> str:
    fields = ", ".join(f"{name} {show(value)}" for name, value in message.fields.items())
    return f"{message.kind} [{fields}]" if fields else message.kind


def _leftovers(trace: Trace) -> Iterable[str]:
    waiting = [f"{_message(m)} {show(m.sender)}→{show(m.receiver)}" for m in trace.in_flight()]
    if waiting:
        yield from _wrapped(
            [f"In flight at the end, neither lost nor received: {waiting[0]}", *waiting[1:]], WIDTH
        )
    lost = [m for step in trace.steps for m in step.sent if m.lost]
    if lost:
        names = [f"{_message(m)} {show(m.sender)}→{show(m.receiver)}" for m in lost]
        yield from _wrapped([f"Lost, never delivered: {names[0]}", *names[1:]], WIDTH)


def _wrapped(items: list[str], width: int) -> Iterable[str]:
    """The items separated by semicolons, broken between items."""
    line = ""
    for item in items:
        if line and len(line) + len(item) > width:
            yield line + ";"
            line = item
        else:
            line = f"{line}; {item}" if line else item
    if line:
        yield line
