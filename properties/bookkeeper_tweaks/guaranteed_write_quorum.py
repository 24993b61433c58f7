"""What must hold of a BookKeeper ledger with a guaranteed write quorum. Rule 14 names the properties."""

from __future__ import annotations

from fencepost.encoding.language.quantifiers import exists, exists_over, forall, forall_over
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import any_of, implies
from fencepost.properties.bookkeeper_tweaks.full_replication import (
    closed_ledger_at_wq,
    copies,
    is_final,
    lac_entry_at_aq,
    no_dirty_read,
    tail_fragments_at_wq,
    valid_fragments,
)
from fencepost.protocols.bookkeeper.bookies import NOTHING
from fencepost.protocols.bookkeeper.metadata import WRITER, Status
from fencepost.protocols.bookkeeper_tweaks.guaranteed_write_quorum import GuaranteedLedger


def guaranteed_write_quorum_properties(s: GuaranteedLedger) -> tuple[Property, ...]:
    """The properties of the current protocol, headline first, then those that the tweak is for."""
    return (
        no_divergence(s),
        acked_entries_readable(s),
        ack_quorum_reached(s),
        valid_fragments(s),
        entries_in_order(s),
        tail_fragments_at_wq(s),
        closed_ledger_at_wq(s),
        lac_entry_at_aq(s),
        no_dirty_read(s),
    )


def no_divergence(s: GuaranteedLedger) -> Property:
    """Nothing acknowledged is beyond the end of a closed ledger (NoDivergenceBetweenClientAndMetaData)."""
    return Property(
        name="no-divergence",
        meaning="once the ledger is closed, no entry beyond its last entry has been acknowledged to the writer's "
        "caller",
        holds=implies(s.status == Status.CLOSED, s.lac(WRITER) <= s.last_entry),
        witness=s.closed_by_another() & (s.lac(WRITER) > 0),
        witness_meaning="an entry is acknowledged and the ledger closed by a recoverer",
    )


def acked_entries_readable(s: GuaranteedLedger) -> Property:
    """Acknowledged entries can be read where the metadata says they are (AllAckedEntriesAreReadable)."""
    moved = exists(s.entry, lambda e: (e <= s.lac(WRITER)) & s.sent[WRITER, 1, e]) & (s.last_fragment > 1)
    return Property(
        name="acked-entries-readable",
        meaning="an acknowledged entry is stored on a bookie of its write set by the metadata",
        holds=forall(s.entry, lambda e: implies(e <= s.lac(WRITER), copies(s, e, 1))),
        witness=moved,
        witness_meaning="an entry is acknowledged, and its ensemble has been changed (there must be a spare bookie)",
    )


def ack_quorum_reached(s: GuaranteedLedger) -> Property:
    """What counts as written is on AQ bookies, before the close too."""
    return Property(
        name="ack-quorum-reached",
        meaning="an acknowledged entry, and once the ledger is closed every entry up to the last, is stored on AQ "
        "bookies of its write set by the metadata",
        holds=forall(
            s.entry,
            lambda e: implies(
                any_of(e <= s.lac(WRITER), is_final(s, e)), copies(s, e, s.parameters.ack_quorum)
            ),
        ),
        witness=s.closed_by_another() & (s.last_entry > 0),
        witness_meaning="the ledger is closed by a recoverer with an entry in it",
    )


def entries_in_order(s: GuaranteedLedger) -> Property:
    """Bookies hold as entry e what the writer pushed as e (NoOutOfOrderEntries)."""
    return Property(
        name="entries-in-order",
        meaning="what a bookie stores as entry e is what the writer pushed as entry e",
        holds=forall_over(
            (s.bookie, s.entry), lambda b, e: (s.stored[b, e] == NOTHING) | (s.stored[b, e] == e)
        ),
        witness=exists_over((s.recoverer, s.entry), s.pushed),
        witness_meaning="a recoverer has written an entry back",
    )
