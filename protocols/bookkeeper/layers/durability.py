"""Durability: the data that a bookie with a journal still has after a crash or a clean restart.

A bookie first keeps new data in memory, then writes a record to the journal, then answers. A flush writes
some of the data to the index and then moves the journal's mark past all records. A boot replays the records
after the mark. Data that a flush left out and that the mark has passed is lost with the process. The
storage decides which data a flush writes:

- InterleavedLedgerStorage, and SortedLedgerStorage, which uses it: fence and key are in the header of the
ledger's index file. A flush (before a stop, after a replay) does nothing if no entry was written since the
last one. Otherwise, and at each checkpoint, it writes the headers of ledgers that have a page of the index
in memory.
- DbLedgerStorage: fence and key are in a table of their own. A checkpoint writes the table if it has
entries to write.

An acknowledged entry is in memory and has its record. At a replay the ledger's key may be missing: the
bookie journals the key only once, with the first entry. Without the key every record of the ledger is
skipped (BookieImpl.readJournal).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.sorts import BOOL, integers, members
from fencepost.encoding.language.state import family, variable
from fencepost.encoding.language.terms import FALSE, Parameter, Term, TermLike, Update, any_of, lift
from fencepost.protocols.bookkeeper.adds import add
from fencepost.protocols.bookkeeper.layers.crashes import Crashes, drops_requests, forgets_entries
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import rule
from fencepost.protocols.bookkeeper.today import Today
from fencepost.protocols.bookkeeper.values import Status
from fencepost.quorums.storages import STORAGES


class KeptOnDisk(Enum):
    """The place where a bookie keeps its fence or the ledger's key."""

    MEMORY = "memory"
    """In memory at best: not at all, or with a record that a replay skips because no key precedes it."""
    QUEUE = "queue"
    """The record is on its way to the journal."""
    JOURNAL = "journal"
    """The record is after the mark: a boot replays it."""
    PASSED = "behind the mark"
    """The record is behind the mark, and the index does not have it."""
    INDEX = "index"


@rule("second_copy", "dropped")
class SecondCopiesDropped(Today):
    """A bookie keeps the first copy of an entry."""

    def takes_copy(self, bookie: TermLike, entry: TermLike) -> Term:
        """Return whether the bookie has no copy of the entry, since it drops a second one.

        SortedLedgerStorage keeps the first copy until it flushes its memory table (EntryMemTable.internalAdd
        puts an entry if absent). After the flush it takes another copy, with another LAC. A fencing read is
        then answered with that LAC (SortedLedgerStorage.getLastEntryId asks the memory table first).
        """
        return ~self.has(bookie, entry)


