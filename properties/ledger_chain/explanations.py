"""Explanations of counterexamples of a ledger chain: a sentence on what broke and why, from the trace."""

from __future__ import annotations

from itertools import combinations

from fencepost.encoding.language.sorts import Value, show
from fencepost.encoding.language.traces import Trace, TraceStep
from fencepost.protocols.ledger_chain import Chain, ChainMetadata

GETS_LIST = ("find no ledger", "find last ledger", "read list again", "append ledger")
"""Actions that give a client a copy of the list: it reads the list, or writes it."""


def explain_unlisted(s: Chain, trace: Trace) -> str:
    """Say which ledger has an entry and is not in the list, and who overwrote the list."""
    ledger = next(m for m in s.ledger if trace.value(s.entry, m) and not trace.value(s.position, m))
    written, lost = trace.last_change(s.entry, ledger), trace.last_change(s.position, ledger, to=0)
    return (
        f"The entry of ledger {ledger} is outside the log: {show(written.actor)} wrote it in step "
        f"{written.index}. In step {lost.index} {show(lost.actor)} overwrote the list with its copy of step "
        f"{_had_list_since(trace, lost)}, which did not have ledger {ledger}."
    )


def explain_disorder(s: Chain, trace: Trace) -> str:
    """Say which two ledgers were written in the wrong order, and why the first could still be written."""
    first, second = next(
        (m, n)
        for m, n in combinations(_listed(s, trace), 2)
        if 0 < trace.value(s.entry, n) < trace.value(s.entry, m)
    )
    early, late = trace.last_change(s.entry, second), trace.last_change(s.entry, first)
    return (
        f"Ledger {first} is before ledger {second} in the list but was written later: {show(early.actor)} "
        f"wrote ledger {second} in step {early.index}, and {show(late.actor)} wrote ledger {first} in step "
        f"{late.index}. The late write was possible because {_why_writable(s, trace, first, second, late)}."
    )


def _why_writable(s: Chain, trace: Trace, first: Value, second: Value, late: TraceStep) -> str:
    """Return why a ledger could be written after the next ledger of the list."""
    if trace.value(s.fenced, first, after=late.index - 1):
        fence = trace.last_change(s.fenced, first, to=True)
        return f"the bookies accepted the entry although ledger {first} was fenced in step {fence.index}"
    if trace.value(s.metadata, first, after=late.index - 1) is ChainMetadata.CLOSED:
        closing = trace.last_change(s.metadata, first, to=ChainMetadata.CLOSED)
        return f"{show(closing.actor)} closed ledger {first} in step {closing.index} and did not fence it"
    return _why_open(s, trace, first, second)


def explain_two_open(s: Chain, trace: Trace) -> str:
    """Say which two ledgers are open, and who appended the second of them."""
    still_open = [m for m in _listed(s, trace) if trace.value(s.metadata, m) is ChainMetadata.OPEN]
    first, second = still_open[:2]
    return (
        f"Ledgers {first} and {second} are both in the list and open: {_why_open(s, trace, first, second)}."
    )


def _why_open(s: Chain, trace: Trace, first: Value, second: Value) -> str:
    """Return who appended the second ledger while the first was open."""
    appended = trace.last_change(s.position, second)
    return (
        f"in step {appended.index} {show(appended.actor)} appended ledger {second} to its copy of the list "
        f"of step {_had_list_since(trace, appended)}, and nobody had closed ledger {first}"
    )


def _had_list_since(trace: Trace, appended: TraceStep) -> int:
    """Return the number of the step that gave a client the copy of the list to which it appended."""
    earlier = (step for step in trace.steps[: appended.index - 1] if step.actor == appended.actor)
    return max(step.index for step in earlier if step.action in GETS_LIST)


def _listed(s: Chain, trace: Trace) -> list[Value]:
    """Return the ledgers of the list at the end of the trace, in its order."""
    places = {m: trace.value(s.position, m) for m in s.ledger}
    return sorted((m for m, place in places.items() if place), key=places.__getitem__)
