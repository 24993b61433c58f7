"""Properties of a closed ledger's copies."""

from __future__ import annotations

from collections.abc import Callable

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import at_least, exists, exists_over, forall, forall_over
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import Term, TermLike, any_of
from fencepost.protocols.ledger_copies.reuse import refuses_new
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


# A new ledger whose id a deleted ledger had.


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


# A re-replication can go on.

HELPFUL = (
    "come back",
    "shut down",
    "copy entry",
    "read again",
    "start over",
    "find replaced",
    "find unlocked",
    "update ensemble",
)
"""Actions that advance a re-replication that has begun."""


def re_replication_can_finish(system: System) -> Property:
    """Return the property that no re-replication waits for a bookie that refuses the ledger.

    A violation is a state in which no helpful action can happen, and in which a new attempt with another
    target would meet the same refusal. Stopped bookies may come back. A re-replication of entries without a
    copy on the bookies that it reads from cannot succeed, and is not counted.
    """
    s = system.state
    assert isinstance(s, Copies)
    helpful = [schema for schema in system.schemas if schema.name in HELPFUL]

    def can_be_read(r: Term, e: Term) -> Term:
        return exists(s.bookie, lambda b: s.is_read_from(r, b, e) & s.copy[b, e])

    def may_succeed(r: Term) -> Term:
        return s.of_each_moved(r, lambda e: implies(~s.copied[r, e], can_be_read(r, e)))

    def may_try_another(r: Term) -> Term:
        is_refused = exists(s.bookie, lambda b: (s.target[r] == b) & s.refuses[b])
        takes = exists(s.bookie, lambda b: ~s.is_named(s.own_fragment[r], b) & ~s.refuses[b])
        return is_refused & takes

    stuck = exists(s.replicator, lambda r: s.busy[r] & may_succeed(r) & ~may_try_another(r))
    stuck &= s.exists()  # a ledger that is deleted is not copied to its end
    return Property(
        name="re-replication-can-finish",
        meaning="while a fragment is re-replicated whose entries can be read, some action that advances this "
        "can happen, or another bookie would take the copies",
        holds=~stuck | any_of(*(schema.could_happen() for schema in helpful)),
        witness=rewritten(s),
        witness_meaning=WITNESS,
    )