class Durability(Crashes):
    """The place of the ledger's key and fence on each bookie, and the work that a flush would find."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables of durability."""
        super().__init__(parameters)
        bookie = self.bookie
        self.key_kept = family(members(KeptOnDisk), bookie)
        self.fence_kept = family(members(KeptOnDisk), bookie)
        self.unflushed = family(BOOL, bookie)
        """Whether entries of the ledger are in the journal after its mark and not in the index."""
        self.written = family(BOOL, bookie)
        """Whether entries were written since the last flush (InterleavedLedgerStorage.somethingWritten)."""
        self.paged = family(BOOL, bookie)
        """Whether a page of the ledger's index is in memory (IndexInMemPageMgr).

        It is once an entry was stored or looked up.
        """
        self.restarted = variable(integers(0, parameters.restarts))

    @property
    def index(self) -> str:
        """Return where the storage keeps fence and key: in index files, or in a table."""
        return STORAGES[self.parameters.storage].index

    @property
    def has_index_files(self) -> bool:
        """Whether fence and key are in the header of the ledger's index file."""
        return self.index == "files"

    def key_is_replayed(self, bookie: TermLike) -> Term:
        """Return whether a replay finds the ledger's key before the records written from now on."""
        return any_of(self.key_kept[bookie] == KeptOnDisk.JOURNAL, self.key_kept[bookie] == KeptOnDisk.INDEX)

    def is_known(self, bookie: TermLike) -> Term:
        """Return whether the storage knows the ledger, at least in memory (setMasterKey).

        It does if the ledger is fenced or has its key.
        """
        return self.fenced[bookie] | (self.key_kept[bookie] != KeptOnDisk.MEMORY)

    def other_writes(self) -> Term:
        """Return whether entries of other ledgers are written between any two flushes."""
        return lift(self.parameters.load == "busy")

    # Records in the journal.

    def on_fence(self, client: TermLike, bookie: TermLike) -> list[Update]:
        """Record the fence in the journal, after a fencing read."""
        found = exists(self.entry, lambda e: self.has(bookie, e))
        return [*super().on_fence(client, bookie), *self._fence_journaled(bookie, found)]

    def on_read(self, client: TermLike, entry: TermLike, bookie: TermLike, content: Term) -> list[Update]:
        """Record the fence in the journal, after a recovery read that fences."""
        noted = super().on_read(client, entry, bookie, content)
        if self.parameters.recovery_reads_fence == "no":
            return noted
        return [*noted, *self._fence_journaled(bookie, content != 0)]

    def _fence_journaled(self, bookie: TermLike, found: Term) -> list[Update]:
        """Return the updates for the fence's record (ReadEntryProcessorV3).

        An answer with an entry waits for that record. A negative answer does not.
        """
        if not self.parameters.loses_fences:
            return []
        waits = found | (self.parameters.negative_answers == "after-fence")
        new, queued = ~self.fenced[bookie], self.fence_kept[bookie] == KeptOnDisk.QUEUE
        return [
            self.fence_kept[bookie].set(
                if_(waits, self._record_of_fence(bookie), KeptOnDisk.QUEUE), when=new | queued & waits
            ),
            *self._key_with_fence(bookie, (new | queued) & waits),
            *([self.paged[bookie].set(True)] if self.has_index_files else []),
        ]

    def _record_of_fence(self, bookie: TermLike) -> Term:
        """Return where the fence is kept once its record is written (LedgerDescriptorImpl, readJournal).

        The record has no key. Without a key before it, a replay skips the record.
        """
        with_key = lift(self.parameters.fence_record == "with-key")
        return if_(self.key_is_replayed(bookie) | with_key, KeptOnDisk.JOURNAL, KeptOnDisk.MEMORY)

    def _key_with_fence(self, bookie: TermLike, journaled: Term) -> list[Update]:
        if self.parameters.fence_record == "bare":
            return []
        return [self.key_kept[bookie].set(KeptOnDisk.JOURNAL, when=journaled & ~self.key_is_replayed(bookie))]

    def on_add(self, bookie: TermLike, stores: TermLike) -> list[Update]:
        """Record the key, if this boot has not written it, then the queued fence and the entry.

        addEntryInternal.
        """
        noted = super().on_add(bookie, stores)
        if not self.parameters.loses_fences:
            return noted
        first = self.key_kept[bookie] == KeptOnDisk.MEMORY
        queued = self.fence_kept[bookie] == KeptOnDisk.QUEUE
        indexed = (self.written, self.paged) if self.has_index_files else ()
        return [
            *noted,
            self.key_kept[bookie].set(KeptOnDisk.JOURNAL, when=lift(stores) & first),
            self.fence_kept[bookie].set(self._record_of_fence(bookie), when=lift(stores) & queued),
            self.unflushed[bookie].set(True, when=stores),
            *(flag[bookie].set(True, when=stores) for flag in indexed),
        ]


def catch_up(s: Durability, bookie: Parameter) -> Action:
    """Write the queued records to the journal (Journal.run).

    Code: Journal.run.
    """
    queued = s.fence_kept[bookie] == KeptOnDisk.QUEUE
    return Action(
        when=queued,
        then=[s.fence_kept[bookie].set(s._record_of_fence(bookie)), *s._key_with_fence(bookie, queued)],
        actor=bookie,
        note="has its fence in the journal",
    )


