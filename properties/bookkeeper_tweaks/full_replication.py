"""Properties and invariants of both proposed changes: full replication, and LACs that readers can trust.

The LAFR (last add fully replicated) is the entry up to which all bookies of the write set have acked. An
entry's *home* is the ensemble of the last fragment of the client's list that starts at or below it.
"""

from __future__ import annotations

from collections.abc import Callable

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import at_least, exists, forall, forall_over
from fencepost.encoding.language.system import Property, invariant
from fencepost.encoding.language.terms import Term, TermLike, any_of
from fencepost.properties.bookkeeper.invariants import is_current, is_home
from fencepost.properties.bookkeeper.safety import recovered
from fencepost.protocols.bookkeeper.values import Phase, Status
from fencepost.protocols.bookkeeper_tweaks.guaranteed_write_quorum import GuaranteedLedger as Ledger


def valid_fragments(s: Ledger) -> Property:
    """Return the property ValidNextFragment, and that the metadata has no fragment beyond the end.

    The first part alone would follow from the condition under which an ensemble is changed.
    """

    def goes_up(c: Term, g: Term) -> Term:
        return forall(s.fragment, lambda h: implies(h < g, s.own_first[c, h] <= s.own_first[c, g]))

    def is_in_ledger(g: Term) -> Term:
        return implies(g <= s.last_fragment, s.first[g] <= s.last_entry + 1)

    rising = forall_over(
        (s.client, s.fragment), lambda c, g: implies(g <= s.own_last_fragment[c], goes_up(c, g))
    )
    return Property(
        name="valid-fragments",
        meaning="no client's fragment starts below the one before it, and once the ledger is closed, no "
        "fragment of the metadata starts beyond the entry after the last one",
        holds=rising & implies(s.status == Status.CLOSED, forall(s.fragment, is_in_ledger)),
        witness=(s.status == Status.CLOSED) & (s.last_fragment > 1),
        witness_meaning="the ledger is closed and has a second fragment (needs a spare bookie)",
    )


def tail_fragments_at_wq(s: Ledger) -> Property:
    """Return the property TailFragmentsReachWriteQuorum: finished fragments are fully replicated."""

    def is_in_tail(e: Term) -> Term:
        return exists(s.fragment, lambda g: (g == s.last_fragment) & (e < s.first[g]))

    return Property(
        name="tail-fragments-at-wq",
        meaning="every entry of every fragment but the last is stored on all WQ bookies of "
        "its write set in the metadata",
        holds=forall(s.entry, lambda e: implies(is_in_tail(e), copies(s, e, s.parameters.write_quorum))),
        witness=exists(s.entry, is_in_tail),
        witness_meaning="a fragment with an entry is followed by another fragment (needs a spare bookie)",
    )


def closed_ledger_at_wq(s: Ledger) -> Property:
    """Return the property AllEntriesOfClosedLedgerReachedWriteQuorum: closed ledgers are fully replicated."""
    return Property(
        name="closed-ledger-at-wq",
        meaning="once the ledger is closed, every entry up to the last is stored on all WQ "
        "bookies of its write set in the metadata",
        holds=forall(s.entry, lambda e: implies(is_final(s, e), copies(s, e, s.parameters.write_quorum))),
        witness=recovered(s) & (s.last_entry > 0),
        witness_meaning="a client that did not create the ledger has closed it with an entry in it",
    )


def lac_entry_at_aq(s: Ledger) -> Property:
    """Return the property NoDirtyReads: readers may read up to a bookie's LAC, so that entry is confirmed."""

    def confirmed(b: Term, e: Term) -> Term:
        return implies(s.heard(b, s.sent_lac) == e, copies(s, e, s.parameters.ack_quorum))

    return Property(
        name="lac-entry-at-aq",
        meaning="the entry at the LAC of any bookie is stored on AQ bookies of its write set in the metadata",
        holds=forall_over((s.bookie, s.entry), confirmed),
        witness=exists(s.bookie, lambda b: s.heard(b, s.sent_lac) > 0),
        witness_meaning="a bookie has received a LAC above 0 (needs a second entry)",
    )


