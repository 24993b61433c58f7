"""Properties of a ledger with a guaranteed write quorum. Rule 14 names them."""

from __future__ import annotations

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, exists_over, forall, forall_over
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import any_of
from fencepost.properties.bookkeeper_tweaks.full_replication import (
    closed_ledger_at_wq,
    copies,
    is_final,
    lac_entry_at_aq,
    no_dirty_read,
    tail_fragments_at_wq,
    valid_fragments,
)
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Status
from fencepost.protocols.bookkeeper_tweaks.guaranteed_write_quorum import GuaranteedLedger


def guaranteed_write_quorum_properties(s: GuaranteedLedger) -> tuple[Property, ...]:
    """Return the properties of today's protocol, the main one first, then those that the change adds."""
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
    """Return the property NoDivergenceBetweenClientAndMetaData of the TLA+ module."""
    return Property(
        name="no-divergence",
        meaning="once the ledger is closed, the writer has acknowledged no entry beyond the last one",
        holds=implies(s.status == Status.CLOSED, s.lac(WRITER) <= s.last_entry),
        witness=s.closed_by_another() & (s.lac(WRITER) > 0),
        witness_meaning="an entry is acknowledged, and a recoverer has closed the ledger",
    )


def acked_entries_readable(s: GuaranteedLedger) -> Property:
    """Return the property AllAckedEntriesAreReadable of the TLA+ module."""
    moved = exists(s.entry, lambda e: (e <= s.lac(WRITER)) & s.sent[WRITER, 1, e]) & (s.last_fragment > 1)
    return Property(
        name="acked-entries-readable",
        meaning="every acknowledged entry is stored on at least one bookie of its write set in the metadata",
        holds=forall(s.entry, lambda e: implies(e <= s.lac(WRITER), copies(s, e, 1))),
        witness=moved,
        witness_meaning="an entry is acknowledged and the ensemble has changed since it was sent "
        "(needs a spare bookie)",
    )


def ack_quorum_reached(s: GuaranteedLedger) -> Property:
    """Return the property that entries have AQ copies, before the close and after."""
    return Property(
        name="ack-quorum-reached",
        meaning="every acknowledged entry, and every entry of a closed ledger, is stored on "
        "AQ bookies of its write set in the metadata",
        holds=forall(
            s.entry,
            lambda e: implies(
                any_of(e <= s.lac(WRITER), is_final(s, e)), copies(s, e, s.parameters.ack_quorum)
            ),
        ),
        witness=s.closed_by_another() & (s.last_entry > 0),
        witness_meaning="a recoverer has closed the ledger with an entry in it",
    )


def entries_in_order(s: GuaranteedLedger) -> Property:
    """Return the property NoOutOfOrderEntries of the TLA+ module."""
    return Property(
        name="entries-in-order",
        meaning="a bookie stores as entry e only the content that the writer pushed as entry e",
        holds=forall_over(
            (s.bookie, s.entry), lambda b, e: (s.stored[b, e] == NOTHING) | (s.stored[b, e] == e)
        ),
        witness=exists_over((s.recoverer, s.entry), s.pushed),
        witness_meaning="a recoverer has written an entry back",
    )