# The data that a flush writes to the index, by storage.


def headers_of_paged(s: Durability, bookie: Parameter) -> Term:
    """Return whether a flush writes the header: the ledger has a page in memory.

    InterleavedLedgerStorage.checkpoint, flushOneOrMoreLedgers.
    """
    return s.paged[bookie] | (s.parameters.flush_headers == "always")


def headers_if_written(s: Durability, bookie: Parameter) -> Term:
    """Return the same, but false if no entry was written since the last flush.

    InterleavedLedgerStorage.flush.
    """
    written = s.written[bookie] | s.other_writes() | (s.parameters.flush_headers == "always")
    return written & headers_of_paged(s, bookie)


def headers_of_replayed(s: Durability, bookie: Parameter) -> Term:
    """Return the same after a replay, which brings pages only if it wrote entries.

    SyncThread.requestFlush.
    """
    return s.unflushed[bookie] | (s.parameters.flush_headers == "always")


def table_if_entries(s: Durability, bookie: Parameter) -> Term:
    """Return whether a checkpoint writes the table: the write cache has entries.

    SingleDirectoryDbLedgerStorage.checkpoint.
    """
    return s.unflushed[bookie] | s.other_writes() | (s.parameters.db_checkpoint == "always")


Written = Callable[[Durability, Parameter], Term]

AT_CHECKPOINT: Mapping[str, Written] = {"files": headers_of_paged, "table": table_if_entries}
BEFORE_STOP: Mapping[str, Written] = {"files": headers_if_written, "table": table_if_entries}
AFTER_REPLAY: Mapping[str, Written] = {"files": headers_of_replayed, "table": table_if_entries}
"""Whether a flush brings the ledger's key and fence to the index, by the index of the storage."""


def checkpoint(s: Durability, bookie: Parameter) -> Action:
    """Flush, and move the journal's mark past all records (SyncThread.checkpoint).

    DbLedgerStorage does so every flushInterval. The others do when an entry log or a memory table is full,
    so entries were written.

    Code: SyncThread.checkpoint.
    """
    writes = AT_CHECKPOINT[s.index](s, bookie)
    key, fence = s.key_kept[bookie], s.fence_kept[bookie]
    to_move = any_of(s.unflushed[bookie], key == KeptOnDisk.JOURNAL, fence == KeptOnDisk.JOURNAL)
    to_write = (
        writes
        & s.is_known(bookie)
        & ((key != KeptOnDisk.INDEX) | s.fenced[bookie] & (fence != KeptOnDisk.INDEX))
    )
    return Action(
        when=s.serves(bookie) & (s.status != Status.NONE) & (to_move | to_write),
        then=[
            s.key_kept[bookie].set(
                if_(
                    writes & s.is_known(bookie),
                    KeptOnDisk.INDEX,
                    if_(key == KeptOnDisk.JOURNAL, KeptOnDisk.PASSED, key),
                )
            ),
            s.fence_kept[bookie].set(
                if_(
                    writes & s.fenced[bookie],
                    KeptOnDisk.INDEX,
                    if_(fence == KeptOnDisk.JOURNAL, KeptOnDisk.PASSED, fence),
                )
            ),
            s.unflushed[bookie].set(False),
            *([s.written[bookie].set(True)] if s.has_index_files else []),
        ],
        actor=bookie,
        note="moves its journal's mark, after a flush",
    )


# Going down, and coming back.


