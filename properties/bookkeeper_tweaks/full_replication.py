"""Properties that both proposed changes promise: full replication, and LACs that readers can trust."""

from __future__ import annotations

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import at_least, exists, forall, forall_over
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import Term, TermLike
from fencepost.protocols.bookkeeper.values import Status
from fencepost.protocols.bookkeeper_tweaks.replication import ReplicatedLedger as Ledger


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
        witness=s.closed_by_another() & (s.last_entry > 0),
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

    def is_named(b: Term) -> Term:
        return exists(s.entry, lambda e: s.in_write_set(e, b))

    closed = s.status == Status.CLOSED
    return Property(
        name="no-dirty-read",
        meaning="once the ledger is closed, no bookie of its metadata offers readers a LAC "
        "beyond the last entry",
        holds=forall(
            s.bookie, lambda b: implies(closed & is_named(b), s.heard(b, s.sent_lac) <= s.last_entry)
        ),
        witness=s.closed_by_another() & exists(s.bookie, lambda b: s.heard(b, s.sent_lac) > 0),
        witness_meaning="a client that did not create the ledger has closed it, and a bookie has "
        "received a LAC above 0",
    )


def copies(s: Ledger, entry: TermLike, count: int) -> Term:
    """Return whether at least `count` bookies of the entry's write set in the metadata store the entry."""
    return at_least(count, s.bookie, lambda b: s.in_write_set(entry, b) & s.has(b, entry))


def is_final(s: Ledger, entry: TermLike) -> Term:
    """Return whether the ledger is closed and the entry is in it."""
    return (s.status == Status.CLOSED) & (s.last_entry >= entry)
