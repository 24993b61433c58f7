"""Why an unbounded ledger is safe: invariants that every action keeps if all of them hold before it.

docs/tweaks.md has those that a mutant breaks, with the rule behind each. A client's *list* is its copy of the
fragments. An entry's *home* is the ensemble of the last fragment of the list that starts at or below it. A
client is *earlier* than another if its term is lower. A client has *opened* the ledger if it created the
ledger or has completed its takeover. The next client then takes its list.
"""

from __future__ import annotations

from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.quantifiers import exists, forall, forall_over
from fencepost.encoding.language.system import Invariant, invariant
from fencepost.encoding.language.terms import Term, TermLike, all_of, any_of, lift
from fencepost.properties.bookkeeper import common_invariants as common
from fencepost.properties.bookkeeper import invariants as todays
from fencepost.properties.bookkeeper_tweaks import full_replication as full
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Phase, Status
from fencepost.protocols.bookkeeper_tweaks.unbounded_ledgers import UnboundedLedger


def unbounded_ledger_invariants(s: UnboundedLedger) -> tuple[Invariant, ...]:
    """Return the invariants of one ledger."""
    return (
        phases_and_status(s),
        terms_only_rise(s),
        todays.bookies_stand_once(s),
        full.last_fragment_reaches_lafr(s),
        metadata_is_the_holders(s),
        lists_are_handed_on(s),
        todays.own_fragments_above_start(s),
        todays.sent_to_own_fragments(s),
        sent_above_start(s),
        todays.handled_was_sent(s),
        common.acked_was_accepted(s),
        full.acks_of_current_members(s),
        full.replicated_at_home(s),
        common.answered_was_asked(s, s.client, s.entry),
        reads_above_start(s),
        found_is_something(s),
        written_back_was_found(s),
        opened_above_the_no_op(s),
        *((no_op_comes_first(s),) if len(s.fragment) <= 2 else ()),
        stored_by_the_last(s),
        read_as_stored(s),
        full.adds_carry_own_prefixes(s, lambda c: ~has_opened(s, c)),
        told_is_confirmed(s),
        full.closed_at_the_end(s),
    )


# Predicates of the invariants.


