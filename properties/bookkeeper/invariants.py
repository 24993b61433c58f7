"""Why a ledger is safe: invariants that every action keeps if all of them hold before it.

With them every property that holds is proved by induction over one action, for executions of any length.
docs/why-safe.md has those that a known bug breaks, with the rule of the protocol behind each.

A client's *list* is its copy of the fragments in the metadata. An entry's *home* is its write set in the last
fragment of the list that starts at or below it. An entry's *current* bookies are its write set in the last
fragment of the list.
"""

from __future__ import annotations

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import at_least, exists, exists_over, forall, forall_over
from fencepost.encoding.language.system import Invariant, System, invariant
from fencepost.encoding.language.terms import FALSE, TRUE, Term, TermLike, all_of, any_of, lift
from fencepost.properties.bookkeeper import boot_invariants as boot
from fencepost.properties.bookkeeper import common_invariants as common
from fencepost.properties.bookkeeper.answers import pending_can_complete
from fencepost.properties.bookkeeper.common_invariants import accepted, has_begun, listed, took
from fencepost.properties.bookkeeper.durability import durability_invariants
from fencepost.properties.bookkeeper.readers import readers_know_the_end
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Phase, Status


def ledger_invariants(system: System) -> tuple[Invariant, ...]:
    """Return the invariants of one ledger; none with DEFERRED_SYNC, journals or given ids."""
    s = system.state
    assert isinstance(s, Ledger)
    p = s.parameters
    if p.forces or p.journals or p.given_ids:
        return ()
    return (
        phases_and_status(s),
        bookies_stand_once(s),
        *((one_bookie_at_a_time(s),) if p.recovery_metadata == "at-once" else ()),
        last_fragment_reaches_lac(s),
        common.metadata_is_the_writers(s) if p.recovery_metadata == "at-close" else metadata_is_in_step(s),
        common.recoverers_know_the_writers(s),
        own_fragments_above_start(s),
        changes_in_progress(s),
        sent_to_own_fragments(s),
        handled_was_sent(s),
        accepted_is_stored(s),
        common.acked_was_accepted(s),
        acks_of_current_bookies(s),
        confirmed_at_home(s),
        common.contents_are_the_writers(s),
        common.found_as_answered(s),
        common.answered_was_asked(s, s.recoverer, s.read_entry),
        fencing_fences(s),
        reading_fences(s),
        reads_above_start(s),
        common.written_back_was_found(s),
        absent_stays_absent(s),
        closed_for_a_reason(s),
        write_backs_are_accepted(s),
        answers_are_counted(s),
        pending_is_under_way(s),
        pending_can_complete(s),
        *((all_answers_are_enough(s),) if p.read_decision == "all-answers" else ()),
        *(boot.boot_invariants(s) if p.boots_in_steps else ()),
        *((limbo_after_crashes(s), unknown_from_limbo(s)) if p.crashes else ()),
        *(durability_invariants(s) if s.parameters.loses_fences else ()),
        *((readers_know_the_end(s),) if p.readers and p.reader_open == "keeps" else ()),
        *((adds_carry_own_lacs(s),) if p.writer_close == "open-only" else ()),
        *((lacs_below_the_writers(s),) if p.recoverers == 1 or p.recovery_lac == "frozen" else ()),
    )


# Predicates of the invariants.


