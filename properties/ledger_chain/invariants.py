"""Why a chain of ledgers is safe: invariants that every action keeps if all of them hold before it.

With them induction over one action proves the properties for any number of elections. A mutant keeps some of
the invariants; each is declared only with settings under which it holds. With a bound on elections none is
declared: a fixed number of rounds then covers every execution.

The store has a list, and each client has a copy that it has read or written. *Every list* means all of these.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.quantifiers import at_least, exists, forall, forall_over, maximum
from fencepost.encoding.language.system import Invariant, invariant
from fencepost.encoding.language.terms import Term, all_of, any_of
from fencepost.properties.ledger_chain.safety import in_order, of_any_two
from fencepost.protocols.ledger_chain import NOTHING_READ, Chain, ChainMetadata, ChainStatus

Position = Callable[[Term], Term]
"""A list, as the position of each ledger in it; 0 for a ledger that is not in the list."""


def chain_invariants(s: Chain) -> tuple[Invariant, ...]:
    """Return the invariants that hold with these switches; none if elections are bounded."""
    p = s.parameters
    if p.elections:
        return ()
    compares = p.append_compares == "yes"
    closes_first = p.append_conflict == "abdicate"
    fences = p.close_fences == "yes"
    refuses = p.write_checks_fence == "yes"
    return (
        created_first(s),
        lists_numbered(s),
        entries_numbered(s),
        ledgers_in_hand(s),
        *([copies_are_beginnings(s)] if compares else [appends_counted(s)]),
        *([only_the_end_is_open(s), ready_to_append(s)] if closes_first else []),
        *([closed_ledgers_known(s)] if fences else []),
        *([lists_in_order(s)] if fences and refuses and not compares else []),
    )


@invariant("a ledger that is not created is in no list and not on the bookies, and no client handles it")
def created_first(s: Chain) -> Term:
    """Return the invariant about ledgers that do not exist yet."""

    def nowhere(m: Term) -> Term:
        unlisted = _every_list(s, lambda position: position(m) == 0)
        return unlisted & ~s.on_bookies(m) & forall(s.client, lambda c: s.own_ledger[c] != m)

    return forall(s.ledger, lambda m: implies(s.metadata[m] == ChainMetadata.NOT_CREATED, nowhere(m)))


def lists_numbered(s: Chain) -> Invariant:
    """Return the invariant that positions number a list without gaps.

    If an append compares versions, the version of a list is its length.
    """

    def length(position: Position) -> Term:
        return maximum(s.ledger, position)

    versions = all_of(
        length(lambda m: s.position[m]) == s.list_version,
        forall(s.client, lambda c: length(_copy(s, c)) == _version_read(s, c)),
    )
    return Invariant(
        name="lists-numbered",
        meaning="the ledgers of every list have the positions 1, 2, …, one ledger each"
        + (", and the list's version is its length" if s.parameters.append_compares == "yes" else ""),
        holds=_every_list(s, lambda position: _numbered(s, position))
        & (versions if s.parameters.append_compares == "yes" else True),
    )


@invariant("entries have the numbers 1, 2, …, each once")
def entries_numbered(s: Chain) -> Term:
    """Return the invariant that the numbers of entries are an order of writing."""
    return _numbered(s, lambda m: s.entry[m])


@invariant(
    "a ledger about to be appended is open, in no list, not on the bookies and "
    "handled by one client; a ledger about to be closed or written is the last "
    "of its client's copy, and one that was read as closed is closed"
)
def ledgers_in_hand(s: Chain) -> Term:
    """Return the invariant about the ledger that a client handles, by the client's next action."""

    def at_end_of_copy(c: Term, m: Term) -> Term:
        return forall(s.ledger, lambda n: implies(m != n, s.own_position[c, n] < s.own_position[c, m]))

    def appending_elsewhere(c: Term, m: Term) -> Term:
        return exists(s.client, lambda d: (c != d) & s.at(d, ChainStatus.APPEND_LEDGER, m))

    def known(c: Term, m: Term) -> Term:
        closes, writes = s.at(c, ChainStatus.CLOSE_LAST_LEDGER, m), s.at(c, ChainStatus.LEDGER_OPEN, m)
        new = (s.metadata[m] == ChainMetadata.OPEN) & ~s.on_bookies(m) & ~appending_elsewhere(c, m)
        return all_of(
            implies(
                s.at(c, ChainStatus.APPEND_LEDGER, m), new & _every_list(s, lambda position: position(m) == 0)
            ),
            implies(any_of(closes, writes), (s.own_position[c, m] > 0) & at_end_of_copy(c, m)),
            implies(closes & ~s.own_open[c], s.metadata[m] == ChainMetadata.CLOSED),
        )

    return forall_over((s.client, s.ledger), known)


