"""Properties of a new ledger whose id a deleted ledger had."""

from __future__ import annotations

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, exists_over, forall, forall_over
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import Term, TermLike
from fencepost.protocols.ledger_copies.reuse import refuses_new
from fencepost.protocols.ledger_copies.state import Copies, Life


def reuse_properties(s: Copies) -> tuple[Property, ...]:
    """Return the properties of a new ledger with the same id."""
    return (entries_are_of_the_ledger(s), new_ledger_writable(s))


def serves(s: Copies, bookie: TermLike, entry: TermLike) -> Term:
    """Return whether the bookie gives the entry to a client of the new ledger."""
    has = s.live[bookie] & s.copy[bookie, entry]
    return has & s.returned[bookie] if s.tells_apart else has


def new_copy_named(s: Copies, entry: TermLike) -> Term:
    """Return whether a bookie that the metadata names has the new ledger's entry."""
    return exists_over(
        (s.fragment, s.bookie),
        lambda f, b: s.belongs(entry, f) & s.is_due(f, b, entry) & s.copy[b, entry] & s.is_new[b, entry],
    )


def entries_are_of_the_ledger(s: Copies) -> Property:
    """Return the property that no client of the new ledger reads an entry of the old one."""

    def is_right(f: Term, b: Term, e: Term) -> Term:
        asked = s.belongs(e, f) & s.is_due(f, b, e)
        return implies(asked & serves(s, b, e), s.is_new[b, e])

    return Property(
        name="entries-are-of-the-ledger",
        meaning="a bookie that the metadata of the new ledger names serves no entry of the old ledger",
        holds=implies(s.is_created_again(), forall_over((s.fragment, s.bookie, s.entry), is_right)),
        witness=s.is_created_again()
        & exists_over((s.bookie, s.entry), lambda b, e: s.is_named_at_all(b) & serves(s, b, e)),
        witness_meaning="a bookie that the new metadata names serves an entry",
    )


def new_ledger_writable(s: Copies) -> Property:
    """Return the property that the writer of the new ledger is refused for nothing of the old one."""
    return Property(
        name="new-ledger-writable",
        meaning="while the new ledger is open, no live bookie of its ensemble refuses its adds for what "
        "belonged to the old ledger",
        holds=implies(
            s.life == Life.OPEN,
            forall(s.bookie, lambda b: implies(s.is_named_at_all(b) & s.live[b], ~refuses_new(s, b))),
        ),
        witness=exists(s.entry, s.is_acked),
        witness_meaning="an entry of the new ledger is acknowledged",
    )
