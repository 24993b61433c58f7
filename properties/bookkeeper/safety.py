"""Safety properties of a ledger: no acknowledged entry is lost, cut off, reordered or promised early."""

from __future__ import annotations

from functools import partial

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import at_least, exists, exists_over, forall, forall_over
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import Term, lift
from fencepost.properties.bookkeeper import explanations
from fencepost.properties.bookkeeper.common_invariants import accepted
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Phase, Status


def no_divergence(s: Ledger) -> Property:
    """Return the property NoDivergenceBetweenWriterAndMetaData of the TLA+ module."""
    agreed = forall(s.client, lambda c: implies(s.phase[c] == Phase.CLOSED, s.closed_at[c] == s.last_entry))
    return Property(
        name="no-divergence",
        meaning="once the ledger is closed, the writer has acknowledged no entry beyond the last one, and "
        "every client that reports a successful close reports the same last entry",
        holds=implies(s.status == Status.CLOSED, (s.lac(WRITER) <= s.last_entry) & agreed),
        witness=recovered(s) & (s.lac(WRITER) > 0),
        witness_meaning="an entry is acknowledged, and a recoverer has closed the ledger",
        explain=partial(explanations.explain_divergence, s),
    )


def ack_quorum_reached(s: Ledger) -> Property:
    """Return the property AllCommittedEntriesReachAckQuorum, extended to the time before the close."""
    closed = s.status == Status.CLOSED
    return Property(
        name="ack-quorum-reached",
        meaning="before the close every acknowledged entry, and after it every entry up to "
        "the last, is stored on AQ bookies of its write set in the metadata",
        holds=forall(
            s.entry,
            lambda e: implies(
                ((e <= s.lac(WRITER)) & ~closed | closed & (e <= s.last_entry)) & ~s.is_deleted(),
                at_least(
                    s.parameters.ack_quorum,
                    s.bookie,
                    lambda b: s.in_metadata_write_set(e, b) & (s.stored[b, e] != NOTHING),
                ),
            ),
        ),
        witness=recovered(s) & (s.last_entry > 0),
        witness_meaning="a recoverer has closed the ledger with an entry in it",
        explain=partial(explanations.explain_few_copies, s),
    )


def acked_entries_readable(s: Ledger) -> Property:
    """Return the property AllAckedEntriesAreReadable of the TLA+ module."""

    def readable(e: Term) -> Term:
        return exists(s.bookie, lambda b: s.in_metadata_write_set(e, b) & (s.stored[b, e] == e))

    return Property(
        name="acked-entries-readable",
        meaning="every acknowledged entry is stored, with the content that the writer pushed, on "
        "at least one bookie of its write set in the metadata, also if the ledger is closed without it",
        holds=s.is_deleted() | forall(s.entry, lambda e: implies(e <= s.lac(WRITER), readable(e))),
        witness=s.lac(WRITER) > 0,
        witness_meaning="an entry is acknowledged",
        explain=partial(explanations.explain_few_copies, s),
    )


def valid_fragments(s: Ledger) -> Property:
    """Return the property OnlyValidFragments: fragments start at ever higher entries."""
    twice = exists(
        s.fragment,
        lambda g: (
            (g <= s.last_fragment)
            & exists_over(
                (s.position, s.position), lambda i, j: (i < j) & (s.ensemble[g, i] == s.ensemble[g, j])
            )
        ),
    )
    return Property(
        name="valid-fragments",
        meaning="no client tries to start a fragment below its last one, and no ensemble names a bookie "
        "twice",
        holds=forall(s.client, lambda c: ~s.tried_invalid_fragment[c]) & ~twice,
        witness=s.last_fragment > 1,
        witness_meaning="an ensemble change is committed (needs a spare bookie)",
        explain=partial(explanations.explain_invalid_fragment, s),
    )


def entries_in_order(s: Ledger) -> Property:
    """Return the property NoOutOfOrderEntries of the TLA+ module."""
    return Property(
        name="entries-in-order",
        meaning="a bookie stores as entry e only the content that the writer pushed as entry e",
        holds=forall_over(
            (s.bookie, s.entry), lambda b, e: (s.stored[b, e] == NOTHING) | (s.stored[b, e] == e)
        ),
        witness=exists_over((s.recoverer, s.entry), s.complete),
        witness_meaning="a recoverer has written an entry back",
        explain=partial(explanations.explain_disorder, s),
    )


def no_dirty_read(s: Ledger) -> Property:
    """Return the property that readers can trust a LAC (NoDirtyReads in the tweaks of bookkeeper-tlaplus)."""

    def told(lac: Term) -> Term:
        """Return whether some bookie has stored an entry with a higher LAC, which readers then receive."""
        return exists_over(
            (s.client, s.entry),
            lambda c, e: (
                (lac < s.pushed_lac[c, e])
                & exists_over((s.fragment, s.bookie), lambda g, b: accepted(s, c, g, e, b))
            ),
        )

    return Property(
        name="no-dirty-read",
        meaning="no reader can have received a LAC beyond the last entry of the closed ledger",
        holds=implies(s.status == Status.CLOSED, ~told(s.last_entry)),
        witness=recovered(s) & told(lift(0)),
        witness_meaning="a reader can have received a LAC above 0, and a recoverer has closed the ledger",
        explain=partial(explanations.explain_dirty_read, s),
    )


def recovered(s: Ledger) -> Term:
    """Return whether a recoverer has closed the ledger, or found it closed."""
    closed_by_recoverer = exists(s.recoverer, lambda r: s.phase[r] == Phase.CLOSED)
    return (s.status == Status.CLOSED) & closed_by_recoverer
