"""Properties of a bookie with its journal on: an answer stays true after a crash or a clean restart."""

from __future__ import annotations

from functools import partial

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, exists_over, forall_over
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import Term
from fencepost.properties.bookkeeper import explanations
from fencepost.properties.bookkeeper.safety import recovered
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Status


def fences_stay(s: Ledger) -> Property:
    """Return the property that a fence lasts.

    BookieImpl.fenceLedger says: "once a ledger is fenced, it can never be unfenced".
    """
    return Property(
        name="fences-stay",
        meaning="a bookie that has answered a fencing read refuses the writer's adds from then on",
        holds=forall_over(
            (s.recoverer, s.bookie), lambda r, b: implies(answered_fencing(s, r, b), s.fenced[b])
        ),
        witness=went_down(s) & exists_over((s.recoverer, s.bookie), lambda r, b: s.fence_handled[r, b]),
        witness_meaning="a bookie has answered a fencing read, and a bookie has gone down and come back",
        explain=partial(explanations.explain_lost_fence, s),
    )


def entries_stay(s: Ledger) -> Property:
    """Return the property that an acked entry stays stored (BookieImpl.addEntry acks after the journal)."""
    return Property(
        name="entries-stay",
        meaning="a bookie whose ack of an entry the writer has received stores the entry",
        holds=forall_over((s.entry, s.bookie), lambda e, b: implies(s.acked[WRITER, e, b], s.has(b, e))),
        witness=went_down(s) & exists_over((s.entry, s.bookie), lambda e, b: s.acked[WRITER, e, b]),
        witness_meaning="the writer has received an ack, and a bookie has gone down and come back",
        explain=partial(explanations.explain_few_copies, s),
    )


def fences_beside_entries_stay(s: Ledger) -> Property:
    """Return the property that a fence lasts at a bookie that stores an entry of the ledger.

    A bookie without any entry may not know that the ledger exists.
    """

    def stores(b: Term) -> Term:
        return exists(s.entry, lambda e: s.has(b, e))

    return Property(
        name="fences-beside-entries-stay",
        meaning="a bookie refuses the writer's adds if it has answered a fencing read and stores an entry "
        "that it had before the fence or that recovery has written back",
        holds=forall_over(
            (s.recoverer, s.bookie),
            lambda r, b: implies(
                answered_fencing(s, r, b) & exists(s.entry, lambda e: _before_fence(s, r, e, b)), s.fenced[b]
            ),
        ),
        witness=went_down(s)
        & exists_over((s.recoverer, s.bookie), lambda r, b: s.fence_handled[r, b] & stores(b)),
        witness_meaning="a bookie that stores an entry has answered a fencing read, and a bookie "
        "has gone down and come back",
        explain=partial(explanations.explain_lost_fence, s),
    )


def _before_fence(s: Ledger, recoverer: Term, entry: Term, bookie: Term) -> Term:
    """Return whether the entry is at the bookie for a reason other than a lost fence.

    Recovery has found it there, or has written it back.
    """
    written_back = exists(s.fragment, lambda f: s.add_handled[recoverer, f, entry, bookie])
    found = s.read_handled[recoverer, entry, bookie] & (s.read_content[recoverer, entry, bookie] != NOTHING)
    return (s.fence_lac[recoverer, bookie] >= entry) | found | written_back


def answered_fencing(s: Ledger, recoverer: Term, bookie: Term) -> Term:
    """Return whether the bookie has answered a read of the recoverer that fences.

    The read of the bookie's LAC fences, and since 4.14 the read of an entry does too.
    """
    read = exists(s.read_entry, lambda e: s.read_handled[recoverer, e, bookie])
    return s.fence_handled[recoverer, bookie] | s.fenced_by_reading() & read


def closed_entries_end(s: Ledger) -> Property:
    """Return the property no-divergence for ledgers with entries: recovery has written back the last one."""
    return Property(
        name="no-divergence-behind-entries",
        meaning="once the ledger is closed with an entry in it, the writer has acknowledged "
        "no entry beyond the last one",
        holds=implies((s.status == Status.CLOSED) & (s.last_entry > 0), s.lac(WRITER) <= s.last_entry),
        witness=went_down(s)
        & recovered(s)
        & (s.last_entry > 0)
        & exists(s.entry, lambda e: (s.last_entry < e) & s.pushed(WRITER, e)),
        witness_meaning="a bookie has gone down and come back, and a recoverer has closed the ledger with an "
        "entry in it and without a later entry that the writer has pushed",
        explain=partial(explanations.explain_divergence, s),
    )


def went_down(s: Ledger) -> Term:
    """Return whether some bookie has crashed or was restarted."""
    return (s.crashed > 0) | (s.restarted > 0)


def durability_properties(s: Ledger) -> tuple[Property, ...]:
    """Return the properties of an instance with a storage, which models what is durable at each moment."""
    return (fences_stay(s), fences_beside_entries_stay(s), entries_stay(s), closed_entries_end(s))
