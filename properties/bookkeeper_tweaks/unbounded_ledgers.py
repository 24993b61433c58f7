"""What must hold of an unbounded ledger. Rule 15 names the properties."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.encoding.language.quantifiers import exists, exists_over, forall_over
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import Term, any_of, implies
from fencepost.properties.bookkeeper_tweaks.full_replication import (
    closed_ledger_at_wq,
    copies,
    is_final,
    lac_entry_at_aq,
    no_dirty_read,
    tail_fragments_at_wq,
    valid_fragments,
)
from fencepost.protocols.bookkeeper.metadata import Status
from fencepost.protocols.bookkeeper_tweaks.unbounded_ledgers import UnboundedLedger, UnboundedPhase


def unbounded_ledger_properties(s: UnboundedLedger) -> tuple[Property, ...]:
    """The properties of rule 15, headline first, then those of both tweaks."""
    return (
        acked_values_readable(s),
        acked_ids_readable(s),
        ack_quorum_reached(s),
        same_value(s),
        no_divergence(s),
        valid_fragments(s),
        tail_fragments_at_wq(s),
        closed_ledger_at_wq(s),
        lac_entry_at_aq(s),
        no_dirty_read(s),
    )


def acked_values_readable(s: UnboundedLedger) -> Property:
    """Nothing acknowledged is lost or overwritten (AllAckedValuesAreReadable)."""

    def readable(c: Term, e: Term) -> Term:
        return exists(s.bookie, lambda b: s.in_write_set(e, b) & (s.stored[b, e] == s.content[c, e]))

    return Property(
        name="acked-values-readable",
        meaning="a value that a client acknowledged is stored as the entry it was pushed as, on a bookie of its "
        "write set by the metadata",
        holds=_every(s, s.acknowledged, readable),
        witness=_acknowledged(s) & _taken_over(s),
        witness_meaning="a value is acknowledged, and a client that took the ledger over writes on",
    )


def acked_ids_readable(s: UnboundedLedger) -> Property:
    """Every entry that counts as confirmed has something under its id (AllCommittedIdsAreReadable)."""
    return Property(
        name="acked-ids-readable",
        meaning="an entry that a client acknowledged, or that is at or below the LAC of a client that writes, is "
        "stored, with whatever content, on a bookie of its write set by the metadata",
        holds=_every(s, lambda c, e: _counts(s, c, e), lambda c, e: copies(s, e, 1)),
        witness=_acknowledged(s) & _taken_over(s),
        witness_meaning="a value is acknowledged, and a client that took the ledger over writes on",
    )


def ack_quorum_reached(s: UnboundedLedger) -> Property:
    """What counts as written is on AQ bookies, before the close too."""
    return Property(
        name="ack-quorum-reached",
        meaning="an entry that a client acknowledged, or that is at or below the LAC of a client that writes, and "
        "once the ledger is closed every entry up to the last, is stored on AQ bookies of its write set by the "
        "metadata",
        holds=_every(
            s,
            lambda c, e: any_of(_counts(s, c, e), is_final(s, e)),
            lambda c, e: copies(s, e, s.parameters.ack_quorum),
        ),
        witness=_acknowledged(s) & _taken_over(s),
        witness_meaning="a value is acknowledged, and a client that took the ledger over writes on",
    )


def same_value(s: UnboundedLedger) -> Property:
    """Readers are told the same by every bookie (NoLogDivergence)."""

    def readable(b: Term, e: Term) -> Term:
        return s.in_write_set(e, b) & (e <= s.heard(b, s.sent_lac)) & s.has(b, e)

    def both(e: Term, a: Term, b: Term) -> Term:
        return (a != b) & readable(a, e) & readable(b, e)

    def agree(e: Term, a: Term, b: Term) -> Term:
        return implies(both(e, a, b), s.stored[a, e] == s.stored[b, e])

    return Property(
        name="same-value",
        meaning="two bookies of an entry's write set that both have it, each with a LAC that is not below it, "
        "hold the same value",
        holds=forall_over((s.entry, s.bookie, s.bookie), agree),
        witness=_taken_over(s) & exists_over((s.entry, s.bookie, s.bookie), both),
        witness_meaning="two bookies have an entry and a LAC that is not below it, and a client that took the "
        "ledger over writes on",
    )


def no_divergence(s: UnboundedLedger) -> Property:
    """Nothing acknowledged is beyond the end of a closed ledger (NoDivergenceBetweenClientAndMetaData)."""
    return Property(
        name="no-divergence",
        meaning="once the ledger is closed, no entry beyond its last entry has been acknowledged by any client",
        holds=implies(s.status == Status.CLOSED, _every(s, s.acknowledged, lambda c, e: e <= s.last_entry)),
        witness=_acknowledged(s) & s.closed_by_another(),
        witness_meaning="a value is acknowledged, and a client that took the ledger over has closed it",
    )


def _every(s: UnboundedLedger, which: Callable[[Term, Term], Term], so: Callable[[Term, Term], Term]) -> Term:
    """Of every client and entry of which the one is so, the other is."""
    return forall_over((s.client, s.entry), lambda c, e: implies(which(c, e), so(c, e)))


def _counts(s: UnboundedLedger, client: Term, entry: Term) -> Term:
    """The client acknowledged the entry; or it writes, or closed the ledger, and its LAC is not below the entry."""
    writes = any_of(s.phase[client] == UnboundedPhase.WRITING, s.phase[client] == UnboundedPhase.CLOSED)
    return any_of(s.acknowledged(client, entry), writes & (entry <= s.lac(client)))


def _acknowledged(s: UnboundedLedger) -> Term:
    """Some client has acknowledged an entry."""
    return exists_over((s.client, s.entry), s.acknowledged)


def _taken_over(s: UnboundedLedger) -> Term:
    """A client that took the ledger over writes on."""
    return exists(s.successor, lambda c: s.phase[c] == UnboundedPhase.WRITING)
