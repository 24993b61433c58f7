"""One sentence on what a counterexample of a chain of ledgers broke and why, read off the replayed trace."""

from __future__ import annotations

from itertools import combinations

from fencepost.encoding.language.state import show
from fencepost.encoding.language.traces import Json, Trace, TraceStep
from fencepost.protocols.ledger_chain import Metadata

OPEN, CLOSED = Metadata.OPEN.value, Metadata.CLOSED.value

READING = ("find no ledger", "find last ledger", "read list again", "append ledger")
"""Actions after which a client has a list: it has read it, or has just written it."""


def explain_unlisted(trace: Trace) -> str:
    """Which ledger is written and not listed, and who overwrote the list."""
    ledger = next(m for m in _ledgers(trace) if _end(trace, "entry", m) and not _end(trace, "position", m))
    written, lost = trace.last_change(f"entry[{ledger}]"), trace.last_change(f"position[{ledger}]", 0)
    return (
        f"The entry of ledger {ledger} is outside the log: {show(written.actor)} wrote it in step {written.index}, "
        f"and in step {lost.index} {show(lost.actor)} overwrote the list with the one that it had since "
        f"step {_had_list_since(trace, lost)}, in which ledger {ledger} was not."
    )


def explain_disorder(trace: Trace) -> str:
    """Which two ledgers were written in the wrong order, and why the first of them still took its entry."""
    first, second = next(
        (m, n)
        for m, n in combinations(_listed(trace), 2)
        if 0 < int(_end(trace, "entry", n)) < int(_end(trace, "entry", m))
    )
    early, late = trace.last_change(f"entry[{second}]"), trace.last_change(f"entry[{first}]")
    return (
        f"Ledger {first} stands before ledger {second} in the list, but {show(late.actor)} wrote it in step "
        f"{late.index}, after {show(early.actor)} had written ledger {second} in step {early.index}: "
        f"{_why_writable(trace, first, second, late)}."
    )


def _why_writable(trace: Trace, first: int, second: int, late: TraceStep) -> str:
    """Why a ledger could be written after the next one in the list."""
    before = trace.states[late.index - 1]
    if before.get(f"fenced[{first}]") is True:
        fence = trace.last_change(f"fenced[{first}]", True)
        return f"ledger {first} was fenced in step {fence.index}, but the bookies took its entry all the same"
    if before[f"metadata[{first}]"] == CLOSED:
        closing = trace.last_change(f"metadata[{first}]", CLOSED)
        return f"{show(closing.actor)} had closed ledger {first} in step {closing.index}, and not fenced it"
    return _why_open(trace, first, second)


def explain_two_open(trace: Trace) -> str:
    """Which two ledgers are open, and who appended the second of them."""
    first, second = next(
        (m, n)
        for m, n in combinations(_listed(trace), 2)
        if _end(trace, "metadata", m) == _end(trace, "metadata", n) == OPEN
    )
    return f"Ledgers {first} and {second} are both in the list and open: {_why_open(trace, first, second)}."


def _why_open(trace: Trace, first: int, second: int) -> str:
    """Who appended the second ledger although the first was open."""
    appended = trace.last_change(f"position[{second}]")
    return (
        f"in step {appended.index} {show(appended.actor)} appended ledger {second} to the list that it had since "
        f"step {_had_list_since(trace, appended)}, and nobody had closed ledger {first}"
    )


def _had_list_since(trace: Trace, appended: TraceStep) -> int:
    """The step that gave a client the list that it then appended to."""
    earlier = (step for step in trace.steps[: appended.index - 1] if step.actor == appended.actor)
    return max(step.index for step in earlier if step.action in READING)


def _ledgers(trace: Trace) -> range:
    return range(1, int(trace.parameters["ledgers"]) + 1)


def _listed(trace: Trace) -> list[int]:
    """The ledgers of the list at the end, in its order."""
    places = {m: int(_end(trace, "position", m)) for m in _ledgers(trace)}
    return sorted((m for m, place in places.items() if place), key=places.__getitem__)


def _end(trace: Trace, variable: str, ledger: int) -> Json:
    """What the variable of that ledger is at the end."""
    return trace.states[-1].get(f"{variable}[{ledger}]", 0)  # a trace leaves out what never changes
