"""How a bookie deletes a ledger: DbLedgerStorage with its write cache, and the memory of deleted ledgers.

DbLedgerStorage deletes in two places. `WriteCache.deletedLedgers` names the ledgers whose entries the next
flush does not write, and `EntryLocationIndex.deletedLedgers` those whose entries on disk the clean-up after
the next checkpoint deletes. Both are in memory, and neither is told when the ledger comes back.
"""

from __future__ import annotations

from dataclasses import replace

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Term, TermLike, Update, lift
from fencepost.protocols.ledger_copies.state import NOBODY, Copies


def has_write_cache(s: Copies) -> bool:
    """Return whether the bookies have DbLedgerStorage."""
    return s.parameters.storage == "write-cache"


def _remembers(s: Copies) -> bool:
    return s.parameters.remembers_deleted == "yes"


def ends_collecting(s: Copies, bookie: TermLike) -> list[Update]:
    """Return the updates that end the collector's work on the ledger."""
    return [s.collecting[bookie].set(False), s.lock.set(NOBODY, when=s.lock == bookie)]


def _ends_with_process(s: Copies, bookie: TermLike) -> list[Update]:
    """Return the updates that end the collector with its process, if a layer has a process that restarts."""
    return ends_collecting(s, bookie) if s.is_buffered or _remembers(s) or s.reuses else []


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
    if s.has_memtable:  # the index file goes, and EntryMemTable is not told
        gone += [s.flushed[bookie, e].set(False) for e in s.entry]
    if s.has_memtable and s.records_keys_once:
        gone.append(s.key_stored[bookie].set(False))
    if s.reuses:
        gone += [s.fence[bookie].set(False), s.returned[bookie].set(False)]
        if s.parameters.read_cache == "cleared":
            gone += [s.read_old[bookie, e].set(False) for e in s.entry]
    return gone


def deletes_if(s: Copies, bookie: TermLike, of_new: TermLike) -> list[Update]:
    """Return the updates of a deletion that was decided about the old ledger, or about the new one.

    With the mend a bookie that knows the new ledger carries out no deletion of the old one.
    """
    if not s.tells_apart:
        return deletes(s, bookie)
    meant = ~s.returned[bookie] | lift(of_new)
    return [replace(update, when=update.when & meant) for update in deletes(s, bookie)]


def takes(s: Copies, bookie: TermLike, entry: TermLike) -> list[Update]:
    """Return the updates by which a bookie takes a copy of an entry (BookieImpl.recoveryAddEntry).

    The entry is in the journal and in the write cache. With the mend the deletion is carried out before.
    """
    taken = [s.copy[bookie, entry].set(True), *_records_key(s, bookie)]
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


def _records_key(s: Copies, bookie: TermLike, gone: Term = FALSE) -> list[Update]:
    """Return the updates by which an add journals the key, unless it is in memory since an earlier add."""
    if not s.records_keys_once:
        return []
    return [
        s.key_journaled[bookie].set(True, when=~s.key_cached[bookie] | gone),
        s.key_cached[bookie].set(True),
    ]


