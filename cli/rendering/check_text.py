"""Instances and traces as text for people."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterable, Mapping

from fencepost.cli.rendering.verdict_text import listed
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.forms.counterexample import Counterexample, action_line, gathered, message_line
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.state import show_all
from fencepost.encoding.language.traces import Json, Trace, TraceStep

BEGINS = "     the loop begins here"
STANDS = "     nothing more happens"

WIDTH = 110
"""The columns of running text."""

NARROWEST = 40
"""The least columns of running text. A narrower terminal breaks the lines itself."""


def text_width() -> int:
    """Return the number of columns for a text on stdout: fewer than usual on a terminal that has fewer."""
    if not os.isatty(1):
        return WIDTH
    return max(NARROWEST, min(WIDTH, shutil.get_terminal_size().columns))


def paragraph(text: str, indent: str = "", hanging: str | None = None) -> list[str]:
    """Return a text as lines of running text; `hanging` is the indent of all lines but the first."""
    others = indent if hanging is None else hanging
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=others)


def heading(instance: Instance, limits: Limits) -> str:
    """Return the lines about what was checked: the instance, its changed switches, and the caps in force."""
    parameters = instance.subject.parameters
    lines = [instance_line(instance)]
    if instance.release is not None:
        unlike = f", but {show_all(instance.unlike_release)}" if instance.unlike_release else ""
        lines.append(f"release {instance.release}{unlike}")
    elif instance.unlike_release:
        lines.append(unlike_newest(instance, instance.unlike_release))
    if instance.changed_switches:
        lines.append(f"switches: {show_all(instance.changed_switches)}")
    if instance.drop_declared:
        lines.append("without the invariants that the protocol declares (--drop-declared)")
    caps = [_cap(name, number, parameters) for name, number in instance.system.caps.items()]
    caps += [f"steps {limits.bound}"] if limits.bound is not None else []
    caps += [f"rounds {limits.rounds}"] if limits.rounds is not None else []
    caps += [f"{name} {number}" for name, number in limits.budgets.items()]
    bounds = [f"at most: {', '.join(caps)}"] if caps else []
    bounds += [f"constraint: {instance.system.within}"] if instance.system.within else []
    if bounds:
        lines.append("; ".join(["every verdict is for this instance", *bounds]))
    lines += [f"remark: {remark}" for remark in instance.remarks]
    return "\n".join(lines)


def instance_line(instance: Instance) -> str:
    """Return the protocol and its parameters, without those that are 0."""
    found = {name: value for name, value in instance.subject.parameters.items() if value}
    return f"{instance.protocol.name}: {show_all(found)}"


def unlike_newest(instance: Instance, switches: Mapping[str, str]) -> str:
    """Return how an instance differs from the newest release by these switches, and which bugs it lacks."""
    from fencepost.advice.affected import spared

    newest = instance.protocol.newest
    bugs = spared(switches, newest or "")
    if not bugs:
        return f"modelled: {newest} with {show_all(switches)}"
    fixed = f"modelled: {newest} with {', '.join(bugs)} fixed ({show_all(switches)})"
    return f"{fixed}; for the release as shipped: --release {newest}"


def sentence(line: str) -> str:
    """Return the line as a sentence."""
    return f"{line[:1].upper()}{line[1:]}."


def sizes(instance: Instance) -> str:
    """Return the parameters that differ from the defaults of the protocol."""
    own = {option.name: option.default for option in instance.protocol.options()}
    found = instance.subject.parameters
    return show_all({name: value for name, value in found.items() if value != own[name]})


def _cap(name: str, number: int, parameters: Mapping[str, Json]) -> str:
    """Return a cap of the model, and a remark if it is lower than the parameter of that name."""
    asked = parameters.get(name, number)
    return (
        f"{name} {number}"
        if asked == number
        else f"{name} {number} ({show(asked)} are impossible in this instance)"
    )


FAULTS = {
    "lost": ("lost or late message", "lost or late messages"),
    "silent": ("silent bookie", "silent bookies"),
    "crashes": ("crash", "crashes"),
    "restarts": ("restart", "restarts"),
    "power_losses": ("loss of power", "losses of power"),
    "failed_flushes": ("failed flush", "failed flushes"),
    "full_disks": ("full disk", "full disks"),
    "disks": ("lost disk", "lost disks"),
    "stops": ("stop", "stops"),
    "sessions": ("lost session", "lost sessions"),
    "reimages": ("re-imaged bookie", "re-imaged bookies"),
}
"""The kinds of faults in words, one and several. A parameter of that name is the number allowed."""


def allowed(instance: Instance) -> str:
    """Return the faults that an instance allows, and the kinds that its parameters exclude."""
    parameters = instance.subject.parameters
    has = [_at_most(fault, parameters.get(fault)) for fault in instance.system.faults]
    lacks = [several for fault, (_, several) in FAULTS.items() if parameters.get(fault) == 0]
    parts = [f"with {listed(has)}"] if has else []
    parts += [f"without {listed(lacks, 'or')}"] if lacks else []
    return "; ".join(parts) or "and the instance has no faults"


def _at_most(fault: str, number: Json | None) -> str:
    one, several = FAULTS.get(fault, (fault, fault))
    if number is None:
        return f"any number of {several}"
    return f"at most {number} {one if number == 1 else several}"


def counterexample_text(counterexample: Counterexample) -> str:
    """Return the steps of a counterexample, its explanation, and the values that make the property false."""
    meaning = f"Violated: {counterexample.prop.meaning}."
    parts = (meaning, counterexample.explanation, counterexample.false_because.sentence)
    lines = [line for part in parts for line in paragraph(part)]
    return "\n".join([trace_text(counterexample.trace), *lines])


def trace_text(trace: Trace) -> str:
    """Return a trace as its beginning and numbered steps: the actor, messages, and changes."""
    width = max((len(show(step.actor)) for step in trace.steps), default=1)
    begins = [f"{name} = {show(value)}" for name, value in trace.beginning.items()]
    lines = list(_wrapped([f"At first {begins[0]}", *begins[1:]] if begins else [], WIDTH))
    for step in trace.steps:
        if trace.loop is not None and step.index == trace.loop.begins + 1:
            lines.append(BEGINS)
        margin = " " * (6 + width)
        lines.append(f"{step.index:3}  {show(step.actor):{width}} {action_line(step)}")
        lines += [f"{margin}{line}" for line in _messages(trace, step)]
        before = trace.states[step.index - 1]
        changes = [f"{name}: {show(before[name])} → {show(value)}" for name, value in step.changes.items()]
        lines += [f"{margin}  {line}" for line in _wrapped(changes, WIDTH - len(margin))]
    if trace.loop is not None and trace.loop.begins == len(trace.steps):
        lines.append(STANDS)
    return "\n".join([*lines, *_leftovers(trace)])


def _messages(trace: Trace, step: TraceStep) -> Iterable[str]:
    if step.received is not None:
        late = ", LATE: overtaken by a message sent after it" if trace.is_late(step) else ""
        sent = trace.sent_at.get(step.received.key)
        since = f" (sent in step {sent})" if sent is not None else ""
        yield f"← {message_line(step.received)} from {show(step.received.sender)}{since}{late}"
    for text, receivers in gathered(step.sent).items():
        yield f"→ {text} to {', '.join(receivers)}"


def _leftovers(trace: Trace) -> Iterable[str]:
    waiting = [f"{message_line(m)} {show(m.sender)}→{show(m.receiver)}" for m in trace.in_flight()]
    if waiting:
        yield from _wrapped(
            [f"In flight at the end, neither lost nor received: {waiting[0]}", *waiting[1:]], WIDTH
        )
    lost = [m for step in trace.steps for m in step.sent if m.lost]
    if lost:
        names = [f"{message_line(m)} {show(m.sender)}→{show(m.receiver)}" for m in lost]
        yield from _wrapped([f"Lost, never delivered: {names[0]}", *names[1:]], WIDTH)


def _wrapped(items: list[str], width: int) -> Iterable[str]:
    """Yield lines of items separated by semicolons, broken between items."""
    line = ""
    for item in items:
        if line and len(line) + len(item) > width:
            yield line + ";"
            line = item
        else:
            line = f"{line}; {item}" if line else item
    if line:
        yield line
