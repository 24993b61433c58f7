"""Why the mended protocol keeps the copies: invariants that every action keeps if all of them hold before it.

Nobody works on the ledger without its lock, so what a re-replication has read stays true until its write.
"""

from __future__ import annotations

from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.quantifiers import at_least, exists, forall, forall_over
from fencepost.encoding.language.system import Invariant, invariant
from fencepost.encoding.language.terms import Term, all_of
from fencepost.protocols.ledger_copies.deletion import has_write_cache
from fencepost.protocols.ledger_copies.state import Copies, Life


def copies_invariants(s: Copies) -> tuple[Invariant, ...]:
    """Return the invariants.

    There are none if somebody may work without the lock, or a flush or a replay may drop a copy. With a used
    id there are some if bookies store at once and tell the two ledgers apart.
    """
    p = s.parameters
    locked = p.session == "kept" and (p.recover_lock == "yes" or not p.operators)
    flushed = not has_write_cache(s) or (p.deletion_mark == "until-return" and not s.records_keys_once)
    if s.reuses:
        return told_apart_invariants(s) if locked and s.tells_apart and not s.is_buffered else ()
    return mended_invariants(s) if locked and flushed else ()


def mended_invariants(s: Copies) -> tuple[Invariant, ...]:
    """Return the invariants of the mended protocol."""
    return (
        workers_hold_the_lock(s),
        collectors_hold_the_lock(s),
        read_is_still_true(s),
        idle_did_nothing(s),
        copied_is_stored(s),
        spoilt_by_lost_disks(s),
        missing_only_by_lost_disks(s),
        *((stored_survives_a_flush(s),) if has_write_cache(s) else ()),
    )


@invariant("a replicator that works holds the lock")
def workers_hold_the_lock(s: Copies) -> Term:
    """Return the invariant about the lock of replicators."""
    return forall(s.replicator, lambda r: implies(s.busy[r], s.lock == r))


@invariant("a bookie that is about to delete the ledger holds the lock, and the metadata does not name it")
def collectors_hold_the_lock(s: Copies) -> Term:
    """Return the invariant about the lock of the collector."""
    return forall(s.bookie, lambda b: implies(s.collecting[b], (s.lock == b) & ~s.is_named_at_all(b)))


@invariant("the metadata is as a replicator has read it: it names the bookie to replace, and not the target")
def read_is_still_true(s: Copies) -> Term:
    """Return the invariant about what a replicator has read."""
    return forall_over(
        (s.replicator, s.fragment),
        lambda r, f: implies(s.busy[r] & (s.own_fragment[r] == f), _is_as_read(s, r, f)),
    )


def _is_as_read(s: Copies, r: Term, f: Term) -> Term:
    """Return whether the metadata of a fragment is as the replicator has read it."""
    return all_of(
        s.is_latest[r],
        forall(s.position, lambda i: s.own_ensemble[r, i] == s.ensemble[f, i]),
        exists(s.position, lambda i: s.is_own(r, i) & (s.ensemble[f, i] == s.failed[r])),
        forall(s.position, lambda i: s.ensemble[f, i] != s.target[r]),
    )


@invariant("a replicator that does not work has copied nothing")
def idle_did_nothing(s: Copies) -> Term:
    """Return the invariant about replicators that do not work."""
    return forall(
        s.replicator,
        lambda r: s.busy[r] | (~s.spoilt[r] & forall(s.entry, lambda e: ~s.copied[r, e])),
    )


@invariant("a target has each entry that was copied to it, unless it has lost its disks since")
def copied_is_stored(s: Copies) -> Term:
    """Return the invariant about copies before the metadata names them."""
    return forall_over(
        (s.replicator, s.bookie, s.entry),
        lambda r, b, e: implies(s.copied[r, e] & (s.target[r] == b), s.copy[b, e] | s.spoilt[r]),
    )


@invariant("a target that has lost its disks during the re-replication counts as lost")
def spoilt_by_lost_disks(s: Copies) -> Term:
    """Return the invariant about targets that lose their disks."""
    return forall_over(
        (s.replicator, s.bookie), lambda r, b: implies(s.spoilt[r] & (s.target[r] == b), s.lost[b])
    )


@invariant("a bookie that the metadata names has each entry that belongs there, unless it lost its disks")
def missing_only_by_lost_disks(s: Copies) -> Term:
    """Return the invariant about the copies that the metadata names."""
    return forall_over(
        (s.fragment, s.bookie, s.entry),
        lambda f, b, e: implies(s.is_due(f, b, e) & s.belongs(e, f), s.copy[b, e] | s.lost[b]),
    )