def stop_and_start(s: Durability, bookie: Parameter) -> Action:
    """Restart a bookie cleanly: it flushes and moves the mark past all records.

    Nothing is replayed (BookieImpl.shutdown, start). The journal has written its queue before.

    Code: BookieImpl.shutdown, BookieImpl.start.
    """
    p = s.parameters
    writes = BEFORE_STOP[s.index](s, bookie)
    key = (s.key_kept[bookie] == KeptOnDisk.INDEX) | writes & s.is_known(bookie)
    fence = (s.fence_kept[bookie] == KeptOnDisk.INDEX) | writes & s.fenced[bookie]
    return Action(
        when=s.serves(bookie)
        & (s.status != Status.NONE)
        & (s.restarted < p.restarts)
        & (s.fence_kept[bookie] != KeptOnDisk.QUEUE),
        then=[
            s.restarted.set(s.restarted + 1),
            *_is_back(s, bookie, fence),
            s.key_kept[bookie].set(if_(key, KeptOnDisk.INDEX, KeptOnDisk.MEMORY)),
            s.fence_kept[bookie].set(if_(fence, KeptOnDisk.INDEX, KeptOnDisk.MEMORY)),
            *([s.paged[bookie].set(False)] if s.has_index_files else []),
        ],
        actor=bookie,
        note="is shut down cleanly, and started again",
        fault="restarts",
    )


def crash_and_replay(s: Durability, bookie: Parameter) -> Action:
    """Crash a bookie, which replays its journal from the mark on, flushes and moves the mark.

    Code: BookieImpl.readJournal.
    """
    keeps_entries = ~s.unflushed[bookie] | (s.parameters.entries_journaled == "yes")
    return Action(
        when=s.serves(bookie)
        & (s.status != Status.NONE)
        & (s.crashed < s.parameters.crashes)
        & keeps_entries,
        then=_replays(s, bookie, s.key_kept[bookie], s.fence_kept[bookie], s.unflushed[bookie]),
        actor=bookie,
        note="crashes, and comes back with what its journal replays",
        fault="crashes",
    )


def crash_in_first_add(
    s: Durability, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Crash a bookie between two records: the journal has the ledger's key and not its first entry."""
    index = client, fragment, entry, bookie
    refused = s.fenced[bookie] if client.sort is s.writer else FALSE
    replayed = _replays(s, bookie, lift(KeptOnDisk.JOURNAL), lift(KeptOnDisk.MEMORY), FALSE)
    return Action(
        when=s.serves(bookie)
        & s.next_add(*index)
        & ~refused
        & (s.key_kept[bookie] == KeptOnDisk.MEMORY)
        & (s.crashed < s.parameters.crashes),
        then=replayed,
        actor=bookie,
        received=add(s, *index),
        note="crashes when the ledger's key is in its journal, and the entry is not",
        fault="crashes",
    )


def _replays(s: Durability, bookie: Parameter, key: Term, fence: Term, entries: Term) -> list[Update]:
    """Return the updates of a crash and a replay, from the places of key and fence.

    `entries` says whether entries are replayed.
    """
    known = any_of(key == KeptOnDisk.JOURNAL, key == KeptOnDisk.INDEX)
    fenced = any_of(fence == KeptOnDisk.JOURNAL, fence == KeptOnDisk.INDEX)
    writes = AFTER_REPLAY[s.index](s, bookie) & known
    return [
        s.crashed.set(s.crashed + 1),
        *forgets_entries(s, bookie, when=~known),
        *_is_back(s, bookie, fenced),
        s.key_kept[bookie].set(_after_replay(key, writes, known)),
        s.fence_kept[bookie].set(_after_replay(fence, writes, fenced)),
        *([s.paged[bookie].set(entries & known)] if s.has_index_files else []),
    ]


def _after_replay(kept: Term, writes: Term, known: Term) -> Term:
    """Return the place of a key or fence after a boot.

    A replayed one is in the index, or its record is behind the mark.
    """
    on_disk = (kept == KeptOnDisk.INDEX) | writes & known
    return if_(on_disk, KeptOnDisk.INDEX, if_(known, KeptOnDisk.PASSED, KeptOnDisk.MEMORY))


def _is_back(s: Durability, bookie: Parameter, fenced: Term) -> list[Update]:
    return [
        s.fenced[bookie].set(fenced),
        s.unflushed[bookie].set(False),
        *([s.written[bookie].set(False)] if s.has_index_files else []),
        *drops_requests(s, bookie),
    ]
