"""Why an unbounded ledger is safe: facts that each action keeps, if all of them hold before it.

docs/tweaks.md says which rule each stands for. A client's *list* is its copy of the fragments; an entry's *home* is the
ensemble of the last fragment of the list that starts at or below it. A client is *earlier* than another if its term is
lower. It has *opened* the ledger if it created it, or ended its takeover: its list is then the one that the next client takes.
"""

from __future__ import annotations

from fencepost.encoding.language.quantifiers import exists, forall, forall_over
from fencepost.encoding.language.system import Invariant
from fencepost.encoding.language.terms import Term, TermLike, all_of, any_of, if_, implies, lift
from fencepost.properties.bookkeeper.common_invariants import answered_was_asked, has_begun, listed
from fencepost.properties.bookkeeper_tweaks.full_replication_invariants import (
    acks_of_current_members,
    ensembles_have_wq_members,
    handled_was_sent,
    last_fragment_reaches_lafr,
    replicated_at_home,
)
from fencepost.protocols.bookkeeper.metadata import Status
from fencepost.protocols.bookkeeper_tweaks.unbounded_ledgers import (
    CREATOR,
    NOTHING,
    UnboundedLedger,
    UnboundedPhase,
)


def unbounded_ledger_invariants(s: UnboundedLedger) -> tuple[Invariant, ...]:
    """The facts about one ledger."""
    return (
        phases_and_status(s),
        terms_only_rise(s),
        ensembles_have_wq_members(s),
        last_fragment_reaches_lafr(s),
        metadata_is_the_holders(s),
        lists_are_handed_on(s),
        own_fragments_above_start(s),
        sent_to_own_fragments(s),
        handled_was_sent(s),
        acked_was_accepted(s),
        acks_of_current_members(s),
        replicated_at_home(s),
        answered_was_asked(s, s.client, s.entry, s.read_to),
        reads_above_start(s),
        found_is_something(s),
        written_back_was_found(s),
        opened_above_the_no_op(s),
        *((no_op_comes_first(s),) if len(s.fragment) <= 2 else ()),
        stored_by_the_last(s),
        read_as_stored(s),
        adds_carry_own_prefixes(s),
        told_is_confirmed(s),
        closed_for_a_reason(s),
    )


# What the facts speak of.


