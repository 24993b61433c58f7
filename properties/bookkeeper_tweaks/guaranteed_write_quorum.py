"""Properties of a ledger with a guaranteed write quorum (rule 14), and the invariants that make it safe.

An action keeps each invariant if all of them hold before it. Most are those of today's protocol.
docs/tweaks.md has those that a mutant breaks, with the rule behind each.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, forall, forall_over
from fencepost.encoding.language.system import Invariant, Property, invariant
from fencepost.encoding.language.terms import Term, all_of
from fencepost.properties.bookkeeper import common_invariants as common
from fencepost.properties.bookkeeper import invariants as todays
from fencepost.properties.bookkeeper import safety
from fencepost.properties.bookkeeper_tweaks import full_replication as full
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER
from fencepost.protocols.bookkeeper_tweaks.guaranteed_write_quorum import GuaranteedLedger


def guaranteed_write_quorum_properties(s: GuaranteedLedger) -> tuple[Property, ...]:
    """Return the properties of today's protocol, the main one first, then those that the change adds."""
    moved = exists(s.entry, lambda e: (e <= s.lac(WRITER)) & (s.pushed_in[WRITER, e] == 1))
    readable = replace(
        safety.acked_entries_readable(s),
        witness=moved & (s.last_fragment > 1),
        witness_meaning="an entry is acknowledged and the ensemble has changed since it was sent "
        "(needs a spare bookie)",
    )
    return (
        safety.no_divergence(s),
        readable,
        safety.ack_quorum_reached(s),
        full.valid_fragments(s),
        safety.entries_in_order(s),
        full.tail_fragments_at_wq(s),
        full.closed_ledger_at_wq(s),
        full.lac_entry_at_aq(s),
        full.no_dirty_read(s),
        full.closes_recorded(s),
    )


def guaranteed_write_quorum_invariants(s: GuaranteedLedger) -> tuple[Invariant, ...]:
    """Return the invariants of one ledger."""
    p = s.proposal
    return (
        todays.phases_and_status(s),
        todays.bookies_stand_once(s),
        full.last_fragment_reaches_lafr(s),
        common.metadata_is_the_writers(s),
        common.recoverers_know_the_writers(s),
        todays.own_fragments_above_start(s),
        todays.sent_to_own_fragments(s),
        todays.handled_was_sent(s),
        todays.accepted_is_stored(s),
        common.acked_was_accepted(s),
        full.acks_of_current_members(s),
        full.replicated_at_home(s),
        acknowledged_stays_acked(s),
        common.contents_are_the_writers(s),
        common.found_as_answered(s),
        read_is_stored(s),
        common.answered_was_asked(s, s.recoverer, s.read_entry),
        todays.reading_fences(s),
        todays.reads_above_start(s),
        common.written_back_was_found(s),
        todays.absent_stays_absent(s),
        todays.closed_for_a_reason(s),
        full.closed_at_the_end(s),
        full.adds_carry_own_prefixes(s, s.is_frozen),
        *((lafrs_below_the_writers(s),) if p.recoverers == 1 or p.recovery_adds == "frozen" else ()),
    )


@invariant("an ensemble change withdraws no ack that the LAC counts, because the bookie is pinned")
def acknowledged_stays_acked(s: GuaranteedLedger) -> Term:
    """Return the invariant about pinned bookies: their acks stay."""
    return forall(
        s.client,
        lambda c: all_of(
            s.frozen_lac[c] <= s.highest_acked(c), common.has_begun(s, c) | (s.frozen_lac[c] == 0)
        ),
    )


@invariant("a bookie stores every entry that it has given a recoverer")
def read_is_stored(s: GuaranteedLedger) -> Term:
    """Return the invariant that answers to recovery reads are true."""
    return forall_over(
        (s.recoverer, s.entry, s.bookie),
        lambda r, e, b: implies(s.read_content[r, e, b] != NOTHING, s.has(b, e)),
    )


@invariant(
    "the writer's LAFR is not below the LAFRs that bookies told a recoverer "
    "before enough of them had answered"
)
def lafrs_below_the_writers(s: GuaranteedLedger) -> Term:
    """Return the invariant that recovery starts at the writer's LAFR or below.

    It is declared for one recoverer, or if write-backs carry the LAFR that recovery started from.
    """
    return forall_over(
        (s.recoverer, s.bookie),
        lambda r, b: implies(s.fence_answered[r, b] | ~s.covered(r), s.fence_lac[r, b] <= s.lafr(WRITER)),
    )
