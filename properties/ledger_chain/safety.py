"""Properties of a chain of ledgers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, forall, forall_over
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import Term
from fencepost.properties.ledger_chain import explanations
from fencepost.protocols.ledger_chain import Chain, ChainMetadata


def chain_properties(s: Chain) -> tuple[Property, ...]:
    """Return the three properties of the TLA+ module."""
    return (written_ledgers_listed(s), entry_order(s), one_open_ledger(s))


def written_ledgers_listed(s: Chain) -> Property:
    """Return the property that no entry is outside the log.

    AllNonEmptyLedgersInLedgerList of the module asks it of fenced empty ledgers too.
    """
    return Property(
        name="written-ledgers-listed",
        meaning="every ledger with an entry on the bookies is in the list",
        holds=forall(s.ledger, lambda m: implies(s.written(m), s.listed(m))),
        witness=_two_listed_second_written(s),
        witness_meaning=_WITNESS,
        explain=partial(explanations.explain_unlisted, s),
    )


def entry_order(s: Chain) -> Property:
    """Return the property that the log has the order in which it was written.

    EntryOrderMaintained of the module compares ledger ids instead of positions.
    """
    return Property(
        name="entry-order",
        meaning="if two ledgers of the list have entries, the entry of the earlier one was written first",
        holds=in_order(s, lambda m: s.position[m]),
        witness=_two_listed_second_written(s),
        witness_meaning=_WITNESS,
        explain=partial(explanations.explain_disorder, s),
    )


def one_open_ledger(s: Chain) -> Property:
    """Return the property that only the end of the log can grow.

    OnlyOneLedgerOpenAtATime of the module takes positions in the list for ledger ids.
    """

    def is_open(m: Term) -> Term:
        return s.listed(m) & (s.metadata[m] == ChainMetadata.OPEN)

    return Property(
        name="one-open-ledger",
        meaning="at most one ledger in the list is open",
        holds=of_any_two(s, lambda m, n: implies(m < n, ~(is_open(m) & is_open(n)))),
        witness=_two_listed_second_written(s),
        witness_meaning=_WITNESS,
        explain=partial(explanations.explain_two_open, s),
    )


_WITNESS = "two ledgers are in the list, and the second of them has its entry"


def _two_listed_second_written(s: Chain) -> Term:
    return exists(s.ledger, lambda m: (s.position[m] > 1) & (s.position[m] < 3) & s.written(m))


def in_order(s: Chain, position: Callable[[Term], Term]) -> Term:
    """Return whether the entries of a list are in the order in which they were written.

    A ledger at position 0 is not in the list.
    """

    def before(m: Term, n: Term) -> Term:
        return (position(m) > 0) & (position(m) < position(n)) & s.written(m) & s.written(n)

    return of_any_two(s, lambda m, n: implies(before(m, n), s.entry[m] < s.entry[n]))


def of_any_two(s: Chain, holds: Callable[[Term, Term], Term]) -> Term:
    """Return whether `holds` is true of every pair of ledgers, in both orders, and of equal ledgers."""
    return forall_over((s.ledger, s.ledger), holds)