def took(s: UnboundedLedger, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """The bookie stored the entry for the client, for whichever fragment."""
    return exists(s.fragment, lambda g: s.add_stored(client, g, entry, bookie))


def emptied(s: UnboundedLedger, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """The bookie deleted the entry when it stored the client's NoOp below it."""
    return exists(s.entry, lambda n: (n < entry) & s.is_no_op(client, n) & took(s, client, n, bookie))


def touched(s: UnboundedLedger, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """The bookie stored or deleted the entry for the client."""
    return took(s, client, entry, bookie) | emptied(s, client, entry, bookie)


def left_there(s: UnboundedLedger, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """What a client that touched the entry left there."""
    return if_(took(s, client, entry, bookie), s.content_sent(client, entry), NOTHING)


def earlier(s: UnboundedLedger, client: TermLike, other: TermLike) -> Term:
    """The one client's term is lower than the other's."""
    return s.term[client] < s.term[other]


def holds_term(s: UnboundedLedger, client: TermLike) -> Term:
    """The ledger is in the client's term."""
    return s.ledger_term == s.term[client]


def is_writing(s: UnboundedLedger, client: TermLike) -> Term:
    """The client writes, or did until it closed the ledger."""
    return any_of(s.phase[client] == UnboundedPhase.WRITING, s.phase[client] == UnboundedPhase.CLOSED)


def has_opened(s: UnboundedLedger, client: TermLike) -> Term:
    """The client has opened the ledger; of one that has withdrawn, its NoOp and the next client's list tell."""
    known = exists(s.client, lambda d: (s.term[d] == s.term[client] + 1) & _takes_list(s, d, client))
    ended = (lift(CREATOR) == client) | (_is_above_no_op(s, client) & known)
    return is_writing(s, client) | ((s.phase[client] == UnboundedPhase.WITHDRAWN) & ended)


def _takes_list(s: UnboundedLedger, successor: TermLike, client: TermLike) -> Term:
    return has_begun(s, successor) & (s.base[successor] == s.own_last_fragment[client])


def _is_above_no_op(s: UnboundedLedger, client: TermLike) -> Term:
    """The NoOp of the client is on all of its write set."""
    return exists(s.entry, lambda n: s.is_no_op(client, n) & (n <= s.lafr(client)))


# Terms.


def phases_and_status(s: UnboundedLedger) -> Invariant:
    def fits(c: Term) -> Term:
        return all_of(
            (s.phase[c] == UnboundedPhase.RECOVERING) == (s.status == Status.IN_RECOVERY),
            (s.phase[c] == UnboundedPhase.WRITING) == (s.status == Status.OPEN),
            (s.phase[c] == UnboundedPhase.CLOSED) == (s.status == Status.CLOSED),
        )

    return Invariant(
        name="phases-and-status",
        meaning="the clients of all terms up to the ledger's have begun; the client of its term does what the status says, "
        "and no other has closed it",
        holds=all_of(
            (s.status == Status.NONE) == (s.ledger_term == 0),
            s.phase[CREATOR] != UnboundedPhase.RECOVERING,
            forall(s.client, lambda c: has_begun(s, c) == (s.term[c] <= s.ledger_term)),
            forall(s.client, lambda c: implies(holds_term(s, c), fits(c))),
            forall(s.client, lambda c: implies(s.phase[c] == UnboundedPhase.CLOSED, holds_term(s, c))),
        ),
    )


def terms_only_rise(s: UnboundedLedger) -> Invariant:
    def known(c: Term, b: Term) -> Term:
        reads = exists(s.entry, lambda e: s.read_handled[c, e, b])
        adds = exists(s.entry, lambda e: took(s, c, e, b))
        handled = any_of(s.fence_handled[c, b], adds, reads)
        return all_of(
            implies(handled, s.term[c] <= s.bookie_term[b]),
            implies(s.rejected[c, b], s.term[c] < s.bookie_term[b]),
        )

    return Invariant(
        name="terms-only-rise",
        meaning="a bookie's term is not above the ledger's, nor below that of a client whose request it handled; it is "
        "above that of a client that it rejected",
        holds=all_of(
            forall(s.bookie, lambda b: s.bookie_term[b] <= s.ledger_term),
            forall_over((s.client, s.bookie), known),
        ),
    )


# The ledger and its fragments.


def metadata_is_the_holders(s: UnboundedLedger) -> Invariant:
    def same(c: Term, g: Term) -> Term:
        return (s.first[g] == s.own_first[c, g]) & forall(
            s.bookie, lambda b: s.member[g, b] == s.own_member[c, g, b]
        )

    def agrees(c: Term) -> Term:
        in_recovery = s.status == Status.IN_RECOVERY
        return all_of(
            s.last_fragment == if_(in_recovery, s.base[c], s.own_last_fragment[c]),
            forall(s.fragment, lambda g: implies(g <= s.last_fragment, same(c, g))),
        )

    return Invariant(
        name="metadata-is-the-holders",
        meaning="the metadata's list of fragments is that of the client of its term, or while that client takes over, "
        "what its list was when it began; before any, the creator's",
        holds=all_of(
            forall(s.client, lambda c: implies(holds_term(s, c), agrees(c))),
            implies(s.status == Status.NONE, agrees(lift(CREATOR))),
        ),
    )


def lists_are_handed_on(s: UnboundedLedger) -> Invariant:
    def same(c: Term, d: Term, g: Term) -> Term:
        return (s.own_first[c, g] == s.own_first[d, g]) & forall(
            s.bookie, lambda b: s.own_member[c, g, b] == s.own_member[d, g, b]
        )

    def handed_on(c: Term, d: Term) -> Term:
        opened = is_writing(s, c) | (lift(CREATOR) == c)
        withdrawn = (s.phase[c] == UnboundedPhase.WITHDRAWN) & _is_above_no_op(s, c)
        last = s.own_last_fragment[c]
        return all_of(
            any_of(
                ~opened & (s.base[d] == s.base[c]),
                (opened | withdrawn) & (s.base[d] == last),
            ),
            forall(s.fragment, lambda g: implies(g <= s.base[d], same(c, d, g))),
        )

    return Invariant(
        name="lists-are-handed-on",
        meaning="a client begins with the list of the one before it, without the fragments of a takeover that did not end",
        holds=all_of(
            forall(s.client, lambda c: s.base[c] <= s.own_last_fragment[c]),
            forall_over(
                (s.client, s.successor),
                lambda c, d: implies((s.term[d] == s.term[c] + 1) & has_begun(s, d), handed_on(c, d)),
            ),
        ),
    )


def own_fragments_above_start(s: UnboundedLedger) -> Invariant:
    return Invariant(
        name="own-fragments-above-start",
        meaning="a fragment that a client added after a takeover began starts above where its LAFR started, after enough "
        "bookies answered",
        holds=forall_over(
            (s.successor, s.fragment),
            lambda c, g: implies(
                (s.base[c] < g) & listed(s, c, g), s.covered(c) & (s.start(c) < s.own_first[c, g])
            ),
        ),
    )


# Adds.


def sent_to_own_fragments(s: UnboundedLedger) -> Invariant:
    return Invariant(
        name="sent-to-own-fragments",
        meaning="adds are of entries above where the client's LAFR started, to fragments of its list that start at or below "
        "them, from that on which was the last when it began",
        holds=forall_over(
            (s.client, s.fragment, s.entry),
            lambda c, g, e: implies(
                s.sent[c, g, e],
                all_of(
                    has_begun(s, c), listed(s, c, g), s.base[c] <= g, s.start(c) < e, s.own_first[c, g] <= e
                ),
            ),
        ),
    )


def acked_was_accepted(s: UnboundedLedger) -> Invariant:
    return Invariant(
        name="acked-was-accepted",
        meaning="what a client counts as acked by a bookie, the bookie stored for it",
        holds=forall_over(
            (s.client, s.entry, s.bookie), lambda c, e, b: implies(s.acked[c, e, b], took(s, c, e, b))
        ),
    )


# Takeovers.


def reads_above_start(s: UnboundedLedger) -> Invariant:
    def in_turn(c: Term, e: Term) -> Term:
        below = forall(s.entry, lambda n: implies((s.start(c) < n) & (n < e), s.positive(c, n)))
        return s.covered(c) & (s.start(c) < e) & below

    return Invariant(
        name="reads-above-start",
        meaning="entries are read one after another, from where the client's LAFR started, after enough bookies answered",
        holds=forall_over((s.client, s.entry), lambda c, e: implies(s.read_sent[c, e], in_turn(c, e))),
    )


def found_is_something(s: UnboundedLedger) -> Invariant:
    return Invariant(
        name="found-is-something",
        meaning="a client has the content of an entry that some bookie gave it, and pushes values only",
        holds=forall_over(
            (s.client, s.entry),
            lambda c, e: all_of(
                implies(s.positive(c, e), s.content[c, e] != NOTHING),
                implies(s.pushed(c, e), s.content_sent(c, e) != NOTHING),
            ),
        ),
    )


def written_back_was_found(s: UnboundedLedger) -> Invariant:
    def has_reason(c: Term, e: Term) -> Term:
        above = exists(s.entry, lambda n: (n < e) & s.is_no_op(c, n) & (n <= s.lafr(c)))
        return any_of(s.positive(c, e), s.is_no_op(c, e), above & (s.phase[c] != UnboundedPhase.RECOVERING))

    return Invariant(
        name="written-back-was-found",
        meaning="what a takeover writes it has found, or it is the NoOp; other entries come above the NoOp, once that is "
        "fully replicated",
        holds=forall_over((s.successor, s.entry), lambda c, e: implies(s.pushed(c, e), has_reason(c, e))),
    )


def opened_above_the_no_op(s: UnboundedLedger) -> Invariant:
    return Invariant(
        name="opened-above-the-no-op",
        meaning="a client that took the ledger over and writes has its NoOp fully replicated",
        holds=forall(s.successor, lambda c: implies(is_writing(s, c), _is_above_no_op(s, c))),
    )


def no_op_comes_first(s: UnboundedLedger) -> Invariant:
    def above(c: Term, n: Term, e: Term) -> Term:
        return (n < e) & s.is_no_op(c, n)

    return Invariant(
        name="no-op-comes-first",
        meaning="a NoOp is sent to no later fragment than an entry above it; a bookie that has stored an entry of a client "
        "above its NoOp has handled each NoOp that was sent to it",
        holds=all_of(
            forall_over(
                (s.successor, s.fragment, s.fragment, s.entry, s.entry),
                lambda c, g, h, n, e: implies((g < h) & above(c, n, e), ~(s.sent[c, h, n] & s.sent[c, g, e])),
            ),
            forall_over(
                (s.successor, s.fragment, s.entry, s.entry, s.bookie),
                lambda c, g, n, e, b: implies(
                    above(c, n, e) & took(s, c, e, b) & s.add_sent(c, g, n, b), s.add_handled[c, g, n, b]
                ),
            ),
        ),
    )


# What bookies store and tell.


def stored_by_the_last(s: UnboundedLedger) -> Invariant:
    def later(c: Term, e: Term, b: Term) -> Term:
        return exists(s.client, lambda d: earlier(s, c, d) & touched(s, d, e, b))

    def untouched(e: Term, b: Term) -> Term:
        return ~exists(s.client, lambda c: touched(s, c, e, b))

    return Invariant(
        name="stored-by-the-last",
        meaning="a bookie has as an entry what the latest client left there that it stored or deleted it for",
        holds=all_of(
            forall_over(
                (s.client, s.entry, s.bookie),
                lambda c, e, b: implies(
                    touched(s, c, e, b) & ~later(c, e, b), s.stored[b, e] == left_there(s, c, e, b)
                ),
            ),
            forall_over(
                (s.entry, s.bookie), lambda e, b: implies(untouched(e, b), s.stored[b, e] == NOTHING)
            ),
        ),
    )


def read_as_stored(s: UnboundedLedger) -> Invariant:
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
                    content == left_there(s, c, e, b),
                ),
            ),
            implies(untouched(d, e, b), content == NOTHING),
        )

    def is_own(d: Term, e: Term, b: Term) -> Term:
        return took(s, d, e, b) & (s.read_content[d, e, b] == s.content_sent(d, e))

    def found(d: Term, e: Term) -> Term:
        def gave(b: Term) -> Term:
            return s.read_answered[d, e, b] & (s.read_content[d, e, b] == s.content[d, e])

        return exists(s.bookie, lambda b: gave(b) & left_before(d, e, b))

    return Invariant(
        name="read-as-stored",
        meaning="a recovery read is answered with what the latest earlier client left there, for good, or with what the "
        "reader itself wrote back; what the reader found is of the first kind",
        holds=all_of(
            forall_over(
                (s.successor, s.entry, s.bookie),
                lambda d, e, b: implies(s.read_handled[d, e, b], left_before(d, e, b) | is_own(d, e, b)),
            ),
            forall_over((s.successor, s.entry), lambda d, e: implies(s.positive(d, e), found(d, e))),
        ),
    )


def adds_carry_own_prefixes(s: UnboundedLedger) -> Invariant:
    def own(c: Term, g: Term, e: Term) -> Term:
        return all_of(
            s.sent_lac[c, g, e] <= s.lac(c),
            s.sent_lafr[c, g, e] <= s.lafr(c),
            any_of(
                has_opened(s, c),
                (s.sent_lac[c, g, e] <= s.start_lac(c)) & (s.sent_lafr[c, g, e] <= s.start(c)),
            ),
        )

    return Invariant(
        name="adds-carry-own-prefixes",
        meaning="no add carries a LAC or LAFR above those of who sent it, nor any of a takeover above where it started",
        holds=forall_over(
            (s.client, s.fragment, s.entry), lambda c, g, e: implies(s.sent[c, g, e], own(c, g, e))
        ),
    )


def told_is_confirmed(s: UnboundedLedger) -> Invariant:
    def counts(d: Term, b: Term) -> Term:
        return s.fence_answered[d, b] | (s.fence_handled[d, b] & ~s.covered(d))

    def reached(d: Term, b: Term) -> Term:
        def by(c: Term) -> Term:
            opened = earlier(s, c, d) & has_opened(s, c)
            return opened & (s.fence_lafr[d, b] <= s.lafr(c)) & (s.fence_lac[d, b] <= s.confirmed(c))

        return exists(s.client, by)

    return Invariant(
        name="told-is-confirmed",
        meaning="the LAC and LAFR that bookies told a client before it had heard enough are not above those of an earlier "
        "client that opened the ledger",
        holds=forall_over((s.successor, s.bookie), lambda d, b: implies(counts(d, b), reached(d, b))),
    )


def closed_for_a_reason(s: UnboundedLedger) -> Invariant:
    def closed(c: Term) -> Term:
        return all_of(
            s.phase[c] == UnboundedPhase.CLOSED,
            s.last_entry == s.lac(c),
            s.last_entry == s.lafr(c),
        )

    return Invariant(
        name="closed-for-a-reason",
        meaning="a closed ledger was closed by the client of its term, at its LAC and LAFR",
        holds=implies(s.status == Status.CLOSED, exists(s.client, closed)),
    )
