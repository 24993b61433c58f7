"""What must hold of a BookKeeper ledger."""

from __future__ import annotations

from fencepost.encoding.system import Property
from fencepost.encoding.terms import Term, at_least, exists, forall, implies
from fencepost.properties.explaining import (
    explain_disorder,
    explain_divergence,
    explain_few_copies,
    explain_invalid_fragment,
)
from fencepost.protocols.bookkeeper.state import NOTHING, WRITER, Ledger, Phase, Status


def ledger_properties(s: Ledger) -> tuple[Property, ...]:
    """The properties of one ledger, headline first."""
    return (no_divergence(s), ack_quorum_reached(s), valid_fragments(s), entries_in_order(s))


def no_divergence(s: Ledger) -> Property:
    """Nothing acknowledged is beyond the end of a closed ledger (NoDivergenceBetweenWriterAndMetaData)."""
    agreed = forall(s.client, lambda c: implies(s.phase[c] == Phase.CLOSED, s.closed_at[c] == s.last_entry))
    return Property(
        name="no-divergence",
        meaning="once the ledger is closed, no entry beyond its last entry has been acknowledged to the writer's "
        "caller, and all clients that report success of a close agree on it",
        holds=implies(s.status == Status.CLOSED, (s.lac(WRITER) <= s.last_entry) & agreed),
        witness=_recovered(s) & (s.lac(WRITER) > 0),
        witness_meaning="an entry is acknowledged and the ledger closed by a recoverer",
        explain=explain_divergence,
    )


def ack_quorum_reached(s: Ledger) -> Property:
    """What counts as written is on AQ bookies (AllCommittedEntriesReachAckQuorum, and before the close too)."""
    closed = s.status == Status.CLOSED
    return Property(
        name="ack-quorum-reached",
        meaning="an acknowledged entry, and once the ledger is closed every entry up to the last, is stored on AQ "
        "bookies of its write set by the metadata",
        holds=forall(
            s.entry,
            lambda e: implies(
                (e <= s.lac(WRITER)) & ~closed | closed & (e <= s.last_entry),
                at_least(
                    s.parameters.ack_quorum,
                    s.bookie,
                    lambda b: s.in_metadata_write_set(e, b) & (s.stored[b, e] != NOTHING),
                ),
            ),
        ),
        witness=_recovered(s) & (s.last_entry > 0),
        witness_meaning="the ledger is closed by a recoverer with an entry in it",
        explain=explain_few_copies,
    )


def valid_fragments(s: Ledger) -> Property:
    """Fragments only ever go up (OnlyValidFragments)."""
    twice = exists(
        s.generation_,
        lambda g: (
            (g <= s.generation)
            & exists(
                s.position,
                lambda i: exists(s.position, lambda j: (i < j) & (s.ensemble[g, i] == s.ensemble[g, j])),
            )
        ),
    )
    return Property(
        name="valid-fragments",
        meaning="no client tries to start a fragment below its last one, and no ensemble names a bookie twice",
        holds=forall(s.client, lambda c: ~s.tried_invalid_fragment[c]) & ~twice,
        witness=s.generation > 1,
        witness_meaning="an ensemble change is committed (there must be a spare bookie)",
        explain=explain_invalid_fragment,
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
        witness=exists(s.recoverer, lambda r: exists(s.entry, lambda e: s.complete(r, e))),
        witness_meaning="a recoverer has written an entry back",
        explain=explain_disorder,
    )


def _recovered(s: Ledger) -> Term:
    """A recoverer has closed the ledger, or found it closed."""
    closed_by_recoverer = exists(s.recoverer, lambda r: s.phase[r] == Phase.CLOSED)
    return (s.status == Status.CLOSED) & closed_by_recoverer
