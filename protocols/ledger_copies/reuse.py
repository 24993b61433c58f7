"""The id of a deleted ledger is used again, while bookies and replicators still have the old ledger.

The owner deletes the closed ledger and creates another with the same id, password and number of entries
(`BookKeeper.createLedgerAdv` with a ledger id). A bookie knows a ledger by its id and master key alone, and
the same password gives the same key. A client compares the version of the metadata's node, which begins
at 0 again. So a bookie's copies and its fence, a collector under way, and a re-replication under way
count for the new ledger. The mend `lives=told-apart` names the creation in each request, deletion and
write of metadata (the metadata has such a number already, `LedgerMetadata.getCToken`).

The layer is off with `reuse=never`. The new ledger has one ensemble, which does not change while it is open.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.encoding.language.actions import Action, Schema, each
from fencepost.encoding.language.quantifiers import exists, forall
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Term, TermLike
from fencepost.protocols.ledger_copies.deletion import deletes_if, has_write_cache, takes_content
from fencepost.protocols.ledger_copies.state import Copies, Life


def _knows(s: Copies, bookie: TermLike) -> Term:
    """Return whether the bookie lists the ledger (LedgerStorage.getActiveLedgersInRange)."""
    return s.fence[bookie] | exists(s.entry, lambda e: s.copy[bookie, e])


def delete_ledger(s: Copies) -> Action:
    """Delete the metadata of the closed ledger (LedgerDeleteOp.initiate)."""
    return Action(
        when=s.life == Life.OLD,
        then=[s.life.set(Life.DELETED)],
        actor="owner",
        note="deletes the ledger",
    )


def read_old_entry(s: Copies, bookie: Parameter, entry: Parameter) -> Action:
    """Serve an entry of the first ledger from disk, and keep it in memory.

    SingleDirectoryDbLedgerStorage.doGetEntry, ReadCache.put. A later read asks the write cache first, then
    the read cache, then the disk.
    """
    return Action(
        when=(s.life == Life.OLD)
        & s.live[bookie]
        & s.flushed[bookie, entry]
        & ~s.cached[bookie, entry]
        & ~s.read_old[bookie, entry],
        then=[s.read_old[bookie, entry].set(True)],
        actor=bookie,
        note="serves entry {entry} of the first ledger, and keeps it in its read cache",
    )


def find_deleted(s: Copies, bookie: Parameter) -> Action:
    """Find that the metadata no longer has a ledger that the bookie has listed.

    ScanAndCompareGarbageCollector.gc: the list of the bookie comes first, then the ranges of the metadata,
    and with verifyMetadataOnGC (off by default) the metadata of the ledger.
    """
    return Action(
        when=(s.life == Life.DELETED)
        & s.live[bookie]
        & _knows(s, bookie)
        & ~s.condemned[bookie]
        & ~s.collecting[bookie],
        then=[s.condemned[bookie].set(True)],
        actor=bookie,
        note="finds no metadata of the ledger, and will delete it",
    )


def delete_copies(s: Copies, bookie: Parameter) -> Action:
    """Delete the ledger on the bookie (GarbageCollector.GarbageCleaner.clean, LedgerStorage.deleteLedger)."""
    return Action(
        when=s.condemned[bookie],
        then=[s.condemned[bookie].set(False), *deletes_if(s, bookie, of_new=False)],
        actor=bookie,
        note="deletes the ledger, whatever the metadata says now",
    )


def create_again(s: Copies, bookie: Parameter) -> Action:
    """Create a ledger with the same id, on the bookies from that one on.

    BookKeeper.createLedgerAdv, LedgerCreateOp.generateLedgerIdAndCreateLedger,
    AbstractZkLedgerManager.createLedgerMetadata.
    """
    names = list(s.bookie.values)
    chosen = {
        i: {b: names[(names.index(b) + i - 1) % len(names)] for b in names}
        for i in range(1, s.parameters.ensemble + 1)
    }
    waits = s.parameters.reuse == "collected"
    idle = forall(s.bookie, lambda b: ~_knows(s, b) & ~s.condemned[b] & ~s.collecting[b] & ~s.lost[b])
    return Action(
        when=(s.life == Life.DELETED) & (idle if waits else TRUE),
        then=[
            s.life.set(Life.OPEN),
            *(
                s.ensemble[f, i].set(chosen[i][b], when=bookie == b)
                for f in s.fragment
                for i in chosen
                for b in names
            ),
            *(s.vouched[f, i].set(False) for f in s.fragment for i in s.position),
            *(s.lost[b].set(False) for b in s.bookie),
            *(s.is_latest[r].set(False) for r in s.replicator),
            s.writes.set(0),
        ],
        actor="owner",
        note="creates a ledger with the same id, whose first bookie is {bookie}",
    )


def refuses_new(s: Copies, bookie: TermLike) -> Term:
    """Return whether the bookie refuses the new ledger's adds for what belonged to the old one.

    LedgerDescriptorImpl.isFenced, HandleFactoryImpl.getHandle.
    """
    return (s.fence[bookie] | s.refuses[bookie]) if s.parameters.lives == "by-id" else FALSE


def add_again(s: Copies, bookie: Parameter, entry: Parameter) -> Action:
    """Take an entry of the new ledger, and answer (LedgerHandleAdv.asyncAddEntry, BookieImpl.addEntry)."""
    due = exists(s.fragment, lambda f: s.belongs(entry, f) & s.is_due(f, bookie, entry))
    return Action(
        when=(s.life == Life.OPEN) & s.live[bookie] & due & ~s.took[bookie, entry] & ~refuses_new(s, bookie),
        then=[s.took[bookie, entry].set(True), *takes_content(s, bookie, entry, new=True)],
        actor=bookie,
        note="takes entry {entry} of the new ledger, and answers its writer",
    )


def close_again(s: Copies) -> Action:
    """Close the new ledger, all of whose entries are acknowledged (LedgerHandle.doAsyncCloseInternal).

    The metadata then has the version that it had when the old ledger was closed.
    """
    return Action(
        when=(s.life == Life.OPEN) & forall(s.entry, s.is_acked),
        then=[
            s.life.set(Life.CLOSED),
            *(
                s.is_latest[r].set(True, when=s.busy[r] & (s.own_writes[r] == 0))
                for r in s.replicator
                if not s.tells_apart
            ),
        ],
        actor="owner",
        note="closes the new ledger, all of whose entries are acknowledged",
    )


def reuses(s: Copies) -> Iterator[Schema]:
    """Yield the actions of the layer."""
    yield each(delete_ledger, s)
    if has_write_cache(s):
        yield each(read_old_entry, s, s.bookie, s.entry)
    if s.parameters.collector == "yes":
        yield each(find_deleted, s, s.bookie)
        yield each(delete_copies, s, s.bookie)
    yield each(create_again, s, s.bookie)
    yield each(add_again, s, s.bookie, s.entry)
    yield each(close_again, s)
