"""Invariants that today's ledger and the ledger with a guaranteed write quorum share.

An ensemble is a list of bookies in one and a set of bookies in the other. An invariant that compares
ensembles takes the comparison as an argument.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from fencepost.encoding.language.quantifiers import exists, forall, forall_over
from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.language.system import Invariant
from fencepost.encoding.language.terms import Family, Read, Term, TermLike, all_of, implies
from fencepost.protocols.bookkeeper.bookies import NOTHING
from fencepost.protocols.bookkeeper.metadata import WRITER, Status, in_fragment_of


class Clients(Protocol):
    """State variables of the clients of a ledger: phases and lists of fragments."""

    fragment: Sort

    phase: Family
    own_last_fragment: Family
    own_first: Family


class Reads(Protocol):
    """State variables of fencing reads, recovery reads and their answers."""

    bookie: Sort

    fence_handled: Family
    fence_answered: Family
    read_handled: Family
    read_answered: Family

    def fence_sent(self, client: TermLike, bookie: TermLike, /) -> Term:
        """Return whether the client has sent a fencing read to the bookie."""


class LedgerVariables(Clients, Reads, Protocol):
    """State variables of a ledger with a writer and recoverers, as far as these invariants read them."""

    client: Sort
    recoverer: Sort
    entry: Sort
    read_entry: Sort

    status: Read
    last_fragment: Read
    first: Family

    base: Family

    stored: Family
    add_handled: Family
    add_refused: Family
    acked: Family

    read_content: Family
    found: Family

    def pushed(self, client: TermLike, entry: TermLike, /) -> Term:
        """Return whether the client has sent the entry."""

    def has_entry(self, client: TermLike, entry: TermLike, bookie: TermLike, /) -> Term:
        """Return whether the bookie has answered the client's read of the entry with its content."""

    def positive(self, client: TermLike, entry: TermLike, /) -> Term:
        """Return whether the client's read of the entry has found it."""


# Predicates of the invariants.


def has_begun(s: Clients, client: TermLike) -> Term:
    """Return whether the client has left its first phase, idle."""
    idle = s.phase.domain.values[0]
    return s.phase[client] != idle


def accepted(
    s: LedgerVariables, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
) -> Term:
    """Return whether the bookie has handled that add and not refused it."""
    index = client, fragment, entry, bookie
    return s.add_handled[index] & ~s.add_refused[index]


