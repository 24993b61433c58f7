"""What must hold of a BookKeeper ledger."""

from __future__ import annotations

from fencepost.encoding.language.system import Property, Schema, System
from fencepost.encoding.language.terms import (
    FALSE,
    Constant,
    Parameter,
    Term,
    any_of,
    at_least,
    exists,
    exists_over,
    forall,
    forall_over,
    implies,
    lift,
)
from fencepost.properties.explaining import (
    explain_dirty_read,
    explain_disorder,
    explain_divergence,
    explain_few_copies,
    explain_invalid_fragment,
    explain_stuck,
)
from fencepost.protocols.bookkeeper.bookies import NOTHING
from fencepost.protocols.bookkeeper.metadata import WRITER, Phase, Status
from fencepost.protocols.bookkeeper.state import Ledger


def ledger_properties(system: System) -> tuple[Property, ...]:
    """The properties of one ledger, headline first."""
    s = system.state
    assert isinstance(s, Ledger)
    copies_stay = not s.parameters.copies_may_vanish
    return (
        no_divergence(s),
        acked_entries_readable(s),
        *((ack_quorum_reached(s),) if copies_stay else ()),
        valid_fragments(s),
        entries_in_order(s),
        no_dirty_read(s),
        *((fencing_is_enough(s),) if s.parameters.crashes == 0 else ()),
        recovery_can_finish(system),
        *((repair_is_complete(s),) if s.parameters.boots_in_steps else ()),
    )


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


def acked_entries_readable(s: Ledger) -> Property:
    """An acknowledged entry can be read (AllAckedEntriesAreReadable)."""

    def readable(e: Term) -> Term:
        return exists(s.bookie, lambda b: s.in_metadata_write_set(e, b) & (s.stored[b, e] == e))

    return Property(
        name="acked-entries-readable",
        meaning="an acknowledged entry is stored, with the content that the writer pushed, on a bookie of its write "
        "set by the metadata",
        holds=forall(s.entry, lambda e: implies(e <= s.lac(WRITER), readable(e))),
        witness=s.lac(WRITER) > 0,
        witness_meaning="an entry is acknowledged",
        explain=explain_few_copies,
    )


def valid_fragments(s: Ledger) -> Property:
    """Fragments only ever go up (OnlyValidFragments)."""
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
        meaning="no client tries to start a fragment below its last one, and no ensemble names a bookie twice",
        holds=forall(s.client, lambda c: ~s.tried_invalid_fragment[c]) & ~twice,
        witness=s.last_fragment > 1,
        witness_meaning="an ensemble change is committed (there must be a spare bookie)",
        explain=explain_invalid_fragment,
    )


def entries_in_order(s: Ledger) -> Property:
    """Bookies hold as entry e what the writer pushed as e (NoOutOfOrderEntries)."""
    return Property(
        name="entries-in-order",
        meaning="what a bookie stores as entry e is what the writer pushed as entry e",
        holds=forall_over(
            (s.bookie, s.entry), lambda b, e: (s.stored[b, e] == NOTHING) | (s.stored[b, e] == e)
        ),
        witness=exists_over((s.recoverer, s.entry), s.complete),
        witness_meaning="a recoverer has written an entry back",
        explain=explain_disorder,
    )


def no_dirty_read(s: Ledger) -> Property:
    """A LAC that is out in the world stays true: readers trust it (NoDirtyReads in the tweaks of bookkeeper-tlaplus)."""

    def told(lac: Term) -> Term:
        """Some bookie has stored an entry that carries a LAC above this: whoever reads it there is told."""
        return exists_over(
            (s.client, s.entry),
            lambda c, e: (
                (lac < s.pushed_lac[c, e])
                & exists_over((s.fragment, s.bookie), lambda g, b: _stored_add(s, c, g, e, b))
            ),
        )

    return Property(
        name="no-dirty-read",
        meaning="no reader was ever told a LAC beyond the last entry of the closed ledger",
        holds=implies(s.status == Status.CLOSED, ~told(s.last_entry)),
        witness=_recovered(s) & told(lift(0)),
        witness_meaning="a LAC above 0 was told to readers and the ledger closed by a recoverer",
        explain=explain_dirty_read,
    )


def _stored_add(s: Ledger, client: Term, fragment: Term, entry: Term, bookie: Term) -> Term:
    index = (client, fragment, entry, bookie)
    return s.add_handled[index] & ~s.add_refused[index]