def takes_content(s: Copies, bookie: TermLike, entry: TermLike, new: TermLike) -> list[Update]:
    """Return the updates by which a bookie takes an entry of the old or of the new ledger.

    With the mend `told-apart`, a request of the new ledger first carries out the deletion of the old one, and
    a later request of the old one changes nothing. EntryMemTable.internalAdd keeps an entry that it has.
    SortedLedgerStorage.getEntry reads the index first, and SingleDirectoryDbLedgerStorage.doGetEntry the
    write cache. Old entries that are still there can be read again, because the bookie knows the id again.
    """
    new = lift(new)
    gone = new & ~s.returned[bookie] if s.tells_apart else FALSE
    ends_mark = gone | (s.dropping[bookie] if s.parameters.deletion_mark == "until-return" else FALSE)

    def cached(e: TermLike) -> Term:
        return s.cached[bookie, e] & ~ends_mark

    def flushed(e: TermLike) -> Term:
        return s.flushed[bookie, e] & ~ends_mark

    def cached_new(e: TermLike) -> Term:
        kept = s.cached_new[bookie, e]
        return if_((entry == e) & (~cached(e) if s.has_memtable else TRUE), new, kept)

    def is_new(e: TermLike) -> Term:
        if s.has_memtable:
            return if_(flushed(e), s.flushed_new[bookie, e], cached_new(e))
        on_disk = s.flushed_new[bookie, e] & (~s.read_old[bookie, e] | gone)
        return if_(cached(e) | (entry == e), cached_new(e), on_disk)

    taken = [s.fence[bookie].set(False, when=gone), s.kept_fence[bookie].set(False, when=gone)]
    taken += _records_key(s, bookie, gone)
    if _remembers(s):
        taken += [s.opened[bookie].set(True), s.refuses[bookie].set(False, when=gone)]
    if s.is_buffered:
        for e in s.entry:
            taken += [
                s.copy[bookie, e].set(
                    cached(e) | (entry == e) | flushed(e) | (s.read_old[bookie, e] & ~gone)
                ),
                s.cached[bookie, e].set(cached(e) | (entry == e)),
                s.cached_new[bookie, e].set(cached_new(e)),
                s.flushed[bookie, e].set(flushed(e)),
                s.is_new[bookie, e].set(is_new(e)),
                s.read_old[bookie, e].set(False, when=gone),
            ]
        taken += [
            s.dropping[bookie].set(False, when=ends_mark),
            s.cleaning[bookie].set(False, when=ends_mark),
        ]
    else:
        for e in s.entry:
            taken += [
                s.copy[bookie, e].set((s.copy[bookie, e] & ~gone) | (entry == e)),
                s.is_new[bookie, e].set(new, when=entry == e),
            ]
    if not s.tells_apart:
        return taken
    taken.append(s.returned[bookie].set(True, when=new))
    return [replace(update, when=update.when & (new | ~s.returned[bookie])) for update in taken]


def restarts(s: Copies, bookie: TermLike) -> list[Update]:
    """Return the updates of a restart: memory is lost, and the journal is replayed (BookieImpl.readJournal).

    A deletion that no checkpoint has carried out is undone. The replay passes over the entries of a ledger
    without a key, as of one that was deleted (NoLedgerException).
    """
    found = s.finds_key(bookie)
    replays = exists(s.entry, lambda e: s.cached[bookie, e]) & found if s.is_buffered else FALSE
    lost = _ends_with_process(s, bookie)
    if _remembers(s):
        lost += [s.refuses[bookie].set(False), s.opened[bookie].set(replays)]
    if s.is_buffered:
        lost += [
            s.dropping[bookie].set(False),
            s.cleaning[bookie].set(False),
            *(s.copy[bookie, e].set((s.cached[bookie, e] | s.flushed[bookie, e]) & found) for e in s.entry),
        ]
    if s.records_keys_once:
        lost += [s.cached[bookie, e].set(s.cached[bookie, e] & found) for e in s.entry]
        lost.append(s.key_cached[bookie].set(s.key_journaled[bookie]))
    if s.reuses:
        lost.append(s.condemned[bookie].set(False))
    if s.reuses and s.is_buffered:
        lost += [s.fence[bookie].set(s.fence[bookie] | s.kept_fence[bookie])]
        lost += [s.is_new[bookie, e].set(_content(s, bookie, e)) for e in s.entry]
        lost += [s.read_old[bookie, e].set(False) for e in s.entry]
    return lost


def _content(s: Copies, bookie: TermLike, entry: TermLike) -> Term:
    """Return whether the bookie reads the new ledger's entry, from memory or from disk."""
    if s.has_memtable:
        return if_(s.flushed[bookie, entry], s.flushed_new[bookie, entry], s.cached_new[bookie, entry])
    return if_(s.cached[bookie, entry], s.cached_new[bookie, entry], s.flushed_new[bookie, entry])


def forgets(s: Copies, bookie: TermLike) -> list[Update]:
    """Return the updates of a bookie that starts with empty disks, its copies aside."""
    empty = _ends_with_process(s, bookie)
    if _remembers(s):
        empty += [s.refuses[bookie].set(False), s.opened[bookie].set(False)]
    if s.reuses:
        empty += [flag[bookie].set(False) for flag in (s.condemned, s.fence, s.kept_fence, s.returned)]
        empty += [s.read_old[bookie, e].set(False) for e in s.entry]
    if s.records_keys_once:
        empty += [key[bookie].set(False) for key in (s.key_cached, s.key_journaled, s.key_stored)]
    if s.is_buffered:
        empty += [s.dropping[bookie].set(False), s.cleaning[bookie].set(False)]
        empty += [family[bookie, e].set(False) for family in (s.cached, s.flushed) for e in s.entry]
    return empty