@invariant("the next flush and the next restart of a bookie keep each entry that the bookie has")
def stored_survives_a_flush(s: Copies) -> Term:
    """Return the invariant about the write cache of DbLedgerStorage."""
    return forall_over(
        (s.bookie, s.entry),
        lambda b, e: implies(
            s.copy[b, e], (s.cached[b, e] | s.flushed[b, e]) & ~s.dropping[b] & ~s.cleaning[b]
        ),
    )


def told_apart_invariants(s: Copies) -> tuple[Invariant, ...]:
    """Return the invariants of a used id whose requests name the creation of their ledger."""
    return (
        workers_hold_the_lock(s),
        idle_did_nothing(s),
        collectors_of_this_ledger(s),
        read_of_this_ledger(s),
        copied_of_this_ledger(s),
        told_of_the_new_ledger(s),
        nothing_new_before_it(s),
        copies_of_this_ledger(s),
    )


def _is_of_this_ledger(s: Copies, new: Term) -> Term:
    """Return whether something that was read in the old or in the new ledger is about the one there is."""
    return new == s.is_created_again()


@invariant("a collector holds the lock, and metadata of the ledger that it has read do not name its bookie")
def collectors_of_this_ledger(s: Copies) -> Term:
    """Return the invariant about the lock of the collector."""

    def unnamed(b: Term) -> Term:
        return implies(_is_of_this_ledger(s, s.collects_new[b]), ~s.is_named_at_all(b))

    return forall(s.bookie, lambda b: implies(s.collecting[b], (s.lock == b) & unnamed(b)))


@invariant(
    "the metadata is as a replicator has read it, unless it has read the old ledger's and there is a new one"
)
def read_of_this_ledger(s: Copies) -> Term:
    """Return the invariant about what a replicator has read."""

    def holds(r: Term, f: Term) -> Term:
        return if_(_is_of_this_ledger(s, s.own_new[r]), _is_as_read(s, r, f), ~s.is_latest[r])

    return forall_over(
        (s.replicator, s.fragment),
        lambda r, f: implies(s.busy[r] & (s.own_fragment[r] == f), holds(r, f)),
    )


@invariant("a target has each entry that was copied to it, of the same ledger, unless it lost its disks")
def copied_of_this_ledger(s: Copies) -> Term:
    """Return the invariant about copies before the metadata names them."""

    def holds(r: Term, b: Term, e: Term) -> Term:
        there = s.exists() & _is_of_this_ledger(s, s.own_new[r]) & (s.target[r] == b)
        stored = implies(s.copied[r, e], s.spoilt[r] | (s.copy[b, e] & (s.is_new[b, e] == s.own_new[r])))
        return implies(there & s.busy[r], stored & implies(s.spoilt[r], s.lost[b]))

    return forall_over((s.replicator, s.bookie, s.entry), holds)


@invariant(
    "a bookie has entries of the new ledger alone if it was told of it, and of the old one alone if not"
)
def told_of_the_new_ledger(s: Copies) -> Term:
    """Return the invariant about the contents of bookies."""
    return forall_over(
        (s.bookie, s.entry), lambda b, e: implies(s.copy[b, e], s.is_new[b, e] == s.returned[b])
    )


@invariant("nobody knows a new ledger before it is created, and nobody deletes the old one while it exists")
def nothing_new_before_it(s: Copies) -> Term:
    """Return the invariant about the order of the two ledgers."""
    none_told = forall(s.bookie, lambda b: ~s.returned[b] & forall(s.entry, lambda e: ~s.took[b, e]))
    return all_of(
        s.is_created_again() | none_told,
        forall(s.bookie, lambda b: ~s.condemned[b] | (s.life != Life.OLD)),
        forall(s.bookie, lambda b: implies(s.collecting[b] & s.collects_new[b], s.life == Life.CLOSED)),
        forall(s.replicator, lambda r: implies(s.own_new[r], s.life == Life.CLOSED)),
    )


@invariant(
    "the bookies that the metadata names have each entry of its ledger, but for those that lost their disks"
)
def copies_of_this_ledger(s: Copies) -> Term:
    """Return the invariant about the copies that the metadata names: in the new ledger AQ have an entry."""

    def has(b: Term, e: Term) -> Term:
        return s.lost[b] | (s.copy[b, e] & (s.is_new[b, e] == s.is_created_again()))

    def due(b: Term, e: Term) -> Term:
        return exists(s.fragment, lambda f: s.is_due(f, b, e) & s.belongs(e, f))

    def kept(e: Term) -> Term:
        few = s.parameters.ack_quorum
        return all_of(
            implies(s.life == Life.OLD, forall(s.bookie, lambda b: implies(due(b, e), has(b, e)))),
            implies(
                s.life == Life.OPEN, forall(s.bookie, lambda b: implies(s.took[b, e], due(b, e) & has(b, e)))
            ),
            implies(s.life == Life.CLOSED, at_least(few, s.bookie, lambda b: due(b, e) & has(b, e))),
        )

    return forall(s.entry, kept)
