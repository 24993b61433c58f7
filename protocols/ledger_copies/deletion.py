"""How a bookie deletes a ledger: DbLedgerStorage with its write cache, and the memory of deleted ledgers.

DbLedgerStorage deletes in two places. `WriteCache.deletedLedgers` names the ledgers whose entries the next
flush does not write, and `EntryLocationIndex.deletedLedgers` those whose entries on disk the clean-up after
the next checkpoint deletes. Both are in memory, and neither is told when the ledger comes back.
"""

from __future__ import annotations

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.terms import FALSE, Parameter, Term, TermLike, Update
from fencepost.protocols.ledger_copies.state import NOBODY, Copies


def has_write_cache(s: Copies) -> bool:
    """Return whether the bookies have DbLedgerStorage."""
    return s.parameters.storage == "write-cache"


def _remembers(s: Copies) -> bool:
    return s.parameters.remembers_deleted == "yes"


def _ends_collecting(s: Copies, bookie: TermLike) -> list[Update]:
    """Return the updates that end the collector with its process, if a layer has a process that restarts."""
    if not (has_write_cache(s) or _remembers(s)):
        return []
    return [s.collecting[bookie].set(False), s.lock.set(NOBODY, when=s.lock == bookie)]


def deletes(s: Copies, bookie: TermLike) -> list[Update]:
    """Return the updates by which a bookie deletes the ledger (SingleDirectoryDbLedgerStorage.deleteLedger).

    HandleFactoryImpl.markIfConflictWritingOccurs remembers a ledger with an open handle. It asks the storage
    for the fence after the deletion. The storage knows no such ledger, and the error counts as a fence.
    """
    gone = [s.copy[bookie, e].set(False) for e in s.entry]
    if _remembers(s):
        gone += [s.refuses[bookie].set(True, when=s.opened[bookie]), s.opened[bookie].set(False)]
    if has_write_cache(s):
        gone += [s.dropping[bookie].set(True), s.cleaning[bookie].set(True)]
    return gone


def takes(s: Copies, bookie: TermLike, entry: TermLike) -> list[Update]:
    """Return the updates by which a bookie takes a copy of an entry (BookieImpl.recoveryAddEntry).

    The entry is in the journal and in the write cache. With the mend the deletion is carried out before.
    """
    taken = [s.copy[bookie, entry].set(True)]
    if _remembers(s):
        taken.append(s.opened[bookie].set(True))
    if not has_write_cache(s):
        return taken
    if s.parameters.deletion_mark != "until-return":
        return [*taken, s.cached[bookie, entry].set(True)]
    again = s.dropping[bookie]
    return [
        *taken,
        s.dropping[bookie].set(False),
        s.cleaning[bookie].set(False),
        *(s.cached[bookie, e].set((s.cached[bookie, e] & ~again) | (entry == e)) for e in s.entry),
        *(s.flushed[bookie, e].set(s.flushed[bookie, e] & ~s.cleaning[bookie]) for e in s.entry),
    ]


def restarts(s: Copies, bookie: TermLike) -> list[Update]:
    """Return the updates of a restart: memory is lost, and the journal is replayed (BookieImpl.readJournal).

    A deletion that no checkpoint has carried out is undone.
    """
    replays = exists(s.entry, lambda e: s.cached[bookie, e]) if has_write_cache(s) else FALSE
    lost = _ends_collecting(s, bookie)
    if _remembers(s):
        lost += [s.refuses[bookie].set(False), s.opened[bookie].set(replays)]
    if has_write_cache(s):
        lost += [
            s.dropping[bookie].set(False),
            s.cleaning[bookie].set(False),
            *(s.copy[bookie, e].set(s.cached[bookie, e] | s.flushed[bookie, e]) for e in s.entry),
        ]
    return lost


def forgets(s: Copies, bookie: TermLike) -> list[Update]:
    """Return the updates of a bookie that starts with empty disks, its copies aside."""
    empty = _ends_collecting(s, bookie)
    if _remembers(s):
        empty += [s.refuses[bookie].set(False), s.opened[bookie].set(False)]
    if has_write_cache(s):
        empty += [s.dropping[bookie].set(False), s.cleaning[bookie].set(False)]
        empty += [family[bookie, e].set(False) for family in (s.cached, s.flushed) for e in s.entry]
    return empty


def flush(s: Copies, bookie: Parameter) -> Action:
    """Write the cache to disk, this ledger's entries or others, and clean up.

    SingleDirectoryDbLedgerStorage.checkpoint, WriteCache.forEach, EntryLocationIndex
    .removeOffsetFromDeletedLedgers. The clean-up may come later in the code; here it is the same step.
    """

    def is_kept(entry: TermLike) -> Term:
        written = s.cached[bookie, entry] & ~s.dropping[bookie]
        return (s.flushed[bookie, entry] | written) & ~s.cleaning[bookie]

    has_work = exists(s.entry, lambda e: s.cached[bookie, e]) | s.dropping[bookie] | s.cleaning[bookie]
    return Action(
        when=s.live[bookie] & has_work,
        then=[
            *(s.flushed[bookie, e].set(is_kept(e)) for e in s.entry),
            *(s.copy[bookie, e].set(s.copy[bookie, e] & is_kept(e)) for e in s.entry),
            *(s.cached[bookie, e].set(False) for e in s.entry),
            s.dropping[bookie].set(False),
            s.cleaning[bookie].set(False),
        ],
        actor=bookie,
        note="flushes its write cache, without the entries of ledgers marked as deleted",
    )


def pass_over(s: Copies, bookie: Parameter) -> Action:
    """Clean up at a checkpoint with an empty write cache (SingleDirectoryDbLedgerStorage.checkpoint).

    Since 4.15.1 (PR 3341) such a checkpoint swaps no cache, so `WriteCache.deletedLedgers` stays as it was.
    """
    is_empty = ~exists(s.entry, lambda e: s.cached[bookie, e])
    stays = s.parameters.deletion_mark == "until-swap"
    return Action(
        when=s.live[bookie] & is_empty & (s.cleaning[bookie] if stays else s.dropping[bookie]),
        then=[
            *(s.flushed[bookie, e].set(s.flushed[bookie, e] & ~s.cleaning[bookie]) for e in s.entry),
            *(s.copy[bookie, e].set(s.copy[bookie, e] & ~s.cleaning[bookie]) for e in s.entry),
            s.cleaning[bookie].set(False),
            *([] if stays else [s.dropping[bookie].set(False)]),
        ],
        actor=bookie,
        note="finds its write cache empty, and only cleans up"
        + ("; the mark of the deleted ledger stays" if stays else " and forgets the deleted ledger"),
    )
