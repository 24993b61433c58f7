"""A story as the lines of a sequence diagram, before any syntax: arrows, losses and notes from top to bottom.

A message is drawn where it is received: there it has its effect, and so do the authors of the published diagrams.
What is received later than its neighbours says when it was sent.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from fencepost.encoding.forms.counterexample import (
    Counterexample,
    Travel,
    action_line,
    gathered,
    message_line,
)
from fencepost.encoding.language.state import show
from fencepost.encoding.language.traces import TraceStep

WIDTH = 90
"""Where a note is broken."""


@dataclass(frozen=True)
class Arrow:
    """What goes from one participant to another, or what one does by itself."""

    sender: str
    receiver: str
    lines: tuple[str, ...]
    is_message: bool = True
    is_lost: bool = False


@dataclass(frozen=True)
class Note:
    """A remark beside one participant, or across all."""

    over: tuple[str, ...]
    lines: tuple[str, ...]


def script(story: Counterexample) -> Iterator[Arrow | Note]:
    """The story from its first step to what it comes to."""
    for step in story.trace.steps:
        yield from _step(story, step)
    across = _ends(story)
    waiting = [f"{message_line(t.message)} {t.sender}→{t.receiver}" for t in story.in_flight]
    if waiting:
        yield Note(across, ("In flight at the end, neither lost nor received:", *waiting))
    end = story.explanation or f"Violated: {story.prop.meaning}."
    yield Note(across, tuple(textwrap.wrap(end, WIDTH)))


def title(story: Counterexample) -> str:
    """One line: what is violated, and by which protocol."""
    return f"{story.trace.property} violated by {story.trace.protocol}"


def _step(story: Counterexample, step: TraceStep) -> Iterator[Arrow | Note]:
    actor, stores = show(step.actor), [s for s in story.touched(step) if s != show(step.actor)]
    sends = tuple(f"sends {text} to {', '.join(to)}" for text, to in gathered(step.sent).items())
    arrival = story.arrivals.get(step.index)
    if arrival is not None:
        remarks = _remarks(story, arrival) + ((step.note,) if step.note and not stores else ())
        yield _arrow(step, arrival.sender, arrival.receiver, message_line(arrival.message), remarks)
    for store in stores:
        yield _arrow(step, actor, store, action_line(step), () if arrival else sends, is_message=False)
    if arrival is None and not stores:
        yield _arrow(step, actor, actor, action_line(step), sends, is_message=False)
    for travel in story.travels:
        if travel.sent == step.index and travel.message.lost:
            lines = (f"{step.index}. {message_line(travel.message)}", "lost")
            yield Arrow(travel.sender, travel.receiver, lines, is_lost=True)
    for holder, changes in story.notes(step).items():
        yield Note((holder,), tuple(changes))


def _arrow(
    step: TraceStep, sender: str, receiver: str, text: str, more: tuple[str, ...], is_message: bool = True
) -> Arrow:
    return Arrow(sender, receiver, (f"{step.index}. {text}", *more), is_message)


def _remarks(story: Counterexample, travel: Travel) -> tuple[str, ...]:
    """When it was sent, if that is not just before."""
    if story.is_late(travel):
        return (f"LATE: sent in step {travel.sent}, overtaken by a message sent after it",)
    return (f"sent in step {travel.sent}",) if travel.received != travel.sent + 1 else ()


def _ends(story: Counterexample) -> tuple[str, ...]:
    """The first participant and the last, for what goes across all."""
    return tuple(dict.fromkeys((story.participants[0], story.participants[-1])))
