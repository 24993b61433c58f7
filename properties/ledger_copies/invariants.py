"""Why the mended protocol keeps the copies: invariants that every action keeps if all of them hold before it.

Nobody works on the ledger without its lock, so what a re-replication has read stays true until its write.
"""

from __future__ import annotations

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import exists, forall, forall_over
from fencepost.encoding.language.system import Invariant, invariant
from fencepost.encoding.language.terms import Term, all_of
from fencepost.protocols.ledger_copies.deletion import has_write_cache
from fencepost.protocols.ledger_copies.state import Copies


def copies_invariants(s: Copies) -> tuple[Invariant, ...]:
    """Return the invariants.

    There are none if somebody may work without the lock, a flush or a replay may drop a copy, or the id is
    used again.
    """
    p = s.parameters
    locked = p.session == "kept" and (p.recover_lock == "yes" or not p.operators)
    flushed = not has_write_cache(s) or (p.deletion_mark == "until-return" and not s.records_keys_once)
    return mended_invariants(s) if locked and flushed and not s.reuses else ()


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

    def as_read(r: Term, f: Term) -> Term:
        return all_of(
            s.is_latest[r],
            forall(s.position, lambda i: s.own_ensemble[r, i] == s.ensemble[f, i]),
            exists(s.position, lambda i: s.is_own(r, i) & (s.ensemble[f, i] == s.failed[r])),
            forall(s.position, lambda i: s.ensemble[f, i] != s.target[r]),
        )

    return forall_over(
        (s.replicator, s.fragment),
        lambda r, f: implies(s.busy[r] & (s.own_fragment[r] == f), as_read(r, f)),
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