def _stores_key(s: Copies, bookie: TermLike) -> list[Update]:
    """Return the updates of the key at a checkpoint: written for a ledger that is there, or cleaned up.

    LedgerMetadataIndex.flush and removeDeletedLedgers; FileInfo has the key in the header of an index file.
    """
    if not s.records_keys_once:
        return []
    is_there = exists(s.entry, lambda e: s.copy[bookie, e])
    return [
        s.key_stored[bookie].set(is_there | (s.key_stored[bookie] & ~s.cleaning[bookie])),
        s.key_journaled[bookie].set(False),
    ]


def _in_read_cache(s: Copies, bookie: TermLike, entry: TermLike) -> Term:
    """Return whether the read cache has the entry, for a ledger that the bookie knows."""
    return s.read_old[bookie, entry] if s.reuses else FALSE


def flush(s: Copies, bookie: Parameter) -> Action:
    """Write the cache or the memtable to disk, this ledger's entries or others, and clean up.

    SingleDirectoryDbLedgerStorage.checkpoint, WriteCache.forEach, EntryLocationIndex
    .removeOffsetFromDeletedLedgers. The clean-up may come later in the code; here it is the same step.
    """
    has_work = exists(s.entry, lambda e: s.cached[bookie, e]) | s.dropping[bookie] | s.cleaning[bookie]
    return Action(
        when=s.live[bookie] & has_work,
        then=flushes(s, bookie),
        actor=bookie,
        note="flushes its write cache, without the entries of ledgers marked as deleted",
    )


def flushes(s: Copies, bookie: TermLike) -> list[Update]:
    """Return the updates of a flush; none if the bookie stores at once.

    EntryMemTable.flushSnapshot passes over a ledger that the bookie does not know. With files as index the
    deletion takes the fence that was flushed (IndexPersistenceMgr.removeLedger).
    """
    if not s.is_buffered:
        return []
    known = exists(s.entry, lambda e: s.copy[bookie, e]) if s.has_memtable else TRUE

    def is_written(entry: TermLike) -> Term:
        written = s.cached[bookie, entry] & ~s.dropping[bookie]
        return written & known if s.has_memtable else written

    def is_kept(entry: TermLike) -> Term:
        return (s.flushed[bookie, entry] | is_written(entry)) & ~s.cleaning[bookie]

    def contents() -> list[Update]:
        if not s.reuses:
            return []
        after = {e: if_(is_written(e), s.cached_new[bookie, e], s.flushed_new[bookie, e]) for e in s.entry}
        return [
            s.kept_fence[bookie].set(FALSE if s.has_memtable else s.fence[bookie]),
            *(s.flushed_new[bookie, e].set(after[e]) for e in s.entry),
            *(s.is_new[bookie, e].set(after[e] & ~s.read_old[bookie, e]) for e in s.entry),
        ]

    return [
        *(s.flushed[bookie, e].set(is_kept(e)) for e in s.entry),
        *(
            s.copy[bookie, e].set(s.copy[bookie, e] & (is_kept(e) | _in_read_cache(s, bookie, e)))
            for e in s.entry
        ),
        *(s.cached[bookie, e].set(False) for e in s.entry),
        s.dropping[bookie].set(False),
        s.cleaning[bookie].set(False),
        *_stores_key(s, bookie),
        *contents(),
    ]


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
            *(
                s.copy[bookie, e].set(
                    s.copy[bookie, e] & (~s.cleaning[bookie] | _in_read_cache(s, bookie, e))
                )
                for e in s.entry
            ),
            s.cleaning[bookie].set(False),
            *([] if stays else [s.dropping[bookie].set(False)]),
            *_stores_key(s, bookie),
            *([s.kept_fence[bookie].set(s.fence[bookie])] if s.reuses else []),
        ],
        actor=bookie,
        note="finds its write cache empty, and only cleans up"
        + ("; the mark of the deleted ledger stays" if stays else " and forgets the deleted ledger"),
    )
