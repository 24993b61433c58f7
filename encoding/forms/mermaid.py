"""A counterexample as a sequence diagram of Mermaid, which GitHub and many wikis draw.

A message is drawn where it is received, because it has its effect there. The published BookKeeper diagrams do
the same. A message that was not sent in the step before says in which step it was sent.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping

from fencepost.encoding.forms.counterexample import (
    Counterexample,
    Travel,
    action_line,
    gathered,
    identifiers,
    message_line,
)
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.traces import TraceStep

WIDTH = 90
"""The width at which the last note is wrapped."""

RECEIVED, LOST, ACTION = "-)", "-x", "->>"
"""The arrows of a message that is received, of one that is lost, and of an action."""

RESERVED = {
    "activate",
    "actor",
    "alt",
    "and",
    "as",
    "autonumber",
    "box",
    "break",
    "create",
    "critical",
    "deactivate",
    "destroy",
    "else",
    "end",
    "link",
    "links",
    "loop",
    "note",
    "opt",
    "option",
    "over",
    "par",
    "par_over",
    "participant",
    "properties",
    "rect",
    "title",
}
"""Words that Mermaid does not accept as a participant."""


def mermaid(counterexample: Counterexample) -> str:
    """Return `w-)b1: …` for a message received, `w-xb1: …` for one lost, `w->>w: …` for other actions."""
    names = identifiers(counterexample.participants, RESERVED)
    lines = ["---", f"title: {_quoted_label(counterexample.title)}", "---", "sequenceDiagram"]
    lines += [f"    participant {word} as {_escaped_lines((name,))}" for name, word in names.items()]
    lines += [f"    {line}" for line in _Script(counterexample, names).lines()]
    return "\n".join(lines) + "\n"


class _Script:
    """The arrows and notes of one counterexample."""

    def __init__(self, counterexample: Counterexample, names: Mapping[str, str]) -> None:
        self._found, self._names = counterexample, names

    def lines(self) -> Iterator[str]:
        """Yield the beginning, the arrows and notes of the steps, the messages in flight, the violation."""
        found = self._found
        across = tuple(dict.fromkeys((found.participants[0], found.participants[-1])))
        begins = tuple(f"{name} = {show(value)}" for name, value in found.trace.beginning.items())
        if begins:
            yield self._note(across, ("At first:", *begins))
        loop = found.trace.loop
        for step in found.trace.steps:
            if loop is not None and step.index == loop.begins + 1:
                yield self._note(across, ("The loop begins here.",))
            yield from self._step(step)
        waiting = [f"{message_line(t.message)} {t.sender}→{t.receiver}" for t in found.in_flight]
        if waiting:
            yield self._note(across, ("In flight at the end, neither lost nor received:", *waiting))
        meaning = f"Violated: {found.prop.meaning}. {found.false_because.sentence}"
        yield self._note(across, textwrap.wrap(found.explanation or meaning, WIDTH))

    def _step(self, step: TraceStep) -> Iterator[str]:
        found, actor = self._found, show(step.actor)
        stores = [store for store in found.touched(step) if store != actor]
        action = f"{step.index}. {action_line(step)}"
        sends = [f"sends {text} to {', '.join(to)}" for text, to in gathered(step.sent).items()]
        arrival = found.arrivals.get(step.index)
        if arrival is not None:
            remarks = [*_remarks(found, arrival), *([step.note] if step.note and not stores else [])]
            said = [f"{step.index}. {message_line(arrival.message)}", *remarks]
            yield self._arrow(arrival.sender, RECEIVED, arrival.receiver, said)
        for other in stores or ([actor] if arrival is None else []):
            yield self._arrow(actor, ACTION, other, [action, *(sends if arrival is None else [])])
        for travel in found.travels:
            if travel.sent == step.index and travel.message.lost:
                said = [f"{step.index}. {message_line(travel.message)}", "lost"]
                yield self._arrow(travel.sender, LOST, travel.receiver, said)
        for holder, changes in found.notes(step).items():
            yield self._note((holder,), changes)

    def _arrow(self, sender: str, arrow: str, receiver: str, lines: Iterable[str]) -> str:
        return f"{self._names[sender]}{arrow}{self._names[receiver]}: {_escaped_lines(lines)}"

    def _note(self, over: Iterable[str], lines: Iterable[str]) -> str:
        return f"Note over {','.join(self._names[name] for name in over)}: {_escaped_lines(lines)}"


def _remarks(counterexample: Counterexample, travel: Travel) -> Iterator[str]:
    """Yield when the message was sent, unless that was in the step before."""
    if counterexample.is_late(travel):
        yield f"LATE: sent in step {travel.sent}, overtaken by a message sent after it"
    elif travel.received != travel.sent + 1:
        yield f"sent in step {travel.sent}"


def _escaped_lines(lines: Iterable[str]) -> str:
    """Return lines as one, with the signs of Mermaid and HTML as entities."""
    entities = {ord(sign): f"#{ord(sign)};" for sign in '#;<>&"'}
    return "<br/>".join(line.translate(entities) for line in lines)


def _quoted_label(text: str) -> str:
    """Return text as a quoted scalar of YAML."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
