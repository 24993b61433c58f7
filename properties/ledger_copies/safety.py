"""Properties of a closed ledger's copies."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import at_least, exists, exists_over, forall, forall_over
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import Term, any_of
from fencepost.properties.ledger_copies.reuse import new_copy_named, reuse_properties
from fencepost.protocols.ledger_copies.state import Copies, Life


def copies_properties(s: Copies) -> tuple[Property, ...]:
    """Return the properties of a closed ledger's copies."""
    of_new = reuse_properties(s) if s.reuses else ()
    return (acked_copies_readable(s), copies_complete(s), no_bookie_twice(s), *of_new)


WITNESS = "a re-replication has written another bookie into the metadata"


def rewritten(s: Copies) -> Term:
    """Return whether some fragment names a bookie that the writer did not name."""
    p = s.parameters
    fragments = range(1, p.fragments + 1)
    return any_of(*(s.is_named(f, b) for f in fragments for b in s.bookie if b not in p.first_ensemble(f)))


def acked_copies_readable(s: Copies) -> Property:
    """Return the property that no acknowledged entry is lost by fewer losses than AQ."""

    def is_readable(e: Term) -> Term:
        return exists_over(
            (s.fragment, s.bookie), lambda f, b: s.belongs(e, f) & s.is_due(f, b, e) & s.copy[b, e]
        )

    too_many = at_least(s.parameters.ack_quorum, s.bookie, lambda b: s.lost[b])
    if s.reuses:
        return _acked_of_both_readable(s, is_readable, too_many)
    return Property(
        name="acked-copies-readable",
        meaning="while fewer than AQ bookies have lost their disks since the ledger was last found fully "
        "replicated, each entry has a copy on a bookie that the metadata names",
        holds=too_many | forall(s.entry, is_readable),
        witness=rewritten(s) & exists(s.bookie, lambda b: s.lost[b]) & ~too_many,
        witness_meaning=f"{WITNESS}, and a bookie has lost its disks",
    )


def _acked_of_both_readable(s: Copies, is_readable: Callable[[Term], Term], too_many: Term) -> Property:
    """Return the same property of the old ledger and, with its own contents, of the new one."""
    old = implies(s.life == Life.OLD, forall(s.entry, is_readable))
    new = forall(s.entry, lambda e: implies(s.is_acked(e), new_copy_named(s, e)))
    return Property(
        name="acked-copies-readable",
        meaning="while fewer than AQ bookies have lost their disks since the ledger was last found fully "
        "replicated, each acknowledged entry of the ledger that has the id has a copy on a bookie that the "
        "metadata names",
        holds=too_many | (old & implies(s.is_created_again(), new)),
        witness=s.is_created_again() & exists(s.entry, s.is_acked) & ~too_many,
        witness_meaning="an entry of the new ledger is acknowledged",
    )


def copies_complete(s: Copies) -> Property:
    """Return the property that the metadata names only bookies with a copy."""

    def holds(f: Term, i: Term, e: Term) -> Term:
        def has(b: Term) -> Term:
            named = (s.ensemble[f, i] == b) & s.copy[b, e]
            return named & (~s.is_created_again() | s.is_new[b, e]) if s.reuses else named

        promised = s.vouched[f, i] & s.belongs(e, f) & s.is_stored[i, e]
        return implies(promised & (s.life != Life.DELETED) if s.reuses else promised, exists(s.bookie, has))

    return Property(
        name="copies-complete",
        meaning="a bookie that the writer or a re-replication has put into the metadata holds every entry "
        "that belongs there, unless it has lost its disks since",
        holds=forall_over((s.fragment, s.position, s.entry), holds),
        witness=rewritten(s),
        witness_meaning=WITNESS,
    )


def no_bookie_twice(s: Copies) -> Property:
    """Return the property that an ensemble has as many bookies as positions."""

    def differ(f: Term, i: Term, j: Term) -> Term:
        return implies(i < j, s.ensemble[f, i] != s.ensemble[f, j])

    return Property(
        name="no-bookie-twice",
        meaning="no fragment of the metadata names one bookie twice",
        holds=forall_over((s.fragment, s.position, s.position), differ),
        witness=rewritten(s),
        witness_meaning=WITNESS,
    )
