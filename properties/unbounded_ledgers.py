"""What must hold of an unbounded ledger. Rule 15 names the properties."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.encoding.system import Property
from fencepost.encoding.terms import Term, TermLike, at_least, exists, forall, implies
from fencepost.protocols.bookkeeper.state import Status
from fencepost.protocols.bookkeeper_tweaks.unbounded_ledgers import NOTHING, Ledger, Phase


def unbounded_ledger_properties(s: Ledger) -> tuple[Property, ...]:
    """The properties of rule 15, headline first, then those of guaranteed write quorum."""
    return (
        acked_values_readable(s),
        acked_ids_readable(s),
        same_value(s),
        no_divergence(s),
        tail_fragments_at_wq(s),
        closed_ledger_at_wq(s),
        lac_entry_at_aq(s),
    )


def acked_values_readable(s: Ledger) -> Property:
    """Nothing acknowledged is lost or overwritten (AllAckedValuesAreReadable)."""

    def readable(c: Term, e: Term) -> Term:
        return exists(s.bookie, lambda b: s.in_write_set(e, b) & (s.stored[b, e] == s.content[c, e]))

    return Property(
        name="acked-values-readable",
        meaning="a value that a client acknowledged is stored as the entry it was pushed as, on a bookie of its "
        "write set by the metadata",
        holds=_every_acknowledged(s, readable),
        witness=_taken_over(s) & _acknowledged(s),
        witness_meaning="a value is acknowledged, and a client that took the ledger over writes on",
    )


def acked_ids_readable(s: Ledger) -> Property:
    """Every acknowledged entry has something under its id (AllCommittedIdsAreReadable)."""
    return Property(
        name="acked-ids-readable",
        meaning="an entry that a client acknowledged is stored, with whatever content, on a bookie of its write "
        "set by the metadata",
        holds=_every_acknowledged(s, lambda c, e: _copies(s, e, 1)),
        witness=_taken_over(s) & _acknowledged(s),
        witness_meaning="a value is acknowledged, and a client that took the ledger over writes on",
    )


def same_value(s: Ledger) -> Property:
    """Readers are told the same by every bookie (NoLogDivergence)."""

    def readable(b: Term, e: Term) -> Term:
        return s.in_write_set(e, b) & (e <= s.heard(b, s.sent_lac)) & (s.stored[b, e] != NOTHING)

    def both(e: Term, a: Term, b: Term) -> Term:
        return (a != b) & readable(a, e) & readable(b, e)

    return Property(
        name="same-value",
        meaning="two bookies of an entry's write set that both have it, each with a LAC that is not below it, "
        "hold the same value",
        holds=forall(
            s.entry,
            lambda e: forall(
                s.bookie,
                lambda a: forall(
                    s.bookie, lambda b: implies(both(e, a, b), s.stored[a, e] == s.stored[b, e])
                ),
            ),
        ),
        witness=_taken_over(s)
        & exists(s.entry, lambda e: exists(s.bookie, lambda a: exists(s.bookie, lambda b: both(e, a, b)))),
        witness_meaning="two bookies have an entry and a LAC that is not below it, and a client that took the "
        "ledger over writes on",
    )


def no_divergence(s: Ledger) -> Property:
    """Nothing acknowledged is beyond the end of a closed ledger (NoDivergenceBetweenClientAndMetaData)."""
    return Property(
        name="no-divergence",
        meaning="once the ledger is closed, no entry beyond its last entry has been acknowledged by any client",
        holds=implies(s.status == Status.CLOSED, _every_acknowledged(s, lambda c, e: e <= s.last_entry)),
        witness=_closed_by_a_successor(s) & _acknowledged(s),
        witness_meaning="a value is acknowledged, and a client that took the ledger over has closed it",
    )


def tail_fragments_at_wq(s: Ledger) -> Property:
    """Every fragment that is over is fully replicated (TailFragmentsReachWriteQuorum)."""
    return Property(
        name="tail-fragments-at-wq",
        meaning="every entry of every fragment but the last is stored on all WQ bookies of its write set by the "
        "metadata",
        holds=forall(s.entry, lambda e: implies(_is_in_tail(s, e), _copies(s, e, s.parameters.write_quorum))),
        witness=exists(s.entry, lambda e: _is_in_tail(s, e)),
        witness_meaning="a fragment that holds an entry is followed by another (there must be a spare bookie)",
    )


def closed_ledger_at_wq(s: Ledger) -> Property:
    """A closed ledger is fully replicated (AllEntriesOfClosedLedgerReachedWriteQuorum)."""
    return Property(
        name="closed-ledger-at-wq",
        meaning="once the ledger is closed, every entry up to its last is stored on all WQ bookies of its write "
        "set by the metadata",
        holds=forall(
            s.entry,
            lambda e: implies(
                (s.status == Status.CLOSED) & (e <= s.last_entry), _copies(s, e, s.parameters.write_quorum)
            ),
        ),
        witness=_closed_by_a_successor(s),
        witness_meaning="a client that took the ledger over has closed it",
    )


def lac_entry_at_aq(s: Ledger) -> Property:
    """Readers may read up to a bookie's LAC, so that entry is confirmed (NoDirtyReads)."""

    def confirmed(b: Term, e: Term) -> Term:
        return implies(s.heard(b, s.sent_lac) == e, _copies(s, e, s.parameters.ack_quorum))

    return Property(
        name="lac-entry-at-aq",
        meaning="the entry that a bookie's LAC names is stored on AQ bookies of its write set by the metadata",
        holds=forall(s.bookie, lambda b: forall(s.entry, lambda e: confirmed(b, e))),
        witness=_taken_over(s) & exists(s.bookie, lambda b: s.heard(b, s.sent_lac) > 0),
        witness_meaning="a bookie has received a LAC above 0, and a client that took the ledger over writes on",
    )


def _every_acknowledged(s: Ledger, body: Callable[[Term, Term], Term]) -> Term:
    """It is so of every entry that a client has acknowledged."""
    return forall(s.client, lambda c: forall(s.entry, lambda e: implies(s.acknowledged(c, e), body(c, e))))


def _acknowledged(s: Ledger) -> Term:
    """Some client has acknowledged an entry."""
    return exists(s.client, lambda c: exists(s.entry, lambda e: s.acknowledged(c, e)))


def _taken_over(s: Ledger) -> Term:
    """A client that took the ledger over writes on."""
    return exists(s.successor, lambda c: s.phase[c] == Phase.WRITING)


def _closed_by_a_successor(s: Ledger) -> Term:
    """A client that took the ledger over has closed it."""
    return exists(s.successor, lambda c: s.phase[c] == Phase.CLOSED)


def _copies(s: Ledger, entry: TermLike, count: int) -> Term:
    """Something is stored as the entry on so many bookies of its write set by the metadata."""
    return at_least(count, s.bookie, lambda b: s.in_write_set(entry, b) & (s.stored[b, entry] != NOTHING))


def _is_in_tail(s: Ledger, entry: TermLike) -> Term:
    """By the metadata, the entry is in a fragment that is followed by another."""
    return exists(s.generation_, lambda g: (g == s.generation) & (entry < s.first[g]))
