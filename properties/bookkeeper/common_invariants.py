"""Facts that are the same sentence about two ledgers: today's, and the one with a guaranteed write quorum.

Where an ensemble is a row of bookies in one and a set of them in the other, a fact is given what it says of ensembles.
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
    """What clients of a ledger do, and their lists."""

    fragment: Sort

    phase: Family
    own_last_fragment: Family
    own_first: Family


class Reads(Protocol):
    """Fencing and recovery reads, and their answers."""

    bookie: Sort

    fence_handled: Family
    fence_answered: Family
    read_handled: Family
    read_answered: Family

    def fence_sent(self, client: TermLike, bookie: TermLike, /) -> Term: ...


class LedgerVariables(Clients, Reads, Protocol):
    """The state of a ledger that has a writer and recoverers, as far as these facts read it."""

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

    def pushed(self, client: TermLike, entry: TermLike, /) -> Term: ...

    def has_entry(self, client: TermLike, entry: TermLike, bookie: TermLike, /) -> Term: ...

    def positive(self, client: TermLike, entry: TermLike, /) -> Term: ...


# What the facts speak of.


def has_begun(s: Clients, client: TermLike) -> Term:
    """The client has done something: it is not in its first phase, idle, any more."""
    idle = s.phase.domain.values[0]
    return s.phase[client] != idle


def accepted(
    s: LedgerVariables, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
) -> Term:
    """The bookie handled that add, and did not refuse it."""
    index = client, fragment, entry, bookie
    return s.add_handled[index] & ~s.add_refused[index]


def took(s: LedgerVariables, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """The bookie accepted the entry from the client, for whichever fragment."""
    return exists(s.fragment, lambda g: accepted(s, client, g, entry, bookie))


def listed(s: Clients, client: TermLike, fragment: TermLike) -> Term:
    """The fragment is in the client's list."""
    return fragment <= s.own_last_fragment[client]


def in_own_fragment_of(entry: TermLike, s: Clients, client: TermLike, body: Callable[[Term], Term]) -> Term:
    """Return that `body` is true of the entry's fragment by the client's list."""
    last = s.own_last_fragment[client]
    return in_fragment_of(entry, s.fragment, last, first=lambda g: s.own_first[client, g], body=body)


def same_list(s: LedgerVariables, client: TermLike, same_ensemble: Callable[[Term], Term]) -> Term:
    """The metadata's list is the client's: as long, and the same in each fragment."""
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
    """`same` says that it is."""
    return Invariant(
        name="metadata-is-the-writers",
        meaning="until the ledger is closed, the metadata's list of fragments is the writer's",
        holds=implies(s.status != Status.CLOSED, same),
    )


def recoverers_know_the_writers(s: LedgerVariables, same_ensemble: Callable[[Term, Term], Term]) -> Invariant:
    """`same_ensemble` says of a recoverer and a fragment that its ensemble is the writer's."""

    def same(r: Term, g: Term) -> Term:
        return (s.own_first[r, g] == s.own_first[WRITER, g]) & same_ensemble(r, g)

    return Invariant(
        name="recoverers-know-the-writers",
        meaning="up to where it began, a recoverer's list is the writer's, all of it",
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
    return Invariant(
        name="acked-was-accepted",
        meaning="what a client counts as acked by a bookie, the bookie accepted",
        holds=forall_over(
            (s.client, s.entry, s.bookie), lambda c, e, b: implies(s.acked[c, e, b], took(s, c, e, b))
        ),
    )


def contents_are_the_writers(s: LedgerVariables) -> Invariant:
    def genuine(content: Term, e: Term) -> Term:
        return (content == NOTHING) | (content == e)

    return Invariant(
        name="contents-are-the-writers",
        meaning="what is stored, read or found as an entry is what the writer pushed as it, or nothing",
        holds=all_of(
            forall_over((s.bookie, s.entry), lambda b, e: genuine(s.stored[b, e], e)),
            forall_over(
                (s.recoverer, s.read_entry, s.bookie), lambda r, e, b: genuine(s.read_content[r, e, b], e)
            ),
            forall_over((s.recoverer, s.read_entry), lambda r, e: genuine(s.found[r, e], e)),
        ),
    )


def found_as_answered(s: LedgerVariables) -> Invariant:
    return Invariant(
        name="found-as-answered",
        meaning="a recoverer has the content of an entry that some bookie gave it",
        holds=forall_over(
            (s.recoverer, s.read_entry, s.bookie),
            lambda r, e, b: implies(s.has_entry(r, e, b), s.found[r, e] != NOTHING),
        ),
    )


# Recovery.


def answered_was_asked(
    s: Reads, reader: Sort, entry: Sort, asked: Callable[[Term, Term, Term], Term]
) -> Invariant:
    """`asked` says of a reader, an entry and a bookie that the recovery read was sent there."""
    return Invariant(
        name="answered-was-asked",
        meaning="a fencing or recovery read that was answered was handled, and one that was handled was sent",
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
    return Invariant(
        name="written-back-was-found",
        meaning="what a recoverer writes back it has found",
        holds=forall_over((s.recoverer, s.entry), lambda r, e: implies(s.pushed(r, e), s.positive(r, e))),
    )
