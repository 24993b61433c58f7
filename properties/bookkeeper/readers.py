"""The properties of readers without recovery: acknowledged entries are found, up to the ledger's end."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, exists_over, forall, forall_over
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.system import Property, invariant
from fencepost.encoding.language.terms import Term, any_of
from fencepost.encoding.language.traces import Trace
from fencepost.protocols.bookkeeper.layers.readers import Opening
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Status


def reader_properties(s: Ledger) -> tuple[Property, ...]:
    """Return the properties of readers."""
    given = read_entries_stay(s) if s.parameters.way_to_read != "none" else ()
    return reads_find_entries(s), readers_see_the_end(s), *given


def read_entries_stay(s: Ledger) -> tuple[Property, Property]:
    """Return the property that a reader is given no entry that a recovery may leave out.

    The second one is the same of readers that did not know the end of the ledger yet.
    """

    def stay(name: str, when: str, given: Callable[[Term, Term], Term]) -> Property:
        def stays(r: Term, e: Term) -> Term:
            return implies(given(r, e), any_of(e <= s.last_entry, e <= s.acknowledged(WRITER)))

        closed = s.status == Status.CLOSED
        return Property(
            name=name,
            meaning=f"each entry that a reader was given{when} was acknowledged, or is in the ledger after "
            "every close",
            holds=implies(closed, forall_over((s.reader, s.entry), stays)),
            witness=closed & exists_over((s.reader, s.entry), given),
            witness_meaning=f"a reader was given an entry{when}, and the ledger is closed",
            explain=partial(_explain_given, s),
        )

    return (
        stay("read-entries-stay", "", lambda r, e: s.given[r, e]),
        stay("open-reads-stay", " before it knew the end", lambda r, e: s.given_open[r, e]),
    )


def reads_find_entries(s: Ledger) -> Property:
    """Return the property that a reader finds each entry up to the LAC that it knows.

    If a bookie does not answer, the read fails with another error, and the application may repeat it.
    """

    def lacks(r: Term, e: Term, b: Term) -> Term:
        return s.may_read(r, e) & s.reads_from(r, e, b) & ~s.has(b, e)

    return Property(
        name="reads-find-entries",
        meaning="no reader reports NoSuchEntry for an acknowledged entry at or below the LAC that it knows",
        holds=forall_over((s.reader, s.entry), lambda r, e: ~s.reported_absent[r, e]),
        witness=exists_over((s.reader, s.entry, s.bookie), lacks),
        witness_meaning="a bookie lacks an entry for which a reader may ask it",
        explain=partial(_explain_absent, s),
    )


def readers_see_the_end(s: Ledger) -> Property:
    """Return the property that a reader that knows that the ledger is closed may read up to its end."""

    def is_at_end(reader: Term) -> Term:
        return s.knows_end[reader] & (s.handle[reader] == Opening.OPEN)

    return Property(
        name="readers-see-the-end",
        meaning="a reader whose metadata say that the ledger is closed has a LAC that is not below the last "
        "entry",
        holds=forall(s.reader, lambda r: implies(is_at_end(r), s.last_entry <= s.reader_lac[r])),
        witness=exists(s.reader, is_at_end) & (s.last_entry > 0),
        witness_meaning="a reader has opened the ledger and knows that it is closed with an entry in it",
        explain=partial(_explain_low_end, s),
    )


@invariant(
    "a reader whose metadata say that the ledger is closed is right, and its LAC is not below the last entry"
)
def readers_know_the_end(s: Ledger) -> Term:
    """Return the invariant that a reader takes the end with the metadata, and keeps it."""
    closed = s.status == Status.CLOSED
    return forall(s.reader, lambda r: implies(s.knows_end[r], closed & (s.last_entry <= s.reader_lac[r])))


def _explain_absent(s: Ledger, trace: Trace) -> str:
    """Say who reported which entry as absent, whom it asked, and who has the entry."""
    for step in trace.steps:
        if step.action != "report absent":
            continue
        reader, entry = step.arguments["reader"], step.arguments["entry"]
        known, last = trace.value(s.known_fragment, reader, after=step.index), trace.value(s.last_fragment)
        holders = [show(b) for b in s.bookie if trace.value(s.stored, b, entry) != NOTHING]
        return (
            f"{show(reader)} knows {known} of {last} fragments. In step {step.index} it reported entry "
            f"{entry} as absent, and {', '.join(holders) or 'no bookie'} has the entry."
        )
    return "A reader reported an entry as absent."


def _explain_given(s: Ledger, trace: Trace) -> str:
    """Say which entries behind the end a reader was given, and in which step."""
    end = trace.value(s.last_entry)
    lost = [
        f"{show(r)} was given entry {e} in step {trace.last_change(s.given, r, e, to=True).index}"
        for r in s.reader
        for e in s.entry
        if e > end and trace.value(s.given, r, e)
    ]
    return f"{', and '.join(lost)}. The writer has not acknowledged it, and the ledger ends at entry {end}."


def _explain_low_end(s: Ledger, trace: Trace) -> str:
    """Say which reader has a LAC below the end, and in which step it took the LAC."""
    low = [r for r in s.reader if trace.value(s.reader_lac, r) < trace.value(s.last_entry)]
    return (
        f"The ledger is closed at entry {trace.value(s.last_entry)}, and "
        + ", ".join(f"{show(r)} knows this and has LAC {trace.value(s.reader_lac, r)}" for r in low)
        + ". No further change of the metadata will tell it another one."
    )