def is_current(s: Ledger, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Return whether the bookie is in the entry's write set in the last fragment of the client's list."""
    return exists(
        s.fragment, lambda g: (s.own_last_fragment[client] == g) & s.in_write_set_of(client, g, entry, bookie)
    )


def is_home(s: Ledger, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Return whether the bookie is in the entry's write set, by the client's list."""
    return common.in_own_fragment_of(entry, s, client, lambda g: s.in_write_set_of(client, g, entry, bookie))


def has_fixed_start(s: Ledger, recoverer: TermLike) -> Term:
    """Return whether enough bookies have answered the fencing reads, and the recoverer's start is final."""
    if s.parameters.fence_answers == "until-covered":
        return s.covered(recoverer)
    return s.covered(recoverer) & ~s.hears_fencing(recoverer)


# Lists of fragments.


@invariant("no ensemble of a client's list names a bookie twice")
def bookies_stand_once(s: Ledger) -> Term:
    """Return the invariant that makes a count of positions a count of bookies."""
    return forall_over(
        (s.client, s.fragment, s.position, s.position),
        lambda c, g, i, j: implies(
            (i < j) & listed(s, c, g), s.own_ensemble[c, g, i] != s.own_ensemble[c, g, j]
        ),
    )


@invariant("an ensemble of a client's list differs from the one before it in one bookie at most")
def one_bookie_at_a_time(s: Ledger) -> Term:
    """Return the invariant about ensembles for recoveries that commit each change at once.

    The bookies that stay in the ensemble then have every acknowledged entry.
    """

    def replaces_two(c: Term, g: Term, i: Term, j: Term) -> Term:
        def replaces(h: Term, k: Term) -> Term:
            return s.own_ensemble[c, g, k] != s.own_ensemble[c, h, k]

        return exists(s.fragment, lambda h: (h + 1 == g) & replaces(h, i) & replaces(h, j))

    return forall_over(
        (s.client, s.fragment, s.position, s.position),
        lambda c, g, i, j: implies((i < j) & listed(s, c, g), ~replaces_two(c, g, i, j)),
    )


@invariant("the last fragment of a client's list starts at its LAC + 1 or below")
def last_fragment_reaches_lac(s: Ledger) -> Term:
    """Return the invariant that an ensemble change moves no entry at or below the LAC."""
    return forall_over(
        (s.client, s.fragment),
        lambda c, g: implies(s.own_last_fragment[c] == g, s.own_first[c, g] <= s.lac(c) + 1),
    )


@invariant(
    "the metadata's list of fragments is the writer's while the ledger is open, and that of each active "
    "recoverer that was not overtaken while the ledger is in recovery"
)
def metadata_is_in_step(s: Ledger) -> Term:
    """Return the invariant about the metadata for recoveries that commit each change at once."""
    return all_of(
        implies(any_of(s.status == Status.NONE, s.status == Status.OPEN), common.same_list(s, WRITER)),
        forall(
            s.recoverer,
            lambda r: implies(
                (s.status == Status.IN_RECOVERY) & has_begun(s, r) & ~s.overtaken[r], common.same_list(s, r)
            ),
        ),
    )


@invariant(
    "a recoverer adds a fragment only after enough bookies have answered, and "
    "the fragment starts above the LAC that the recoverer started from"
)
def own_fragments_above_start(s: Ledger) -> Term:
    """Return the invariant that a recoverer moves only entries above its start."""
    return forall_over(
        (s.recoverer, s.fragment),
        lambda r, g: implies(
            (s.base[r] < g) & listed(s, r, g), has_fixed_start(s, r) & (s.start(r) < s.own_first[r, g])
        ),
    )


@invariant(
    "while an ensemble change is in progress, every entry up to the frozen LAC is complete and the bookie to "
    "be replaced is in the current ensemble; for a recoverer, enough bookies have answered"
)
def changes_in_progress(s: Ledger) -> Term:
    """Return the invariant about an ensemble change in progress: what does not move meanwhile."""

    def sound(c: Term) -> Term:
        failed_is_current = exists_over(
            (s.fragment, s.bookie),
            lambda g, b: (s.own_last_fragment[c] == g) & (s.failed[c] == b) & s.in_ensemble(c, g, b),
        )
        return all_of(
            implies(lift(WRITER) != c, has_fixed_start(s, c)),
            s.start(c) <= s.frozen_lac[c],
            forall(s.entry, lambda e: implies((s.start(c) < e) & (e <= s.frozen_lac[c]), s.complete(c, e))),
            any_of(~s.changing(c), s.idle[c], failed_is_current) if late else failed_is_current,
        )

    late = s.parameters.has_late_acks
    return forall(s.client, lambda c: implies(s.stands_still(c), sound(c)))


# Adds.


@invariant(
    "a client sends adds only to fragments of its list, and sends an entry again only to later fragments"
)
def sent_to_own_fragments(s: Ledger) -> Term:
    """Return the invariant that adds go only to fragments that the client knows."""
    return all_of(
        forall_over((s.client, s.entry), lambda c, e: s.pushed_in[c, e] <= s.own_last_fragment[c]),
        forall_over(
            (s.client, s.fragment, s.entry),
            lambda c, g, e: implies(
                s.resent[c, g, e], listed(s, c, g) & s.pushed(c, e) & (s.pushed_in[c, e] < g)
            ),
        ),
    )


@invariant("every add that a bookie has handled, or that a client has an answer to or has given up, was sent")
def handled_was_sent(s: Ledger) -> Term:
    """Return the invariant that no add is handled or answered before it is sent."""

    def sent(c: Term, g: Term, e: Term, b: Term) -> Term:
        index = c, g, e, b
        return implies(s.add_handled[index] | s.add_answered[index], s.add_sent(*index))

    return forall_over((s.client, s.fragment, s.entry, s.bookie), sent)


def accepted_is_stored(s: Ledger) -> Invariant:
    """Return the invariant that bookies keep what they accept, unless a crash takes it."""
    vanishes = s.parameters.copies_may_vanish

    def forgotten(e: Term, b: Term) -> Term:
        return boot.in_limbo(s, b) | boot.need_not_store(s, b, e) if vanishes else FALSE

    return Invariant(
        name="accepted-is-stored",
        meaning="a bookie stores every entry that it has accepted"
        + (_BUT_IN_LIMBO if vanishes else "")
        + (
            ", or the ledger is closed and does not place the entry on it"
            if vanishes and s.parameters.boots_in_steps
            else ""
        ),
        holds=forall_over(
            (s.client, s.fragment, s.entry, s.bookie),
            lambda c, g, e, b: implies(accepted(s, c, g, e, b), s.has(b, e) | forgotten(e, b)),
        ),
    )


@invariant(
    "acks of entries above the LAC come from bookies of the client's last "
    "ensemble; the acks of a replaced bookie are withdrawn"
)
def acks_of_current_bookies(s: Ledger) -> Term:
    """Return the invariant that an ensemble change withdraws the acks of the replaced bookie."""
    return forall_over(
        (s.client, s.entry, s.bookie),
        lambda c, e, b: implies(s.acked[c, e, b] & (s.lac(c) < e), is_current(s, c, e, b)),
    )


@invariant(
    "an entry that a client has confirmed was acked by AQ bookies of its home, "
    "which is its write set in the client's list"
)
def confirmed_at_home(s: Ledger) -> Term:
    """Return the invariant that an entry at or below the LAC has enough acks."""
    return forall_over(
        (s.client, s.entry),
        lambda c, e: implies(
            (s.start(c) < e) & (e <= s.lac(c)),
            at_least(s.parameters.ack_quorum, s.bookie, lambda b: s.acked[c, e, b] & is_home(s, c, e, b)),
        ),
    )


# Recovery.


def fencing_fences(s: Ledger) -> Invariant:
    """Return the invariant that a fencing read fences."""
    return Invariant(
        name="fencing-fences",
        meaning="a bookie that has handled a fencing read is fenced"
        + (_OR_WILL_BE if s.parameters.boots_in_steps else ""),
        holds=forall_over(
            (s.recoverer, s.bookie), lambda r, b: implies(s.fence_handled[r, b], boot.is_fenced(s, b))
        ),
    )


def reading_fences(s: Ledger) -> Invariant:
    """Return the invariant that a recovery read fences."""
    return Invariant(
        name="reading-fences",
        meaning="a bookie that has handled a recovery read is fenced"
        + (_OR_WILL_BE if s.parameters.boots_in_steps else ""),
        holds=forall_over(
            (s.recoverer, s.read_entry, s.bookie),
            lambda r, e, b: implies(s.read_handled[r, e, b], boot.is_fenced(s, b)),
        ),
    )


@invariant(
    "a recoverer reads only entries above the LAC that it started from, after "
    "enough bookies have answered its fencing reads"
)
def reads_above_start(s: Ledger) -> Term:
    """Return the invariant that recovery reads begin after fencing, above the recoverer's start."""
    return forall_over(
        (s.recoverer, s.read_entry),
        lambda r, e: implies(s.read_sent[r, e], has_fixed_start(s, r) & (s.start(r) < e)),
    )


def absent_stays_absent(s: Ledger) -> Invariant:
    """Return the invariant that a fenced bookie accepts nothing more from the writer."""

    def absent(r: Term, e: Term, b: Term) -> Term:
        unknown = s.read_unknown[r, e, b]
        return s.read_handled[r, e, b] & (s.read_content[r, e, b] == NOTHING) & ~unknown

    return Invariant(
        name="absent-stays-absent",
        meaning="a bookie that has answered a recovery read with NoSuchEntry never accepts that entry from "
        "the writer" + (", unless the ledger is closed" if s.parameters.boots_in_steps else ""),
        holds=forall_over(
            (s.recoverer, s.entry, s.bookie),
            lambda r, e, b: implies(absent(r, e, b), ~took(s, WRITER, e, b) | boot.may_leave_limbo(s)),
        ),
    )


# Crashes.

_BUT_IN_LIMBO = ", unless the bookie is in limbo"
_OR_WILL_BE = ", or will be before it serves again"


def limbo_after_crashes(s: Ledger) -> Invariant:
    """Return the invariant that only a crash puts a bookie in limbo."""
    most = range(1, min(s.parameters.bookies, s.parameters.crashes + 1) + 1)
    return Invariant(
        name="limbo-after-crashes",
        meaning="no more bookies are in limbo"
        + (" or in the boot sequence" if s.parameters.boots_in_steps else "")
        + " than there were crashes",
        holds=all_of(
            *(implies(at_least(k, s.bookie, lambda b: boot.has_crashed(s, b)), s.crashed >= k) for k in most)
        ),
    )


def unknown_from_limbo(s: Ledger) -> Invariant:
    """Return the invariant that only limbo makes a bookie answer "unknown"."""
    return Invariant(
        name="unknown-from-limbo",
        meaning="only a bookie in limbo answers a read with unknown"
        + (", until the ledger is closed" if s.parameters.boots_in_steps else ""),
        holds=all_of(
            forall_over(
                (s.recoverer, s.read_entry, s.bookie),
                lambda r, e, b: implies(
                    s.read_unknown[r, e, b],
                    (boot.in_limbo(s, b) | boot.may_leave_limbo(s)) & (s.read_content[r, e, b] == NOTHING),
                ),
            ),
            forall_over(
                (s.recoverer, s.bookie),
                lambda r, b: implies(s.fence_unknown[r, b], boot.in_limbo(s, b) | boot.may_leave_limbo(s)),
            ),
        ),
    )


# Why recovery is never stuck.


@invariant("no bookie refuses an entry that a recoverer writes back")
def write_backs_are_accepted(s: Ledger) -> Term:
    """Return the invariant that a fence does not stop a recoverer."""
    return forall_over(
        (s.recoverer, s.fragment, s.entry, s.bookie), lambda r, g, e, b: ~s.add_refused[r, g, e, b]
    )


@invariant(
    "if a bookie of the current ensemble has answered the latest sending of a "
    "pending write-back, its ack counts or the recoverer is replacing it"
)
def answers_are_counted(s: Ledger) -> Term:
    """Return the invariant that a recoverer loses no answer to a write-back."""

    def counted(r: Term, g: Term, e: Term, b: Term) -> Term:
        sent_again = exists(s.fragment, lambda h: (g < h) & s.add_sent(r, h, e, b)) | common.awaits_resend(
            s, r, e, b
        )
        heard = s.pending(r, e) & s.add_answered[r, g, e, b] & s.still_there(r, g, b) & ~sent_again
        return implies(heard, s.acked[r, e, b] | (s.failed[r] == b))

    return forall_over((s.recoverer, s.fragment, s.entry, s.bookie), counted)


def pending_is_under_way(s: Ledger) -> Invariant:
    """Return the invariant that a recoverer has sent each pending write-back everywhere."""

    def sent(r: Term, e: Term, b: Term) -> Term:
        return exists(s.fragment, lambda g: s.add_sent(r, g, e, b) & s.still_there(r, g, b))

    return Invariant(
        name="pending-is-under-way",
        meaning="an entry that is written back and not yet confirmed was sent to each of its current bookies"
        + (", or has still to be sent to the new bookie" if s.parameters.resends == "one-by-one" else ""),
        holds=forall_over(
            (s.recoverer, s.entry, s.bookie),
            lambda r, e, b: implies(
                s.pending(r, e) & is_current(s, r, e, b), sent(r, e, b) | common.awaits_resend(s, r, e, b)
            ),
        ),
    )


@invariant("a recovery read is over once its whole write set has answered")
def all_answers_are_enough(s: Ledger) -> Term:
    """Return the invariant that a recovery read with all its answers is decided."""

    def everybody_answered(r: Term, e: Term) -> Term:
        return forall(s.bookie, lambda b: implies(s.read_to(r, e, b), s.read_answered[r, e, b]))

    return forall_over(
        (s.recoverer, s.read_entry),
        lambda r, e: implies(s.read_sent[r, e] & everybody_answered(r, e), s.read_over[r, e]),
    )


# The ledger as a whole.


@invariant(
    "the ledger exists once the writer has begun, is in recovery or closed once a recoverer has begun, and "
    "is closed once a client reports a close; only the writer can be fenced out"
)
def phases_and_status(s: Ledger) -> Term:
    """Return the invariant that ties the clients' phases to the status of the ledger."""
    some_recoverer = exists(s.recoverer, lambda r: has_begun(s, r))
    return all_of(
        has_begun(s, WRITER) == (s.status != Status.NONE),
        implies(some_recoverer, any_of(s.status == Status.IN_RECOVERY, s.status == Status.CLOSED)),
        implies(s.status == Status.IN_RECOVERY, some_recoverer),
        forall(s.client, lambda c: implies(s.phase[c] == Phase.CLOSED, s.status == Status.CLOSED)),
        forall(s.recoverer, lambda r: s.phase[r] != Phase.CLOSING),
    )


def closed_for_a_reason(s: Ledger) -> Invariant:
    """Return the invariant that a close is justified: the client that closed the ledger had the right to."""
    p = s.parameters
    only_open = p.writer_close == "open-only"
    early = " before any recovery began" if only_open else ""
    by_writer = all_of(
        s.phase[WRITER] == Phase.CLOSED,
        s.last_entry == s.lac(WRITER),
        common.same_list(s, WRITER),
        *((~exists(s.recoverer, lambda r: has_begun(s, r)),) if only_open else ()),
    )

    def never_there(r: Term, e: Term) -> Term:
        """Return whether an absent quorum has not taken the entry from the writer.

        The invariant absent-stays-absent says this only until the close, if bookies can leave limbo.
        """
        said = at_least(
            p.absent_quorum, s.bookie, lambda b: s.no_such_entry(r, e, b) & ~took(s, WRITER, e, b)
        )
        return said if p.boots_in_steps else TRUE

    def recovered(r: Term) -> Term:
        return all_of(
            s.phase[r] == Phase.CLOSED,
            common.same_list(s, r),
            ~s.changing(r),
            s.start(r) <= s.last_entry,
            forall(s.entry, lambda e: implies((s.start(r) < e) & (e <= s.last_entry), s.complete(r, e))),
            exists(s.read_entry, lambda e: (e == s.last_entry + 1) & s.negative(r, e)),
            forall(s.entry, lambda e: implies(e == s.last_entry + 1, never_there(r, e))),
        )

    return Invariant(
        name="closed-for-a-reason",
        meaning=f"the writer closed the ledger at its LAC{early}, or a recoverer closed it that had written "
        "back every entry above the LAC that it started from and had found the entry after the last "
        "absent; the metadata's list is that of this client",
        holds=implies(s.status == Status.CLOSED, by_writer | exists(s.recoverer, recovered)),
    )


@invariant("no add carries a LAC above that of its sender")
def adds_carry_own_lacs(s: Ledger) -> Term:
    """Return the invariant about LACs for settings in which the writer cannot close a ledger in recovery.

    No recoverer then leaves a LAC above the last entry behind.
    """
    return forall_over(
        (s.client, s.entry), lambda c, e: implies(s.pushed(c, e), s.pushed_lac[c, e] <= s.lac(c))
    )


@invariant(
    "the writer's LAC is not below the LACs that bookies store, or that they "
    "told a recoverer before enough of them had answered"
)
def lacs_below_the_writers(s: Ledger) -> Term:
    """Return the invariant that recovery starts at the writer's LAC or below.

    It is declared for one recoverer, or if write-backs carry the LAC that recovery started from. Only a
    write-back can carry a LAC above the writer's. With one recoverer that happens after its start is final.
    """
    frozen = s.parameters.recovery_lac == "frozen"
    clients = s.client if frozen else s.writer
    too_late = FALSE if frozen else exists(s.recoverer, lambda r: ~s.hears_fencing(r))
    return all_of(
        forall_over((clients, s.entry), lambda c, e: s.pushed_lac[c, e] <= s.lac(WRITER)),
        forall_over((s.bookie, s.entry), lambda b, e: any_of(too_late, s.stored_lac[b, e] <= s.lac(WRITER))),
        forall_over(
            (s.recoverer, s.bookie),
            lambda r, b: implies(
                s.fence_answered[r, b] | s.hears_fencing(r), s.fence_lac[r, b] <= s.lac(WRITER)
            ),
        ),
    )
