"""A counterexample as the arrows and notes of a sequence diagram, before any syntax.

A message is drawn where it is received, because it has its effect there. The published BookKeeper diagrams do
the same. A message that was not sent in the step before says in which step it was sent.
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
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.traces import TraceStep

WIDTH = 90
"""The width at which a note is wrapped."""


@dataclass(frozen=True)
class Arrow:
    """A message from one participant to another, or an action of one."""

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


def diagram_parts(counterexample: Counterexample) -> Iterator[Arrow | Note]:
    """Yield the beginning, the arrows and notes of each step, the messages in flight and the violation."""
    across = _first_and_last(counterexample)
    begins = tuple(f"{name} = {show(value)}" for name, value in counterexample.trace.beginning.items())
    if begins:
        yield Note(across, ("At first:", *begins))
    loop = counterexample.trace.loop
    for step in counterexample.trace.steps:
        if loop is not None and step.index == loop.begins + 1:
            yield Note(across, ("The loop begins here.",))
        yield from _step(counterexample, step)
    waiting = [f"{message_line(t.message)} {t.sender}→{t.receiver}" for t in counterexample.in_flight]
    if waiting:
        yield Note(across, ("In flight at the end, neither lost nor received:", *waiting))
    meaning = f"Violated: {counterexample.prop.meaning}. {counterexample.false_because.sentence}"
    end = counterexample.explanation or meaning
    yield Note(across, tuple(textwrap.wrap(end, WIDTH)))


def title(counterexample: Counterexample) -> str:
    """Return a line with the violated property and the protocol."""
    return f"{counterexample.trace.property} violated by {counterexample.trace.protocol}"


def _step(counterexample: Counterexample, step: TraceStep) -> Iterator[Arrow | Note]:
    actor, stores = show(step.actor), [s for s in counterexample.touched(step) if s != show(step.actor)]
    sends = tuple(f"sends {text} to {', '.join(to)}" for text, to in gathered(step.sent).items())
    arrival = counterexample.arrivals.get(step.index)
    if arrival is not None:
        remarks = _remarks(counterexample, arrival) + ((step.note,) if step.note and not stores else ())
        yield _arrow(step, arrival.sender, arrival.receiver, message_line(arrival.message), remarks)
    for store in stores:
        yield _arrow(step, actor, store, action_line(step), () if arrival else sends, is_message=False)
    if arrival is None and not stores:
        yield _arrow(step, actor, actor, action_line(step), sends, is_message=False)
    for travel in counterexample.travels:
        if travel.sent == step.index and travel.message.lost:
            lines = (f"{step.index}. {message_line(travel.message)}", "lost")
            yield Arrow(travel.sender, travel.receiver, lines, is_lost=True)
    for holder, changes in counterexample.notes(step).items():
        yield Note((holder,), tuple(changes))


def _arrow(
    step: TraceStep, sender: str, receiver: str, text: str, more: tuple[str, ...], is_message: bool = True
) -> Arrow:
    return Arrow(sender, receiver, (f"{step.index}. {text}", *more), is_message)


def _remarks(counterexample: Counterexample, travel: Travel) -> tuple[str, ...]:
    """Return when the message was sent, unless that was in the step before."""
    if counterexample.is_late(travel):
        return (f"LATE: sent in step {travel.sent}, overtaken by a message sent after it",)
    return (f"sent in step {travel.sent}",) if travel.received != travel.sent + 1 else ()


def _first_and_last(counterexample: Counterexample) -> tuple[str, ...]:
    """Return the first and the last participant, for notes across all of them."""
    return tuple(dict.fromkeys((counterexample.participants[0], counterexample.participants[-1])))