def took(s: UnboundedLedger, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Return whether the bookie has stored the entry for the client, in any fragment."""
    return exists(s.fragment, lambda g: s.add_handled[client, g, entry, bookie])


def emptied(s: UnboundedLedger, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Return whether the bookie deleted the entry when it stored the client's NoOp below it."""
    return exists(s.entry, lambda n: (n < entry) & s.negative(client, n) & took(s, client, n, bookie))


def touched(s: UnboundedLedger, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Return whether the bookie has stored or deleted the entry for the client."""
    return took(s, client, entry, bookie) | emptied(s, client, entry, bookie)


def left_content(s: UnboundedLedger, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Return the content that the client left at the bookie as the entry, if it touched the entry."""
    return if_(took(s, client, entry, bookie), s.content_sent(client, entry), NOTHING)


def earlier(s: UnboundedLedger, client: TermLike, other: TermLike) -> Term:
    """Return whether the client's term is lower than the other's."""
    return s.term[client] < s.term[other]


def holds_term(s: UnboundedLedger, client: TermLike) -> Term:
    """Return whether the ledger is in the client's term."""
    return s.ledger_term == s.term[client]


def recovers(s: UnboundedLedger, client: TermLike) -> Term:
    """Return whether the client is in its takeover."""
    return (s.phase[client] == Phase.ACTIVE) & ~s.is_writing[client]


def has_written(s: UnboundedLedger, client: TermLike) -> Term:
    """Return whether the client writes, or wrote until it closed the ledger."""
    return any_of(s.is_writing[client], s.phase[client] == Phase.CLOSED)


def has_opened(s: UnboundedLedger, client: TermLike) -> Term:
    """Return whether the client has opened the ledger.

    For a client that has withdrawn, its NoOp and the list of the next client show it.
    """
    known = exists(s.client, lambda d: (s.term[d] == s.term[client] + 1) & _takes_list(s, d, client))
    ended = (lift(WRITER) == client) | (_is_above_no_op(s, client) & known)
    return has_written(s, client) | ((s.phase[client] == Phase.GONE) & ended)


def _takes_list(s: UnboundedLedger, successor: TermLike, client: TermLike) -> Term:
    return common.has_begun(s, successor) & (s.base[successor] == s.own_last_fragment[client])


def _is_above_no_op(s: UnboundedLedger, client: TermLike) -> Term:
    """Return whether the client's NoOp is stored on all of its write set."""
    return exists(s.entry, lambda n: s.negative(client, n) & (n <= s.lafr(client)))


# Terms.


@invariant(
    "exactly the clients of terms up to the ledger's have begun; the phase of the client of the ledger's "
    "term fits the status, and no other client has closed the ledger"
)
def phases_and_status(s: UnboundedLedger) -> Term:
    """Return the invariant that ties the clients' phases to the ledger's term and status."""

    def fits(c: Term) -> Term:
        return all_of(
            recovers(s, c) == (s.status == Status.IN_RECOVERY),
            s.is_writing[c] == (s.status == Status.OPEN),
            (s.phase[c] == Phase.CLOSED) == (s.status == Status.CLOSED),
        )

    return all_of(
        (s.status == Status.NONE) == (s.ledger_term == 0),
        ~recovers(s, lift(WRITER)),
        forall(s.client, lambda c: common.has_begun(s, c) == (s.term[c] <= s.ledger_term)),
        forall(s.client, lambda c: implies(holds_term(s, c), fits(c))),
        forall(s.client, lambda c: implies(s.is_writing[c], s.phase[c] == Phase.ACTIVE)),
        forall(s.client, lambda c: s.phase[c] != Phase.CLOSING),
        forall(s.client, lambda c: implies(s.phase[c] == Phase.CLOSED, holds_term(s, c))),
    )


@invariant(
    "a bookie's term is at most the ledger's, at least that of each client "
    "whose request it handled, and above that of each client that it rejected"
)
def terms_only_rise(s: UnboundedLedger) -> Term:
    """Return the invariant about the terms that bookies know."""

    def known(c: Term, b: Term) -> Term:
        reads = exists(s.entry, lambda e: s.read_handled[c, e, b])
        adds = exists(s.entry, lambda e: took(s, c, e, b))
        handled = any_of(s.fence_handled[c, b], adds, reads)
        return all_of(
            implies(handled, s.term[c] <= s.bookie_term[b]),
            implies(s.rejected[c, b], s.term[c] < s.bookie_term[b]),
        )

    return all_of(
        forall(s.bookie, lambda b: s.bookie_term[b] <= s.ledger_term),
        forall_over((s.client, s.bookie), known),
    )


# The ledger and its fragments.


@invariant(
    "the metadata's list of fragments is that of the client of the ledger's term; during a takeover it is "
    "the list with which that client began, and before the ledger exists it is the creator's"
)
def metadata_is_the_holders(s: UnboundedLedger) -> Term:
    """Return the invariant that the metadata follows the client of the ledger's term."""

    def agrees(c: Term) -> Term:
        in_recovery = s.status == Status.IN_RECOVERY
        return common.same_list(s, c, if_(in_recovery, s.base[c], s.own_last_fragment[c]))

    return all_of(
        forall(s.client, lambda c: implies(holds_term(s, c), agrees(c))),
        implies(s.status == Status.NONE, agrees(lift(WRITER))),
    )


@invariant(
    "a client begins with the list of the client before it, without the "
    "fragments of a takeover that was not completed"
)
def lists_are_handed_on(s: UnboundedLedger) -> Term:
    """Return the invariant that lists pass from client to client."""

    def handed_on(c: Term, d: Term) -> Term:
        opened = has_written(s, c) | (lift(WRITER) == c)
        withdrawn = (s.phase[c] == Phase.GONE) & _is_above_no_op(s, c)
        last = s.own_last_fragment[c]
        return all_of(
            any_of(~opened & (s.base[d] == s.base[c]), (opened | withdrawn) & (s.base[d] == last)),
            common.same_start(s, c, d, s.base[d]),
        )

    return all_of(
        forall(s.client, lambda c: s.base[c] <= s.own_last_fragment[c]),
        forall_over(
            (s.client, s.recoverer),
            lambda c, d: implies((s.term[d] == s.term[c] + 1) & common.has_begun(s, d), handed_on(c, d)),
        ),
    )


# Adds.


@invariant(
    "a client sends only entries above the LAFR that it started from, to fragments that start at or below "
    "the entry, and to none before the fragment that was the last when it began"
)
def sent_above_start(s: UnboundedLedger) -> Term:
    """Return the invariant that adds go only to fragments that the client may use."""
    return forall_over(
        (s.client, s.fragment, s.entry),
        lambda c, g, e: implies(
            s.is_sent(c, g, e),
            all_of(common.has_begun(s, c), s.base[c] <= g, s.start(c) < e, s.own_first[c, g] <= e),
        ),
    )


# Takeovers.


@invariant(
    "a takeover reads entries one after another from the LAFR that it started "
    "from, after enough bookies have answered"
)
def reads_above_start(s: UnboundedLedger) -> Term:
    """Return the invariant that takeover reads begin after fencing and go entry by entry."""

    def in_turn(c: Term, e: Term) -> Term:
        below = forall(s.entry, lambda n: implies((s.start(c) < n) & (n < e), s.positive(c, n)))
        return s.covered(c) & (s.start(c) < e) & below

    return forall_over((s.client, s.entry), lambda c, e: implies(s.read_sent[c, e], in_turn(c, e)))


@invariant(
    "if a bookie has given a client the content of an entry, the client has "
    "that content, and every entry that a client pushes has a content"
)
def found_is_something(s: UnboundedLedger) -> Term:
    """Return the invariant that clients find and push values, never the empty content."""
    return forall_over(
        (s.client, s.entry),
        lambda c, e: all_of(
            implies(s.positive(c, e), s.found[c, e] != NOTHING),
            implies(s.pushed(c, e), s.content_sent(c, e) != NOTHING),
        ),
    )


@invariant(
    "a takeover writes only entries that it has found and the NoOp; the client "
    "sends later entries once the NoOp is fully replicated"
)
def written_back_was_found(s: UnboundedLedger) -> Term:
    """Return the invariant about what a client writes after it took the ledger over."""

    def has_reason(c: Term, e: Term) -> Term:
        above = exists(s.entry, lambda n: (n < e) & s.negative(c, n) & (n <= s.lafr(c)))
        return any_of(s.positive(c, e), s.negative(c, e), above & (~recovers(s, c)))

    return forall_over((s.recoverer, s.entry), lambda c, e: implies(s.pushed(c, e), has_reason(c, e)))


@invariant("the NoOp of a client that took the ledger over and writes is fully replicated")
def opened_above_the_no_op(s: UnboundedLedger) -> Term:
    """Return the invariant that a completed takeover has its NoOp everywhere."""
    return forall(s.recoverer, lambda c: implies(has_written(s, c), _is_above_no_op(s, c)))


@invariant(
    "no NoOp is sent to a later fragment than an entry above it; a bookie that has stored an entry of a "
    "client above its NoOp has handled every NoOp that the client sent it"
)
def no_op_comes_first(s: UnboundedLedger) -> Term:
    """Return the invariant about the order in which bookies get a NoOp and the entries above it."""

    def above(c: Term, n: Term, e: Term) -> Term:
        return (n < e) & s.negative(c, n)

    return all_of(
        forall_over(
            (s.recoverer, s.fragment, s.fragment, s.entry, s.entry),
            lambda c, g, h, n, e: implies(
                (g < h) & above(c, n, e), ~(s.is_sent(c, h, n) & s.is_sent(c, g, e))
            ),
        ),
        forall_over(
            (s.recoverer, s.fragment, s.entry, s.entry, s.bookie),
            lambda c, g, n, e, b: implies(
                above(c, n, e) & took(s, c, e, b) & s.add_sent(c, g, n, b), s.add_handled[c, g, n, b]
            ),
        ),
    )


# Contents of bookies and their answers.


@invariant(
    "a bookie holds as an entry the content that the latest client left there "
    "which made it store or delete the entry"
)
def stored_by_the_last(s: UnboundedLedger) -> Term:
    """Return the invariant that the content at a bookie is that of the latest client."""

    def later(c: Term, e: Term, b: Term) -> Term:
        return exists(s.client, lambda d: earlier(s, c, d) & touched(s, d, e, b))

    def untouched(e: Term, b: Term) -> Term:
        return ~exists(s.client, lambda c: touched(s, c, e, b))

    return all_of(
        forall_over(
            (s.client, s.entry, s.bookie),
            lambda c, e, b: implies(
                touched(s, c, e, b) & ~later(c, e, b), s.stored[b, e] == left_content(s, c, e, b)
            ),
        ),
        forall_over((s.entry, s.bookie), lambda e, b: implies(untouched(e, b), s.stored[b, e] == NOTHING)),
    )


@invariant(
    "a takeover read returns the content that the latest earlier client left at the bookie, which no longer "
    "changes, or the reader's own write-back; the content that the reader has found is of the first kind"
)
def read_as_stored(s: UnboundedLedger) -> Term:
    """Return the invariant about answers to takeover reads: earlier clients cannot change them any more."""

    def in_between(c: Term, d: Term, e: Term, b: Term) -> Term:
        return exists(s.client, lambda m: earlier(s, c, m) & earlier(s, m, d) & touched(s, m, e, b))

    def untouched(d: Term, e: Term, b: Term) -> Term:
        return ~exists(s.client, lambda c: earlier(s, c, d) & touched(s, c, e, b))

    def left_before(d: Term, e: Term, b: Term) -> Term:
        content = s.read_content[d, e, b]
        return all_of(
            forall(
                s.client,
                lambda c: implies(
                    earlier(s, c, d) & touched(s, c, e, b) & ~in_between(c, d, e, b),
                    content == left_content(s, c, e, b),
                ),
            ),
            implies(untouched(d, e, b), content == NOTHING),
        )

    def is_own(d: Term, e: Term, b: Term) -> Term:
        return took(s, d, e, b) & (s.read_content[d, e, b] == s.content_sent(d, e))

    def found(d: Term, e: Term) -> Term:
        def gave(b: Term) -> Term:
            return s.read_answered[d, e, b] & (s.read_content[d, e, b] == s.found[d, e])

        return exists(s.bookie, lambda b: gave(b) & left_before(d, e, b))

    return all_of(
        forall_over(
            (s.recoverer, s.entry, s.bookie),
            lambda d, e, b: implies(s.read_handled[d, e, b], left_before(d, e, b) | is_own(d, e, b)),
        ),
        forall_over((s.recoverer, s.entry), lambda d, e: implies(s.positive(d, e), found(d, e))),
    )


@invariant(
    "the LAC and LAFR that bookies told a client before enough of them had "
    "answered are not above those of some earlier client that opened the ledger"
)
def told_is_confirmed(s: UnboundedLedger) -> Term:
    """Return the invariant that a takeover starts at a point that an earlier client has confirmed."""

    def counts(d: Term, b: Term) -> Term:
        return s.fence_answered[d, b] | (s.fence_handled[d, b] & ~s.covered(d))

    def reached(d: Term, b: Term) -> Term:
        def by(c: Term) -> Term:
            opened = earlier(s, c, d) & has_opened(s, c)
            return opened & (s.fence_lac[d, b] <= s.lafr(c)) & (s.fence_told_lac[d, b] <= s.highest_acked(c))

        return exists(s.client, by)

    return forall_over((s.recoverer, s.bookie), lambda d, b: implies(counts(d, b), reached(d, b)))
