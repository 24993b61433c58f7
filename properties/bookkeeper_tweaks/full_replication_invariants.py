"""Invariants that both proposed changes share.

Their ensembles are sets of WQ bookies. The LAFR (last add fully replicated) is the entry up to which all
bookies of the write set have acked. An entry's *home* is the ensemble of the last fragment of the client's
list that starts at or below it.
"""

from __future__ import annotations

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import at_least, exists, forall_over
from fencepost.encoding.language.system import invariant
from fencepost.encoding.language.terms import Term, TermLike
from fencepost.properties.bookkeeper.common_invariants import in_own_fragment_of, listed
from fencepost.protocols.bookkeeper_tweaks.replication import ReplicatedLedger as Ledger


def is_current(s: Ledger, client: TermLike, bookie: TermLike) -> Term:
    """Return whether the bookie is in the last ensemble of the client's list."""
    return exists(s.fragment, lambda g: (s.own_last_fragment[client] == g) & s.own_member[client, g, bookie])


def is_home(s: Ledger, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Return whether the bookie is in the entry's ensemble, by the client's list."""
    return in_own_fragment_of(entry, s, client, lambda g: s.own_member[client, g, bookie])


@invariant("each ensemble of a client's list has WQ members")
def ensembles_have_wq_members(s: Ledger) -> Term:
    """Return the invariant about the size of ensembles."""
    quorum = s.parameters.write_quorum

    def members(c: Term, g: Term, least: int) -> Term:
        return at_least(least, s.bookie, lambda b: s.own_member[c, g, b])

    return forall_over(
        (s.client, s.fragment),
        lambda c, g: implies(listed(s, c, g), members(c, g, quorum) & ~members(c, g, quorum + 1)),
    )


@invariant("the last fragment of a client's list starts at its LAFR + 1 or below")
def last_fragment_reaches_lafr(s: Ledger) -> Term:
    """Return the invariant that an ensemble change moves no entry at or below the LAFR."""
    return forall_over(
        (s.client, s.fragment),
        lambda c, g: implies(s.own_last_fragment[c] == g, s.own_first[c, g] <= s.lafr(c) + 1),
    )


@invariant("every answered add was handled, and every handled add was sent")
def handled_was_sent(s: Ledger) -> Term:
    """Return the invariant that no add is answered before it is handled, or handled before it is sent."""

    def in_turn(c: Term, g: Term, e: Term, b: Term) -> Term:
        index = c, g, e, b
        return implies(s.add_answered[index], s.add_handled[index]) & implies(
            s.add_handled[index], s.add_sent(*index)
        )

    return forall_over((s.client, s.fragment, s.entry, s.bookie), in_turn)


@invariant(
    "acks of entries above the LAFR come from bookies of the client's last "
    "ensemble; the acks of a replaced bookie are withdrawn"
)
def acks_of_current_members(s: Ledger) -> Term:
    """Return the invariant that an ensemble change withdraws the acks of the replaced bookie."""
    return forall_over(
        (s.client, s.entry, s.bookie),
        lambda c, e, b: implies(s.acked[c, e, b] & (s.lafr(c) < e), is_current(s, c, b)),
    )


@invariant("every bookie of its home acked an entry that a client counts as fully replicated")
def replicated_at_home(s: Ledger) -> Term:
    """Return the invariant that an entry at or below the LAFR has all its acks."""
    return forall_over(
        (s.client, s.entry, s.bookie),
        lambda c, e, b: implies((s.start(c) < e) & (e <= s.lafr(c)) & is_home(s, c, e, b), s.acked[c, e, b]),
    )
