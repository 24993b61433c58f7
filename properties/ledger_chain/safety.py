"""Properties of a chain of ledgers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, forall, forall_over
from fencepost.encoding.language.sorts import Value, show
from fencepost.encoding.language.step_properties import always_step
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import Term
from fencepost.encoding.language.traces import Trace, TraceStep
from fencepost.protocols.ledger_chain import Chain, ChainMetadata


def chain_properties(s: Chain) -> tuple[Property, ...]:
    """Return the three properties of the TLA+ module, and one more."""
    return (written_ledgers_listed(s), entry_order(s), one_open_ledger(s), open_when_appended(s))


def written_ledgers_listed(s: Chain) -> Property:
    """Return the property that no entry is outside the log.

    AllNonEmptyLedgersInLedgerList of the module asks it of fenced empty ledgers too.
    """
    return Property(
        name="written-ledgers-listed",
        meaning="every ledger with an entry on the bookies is in the list",
        holds=forall(s.ledger, lambda m: implies(s.written(m), s.listed(m))),
        witness=_two_listed_second_written(s),
        witness_meaning=_WITNESS,
        explain=partial(explain_unlisted, s),
    )


def entry_order(s: Chain) -> Property:
    """Return the property that the log has the order in which it was written.

    EntryOrderMaintained of the module compares ledger ids instead of positions.
    """
    return Property(
        name="entry-order",
        meaning="if two ledgers of the list have entries, the entry of the earlier one was written first",
        holds=in_order(s, lambda m: s.position[m]),
        witness=_two_listed_second_written(s),
        witness_meaning=_WITNESS,
        explain=partial(explain_disorder, s),
    )


def one_open_ledger(s: Chain) -> Property:
    """Return the property that only the end of the log can grow.

    OnlyOneLedgerOpenAtATime of the module takes positions in the list for ledger ids.
    """

    def is_open(m: Term) -> Term:
        return s.listed(m) & (s.metadata[m] == ChainMetadata.OPEN)

    return Property(
        name="one-open-ledger",
        meaning="at most one ledger in the list is open",
        holds=of_any_two(s, lambda m, n: implies(m < n, ~(is_open(m) & is_open(n)))),
        witness=_two_listed_second_written(s),
        witness_meaning=_WITNESS,
        explain=partial(explain_two_open, s),
    )


def open_when_appended(s: Chain) -> Property:
    """Return the property that no leader appends a ledger that another client has closed."""

    def open_or_old(before: Chain, after: Chain, m: Term) -> Term:
        is_open = before.metadata[m] == ChainMetadata.OPEN
        return implies((before.position[m] < 1) & (after.position[m] > 0), is_open)

    return always_step(
        name="open-when-appended",
        meaning="a ledger is open when it is appended to the list",
        holds=lambda before, after: forall(s.ledger, lambda m: open_or_old(before, after, m)),
        witness=_two_listed_second_written(s),
        witness_meaning=_WITNESS,
    )


_WITNESS = "two ledgers are in the list, and the second of them has its entry"


def _two_listed_second_written(s: Chain) -> Term:
    return exists(s.ledger, lambda m: (s.position[m] > 1) & (s.position[m] < 3) & s.written(m))


def in_order(s: Chain, position: Callable[[Term], Term]) -> Term:
    """Return whether the entries of a list are in the order in which they were written.

    A ledger at position 0 is not in the list.
    """

    def before(m: Term, n: Term) -> Term:
        return (position(m) > 0) & (position(m) < position(n)) & s.written(m) & s.written(n)

    return of_any_two(s, lambda m, n: implies(before(m, n), s.entry[m] < s.entry[n]))


def of_any_two(s: Chain, holds: Callable[[Term, Term], Term]) -> Term:
    """Return whether `holds` is true of every pair of ledgers, in both orders, and of equal ledgers."""
    return forall_over((s.ledger, s.ledger), holds)


# Explanations of counterexamples: a sentence on what broke and why, from the trace.

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
