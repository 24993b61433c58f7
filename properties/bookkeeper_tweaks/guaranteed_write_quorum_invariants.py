"""Why a ledger with a guaranteed write quorum is safe: facts that each action keeps, if all of them hold before it.

docs/tweaks.md says which rule each stands for. A client's *list* is its copy of the fragments; an entry's *home* is
the ensemble of the last fragment of the list that starts at or below it.
"""

from __future__ import annotations

from fencepost.encoding.language.quantifiers import exists, forall, forall_over
from fencepost.encoding.language.system import Invariant
from fencepost.encoding.language.terms import Term, TermLike, all_of, any_of, implies
from fencepost.properties.bookkeeper import common_invariants
from fencepost.properties.bookkeeper.common_invariants import (
    acked_was_accepted,
    answered_was_asked,
    contents_are_the_writers,
    found_as_answered,
    has_begun,
    listed,
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
from fencepost.protocols.bookkeeper.bookies import NOTHING
from fencepost.protocols.bookkeeper.metadata import WRITER, Status
from fencepost.protocols.bookkeeper_tweaks.guaranteed_write_quorum import GuaranteedLedger, GuaranteedPhase


def guaranteed_write_quorum_invariants(s: GuaranteedLedger) -> tuple[Invariant, ...]:
    """The facts about one ledger."""
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


# What the facts speak of.


def _same_list(s: GuaranteedLedger, client: TermLike) -> Term:
    """The metadata's list is the client's."""

    def same_set(g: Term) -> Term:
        return forall(s.bookie, lambda b: s.member[g, b] == s.own_member[client, g, b])

    return same_list(s, client, same_set)


# The ledger and its fragments.


def phases_and_status(s: GuaranteedLedger) -> Invariant:
    some_recoverer = exists(s.recoverer, lambda r: has_begun(s, r))
    return Invariant(
        name="phases-and-status",
        meaning="the ledger is there once the writer has begun, in recovery once a recoverer has, closed once a client "
        "closed it; only the writer is ever fenced out",
        holds=all_of(
            has_begun(s, WRITER) == (s.status != Status.NONE),
            implies(some_recoverer, any_of(s.status == Status.IN_RECOVERY, s.status == Status.CLOSED)),
            implies(s.status == Status.IN_RECOVERY, some_recoverer),
            forall(
                s.client, lambda c: implies(s.phase[c] == GuaranteedPhase.CLOSED, s.status == Status.CLOSED)
            ),
            forall(s.recoverer, lambda r: s.phase[r] != GuaranteedPhase.WITHDRAWN),
        ),
    )


def metadata_is_the_writers(s: GuaranteedLedger) -> Invariant:
    return common_invariants.metadata_is_the_writers(s, _same_list(s, WRITER))


def recoverers_know_the_writers(s: GuaranteedLedger) -> Invariant:
    def same_set(r: Term, g: Term) -> Term:
        return forall(s.bookie, lambda b: s.own_member[r, g, b] == s.own_member[WRITER, g, b])

    return common_invariants.recoverers_know_the_writers(s, same_set)


def own_fragments_above_start(s: GuaranteedLedger) -> Invariant:
    return Invariant(
        name="own-fragments-above-start",
        meaning="a fragment that a recoverer added starts above where its LAFR started, after enough bookies answered",
        holds=forall_over(
            (s.recoverer, s.fragment),
            lambda r, g: implies(
                (s.base[r] < g) & listed(s, r, g), s.covered(r) & (s.start(r) < s.own_first[r, g])
            ),
        ),
    )


# Adds.


def sent_to_own_fragments(s: GuaranteedLedger) -> Invariant:
    return Invariant(
        name="sent-to-own-fragments",
        meaning="adds are sent to fragments of the client's list only",
        holds=forall_over(
            (s.client, s.fragment, s.entry), lambda c, g, e: implies(s.sent[c, g, e], listed(s, c, g))
        ),
    )


def accepted_is_stored(s: GuaranteedLedger) -> Invariant:
    return Invariant(
        name="accepted-is-stored",
        meaning="what a bookie accepted it stores",
        holds=forall_over(
            (s.client, s.fragment, s.entry, s.bookie),
            lambda c, g, e, b: implies(s.add_stored(c, g, e, b), s.has(b, e)),
        ),
    )


def acknowledged_stays_acked(s: GuaranteedLedger) -> Invariant:
    return Invariant(
        name="acknowledged-stays-acked",
        meaning="no ensemble change takes acks away that the LAC counts: the bookie is pinned",
        holds=forall(
            s.client,
            lambda c: all_of(
                s.kept_lac[c] <= s.run(c, s.parameters.ack_quorum),
                has_begun(s, c) | (s.kept_lac[c] == 0),
            ),
        ),
    )


def adds_carry_own_prefixes(s: GuaranteedLedger) -> Invariant:
    frozen = s.parameters.recovery_adds == "frozen"

    def own(c: Term, g: Term, e: Term) -> Term:
        return (s.sent_lac[c, g, e] <= s.lac(c)) & (s.sent_lafr[c, g, e] <= s.lafr(c))

    def at_start(r: Term, g: Term, e: Term) -> Term:
        return (s.sent_lac[r, g, e] <= s.start(r)) & (s.sent_lafr[r, g, e] <= s.start(r))

    return Invariant(
        name="adds-carry-own-prefixes",
        meaning="no add carries a LAC or LAFR above those of who sent it"
        + (", and none of a recoverer any above where it started" if frozen else ""),
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


def read_is_stored(s: GuaranteedLedger) -> Invariant:
    return Invariant(
        name="read-is-stored",
        meaning="an entry that a bookie gave a recoverer is stored there",
        holds=forall_over(
            (s.recoverer, s.entry, s.bookie),
            lambda r, e, b: implies(s.read_content[r, e, b] != NOTHING, s.has(b, e)),
        ),
    )


# Recovery.


def reading_fences(s: GuaranteedLedger) -> Invariant:
    return Invariant(
        name="reading-fences",
        meaning="a bookie that handled a recovery read is fenced",
        holds=forall_over(
            (s.recoverer, s.read_entry, s.bookie),
            lambda r, e, b: implies(s.read_handled[r, e, b], s.fenced[b]),
        ),
    )


def reads_above_start(s: GuaranteedLedger) -> Invariant:
    return Invariant(
        name="reads-above-start",
        meaning="entries are read above where the recoverer's LAFR started, after enough bookies answered",
        holds=forall_over(
            (s.recoverer, s.read_entry),
            lambda r, e: implies(s.read_sent[r, e], s.covered(r) & (s.start(r) < e)),
        ),
    )


def absent_stays_absent(s: GuaranteedLedger) -> Invariant:
    def absent(r: Term, e: Term, b: Term) -> Term:
        return s.read_handled[r, e, b] & (s.read_content[r, e, b] == NOTHING)

    return Invariant(
        name="absent-stays-absent",
        meaning="a bookie that answered a recovery read with NoSuchEntry never accepts that entry from the writer",
        holds=forall_over(
            (s.recoverer, s.entry, s.bookie), lambda r, e, b: implies(absent(r, e, b), ~took(s, WRITER, e, b))
        ),
    )


def closed_for_a_reason(s: GuaranteedLedger) -> Invariant:
    by_writer = all_of(
        s.phase[WRITER] == GuaranteedPhase.CLOSED,
        s.last_entry == s.lac(WRITER),
        s.last_entry == s.lafr(WRITER),
        _same_list(s, WRITER),
        ~exists(s.recoverer, lambda r: has_begun(s, r)),
    )

    def recovered(r: Term) -> Term:
        return all_of(
            s.phase[r] == GuaranteedPhase.CLOSED,
            s.last_entry == s.lafr(r),
            s.start(r) <= s.last_entry,
            _same_list(s, r),
            exists(s.read_entry, lambda e: (e == s.last_entry + 1) & s.negative(r, e)),
        )

    return Invariant(
        name="closed-for-a-reason",
        meaning="a closed ledger was closed by the writer at its LAC and LAFR before anyone began to recover it, or by a "
        "recoverer at its LAFR that had found that the next entry is not there; with that client's list",
        holds=implies(s.status == Status.CLOSED, by_writer | exists(s.recoverer, recovered)),
    )


def lafrs_below_the_writers(s: GuaranteedLedger) -> Invariant:
    """Recovery starts at most at the writer's LAFR: of one recoverer, or if write-backs carry its start."""
    return Invariant(
        name="lafrs-below-the-writers",
        meaning="LAFRs that bookies told a recoverer before it had heard enough are not above the writer's",
        holds=forall_over(
            (s.recoverer, s.bookie),
            lambda r, b: implies(
                s.fence_answered[r, b] | ~s.covered(r), s.fence_told[r, b] <= s.lafr(WRITER)
            ),
        ),
    )
