"""Why a ledger is safe: facts about every reachable state that each action keeps, if all of them hold before it.

With them every property that holds is proved one action at a time, whatever the depth. docs/why-safe.md says which
rule of the protocol each fact stands for, and which bug breaks it.

A client's *list* is its copy of the fragments in the metadata. An entry's *home* is its write set in the last
fragment of the list that starts at or below it; its *current* bookies are its write set in the last fragment.
"""

from __future__ import annotations

from fencepost.encoding.language.quantifiers import at_least, exists, exists_over, forall, forall_over
from fencepost.encoding.language.system import Invariant, System
from fencepost.encoding.language.terms import FALSE, TRUE, Term, TermLike, all_of, any_of, implies, lift
from fencepost.properties.bookkeeper import common_invariants
from fencepost.properties.bookkeeper.boot_invariants import (
    boot_invariants,
    has_crashed,
    has_left_limbo,
    in_limbo,
    is_fenced,
    is_too_late,
)
from fencepost.properties.bookkeeper.common_invariants import (
    accepted,
    acked_was_accepted,
    contents_are_the_writers,
    found_as_answered,
    has_begun,
    in_own_fragment_of,
    listed,
    same_list,
    took,
    written_back_was_found,
)
from fencepost.properties.bookkeeper.durability_invariants import durability_invariants
from fencepost.protocols.bookkeeper.bookies import NOTHING
from fencepost.protocols.bookkeeper.layers.published import to_resend
from fencepost.protocols.bookkeeper.metadata import WRITER, Phase, Status
from fencepost.protocols.bookkeeper.state import Ledger


def ledger_invariants(system: System) -> tuple[Invariant, ...]:
    """The facts about one ledger."""
    s = system.state
    assert isinstance(s, Ledger)
    p = s.parameters
    return (
        phases_and_status(s),
        bookies_stand_once(s),
        *((one_bookie_at_a_time(s),) if p.recovery_metadata == "at-once" else ()),
        last_fragment_reaches_lac(s),
        metadata_is_the_writers(s) if p.recovery_metadata == "at-close" else metadata_is_in_step(s),
        recoverers_know_the_writers(s),
        own_fragments_above_start(s),
        changes_in_progress(s),
        sent_to_own_fragments(s),
        handled_was_sent(s),
        accepted_is_stored(s),
        acked_was_accepted(s),
        acks_of_current_bookies(s),
        confirmed_at_home(s),
        contents_are_the_writers(s),
        found_as_answered(s),
        answered_was_asked(s),
        fencing_fences(s),
        reading_fences(s),
        reads_above_start(s),
        written_back_was_found(s),
        absent_stays_absent(s),
        closed_for_a_reason(s),
        write_backs_are_accepted(s),
        answers_are_counted(s),
        pending_is_under_way(s),
        *((all_answers_are_enough(s),) if p.read_decision == "all-answers" else ()),
        *(boot_invariants(s) if p.boots_in_steps else ()),
        *((limbo_after_crashes(s), unknown_from_limbo(s)) if p.crashes else ()),
        *(durability_invariants(s) if s.is_durability_modelled else ()),
        *((adds_carry_own_lacs(s),) if p.writer_close == "open-only" else ()),
        *((lacs_below_the_writers(s),) if p.recoverers == 1 or p.recovery_lac == "frozen" else ()),
    )


# What the facts speak of.


