"""Why a ledger with a guaranteed write quorum is safe: invariants that every action keeps.

An action keeps each of them if all of them hold before it. docs/tweaks.md says which rule each invariant
stands for. A client's *list* is its copy of the fragments. An entry's *home* is the ensemble of the last
fragment of the list that starts at or below it.
"""

from __future__ import annotations

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, forall, forall_over
from fencepost.encoding.language.system import Invariant, invariant
from fencepost.encoding.language.terms import Term, all_of, any_of
from fencepost.properties.bookkeeper.common_invariants import (
    acked_was_accepted,
    answered_was_asked,
    contents_are_the_writers,
    found_as_answered,
    has_begun,
    listed,
    metadata_is_the_writers,
    recoverers_know_the_writers,
    same_list,
    took,
    written_back_was_found,
)
from fencepost.properties.bookkeeper_tweaks.full_replication_invariants import (
    acks_of_current_members,
    ensembles_have_wq_members,
    handled_was_sent,
    last_fragment_reaches_lafr,
    replicated_at_home,
)
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Status
from fencepost.protocols.bookkeeper_tweaks.guaranteed_write_quorum import GuaranteedLedger, GuaranteedPhase


def guaranteed_write_quorum_invariants(s: GuaranteedLedger) -> tuple[Invariant, ...]:
    """Return the invariants of one ledger."""
    p = s.parameters
    return (
        phases_and_status(s),
        ensembles_have_wq_members(s),
        last_fragment_reaches_lafr(s),
        metadata_is_the_writers(s),
        recoverers_know_the_writers(s),
        own_fragments_above_start(s),
        sent_to_own_fragments(s),
        handled_was_sent(s),
        accepted_is_stored(s),
        acked_was_accepted(s),
        acks_of_current_members(s),
        replicated_at_home(s),
        acknowledged_stays_acked(s),
        contents_are_the_writers(s),
        found_as_answered(s),
        read_is_stored(s),
        answered_was_asked(s, s.recoverer, s.read_entry, s.read_to),
        reading_fences(s),
        reads_above_start(s),
        written_back_was_found(s),
        absent_stays_absent(s),
        closed_for_a_reason(s),
        adds_carry_own_prefixes(s),
        *((lafrs_below_the_writers(s),) if p.recoverers == 1 or p.recovery_adds == "frozen" else ()),
    )


# The ledger and its fragments.


@invariant(
    "the ledger exists once the writer has begun, is in recovery or closed once a recoverer has begun, and "
    "is closed once a client has closed it; only the writer can be fenced out"
)
def phases_and_status(s: GuaranteedLedger) -> Term:
    """Return the invariant that ties the clients' phases to the status of the ledger."""
    some_recoverer = exists(s.recoverer, lambda r: has_begun(s, r))
    return all_of(
        has_begun(s, WRITER) == (s.status != Status.NONE),
        implies(some_recoverer, any_of(s.status == Status.IN_RECOVERY, s.status == Status.CLOSED)),
        implies(s.status == Status.IN_RECOVERY, some_recoverer),
        forall(s.client, lambda c: implies(s.phase[c] == GuaranteedPhase.CLOSED, s.status == Status.CLOSED)),
        forall(s.recoverer, lambda r: s.phase[r] != GuaranteedPhase.WITHDRAWN),
    )


@invariant(
    "a recoverer adds a fragment only after enough bookies have answered, and "
    "the fragment starts above the LAFR that the recoverer started from"
)
def own_fragments_above_start(s: GuaranteedLedger) -> Term:
    """Return the invariant that a recoverer moves only entries above the LAFR that it started from."""
    return forall_over(
        (s.recoverer, s.fragment),
        lambda r, g: implies(
            (s.base[r] < g) & listed(s, r, g), s.covered(r) & (s.start(r) < s.own_first[r, g])
        ),
    )


# Adds.


@invariant("a client sends adds only to fragments of its list")
def sent_to_own_fragments(s: GuaranteedLedger) -> Term:
    """Return the invariant that adds go only to fragments that the client knows."""
    return forall_over(
        (s.client, s.fragment, s.entry), lambda c, g, e: implies(s.sent[c, g, e], listed(s, c, g))
    )


@invariant("a bookie stores every entry that it has accepted")
def accepted_is_stored(s: GuaranteedLedger) -> Term:
    """Return the invariant that bookies keep what they accept."""
    return forall_over(
        (s.client, s.fragment, s.entry, s.bookie),
        lambda c, g, e, b: implies(s.add_stored(c, g, e, b), s.has(b, e)),
    )