def no_dirty_read(s: Ledger) -> Property:
    """Return the property that lac-entry-at-aq serves: no reader gets an entry that is not there later."""

    def offers_more(b: Term) -> Term:
        is_named = exists(s.entry, lambda e: s.in_metadata_write_set(e, b))
        return is_named & (s.heard(b, s.sent_lac) > s.last_entry)

    return Property(
        name="no-dirty-read",
        meaning="once the ledger is closed, no bookie of its metadata offers readers a LAC "
        "beyond the last entry",
        holds=implies(s.status == Status.CLOSED, ~exists(s.bookie, offers_more)),
        witness=recovered(s) & exists(s.bookie, lambda b: s.heard(b, s.sent_lac) > 0),
        witness_meaning="a client that did not create the ledger has closed it, and a bookie has "
        "received a LAC above 0",
    )


def closes_recorded(s: Ledger) -> Property:
    """Return the property that a close that a client reports is in the metadata."""
    return Property(
        name="closes-recorded",
        meaning="once a client reports that the ledger is closed, it is closed in the metadata",
        holds=forall(s.client, lambda c: implies(s.phase[c] == Phase.CLOSED, s.status == Status.CLOSED)),
        witness=exists(s.client, lambda c: s.phase[c] == Phase.CLOSED),
        witness_meaning="a client reports that the ledger is closed",
    )


def copies(s: Ledger, entry: TermLike, count: int) -> Term:
    """Return whether at least `count` bookies of the entry's write set in the metadata store the entry."""
    return at_least(count, s.bookie, lambda b: s.in_metadata_write_set(entry, b) & s.has(b, entry))


def is_final(s: Ledger, entry: TermLike) -> Term:
    """Return whether the ledger is closed and the entry is in it."""
    return (s.status == Status.CLOSED) & (s.last_entry >= entry)


# Invariants.


@invariant("the last fragment of a client's list starts at its LAFR + 1 or below")
def last_fragment_reaches_lafr(s: Ledger) -> Term:
    """Return the invariant that an ensemble change moves no entry at or below the LAFR."""
    return forall_over(
        (s.client, s.fragment),
        lambda c, g: implies(s.own_last_fragment[c] == g, s.own_first[c, g] <= s.lafr(c) + 1),
    )


@invariant(
    "acks of entries above the LAFR come from bookies of the client's last "
    "ensemble; the acks of a replaced bookie are withdrawn"
)
def acks_of_current_members(s: Ledger) -> Term:
    """Return the invariant that an ensemble change withdraws the acks of the replaced bookie."""
    return forall_over(
        (s.client, s.entry, s.bookie),
        lambda c, e, b: implies(s.acked[c, e, b] & (s.lafr(c) < e), is_current(s, c, e, b)),
    )


@invariant("every bookie of its home acked an entry that a client counts as fully replicated")
def replicated_at_home(s: Ledger) -> Term:
    """Return the invariant that an entry at or below the LAFR has all its acks."""
    return forall_over(
        (s.client, s.entry, s.bookie),
        lambda c, e, b: implies((s.start(c) < e) & (e <= s.lafr(c)) & is_home(s, c, e, b), s.acked[c, e, b]),
    )


@invariant(
    "no add carries a LAC or LAFR above that of its sender, and no add of a recovery whose adds are frozen "
    "carries one above those that the recovery started from"
)
def adds_carry_own_prefixes(s: Ledger, is_frozen: Callable[[Term], Term]) -> Term:
    """Return the invariant about the LAC and LAFR that adds carry."""

    def own(c: Term, lac: Term, lafr: Term) -> Term:
        started = any_of(~is_frozen(c), (lac <= s.start_lac(c)) & (lafr <= s.start(c)))
        return (lac <= s.lac(c)) & (lafr <= s.lafr(c)) & started

    return forall_over(
        (s.client, s.fragment, s.entry),
        lambda c, g, e: implies(s.is_sent(c, g, e), own(c, s.sent_lac[c, g, e], s.sent_lafr[c, g, e])),
    )


@invariant("a client that has closed the ledger closed it at its LAC and LAFR")
def closed_at_the_end(s: Ledger) -> Term:
    """Return the invariant that a client closes only what is fully replicated."""
    return forall(
        s.client,
        lambda c: implies(
            s.phase[c] == Phase.CLOSED, (s.last_entry == s.lac(c)) & (s.last_entry == s.lafr(c))
        ),
    )