@invariant("a ledger in a client's copy has the same position in the store's list")
def copies_are_beginnings(s: Chain) -> Term:
    """Return the invariant that the store's list only grows at its end."""
    return forall_over(
        (s.client, s.ledger),
        lambda c, m: implies(s.own_position[c, m] > 0, s.own_position[c, m] == s.position[m]),
    )


@invariant("every ledger of every list is closed, except for the last one")
def only_the_end_is_open(s: Chain) -> Term:
    """Return the invariant that no client appends after an open ledger."""

    def closed_before(position: Position, m: Term, n: Term) -> Term:
        return implies((position(m) > 0) & (position(m) < position(n)), s.metadata[m] == ChainMetadata.CLOSED)

    return _every_list(s, lambda position: of_any_two(s, lambda m, n: closed_before(position, m, n)))


@invariant("if a client is about to create or append a ledger, all ledgers of its copy are closed")
def ready_to_append(s: Chain) -> Term:
    """Return the invariant that a client creates or appends only after it has closed the last ledger."""

    def all_closed(c: Term) -> Term:
        return forall(
            s.ledger, lambda m: implies(s.own_position[c, m] > 0, s.metadata[m] == ChainMetadata.CLOSED)
        )

    return forall(
        s.client,
        lambda c: implies(
            any_of(s.status[c] == ChainStatus.CREATE_LEDGER, s.status[c] == ChainStatus.APPEND_LEDGER),
            all_closed(c),
        ),
    )


@invariant("a closed ledger was written or fenced")
def closed_ledgers_known(s: Chain) -> Term:
    """Return the invariant that a closed ledger cannot be written later."""
    return forall(s.ledger, lambda m: implies(s.metadata[m] == ChainMetadata.CLOSED, s.on_bookies(m)))


@invariant(
    "the list's version plus the number of clients about to append is at most the number of created ledgers"
)
def appends_counted(s: Chain) -> Term:
    """Return the invariant about versions if an append overwrites: each ledger is appended once at most."""

    def room(appended: int, appending: int) -> Term:
        return implies(
            (s.list_version >= appended)
            & at_least(appending, s.client, lambda c: s.status[c] == ChainStatus.APPEND_LEDGER),
            at_least(appended + appending, s.ledger, lambda m: s.metadata[m] != ChainMetadata.NOT_CREATED),
        )

    counts = itertools.product(range(len(s.ledger) + 1), range(len(s.client) + 1))
    return all_of(*(room(appended, appending) for appended, appending in counts))


@invariant("if two ledgers of a list have entries, the entry of the earlier one was written first")
def lists_in_order(s: Chain) -> Term:
    """Return `entry-order` for the store's list and the copies: an overwriting append can publish a copy."""
    return _every_list(s, lambda position: in_order(s, position))


def _copy(s: Chain, client: Term) -> Position:
    return lambda m: s.own_position[client, m]


def _version_read(s: Chain, client: Term) -> Term:
    """Return the version of the client's copy; 0 if the client has read nothing."""
    return if_(s.own_version[client] == NOTHING_READ, 0, s.own_version[client])


def _every_list(s: Chain, holds: Callable[[Position], Term]) -> Term:
    """Return whether `holds` is true of the store's list and of each client's copy."""
    return holds(lambda m: s.position[m]) & forall(s.client, lambda c: holds(_copy(s, c)))


def _numbered(s: Chain, number: Position) -> Term:
    """Return whether the ledgers with a number have the numbers 1, 2, …, each once."""

    def follows(m: Term) -> Term:
        return exists(s.ledger, lambda n: number(n) + 1 == number(m))

    once = of_any_two(s, lambda m, n: implies((m != n) & (number(m) > 0), number(m) != number(n)))
    return once & forall(s.ledger, lambda m: implies(number(m) > 1, follows(m)))