def fencing_is_enough(s: Ledger) -> Property:
    """What the coverage rule is for (RRQuorumCoverageSet.checkCovered)."""

    def unfenced(r: Term, position: Term) -> Term:
        return exists(s.bookie, lambda b: s.is_at(r, s.base[r], position, b) & ~s.fenced[b])

    def writable(r: Term) -> Term:
        return exists(
            s.position,
            lambda start: at_least(
                s.parameters.ack_quorum, s.position, lambda i: s.in_window[start, i] & unfenced(r, i)
            ),
        )

    active = exists(s.recoverer, lambda r: (s.phase[r] == Phase.ACTIVE) & s.covered(r))
    return Property(
        name="fencing-is-enough",
        meaning="once a recoverer has heard from enough bookies, no AQ bookies of a write set of the ensemble that it "
        "fenced are without a fence",
        holds=forall(
            s.recoverer, lambda r: implies((s.phase[r] == Phase.ACTIVE) & s.covered(r), ~writable(r))
        ),
        witness=active,
        witness_meaning="a recoverer has heard from enough bookies",
    )


def repair_is_complete(s: Ledger) -> Property:
    """What phase two of the boot sequence promises (BP-46)."""
    checked = exists(s.bookie, lambda b: s.serves(b) & s.checked[b])
    return Property(
        name="repair-is-complete",
        meaning="once the check of a crashed bookie is over and the ledger closed, the bookie stores every entry that the "
        "metadata places on it",
        holds=forall(
            s.bookie,
            lambda b: implies(
                s.checked[b] & (s.status == Status.CLOSED),
                forall(
                    s.entry,
                    lambda e: implies(
                        (e <= s.last_entry) & s.in_metadata_write_set(e, b), s.stored[b, e] != NOTHING
                    ),
                ),
            ),
        ),
        witness=checked & (s.status == Status.CLOSED) & (s.last_entry > 0),
        witness_meaning="the check of a crashed bookie is over and the ledger closed with an entry in it",
        explain=explain_few_copies,
    )


GIVING_UP = ("abandon recovery", "try invalid fragment", "abandon change")
"""What a recoverer may do that does not bring recovery forward."""


def recovery_can_finish(system: System) -> Property:
    """No recovery is stuck for good, whatever is late or timed out: a search for states where nothing can happen.

    A message that was lost, or went down with a bookie, counts as under way, because a new attempt would send it
    again; what cannot be mended by trying again is that recovery itself or its bookies have nothing to do.
    """
    s = system.state
    assert isinstance(s, Ledger)
    sent_again = (s.add_dropped, s.fence_dropped, s.read_dropped) if s.parameters.crashes else ()
    helpful = [schema for schema in system.schemas if _brings_recovery_forward(s, schema)]

    def waits(r: Term) -> Term:
        last = s.own_last_fragment[r] == s.parameters.possible_fragments
        beyond_cap = s.changing(r) & last if s.parameters.bookies > s.parameters.ensemble else FALSE
        return (s.phase[r] == Phase.ACTIVE) & ~s.overtaken[r] & ~beyond_cap

    stuck = (
        (s.status == Status.IN_RECOVERY)
        & exists(s.recoverer, waits)
        & ~any_of(*(schema.could_happen(sent_again) for schema in helpful))
    )
    return Property(
        name="recovery-can-finish",
        meaning="never is a ledger in recovery and a recoverer at work, while nothing can happen that brings recovery "
        "forward, even if no message had been lost",
        holds=~stuck,
        witness=_recovered(s),
        witness_meaning="the ledger is closed by a recoverer",
        explain=explain_stuck,
    )


def _brings_recovery_forward(s: Ledger, schema: Schema) -> bool:
    """The action is not the writer's own, no fault, and not giving up."""
    actor = lift(schema.action.actor)
    writers = isinstance(actor, Parameter) and actor.sort is s.writer
    writers = writers or (isinstance(actor, Constant) and actor.value == WRITER)
    return not writers and schema.action.fault is None and schema.name not in GIVING_UP


def _recovered(s: Ledger) -> Term:
    """A recoverer has closed the ledger, or found it closed."""
    closed_by_recoverer = exists(s.recoverer, lambda r: s.phase[r] == Phase.CLOSED)
    return (s.status == Status.CLOSED) & closed_by_recoverer