@invariant("an ensemble change withdraws no ack that the LAC counts, because the bookie is pinned")
def acknowledged_stays_acked(s: GuaranteedLedger) -> Term:
    """Return the invariant about pinned bookies: their acks stay."""
    return forall(
        s.client,
        lambda c: all_of(
            s.kept_lac[c] <= s.run(c, s.parameters.ack_quorum), has_begun(s, c) | (s.kept_lac[c] == 0)
        ),
    )


def adds_carry_own_prefixes(s: GuaranteedLedger) -> Invariant:
    """Return the invariant about the LAC and LAFR that adds carry."""
    frozen = s.parameters.recovery_adds == "frozen"

    def own(c: Term, g: Term, e: Term) -> Term:
        return (s.sent_lac[c, g, e] <= s.lac(c)) & (s.sent_lafr[c, g, e] <= s.lafr(c))

    def at_start(r: Term, g: Term, e: Term) -> Term:
        return (s.sent_lac[r, g, e] <= s.start(r)) & (s.sent_lafr[r, g, e] <= s.start(r))

    return Invariant(
        name="adds-carry-own-prefixes",
        meaning="no add carries a LAC or LAFR above that of its sender"
        + (", and no add of a recoverer carries one above the LAFR that it started from" if frozen else ""),
        holds=all_of(
            forall_over(
                (s.client, s.fragment, s.entry), lambda c, g, e: implies(s.sent[c, g, e], own(c, g, e))
            ),
            *(
                (
                    forall_over(
                        (s.recoverer, s.fragment, s.entry),
                        lambda r, g, e: implies(s.sent[r, g, e], at_start(r, g, e)),
                    ),
                )
                if frozen
                else ()
            ),
        ),
    )


# Contents.


@invariant("a bookie stores every entry that it has given a recoverer")
def read_is_stored(s: GuaranteedLedger) -> Term:
    """Return the invariant that answers to recovery reads are true."""
    return forall_over(
        (s.recoverer, s.entry, s.bookie),
        lambda r, e, b: implies(s.read_content[r, e, b] != NOTHING, s.has(b, e)),
    )


# Recovery.


@invariant("a bookie that has handled a recovery read is fenced")
def reading_fences(s: GuaranteedLedger) -> Term:
    """Return the invariant that a recovery read fences."""
    return forall_over(
        (s.recoverer, s.read_entry, s.bookie), lambda r, e, b: implies(s.read_handled[r, e, b], s.fenced[b])
    )


@invariant(
    "a recoverer reads only entries above the LAFR that it started from, after "
    "enough bookies have answered its fencing reads"
)
def reads_above_start(s: GuaranteedLedger) -> Term:
    """Return the invariant that recovery reads begin after fencing, above the recoverer's start."""
    return forall_over(
        (s.recoverer, s.read_entry), lambda r, e: implies(s.read_sent[r, e], s.covered(r) & (s.start(r) < e))
    )


@invariant(
    "a bookie that has answered a recovery read with NoSuchEntry never accepts that entry from the writer"
)
def absent_stays_absent(s: GuaranteedLedger) -> Term:
    """Return the invariant that a fenced bookie accepts nothing more from the writer."""

    def absent(r: Term, e: Term, b: Term) -> Term:
        return s.read_handled[r, e, b] & (s.read_content[r, e, b] == NOTHING)

    return forall_over(
        (s.recoverer, s.entry, s.bookie), lambda r, e, b: implies(absent(r, e, b), ~took(s, WRITER, e, b))
    )


@invariant(
    "the writer closed the ledger at its LAC and LAFR before any recovery began, or a recoverer closed it at "
    "its LAFR and had found the next entry absent; the metadata's list is that of this client"
)
def closed_for_a_reason(s: GuaranteedLedger) -> Term:
    """Return the invariant that a close is justified: the client that closed the ledger had the right to."""
    by_writer = all_of(
        s.phase[WRITER] == GuaranteedPhase.CLOSED,
        s.last_entry == s.lac(WRITER),
        s.last_entry == s.lafr(WRITER),
        same_list(s, WRITER),
        ~exists(s.recoverer, lambda r: has_begun(s, r)),
    )

    def recovered(r: Term) -> Term:
        return all_of(
            s.phase[r] == GuaranteedPhase.CLOSED,
            s.last_entry == s.lafr(r),
            s.start(r) <= s.last_entry,
            same_list(s, r),
            exists(s.read_entry, lambda e: (e == s.last_entry + 1) & s.negative(r, e)),
        )

    return implies(s.status == Status.CLOSED, by_writer | exists(s.recoverer, recovered))


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
        lambda r, b: implies(s.fence_answered[r, b] | ~s.covered(r), s.fence_told[r, b] <= s.lafr(WRITER)),
    )
