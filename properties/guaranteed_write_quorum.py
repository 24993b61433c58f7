"""What must hold of a BookKeeper ledger with a guaranteed write quorum. Rule 14 names the properties."""

from __future__ import annotations

from fencepost.encoding.system import Property
from fencepost.encoding.terms import Term, TermLike, at_least, exists, forall, implies
from fencepost.protocols.bookkeeper.state import NOTHING, WRITER, Status
from fencepost.protocols.bookkeeper_tweaks.guaranteed_write_quorum import Ledger, Phase


def guaranteed_write_quorum_properties(s: Ledger) -> tuple[Property, ...]:
    """The properties of the current protocol, headline first, then the three that the tweak is for."""
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


def no_divergence(s: Ledger) -> Property:
    """Nothing acknowledged is beyond the end of a closed ledger (NoDivergenceBetweenClientAndMetaData)."""
    return Property(
        name="no-divergence",
        meaning="once the ledger is closed, no entry beyond its last entry has been acknowledged to the writer's "
        "caller",
        holds=implies(s.status == Status.CLOSED, s.lac(WRITER) <= s.last_entry),
        witness=_recovered(s) & (s.lac(WRITER) > 0),
        witness_meaning="an entry is acknowledged and the ledger closed by a recoverer",
    )


def acked_entries_readable(s: Ledger) -> Property:
    """Acknowledged entries can be read where the metadata says they are (AllAckedEntriesAreReadable)."""
    return Property(
        name="acked-entries-readable",
        meaning="an acknowledged entry is stored on a bookie of its write set by the metadata",
        holds=forall(s.entry, lambda e: implies(e <= s.lac(WRITER), _copies(s, e, 1))),
        witness=_acknowledged_before_a_change(s),
        witness_meaning="an entry is acknowledged, and its ensemble has been changed (there must be a spare bookie)",
    )


def ack_quorum_reached(s: Ledger) -> Property:
    """What counts as written is on AQ bookies, before the close too."""
    closed = s.status == Status.CLOSED
    return Property(
        name="ack-quorum-reached",
        meaning="an acknowledged entry, and once the ledger is closed every entry up to the last, is stored on AQ "
        "bookies of its write set by the metadata",
        holds=forall(
            s.entry,
            lambda e: implies(
                (e <= s.lac(WRITER)) & ~closed | closed & (e <= s.last_entry),
                _copies(s, e, s.parameters.ack_quorum),
            ),
        ),
        witness=_recovered(s) & (s.last_entry > 0),
        witness_meaning="the ledger is closed by a recoverer with an entry in it",
    )


def valid_fragments(s: Ledger) -> Property:
    """Fragments only ever go up (ValidNextFragment)."""
    return Property(
        name="valid-fragments",
        meaning="no client's fragment starts below the one before it",
        holds=forall(
            s.client,
            lambda c: forall(
                s.generation_,
                lambda g: implies(
                    g <= s.own_generation[c],
                    forall(s.generation_, lambda h: implies(h < g, s.own_first[c, h] <= s.own_first[c, g])),
                ),
            ),
        ),
        witness=s.generation > 1,
        witness_meaning="the metadata has a second ensemble (there must be a spare bookie)",
    )


def entries_in_order(s: Ledger) -> Property:
    """Bookies hold as entry e what the writer pushed as e (NoOutOfOrderEntries)."""
    return Property(
        name="entries-in-order",
        meaning="what a bookie stores as entry e is what the writer pushed as entry e",
        holds=forall(
            s.bookie,
            lambda b: forall(s.entry, lambda e: (s.stored[b, e] == NOTHING) | (s.stored[b, e] == e)),
        ),
        witness=exists(s.recoverer, lambda r: exists(s.entry, lambda e: s.pushed(r, e))),
        witness_meaning="a recoverer has written an entry back",
    )


def tail_fragments_at_wq(s: Ledger) -> Property:
    """Every fragment that is over is fully replicated (rule 1, TailFragmentsReachWriteQuorum)."""
    return Property(
        name="tail-fragments-at-wq",
        meaning="every entry of every fragment but the last is stored on all WQ bookies of its write set by the "
        "metadata",
        holds=forall(s.entry, lambda e: implies(_is_in_tail(s, e), _copies(s, e, s.parameters.write_quorum))),
        witness=exists(s.entry, lambda e: _is_in_tail(s, e)),
        witness_meaning="a fragment that holds an entry is followed by another (there must be a spare bookie)",
    )


def closed_ledger_at_wq(s: Ledger) -> Property:
    """A closed ledger is fully replicated (rule 1, AllEntriesOfClosedLedgerReachedWriteQuorum)."""
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
        witness=_recovered(s) & (s.last_entry > 0),
        witness_meaning="the ledger is closed by a recoverer with an entry in it",
    )


def lac_entry_at_aq(s: Ledger) -> Property:
    """Readers may read up to a bookie's LAC, so that entry is confirmed (rule 14, NoDirtyReads)."""

    def confirmed(b: Term, e: Term) -> Term:
        return implies(s.heard(b, s.sent_lac) == e, _copies(s, e, s.parameters.ack_quorum))

    return Property(
        name="lac-entry-at-aq",
        meaning="the entry that a bookie's LAC names is stored on AQ bookies of its write set by the metadata",
        holds=forall(s.bookie, lambda b: forall(s.entry, lambda e: confirmed(b, e))),
        witness=exists(s.bookie, lambda b: s.heard(b, s.sent_lac) > 0),
        witness_meaning="a bookie has received a LAC above 0 (it takes a second entry)",
    )


def no_dirty_read(s: Ledger) -> Property:
    """What lac-entry-at-aq is for: no reader gets an entry that turns out not to be there."""
    closed = s.status == Status.CLOSED
    return Property(
        name="no-dirty-read",
        meaning="once the ledger is closed, no bookie that its metadata names tells readers a LAC beyond its last "
        "entry",
        holds=forall(
            s.bookie,
            lambda b: implies(closed & _is_named(s, b), s.heard(b, s.sent_lac) <= s.last_entry),
        ),
        witness=_recovered(s) & exists(s.bookie, lambda b: s.heard(b, s.sent_lac) > 0),
        witness_meaning="the ledger is closed by a recoverer, and a bookie has received a LAC above 0",
    )


def _is_named(s: Ledger, bookie: TermLike) -> Term:
    """The bookie is in an ensemble that the metadata has for some entry."""
    return exists(s.entry, lambda e: s.in_write_set(e, bookie))


def _copies(s: Ledger, entry: TermLike, count: int) -> Term:
    """The entry is stored on so many bookies of its write set by the metadata."""
    return at_least(count, s.bookie, lambda b: s.in_write_set(entry, b) & (s.stored[b, entry] != NOTHING))


def _is_in_tail(s: Ledger, entry: TermLike) -> Term:
    """By the metadata, the entry is in a fragment that is followed by another."""
    return exists(s.generation_, lambda g: (g == s.generation) & (entry < s.first[g]))


def _recovered(s: Ledger) -> Term:
    """A recoverer has closed the ledger."""
    return exists(s.recoverer, lambda r: s.phase[r] == Phase.CLOSED)


def _acknowledged_before_a_change(s: Ledger) -> Term:
    """An acknowledged entry belongs to a fragment that was changed after the entry was first sent."""
    return exists(s.entry, lambda e: (e <= s.lac(WRITER)) & s.sent[WRITER, 1, e]) & (s.generation > 1)