def is_current(s: Ledger, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """The bookie is in the entry's write set in the last fragment of the client's list."""
    return exists(
        s.fragment,
        lambda g: (s.own_last_fragment[client] == g) & s.in_write_set_of(client, g, entry, bookie),
    )


def is_home(s: Ledger, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """The bookie is in the entry's write set in the last fragment of the client's list that starts at or below it."""
    return in_own_fragment_of(entry, s, client, lambda g: s.in_write_set_of(client, g, entry, bookie))


def is_fixed(s: Ledger, recoverer: TermLike) -> Term:
    """Enough bookies have told the recoverer that they are fenced, and where its LAC starts moves no more."""
    if s.parameters.fence_answers == "until-covered":
        return s.covered(recoverer)
    return s.covered(recoverer) & ~s.hears_fencing(recoverer)


def is_due(s: Ledger, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """The client has yet to send the entry to that newcomer, in a step of its own."""
    if not _resends_one_by_one(s):
        return FALSE
    return exists(
        s.fragment,
        lambda g: all_of(
            s.own_last_fragment[client] == g,
            to_resend(s, client, g, entry),
            s.is_newcomer(client, g, bookie),
        ),
    )


def _resends_one_by_one(s: Ledger) -> bool:
    return s.parameters.resends == "one-by-one"


# Lists of fragments.


def bookies_stand_once(s: Ledger) -> Invariant:
    return Invariant(
        name="bookies-stand-once",
        meaning="no ensemble of a client's list names a bookie twice",
        holds=forall_over(
            (s.client, s.fragment, s.position, s.position),
            lambda c, g, i, j: implies(
                (i < j) & listed(s, c, g), s.own_ensemble[c, g, i] != s.own_ensemble[c, g, j]
            ),
        ),
    )


def one_bookie_at_a_time(s: Ledger) -> Invariant:
    """Where recovery commits its changes at once: the bookies that are left have what was acknowledged."""

    def replaces_two(c: Term, g: Term, i: Term, j: Term) -> Term:
        def replaces(h: Term, k: Term) -> Term:
            return s.own_ensemble[c, g, k] != s.own_ensemble[c, h, k]

        return exists(s.fragment, lambda h: (h + 1 == g) & replaces(h, i) & replaces(h, j))

    return Invariant(
        name="one-bookie-at-a-time",
        meaning="an ensemble of a client's list differs from the one before it in one bookie at most",
        holds=forall_over(
            (s.client, s.fragment, s.position, s.position),
            lambda c, g, i, j: implies((i < j) & listed(s, c, g), ~replaces_two(c, g, i, j)),
        ),
    )


def last_fragment_reaches_lac(s: Ledger) -> Invariant:
    return Invariant(
        name="last-fragment-reaches-lac",
        meaning="the last fragment of a client's list starts at most at its LAC + 1",
        holds=forall_over(
            (s.client, s.fragment),
            lambda c, g: implies(s.own_last_fragment[c] == g, s.own_first[c, g] <= s.lac(c) + 1),
        ),
    )


def _same_list(s: Ledger, client: TermLike) -> Term:
    """The metadata's list is the client's."""

    def same_row(g: Term) -> Term:
        return forall(s.position, lambda i: s.ensemble[g, i] == s.own_ensemble[client, g, i])

    return same_list(s, client, same_row)


def metadata_is_the_writers(s: Ledger) -> Invariant:
    return common_invariants.metadata_is_the_writers(s, _same_list(s, WRITER))


def metadata_is_in_step(s: Ledger) -> Invariant:
    """Where recovery commits its changes at once."""
    return Invariant(
        name="metadata-is-in-step",
        meaning="while the ledger is open the metadata's list of fragments is the writer's, and while it is in recovery "
        "that of each recoverer at work but those overtaken",
        holds=all_of(
            implies(any_of(s.status == Status.NONE, s.status == Status.OPEN), _same_list(s, WRITER)),
            forall(
                s.recoverer,
                lambda r: implies(
                    (s.status == Status.IN_RECOVERY) & has_begun(s, r) & ~s.overtaken[r], _same_list(s, r)
                ),
            ),
        ),
    )


def recoverers_know_the_writers(s: Ledger) -> Invariant:
    def same_row(r: Term, g: Term) -> Term:
        return forall(s.position, lambda i: s.own_ensemble[r, g, i] == s.own_ensemble[WRITER, g, i])

    return common_invariants.recoverers_know_the_writers(s, same_row)


def own_fragments_above_start(s: Ledger) -> Invariant:
    return Invariant(
        name="own-fragments-above-start",
        meaning="a fragment that a recoverer added starts above where its LAC started, after enough bookies answered",
        holds=forall_over(
            (s.recoverer, s.fragment),
            lambda r, g: implies(
                (s.base[r] < g) & listed(s, r, g), is_fixed(s, r) & (s.start(r) < s.own_first[r, g])
            ),
        ),
    )


def changes_in_progress(s: Ledger) -> Invariant:
    """What stands still while an ensemble change is in progress."""

    def sound(c: Term) -> Term:
        failed_is_current = exists_over(
            (s.fragment, s.bookie),
            lambda g, b: (s.own_last_fragment[c] == g) & (s.failed[c] == b) & s.in_ensemble(c, g, b),
        )
        return all_of(
            implies(lift(WRITER) != c, is_fixed(s, c)),
            s.start(c) <= s.frozen_lac[c],
            forall(s.entry, lambda e: implies((s.start(c) < e) & (e <= s.frozen_lac[c]), s.complete(c, e))),
            failed_is_current,
        )

    return Invariant(
        name="changes-in-progress",
        meaning="while an ensemble change is in progress, all up to the LAC at which it stands is complete, and the "
        "bookie to be replaced is in the current ensemble; a recoverer has heard from enough bookies",
        holds=forall(s.client, lambda c: implies(s.changing(c), sound(c))),
    )


# Adds.


def sent_to_own_fragments(s: Ledger) -> Invariant:
    return Invariant(
        name="sent-to-own-fragments",
        meaning="adds are sent to fragments of the client's list only, and sent again to later ones than at first",
        holds=all_of(
            forall_over((s.client, s.entry), lambda c, e: s.pushed_in[c, e] <= s.own_last_fragment[c]),
            forall_over(
                (s.client, s.fragment, s.entry),
                lambda c, g, e: implies(
                    s.resent[c, g, e],
                    listed(s, c, g) & s.pushed(c, e) & (s.pushed_in[c, e] < g),
                ),
            ),
        ),
    )


def handled_was_sent(s: Ledger) -> Invariant:
    def sent(c: Term, g: Term, e: Term, b: Term) -> Term:
        index = c, g, e, b
        return implies(s.add_handled[index] | s.add_answered[index], s.add_sent(*index))

    return Invariant(
        name="handled-was-sent",
        meaning="an add that a bookie handled, or a client has an answer to or gave up, was sent",
        holds=forall_over((s.client, s.fragment, s.entry, s.bookie), sent),
    )


def accepted_is_stored(s: Ledger) -> Invariant:
    vanishes = s.parameters.copies_may_vanish

    def forgotten(e: Term, b: Term) -> Term:
        return in_limbo(s, b) | has_left_limbo(s, b, e) if vanishes else FALSE

    return Invariant(
        name="accepted-is-stored",
        meaning="what a bookie accepted it stores"
        + (_BUT_IN_LIMBO if vanishes else "")
        + (
            " or was, and the closed ledger has it elsewhere"
            if vanishes and s.parameters.boots_in_steps
            else ""
        ),
        holds=forall_over(
            (s.client, s.fragment, s.entry, s.bookie),
            lambda c, g, e, b: implies(accepted(s, c, g, e, b), s.has(b, e) | forgotten(e, b)),
        ),
    )


def acks_of_current_bookies(s: Ledger) -> Invariant:
    return Invariant(
        name="acks-of-current-bookies",
        meaning="acks of entries above the LAC are of current bookies: of a bookie that is replaced they are withdrawn",
        holds=forall_over(
            (s.client, s.entry, s.bookie),
            lambda c, e, b: implies(s.acked[c, e, b] & (s.lac(c) < e), is_current(s, c, e, b)),
        ),
    )


def confirmed_at_home(s: Ledger) -> Invariant:
    return Invariant(
        name="confirmed-at-home",
        meaning="an entry that a client confirmed was acked by AQ bookies of its home",
        holds=forall_over(
            (s.client, s.entry),
            lambda c, e: implies(
                (s.start(c) < e) & (e <= s.lac(c)),
                at_least(s.parameters.ack_quorum, s.bookie, lambda b: s.acked[c, e, b] & is_home(s, c, e, b)),
            ),
        ),
    )


# Recovery.


def answered_was_asked(s: Ledger) -> Invariant:
    return common_invariants.answered_was_asked(
        s, s.recoverer, s.read_entry, lambda r, e, b: s.read_sent[r, e] & s.read_to(r, e, b)
    )


def fencing_fences(s: Ledger) -> Invariant:
    return Invariant(
        name="fencing-fences",
        meaning=f"a bookie that handled a fencing read is fenced{_OR_WILL_BE if s.parameters.boots_in_steps else ''}",
        holds=forall_over(
            (s.recoverer, s.bookie), lambda r, b: implies(s.fence_handled[r, b], is_fenced(s, b))
        ),
    )


def reading_fences(s: Ledger) -> Invariant:
    return Invariant(
        name="reading-fences",
        meaning=f"a bookie that handled a recovery read is fenced{_OR_WILL_BE if s.parameters.boots_in_steps else ''}",
        holds=forall_over(
            (s.recoverer, s.read_entry, s.bookie),
            lambda r, e, b: implies(s.read_handled[r, e, b], is_fenced(s, b)),
        ),
    )


def reads_above_start(s: Ledger) -> Invariant:
    return Invariant(
        name="reads-above-start",
        meaning="entries are read above where the recoverer's LAC started, after enough bookies answered",
        holds=forall_over(
            (s.recoverer, s.read_entry),
            lambda r, e: implies(s.read_sent[r, e], is_fixed(s, r) & (s.start(r) < e)),
        ),
    )


def absent_stays_absent(s: Ledger) -> Invariant:
    def absent(r: Term, e: Term, b: Term) -> Term:
        unknown = s.read_unknown[r, e, b]
        return s.read_handled[r, e, b] & (s.read_content[r, e, b] == NOTHING) & ~unknown

    return Invariant(
        name="absent-stays-absent",
        meaning="a bookie that answered a recovery read with NoSuchEntry never accepts that entry from the writer"
        + (", unless the ledger is closed" if s.parameters.boots_in_steps else ""),
        holds=forall_over(
            (s.recoverer, s.entry, s.bookie),
            lambda r, e, b: implies(absent(r, e, b), ~took(s, WRITER, e, b) | is_too_late(s)),
        ),
    )


# Crashes.

_BUT_IN_LIMBO = ", unless it is in limbo"
_OR_WILL_BE = ", or will be before it serves again"


def limbo_after_crashes(s: Ledger) -> Invariant:
    most = range(1, min(s.parameters.bookies, s.parameters.crashes + 1) + 1)
    return Invariant(
        name="limbo-after-crashes",
        meaning="there are no more bookies in limbo than there were crashes"
        + (", those counted that have yet to serve again" if s.parameters.boots_in_steps else ""),
        holds=all_of(
            *(implies(at_least(k, s.bookie, lambda b: has_crashed(s, b)), s.crashed >= k) for k in most)
        ),
    )


def unknown_from_limbo(s: Ledger) -> Invariant:
    return Invariant(
        name="unknown-from-limbo",
        meaning="only a bookie in limbo answers that it does not know"
        + (", until the ledger is closed" if s.parameters.boots_in_steps else ""),
        holds=all_of(
            forall_over(
                (s.recoverer, s.read_entry, s.bookie),
                lambda r, e, b: implies(
                    s.read_unknown[r, e, b],
                    (in_limbo(s, b) | is_too_late(s)) & (s.read_content[r, e, b] == NOTHING),
                ),
            ),
            forall_over(
                (s.recoverer, s.bookie),
                lambda r, b: implies(s.fence_unknown[r, b], in_limbo(s, b) | is_too_late(s)),
            ),
        ),
    )


# Why recovery is never stuck.


def write_backs_are_accepted(s: Ledger) -> Invariant:
    return Invariant(
        name="write-backs-are-accepted",
        meaning="no bookie refuses what a recoverer writes back",
        holds=forall_over(
            (s.recoverer, s.fragment, s.entry, s.bookie), lambda r, g, e, b: ~s.add_refused[r, g, e, b]
        ),
    )


def answers_are_counted(s: Ledger) -> Invariant:
    def counted(r: Term, g: Term, e: Term, b: Term) -> Term:
        sent_again = exists(s.fragment, lambda h: (g < h) & s.add_sent(r, h, e, b)) | is_due(s, r, e, b)
        heard = s.pending(r, e) & s.add_answered[r, g, e, b] & s.still_there(r, g, b) & ~sent_again
        return implies(heard, s.acked[r, e, b] | (s.failed[r] == b))

    return Invariant(
        name="answers-are-counted",
        meaning="an answer from a current bookie to the last sending of a pending write-back counts as an ack, or the "
        "recoverer is replacing the bookie",
        holds=forall_over((s.recoverer, s.fragment, s.entry, s.bookie), counted),
    )


def pending_is_under_way(s: Ledger) -> Invariant:
    def sent(r: Term, e: Term, b: Term) -> Term:
        return exists(s.fragment, lambda g: s.add_sent(r, g, e, b) & s.still_there(r, g, b))

    return Invariant(
        name="pending-is-under-way",
        meaning="an entry written back that is not confirmed was sent to each of its current bookies"
        + (", or is due to be sent to the newcomer" if _resends_one_by_one(s) else ""),
        holds=forall_over(
            (s.recoverer, s.entry, s.bookie),
            lambda r, e, b: implies(
                s.pending(r, e) & is_current(s, r, e, b),
                sent(r, e, b) | is_due(s, r, e, b),
            ),
        ),
    )


def all_answers_are_enough(s: Ledger) -> Invariant:
    def everybody_answered(r: Term, e: Term) -> Term:
        return forall(s.bookie, lambda b: implies(s.read_to(r, e, b), s.read_answered[r, e, b]))

    return Invariant(
        name="all-answers-are-enough",
        meaning="a recovery read that the whole write set has answered is over",
        holds=forall_over(
            (s.recoverer, s.read_entry),
            lambda r, e: implies(s.read_sent[r, e] & everybody_answered(r, e), s.read_over[r, e]),
        ),
    )


# The ledger as a whole.


def phases_and_status(s: Ledger) -> Invariant:
    some_recoverer = exists(s.recoverer, lambda r: has_begun(s, r))
    return Invariant(
        name="phases-and-status",
        meaning="the ledger is there once the writer has begun, in recovery once a recoverer has, closed once a client "
        "says so; only the writer is ever fenced out",
        holds=all_of(
            has_begun(s, WRITER) == (s.status != Status.NONE),
            implies(some_recoverer, any_of(s.status == Status.IN_RECOVERY, s.status == Status.CLOSED)),
            implies(s.status == Status.IN_RECOVERY, some_recoverer),
            forall(s.client, lambda c: implies(s.phase[c] == Phase.CLOSED, s.status == Status.CLOSED)),
            forall(s.recoverer, lambda r: s.phase[r] != Phase.CLOSING),
        ),
    )


def closed_for_a_reason(s: Ledger) -> Invariant:
    p = s.parameters
    only_open = p.writer_close == "open-only"
    early = ", before anyone began to recover it" if only_open else ""
    by_writer = all_of(
        s.phase[WRITER] == Phase.CLOSED,
        s.last_entry == s.lac(WRITER),
        _same_list(s, WRITER),
        *((~exists(s.recoverer, lambda r: has_begun(s, r)),) if only_open else ()),
    )

    def never_there(r: Term, e: Term) -> Term:
        """What absent-stays-absent says only until the close, if bookies leave limbo then."""
        said = at_least(
            p.absent_quorum, s.bookie, lambda b: s.no_such_entry(r, e, b) & ~took(s, WRITER, e, b)
        )
        return said if p.boots_in_steps else TRUE

    def recovered(r: Term) -> Term:
        return all_of(
            s.phase[r] == Phase.CLOSED,
            _same_list(s, r),
            ~s.changing(r),
            s.start(r) <= s.last_entry,
            forall(
                s.entry,
                lambda e: implies((s.start(r) < e) & (e <= s.last_entry), s.complete(r, e)),
            ),
            exists(s.read_entry, lambda e: (e == s.last_entry + 1) & s.negative(r, e)),
            forall(s.entry, lambda e: implies(e == s.last_entry + 1, never_there(r, e))),
        )

    return Invariant(
        name="closed-for-a-reason",
        meaning=f"a closed ledger was closed by the writer at its LAC{early}, or by a recoverer that had written back "
        "every entry above its start up to the last and had found that the next one is not there; with that client's "
        "list",
        holds=implies(s.status == Status.CLOSED, by_writer | exists(s.recoverer, recovered)),
    )


def adds_carry_own_lacs(s: Ledger) -> Invariant:
    """Where only recoverers close a ledger in recovery, none of them leaves a LAC behind that is above its last entry."""
    return Invariant(
        name="adds-carry-own-lacs",
        meaning="no add carries a LAC above that of who sent it",
        holds=forall_over(
            (s.client, s.entry), lambda c, e: implies(s.pushed(c, e), s.pushed_lac[c, e] <= s.lac(c))
        ),
    )


def lacs_below_the_writers(s: Ledger) -> Invariant:
    """Recovery starts at most at the writer's LAC, which holds of one recoverer, or if write-backs carry the start.

    A LAC above the writer's is told by who has written back; of one recoverer, what it wrote is told too late for it.
    """
    frozen = s.parameters.recovery_lac == "frozen"
    clients = s.client if frozen else s.writer
    too_late = FALSE if frozen else exists(s.recoverer, lambda r: ~s.hears_fencing(r))
    return Invariant(
        name="lacs-below-the-writers",
        meaning="LACs that bookies store, or told a recoverer before it had heard enough, are not above the writer's",
        holds=all_of(
            forall_over((clients, s.entry), lambda c, e: s.pushed_lac[c, e] <= s.lac(WRITER)),
            forall_over(
                (s.bookie, s.entry), lambda b, e: any_of(too_late, s.stored_lac[b, e] <= s.lac(WRITER))
            ),
            forall_over(
                (s.recoverer, s.bookie),
                lambda r, b: implies(
                    s.fence_answered[r, b] | s.hears_fencing(r), s.fence_lac[r, b] <= s.lac(WRITER)
                ),
            ),
        ),
    )