def took(s: LedgerVariables, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Return whether the bookie has accepted the entry from the client, in any fragment."""
    return exists(s.fragment, lambda g: accepted(s, client, g, entry, bookie))


def listed(s: Clients, client: TermLike, fragment: TermLike) -> Term:
    """Return whether the fragment is in the client's list."""
    return fragment <= s.own_last_fragment[client]


def in_own_fragment_of(entry: TermLike, s: Clients, client: TermLike, body: Callable[[Term], Term]) -> Term:
    """Return that `body` is true of the entry's fragment in the client's list."""
    last = s.own_last_fragment[client]
    return in_fragment_of(entry, s.fragment, last, first=lambda g: s.own_first[client, g], body=body)


def same_list(s: LedgerVariables, client: TermLike, same_ensemble: Callable[[Term], Term]) -> Term:
    """Return whether the metadata's list of fragments equals the client's list.

    `same_ensemble` compares the two ensembles of one fragment.
    """
    return all_of(
        s.last_fragment == s.own_last_fragment[client],
        forall(
            s.fragment,
            lambda g: implies(
                g <= s.last_fragment, (s.first[g] == s.own_first[client, g]) & same_ensemble(g)
            ),
        ),
    )


# Lists of fragments.


def metadata_is_the_writers(s: LedgerVariables, same: Term) -> Invariant:
    """Return the invariant that the metadata follows the writer; `same` says that the two lists are equal."""
    return Invariant(
        name="metadata-is-the-writers",
        meaning="until the ledger is closed, the metadata's list of fragments is the writer's",
        holds=implies(s.status != Status.CLOSED, same),
    )


def recoverers_know_the_writers(s: LedgerVariables, same_ensemble: Callable[[Term, Term], Term]) -> Invariant:
    """Return the invariant that a recoverer copies the writer's list.

    `same_ensemble` says of a recoverer and a fragment that its ensemble is the writer's.
    """

    def same(r: Term, g: Term) -> Term:
        return (s.own_first[r, g] == s.own_first[WRITER, g]) & same_ensemble(r, g)

    return Invariant(
        name="recoverers-know-the-writers",
        meaning="the list that a recoverer began with is the writer's whole list",
        holds=forall(
            s.recoverer,
            lambda r: implies(
                has_begun(s, r),
                (s.base[r] == s.own_last_fragment[WRITER])
                & (s.base[r] <= s.own_last_fragment[r])
                & forall(s.fragment, lambda g: implies(g <= s.base[r], same(r, g))),
            ),
        ),
    )


# Adds and contents.


def acked_was_accepted(s: LedgerVariables) -> Invariant:
    """Return the invariant that acks are true."""
    return Invariant(
        name="acked-was-accepted",
        meaning="a bookie whose ack a client counts has accepted the entry",
        holds=forall_over(
            (s.client, s.entry, s.bookie), lambda c, e, b: implies(s.acked[c, e, b], took(s, c, e, b))
        ),
    )


def contents_are_the_writers(s: LedgerVariables) -> Invariant:
    """Return the invariant that nobody invents or exchanges the content of an entry."""

    def genuine(content: Term, e: Term) -> Term:
        return (content == NOTHING) | (content == e)

    return Invariant(
        name="contents-are-the-writers",
        meaning="the content that is stored, read or found as an entry is the one that the "
        "writer pushed as that entry, or nothing",
        holds=all_of(
            forall_over((s.bookie, s.entry), lambda b, e: genuine(s.stored[b, e], e)),
            forall_over(
                (s.recoverer, s.read_entry, s.bookie), lambda r, e, b: genuine(s.read_content[r, e, b], e)
            ),
            forall_over((s.recoverer, s.read_entry), lambda r, e: genuine(s.found[r, e], e)),
        ),
    )


def found_as_answered(s: LedgerVariables) -> Invariant:
    """Return the invariant that a recoverer keeps the content that it was given."""
    return Invariant(
        name="found-as-answered",
        meaning="if a bookie has given a recoverer the content of an entry, the recoverer has that content",
        holds=forall_over(
            (s.recoverer, s.read_entry, s.bookie),
            lambda r, e, b: implies(s.has_entry(r, e, b), s.found[r, e] != NOTHING),
        ),
    )


# Recovery.


def answered_was_asked(
    s: Reads, reader: Sort, entry: Sort, asked: Callable[[Term, Term, Term], Term]
) -> Invariant:
    """Return the invariant that no read is answered before it is handled, or handled before it is sent.

    `asked` says of a reader, an entry and a bookie that the recovery read was sent there.
    """
    return Invariant(
        name="answered-was-asked",
        meaning="every answered fencing or recovery read was handled, and every handled one was sent",
        holds=all_of(
            forall_over(
                (reader, s.bookie),
                lambda r, b: all_of(
                    implies(s.fence_answered[r, b], s.fence_handled[r, b]),
                    implies(s.fence_handled[r, b], s.fence_sent(r, b)),
                ),
            ),
            forall_over(
                (reader, entry, s.bookie),
                lambda r, e, b: all_of(
                    implies(s.read_answered[r, e, b], s.read_handled[r, e, b]),
                    implies(s.read_handled[r, e, b], asked(r, e, b)),
                ),
            ),
        ),
    )


def written_back_was_found(s: LedgerVariables) -> Invariant:
    """Return the invariant that a recoverer writes back only entries that it has found."""
    return Invariant(
        name="written-back-was-found",
        meaning="a recoverer has found every entry that it writes back",
        holds=forall_over((s.recoverer, s.entry), lambda r, e: implies(s.pushed(r, e), s.positive(r, e))),
    )
