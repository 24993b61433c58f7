"""Properties of an unbounded ledger. Rule 15 names them."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, exists_over, forall_over
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import Term, any_of
from fencepost.properties.bookkeeper.safety import recovered
from fencepost.properties.bookkeeper_tweaks import full_replication as full
from fencepost.protocols.bookkeeper.values import Phase, Status
from fencepost.protocols.bookkeeper_tweaks.unbounded_ledgers import UnboundedLedger


def unbounded_ledger_properties(s: UnboundedLedger) -> tuple[Property, ...]:
    """Return the properties of rule 15, the main one first, then those of both proposed changes."""
    return (
        acked_values_readable(s),
        acked_ids_readable(s),
        ack_quorum_reached(s),
        same_value(s),
        no_divergence(s),
        full.valid_fragments(s),
        full.tail_fragments_at_wq(s),
        full.closed_ledger_at_wq(s),
        full.lac_entry_at_aq(s),
        full.no_dirty_read(s),
        full.closes_recorded(s),
    )


def acked_values_readable(s: UnboundedLedger) -> Property:
    """Return the property AllAckedValuesAreReadable: no acknowledged value is lost or overwritten."""

    def readable(c: Term, e: Term) -> Term:
        return exists(s.bookie, lambda b: s.in_metadata_write_set(e, b) & (s.stored[b, e] == s.found[c, e]))

    return Property(
        name="acked-values-readable",
        meaning="every value that a client acknowledged is stored as the entry that it was "
        "pushed as, on at least one bookie of its write set in the metadata",
        holds=_every(s, s.is_acknowledged, readable),
        witness=_acknowledged(s) & _taken_over(s),
        witness_meaning="a value is acknowledged, and a client that took the ledger over is writing",
    )


def acked_ids_readable(s: UnboundedLedger) -> Property:
    """Return the property AllCommittedIdsAreReadable: every confirmed entry has some content."""
    return Property(
        name="acked-ids-readable",
        meaning="every entry that a client acknowledged, or that is at or below the LAC of a writing client, "
        "is stored with some content on at least one bookie of its write set in the metadata",
        holds=_every(s, lambda c, e: _counts(s, c, e), lambda c, e: full.copies(s, e, 1)),
        witness=_acknowledged(s) & _taken_over(s),
        witness_meaning="a value is acknowledged, and a client that took the ledger over is writing",
    )


def ack_quorum_reached(s: UnboundedLedger) -> Property:
    """Return the property that entries have AQ copies, before the close and after."""
    return Property(
        name="ack-quorum-reached",
        meaning="every entry that a client acknowledged, that is at or below the LAC of a writing client, or "
        "that is in a closed ledger is stored on AQ bookies of its write set in the metadata",
        holds=_every(
            s,
            lambda c, e: any_of(_counts(s, c, e), full.is_final(s, e)),
            lambda c, e: full.copies(s, e, s.parameters.ack_quorum),
        ),
        witness=_acknowledged(s) & _taken_over(s),
        witness_meaning="a value is acknowledged, and a client that took the ledger over is writing",
    )


def same_value(s: UnboundedLedger) -> Property:
    """Return the property NoLogDivergence: every bookie gives readers the same value."""

    def readable(b: Term, e: Term) -> Term:
        return s.in_metadata_write_set(e, b) & (e <= s.heard(b, s.sent_lac)) & s.has(b, e)

    def both(e: Term, a: Term, b: Term) -> Term:
        return (a != b) & readable(a, e) & readable(b, e)

    def agree(e: Term, a: Term, b: Term) -> Term:
        return implies(both(e, a, b), s.stored[a, e] == s.stored[b, e])

    return Property(
        name="same-value",
        meaning="two bookies of an entry's write set that both store it, each with a LAC at "
        "or above it, store the same value",
        holds=forall_over((s.entry, s.bookie, s.bookie), agree),
        witness=_taken_over(s) & exists_over((s.entry, s.bookie, s.bookie), both),
        witness_meaning="two bookies store an entry and have a LAC at or above it, and a client "
        "that took the ledger over is writing",
    )


def no_divergence(s: UnboundedLedger) -> Property:
    """Return the property NoDivergenceBetweenClientAndMetaData of the TLA+ module."""
    return Property(
        name="no-divergence",
        meaning="once the ledger is closed, no client has acknowledged an entry beyond the last one",
        holds=implies(
            s.status == Status.CLOSED, _every(s, s.is_acknowledged, lambda c, e: e <= s.last_entry)
        ),
        witness=_acknowledged(s) & recovered(s),
        witness_meaning="a value is acknowledged, and a client that took the ledger over has closed it",
    )


def _every(
    s: UnboundedLedger, which: Callable[[Term, Term], Term], holds: Callable[[Term, Term], Term]
) -> Term:
    """Return whether `holds` is true of every client and entry that satisfy `which`."""
    return forall_over((s.client, s.entry), lambda c, e: implies(which(c, e), holds(c, e)))


def _counts(s: UnboundedLedger, client: Term, entry: Term) -> Term:
    """Return whether the client counts the entry as confirmed.

    It has acknowledged the entry. Or it writes, or has closed the ledger, with a LAC at or above the entry.
    """
    writes = any_of(s.is_writing[client], s.phase[client] == Phase.CLOSED)
    return any_of(s.is_acknowledged(client, entry), writes & (entry <= s.lac(client)))


def _acknowledged(s: UnboundedLedger) -> Term:
    """Return whether some client has acknowledged an entry."""
    return exists_over((s.client, s.entry), s.is_acknowledged)


def _taken_over(s: UnboundedLedger) -> Term:
    """Return whether a client that took the ledger over is writing."""
    return exists(s.recoverer, lambda c: s.is_writing[c])
