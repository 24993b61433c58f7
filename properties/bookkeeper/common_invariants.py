"""Invariants that today's ledger and the proposed changes share."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, forall, forall_over
from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.language.system import invariant
from fencepost.encoding.language.terms import FALSE, Term, TermLike, all_of
from fencepost.protocols.bookkeeper.layers.published import to_resend
from fencepost.protocols.bookkeeper.metadata import in_fragment_of
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import NOTHING, WRITER, Status

# Predicates of the invariants.


def has_begun(s: Ledger, client: TermLike) -> Term:
    """Return whether the client has left its first phase, idle."""
    idle = s.phase.domain.values[0]
    return s.phase[client] != idle


def accepted(s: Ledger, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Return whether the bookie has handled that add and not refused it."""
    index = client, fragment, entry, bookie
    return s.add_handled[index] & ~s.add_refused[index]


def took(s: Ledger, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Return whether the bookie has accepted the entry from the client, in any fragment."""
    return exists(s.fragment, lambda g: accepted(s, client, g, entry, bookie))


def listed(s: Ledger, client: TermLike, fragment: TermLike) -> Term:
    """Return whether the fragment is in the client's list."""
    return fragment <= s.own_last_fragment[client]


def in_own_fragment_of(entry: TermLike, s: Ledger, client: TermLike, body: Callable[[Term], Term]) -> Term:
    """Return that `body` is true of the entry's fragment in the client's list."""
    last = s.own_last_fragment[client]
    return in_fragment_of(entry, s.fragment, last, first=lambda g: s.own_first[client, g], body=body)


def same_list(s: Ledger, client: TermLike, last: Term | None = None) -> Term:
    """Return whether the metadata's list of fragments equals the client's list, up to `last` if given."""

    def same(g: Term) -> Term:
        return (s.first[g] == s.own_first[client, g]) & forall(
            s.position, lambda i: s.ensemble[g, i] == s.own_ensemble[client, g, i]
        )

    return all_of(
        s.last_fragment == (s.own_last_fragment[client] if last is None else last),
        forall(s.fragment, lambda g: implies(g <= s.last_fragment, same(g))),
    )


def same_start(s: Ledger, client: TermLike, other: TermLike, last: Term) -> Term:
    """Return whether the lists of two clients are equal up to the fragment `last`."""

    def same(g: Term) -> Term:
        return (s.own_first[client, g] == s.own_first[other, g]) & forall(
            s.position, lambda i: s.own_ensemble[client, g, i] == s.own_ensemble[other, g, i]
        )

    return forall(s.fragment, lambda g: implies(g <= last, same(g)))


def awaits_resend(s: Ledger, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Return whether the client has still to send the entry to the new bookie, in a separate step."""
    if s.parameters.resends == "with-change":
        return FALSE
    return exists(
        s.fragment,
        lambda g: all_of(
            s.own_last_fragment[client] == g, to_resend(s, client, g, entry), s.is_newcomer(client, g, bookie)
        ),
    )


# Lists of fragments.


@invariant("until the ledger is closed, the metadata's list of fragments is the writer's")
def metadata_is_the_writers(s: Ledger) -> Term:
    """Return the invariant that the metadata follows the writer until the close."""
    return implies(s.status != Status.CLOSED, same_list(s, WRITER))


@invariant("the list that a recoverer began with is the writer's whole list")
def recoverers_know_the_writers(s: Ledger) -> Term:
    """Return the invariant that a recoverer copies the writer's list."""
    return forall(
        s.recoverer,
        lambda r: implies(
            has_begun(s, r),
            (s.base[r] == s.own_last_fragment[WRITER])
            & (s.base[r] <= s.own_last_fragment[r])
            & same_start(s, r, WRITER, s.base[r]),
        ),
    )


# Adds and contents.


@invariant("a bookie whose ack a client counts has accepted the entry")
def acked_was_accepted(s: Ledger) -> Term:
    """Return the invariant that acks are true."""
    return forall_over(
        (s.client, s.entry, s.bookie), lambda c, e, b: implies(s.acked[c, e, b], took(s, c, e, b))
    )


@invariant(
    "the content that is stored, read or found as an entry is the one that the "
    "writer pushed as that entry, or nothing"
)
def contents_are_the_writers(s: Ledger) -> Term:
    """Return the invariant that nobody invents or exchanges the content of an entry."""

    def genuine(content: Term, e: Term) -> Term:
        return (content == NOTHING) | (content == e)

    return all_of(
        forall_over((s.bookie, s.entry), lambda b, e: genuine(s.stored[b, e], e)),
        forall_over(
            (s.recoverer, s.read_entry, s.bookie), lambda r, e, b: genuine(s.read_content[r, e, b], e)
        ),
        forall_over((s.recoverer, s.read_entry), lambda r, e: genuine(s.found[r, e], e)),
    )


@invariant("if a bookie has given a recoverer the content of an entry, the recoverer has that content")
def found_as_answered(s: Ledger) -> Term:
    """Return the invariant that a recoverer keeps the content that it was given."""
    return forall_over(
        (s.recoverer, s.read_entry, s.bookie),
        lambda r, e, b: implies(s.has_entry(r, e, b), s.found[r, e] != NOTHING),
    )


# Recovery.


@invariant("every answered fencing or recovery read was handled, and every handled one was sent")
def answered_was_asked(s: Ledger, reader: Sort, entry: Sort) -> Term:
    """Return the invariant that no read is answered before it is handled, or handled before it is sent."""
    return all_of(
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
                implies(s.read_handled[r, e, b], s.read_sent[r, e] & s.read_to(r, e, b)),
            ),
        ),
    )


@invariant("a recoverer has found every entry that it writes back")
def written_back_was_found(s: Ledger) -> Term:
    """Return the invariant that a recoverer writes back only entries that it has found."""
    return forall_over((s.recoverer, s.entry), lambda r, e: implies(s.pushed(r, e), s.positive(r, e)))
