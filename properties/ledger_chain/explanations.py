"""One sentence on what a counterexample of a chain of ledgers broke and why, read off the replayed trace."""

from __future__ import annotations

from itertools import combinations

from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.state import show
from fencepost.encoding.language.traces import Trace, TraceStep
from fencepost.protocols.ledger_chain import Chain, ChainMetadata

READING = ("find no ledger", "find last ledger", "read list again", "append ledger")
"""Actions after which a client has a list: it has read it, or has just written it."""


def explain_unlisted(s: Chain, trace: Trace) -> str:
    """Which ledger is written and not listed, and who overwrote the list."""
    ledger = next(m for m in s.ledger if trace.value(s.entry, m) and not trace.value(s.position, m))
    written, lost = trace.last_change(s.entry, ledger), trace.last_change(s.position, ledger, to=0)
    return (
        f"The entry of ledger {ledger} is outside the log: {show(written.actor)} wrote it in step {written.index}, "
        f"and in step {lost.index} {show(lost.actor)} overwrote the list with the one that it had since "
        f"step {_had_list_since(trace, lost)}, in which ledger {ledger} was not."
    )


def explain_disorder(s: Chain, trace: Trace) -> str:
    """Which two ledgers were written in the wrong order, and why the first of them still took its entry."""
    first, second = next(
        (m, n)
        for m, n in combinations(_listed(s, trace), 2)
        if 0 < trace.value(s.entry, n) < trace.value(s.entry, m)
    )
    early, late = trace.last_change(s.entry, second), trace.last_change(s.entry, first)
    return (
        f"Ledger {first} stands before ledger {second} in the list, but {show(late.actor)} wrote it in step "
        f"{late.index}, after {show(early.actor)} had written ledger {second} in step {early.index}: "
        f"{_why_writable(s, trace, first, second, late)}."
    )


def _why_writable(s: Chain, trace: Trace, first: Value, second: Value, late: TraceStep) -> str:
    """Why a ledger could be written after the next one in the list."""
    if trace.value(s.fenced, first, after=late.index - 1):
        fence = trace.last_change(s.fenced, first, to=True)
        return f"ledger {first} was fenced in step {fence.index}, but the bookies took its entry all the same"
    if trace.value(s.metadata, first, after=late.index - 1) is ChainMetadata.CLOSED:
        closing = trace.last_change(s.metadata, first, to=ChainMetadata.CLOSED)
        return f"{show(closing.actor)} had closed ledger {first} in step {closing.index}, and not fenced it"
    return _why_open(s, trace, first, second)


def explain_two_open(s: Chain, trace: Trace) -> str:
    """Which two ledgers are open, and who appended the second of them."""
    still_open = [m for m in _listed(s, trace) if trace.value(s.metadata, m) is ChainMetadata.OPEN]
    first, second = still_open[:2]
    return (
        f"Ledgers {first} and {second} are both in the list and open: {_why_open(s, trace, first, second)}."
    )


def _why_open(s: Chain, trace: Trace, first: Value, second: Value) -> str:
    """Who appended the second ledger although the first was open."""
    appended = trace.last_change(s.position, second)
    return (
        f"in step {appended.index} {show(appended.actor)} appended ledger {second} to the list that it had since "
        f"step {_had_list_since(trace, appended)}, and nobody had closed ledger {first}"
    )


def _had_list_since(trace: Trace, appended: TraceStep) -> int:
    """The step that gave a client the list that it then appended to."""
    earlier = (step for step in trace.steps[: appended.index - 1] if step.actor == appended.actor)
    return max(step.index for step in earlier if step.action in READING)


def _listed(s: Chain, trace: Trace) -> list[Value]:
    """The ledgers of the list at the end, in its order."""
    places = {m: trace.value(s.position, m) for m in s.ledger}
    return sorted((m for m, place in places.items() if place), key=places.__getitem__)
