"""What is durable when: what a bookie with its journal on still knows after a crash, or a clean restart.

A bookie keeps what it is told in memory first, then writes a record of it to the journal, and answers. A flush brings to
the index what it finds worth it, and then moves the journal's mark past all records; a boot replays those after the mark.
So what a flush leaves out and the mark has passed is gone with the process. Which that is depends on the storage:

- InterleavedLedgerStorage, and SortedLedgerStorage, which comes down to it: fence and key stand in the header of the
  ledger's index file. A flush (before a stop, after a replay) does nothing if no entry was written since the one before;
  otherwise, and at each checkpoint, it writes the headers of ledgers that have a page of the index in memory.
- DbLedgerStorage: fence and key stand in a table of its own, which a checkpoint writes if it has entries to write.

An entry that was acknowledged is in memory and has its record. What it may lack at a replay is the ledger's key, which the
bookie journals once only, with the first entry: without it every record of the ledger is skipped (BookieImpl.readJournal).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum

from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.sorts import BOOL, integers, members
from fencepost.encoding.language.state import family, variable
from fencepost.encoding.language.system import Action
from fencepost.encoding.language.terms import FALSE, Parameter, Term, TermLike, Update, any_of, if_, lift
from fencepost.protocols.bookkeeper.adds import add
from fencepost.protocols.bookkeeper.layers.boot import Boot
from fencepost.protocols.bookkeeper.layers.crashes import drops_requests, forgets_entries
from fencepost.protocols.bookkeeper.metadata import Status
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters


class KeptOnDisk(Enum):
    """Where a bookie keeps something that it knows, or would have to."""

    MEMORY = "memory"
    """At best: not at all, or with a record that a replay skips because no key precedes it."""
    QUEUE = "queue"
    """Its record is on the way to the journal."""
    JOURNAL = "journal"
    """Its record is after the mark: a boot replays it."""
    PASSED = "behind the mark"
    """Its record is behind the mark, and the index does not have it."""
    INDEX = "index"


class Durability(Boot):
    """For each bookie, where the ledger's key and its fence are kept, and what a flush would find to do."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        super().__init__(parameters)
        bookie = self.bookie
        self.key_kept = family(members(KeptOnDisk), bookie)
        self.fence_kept = family(members(KeptOnDisk), bookie)
        self.unflushed = family(BOOL, bookie)
        """Entries of the ledger are in the journal after its mark, and not in the index."""
        self.written = family(BOOL, bookie)
        """Entries were written since the last flush (InterleavedLedgerStorage.somethingWritten)."""
        self.paged = family(BOOL, bookie)
        """A page of the ledger's index is in memory: an entry was stored or looked for (IndexInMemPageMgr)."""
        self.restarted = variable(integers(0, parameters.restarts))

    @property
    def is_durability_modelled(self) -> bool:
        return self.parameters.storage != "any"

    def key_is_replayed(self, bookie: TermLike) -> Term:
        """A replay finds the ledger's key before whatever is journaled from now on."""
        return any_of(self.key_kept[bookie] == KeptOnDisk.JOURNAL, self.key_kept[bookie] == KeptOnDisk.INDEX)

    def is_known(self, bookie: TermLike) -> Term:
        """The storage knows the ledger, at least in memory: it was fenced, or has its key (setMasterKey)."""
        return self.fenced[bookie] | (self.key_kept[bookie] != KeptOnDisk.MEMORY)

    def other_writes(self) -> Term:
        """Entries of other ledgers are written between any two flushes."""
        return lift(self.parameters.load == "busy")

    # What reaches the journal.

    def noted_when_fenced(self, client: TermLike, bookie: TermLike) -> list[Update]:
        found = exists(self.entry, lambda e: self.has(bookie, e))
        return [*super().noted_when_fenced(client, bookie), *self._fence_journaled(bookie, found)]

    def noted_when_read(
        self, client: TermLike, entry: TermLike, bookie: TermLike, content: Term
    ) -> list[Update]:
        noted = super().noted_when_read(client, entry, bookie, content)
        if self.parameters.recovery_reads_fence == "no":
            return noted
        return [*noted, *self._fence_journaled(bookie, content != 0)]

    def _fence_journaled(self, bookie: TermLike, found: Term) -> list[Update]:
        """An answer with an entry waits for the record of the fence, a negative one does not (ReadEntryProcessorV3)."""
        if not self.is_durability_modelled:
            return []
        waits = found | (self.parameters.negative_answers == "after-fence")
        new, queued = ~self.fenced[bookie], self.fence_kept[bookie] == KeptOnDisk.QUEUE
        return [
            self.fence_kept[bookie].set(
                if_(waits, self._record_of_fence(bookie), KeptOnDisk.QUEUE), when=new | queued & waits
            ),
            *self._key_with_fence(bookie, (new | queued) & waits),
            *([] if self.parameters.storage == "db" else [self.paged[bookie].set(True)]),
        ]

    def _record_of_fence(self, bookie: TermLike) -> Term:
        """The record of a fence has no key: without one before it, a replay skips it (LedgerDescriptorImpl, readJournal)."""
        with_key = lift(self.parameters.fence_record == "with-key")
        return if_(self.key_is_replayed(bookie) | with_key, KeptOnDisk.JOURNAL, KeptOnDisk.MEMORY)

    def _key_with_fence(self, bookie: TermLike, journaled: Term) -> list[Update]:
        if self.parameters.fence_record == "bare":
            return []
        return [self.key_kept[bookie].set(KeptOnDisk.JOURNAL, when=journaled & ~self.key_is_replayed(bookie))]

    def noted_when_added(self, bookie: TermLike, stores: TermLike) -> list[Update]:
        """The key's record, if this boot has written none, the entry's, and before them what was queued (addEntryInternal)."""
        noted = super().noted_when_added(bookie, stores)
        if not self.is_durability_modelled:
            return noted
        first = self.key_kept[bookie] == KeptOnDisk.MEMORY
        queued = self.fence_kept[bookie] == KeptOnDisk.QUEUE
        return [
            *noted,
            self.key_kept[bookie].set(KeptOnDisk.JOURNAL, when=lift(stores) & first),
            self.fence_kept[bookie].set(self._record_of_fence(bookie), when=lift(stores) & queued),
            self.unflushed[bookie].set(True, when=stores),
            *self._indexed(bookie, stores),
        ]

    def _indexed(self, bookie: TermLike, stores: TermLike) -> list[Update]:
        """What the storages with index files remember of entries written."""
        if self.parameters.storage == "db":
            return []
        return [self.written[bookie].set(True, when=stores), self.paged[bookie].set(True, when=stores)]


def catch_up(s: Durability, bookie: Parameter) -> Action:
    """The journal has written what was queued (Journal.run)."""
    queued = s.fence_kept[bookie] == KeptOnDisk.QUEUE
    return Action(
        when=queued,
        then=[
            s.fence_kept[bookie].set(s._record_of_fence(bookie)),
            *s._key_with_fence(bookie, queued),
        ],
        actor=bookie,
        note="has its fence in the journal",
    )


# What a flush writes to the index, by storage.


def headers_of_paged(s: Durability, bookie: Parameter) -> Term:
    """Headers of ledgers with a page in memory (InterleavedLedgerStorage.checkpoint, flushOneOrMoreLedgers)."""
    return s.paged[bookie] | (s.parameters.flush_headers == "always")


def headers_if_written(s: Durability, bookie: Parameter) -> Term:
    """The same, but nothing if no entry was written since the last flush (InterleavedLedgerStorage.flush)."""
    written = s.written[bookie] | s.other_writes() | (s.parameters.flush_headers == "always")
    return written & headers_of_paged(s, bookie)


def headers_of_replayed(s: Durability, bookie: Parameter) -> Term:
    """The same after a replay: it wrote entries, or none, and only those bring pages (SyncThread.requestFlush)."""
    return s.unflushed[bookie] | (s.parameters.flush_headers == "always")


def table_if_entries(s: Durability, bookie: Parameter) -> Term:
    """All that changed, if there are entries in the write cache (SingleDirectoryDbLedgerStorage.checkpoint)."""
    return s.unflushed[bookie] | s.other_writes() | (s.parameters.db_checkpoint == "always")


Written = Callable[[Durability, Parameter], Term]

AT_CHECKPOINT: Mapping[str, Written] = {
    "interleaved": headers_of_paged,
    "sorted": headers_of_paged,
    "db": table_if_entries,
}
BEFORE_STOP: Mapping[str, Written] = {
    "interleaved": headers_if_written,
    "sorted": headers_if_written,
    "db": table_if_entries,
}
AFTER_REPLAY: Mapping[str, Written] = {
    "interleaved": headers_of_replayed,
    "sorted": headers_of_replayed,
    "db": table_if_entries,
}
"""By `storage`: whether a flush brings the ledger's key and fence to the index."""


def checkpoint(s: Durability, bookie: Parameter) -> Action:
    """The mark moves past all records, after a flush of what the storage finds worth it (SyncThread.checkpoint).

    DbLedgerStorage: every flushInterval. The others: when an entry log is full, or a memory table; so entries were written.
    """
    p = s.parameters
    writes = AT_CHECKPOINT[p.storage](s, bookie)
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
            *([] if p.storage == "db" else [s.written[bookie].set(True)]),
        ],
        actor=bookie,
        note="moves its journal's mark, after a flush",
    )


# Going down, and coming back.


def stop_and_start(s: Durability, bookie: Parameter) -> Action:
    """A clean restart: a flush, and the mark moves past all records. Nothing is replayed (BookieImpl.shutdown, start).

    The journal has written what was queued before.
    """
    p = s.parameters
    writes = BEFORE_STOP[p.storage](s, bookie)
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
            *([] if p.storage == "db" else [s.paged[bookie].set(False)]),
        ],
        actor=bookie,
        note="is shut down cleanly, and started again",
        fault="restarts",
    )


def crash_and_replay(s: Durability, bookie: Parameter) -> Action:
    """A bookie crashes, replays its journal from the mark on, and flushes; the mark moves past all that was replayed."""
    return Action(
        when=s.serves(bookie) & (s.status != Status.NONE) & (s.crashed < s.parameters.crashes),
        then=_replays(s, bookie, s.key_kept[bookie], s.fence_kept[bookie], s.unflushed[bookie]),
        actor=bookie,
        note="crashes, and comes back with what its journal replays",
        fault="crashes",
    )


def crash_in_first_add(
    s: Durability, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """A bookie crashes between two records of its journal: it has the ledger's key, and not the entry that came with it."""
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
    """What a crashed bookie is back with: by where its key and fence were kept, and whether entries are replayed."""
    known = any_of(key == KeptOnDisk.JOURNAL, key == KeptOnDisk.INDEX)
    fenced = any_of(fence == KeptOnDisk.JOURNAL, fence == KeptOnDisk.INDEX)
    writes = AFTER_REPLAY[s.parameters.storage](s, bookie) & known
    return [
        s.crashed.set(s.crashed + 1),
        *forgets_entries(s, bookie, when=~known),
        *_is_back(s, bookie, fenced),
        s.key_kept[bookie].set(_after_replay(key, writes, known)),
        s.fence_kept[bookie].set(_after_replay(fence, writes, fenced)),
        *([] if s.parameters.storage == "db" else [s.paged[bookie].set(entries & known)]),
    ]


def _after_replay(kept: Term, writes: Term, known: Term) -> Term:
    """Where something is kept after a boot: what was replayed is in the index, or behind the mark."""
    on_disk = (kept == KeptOnDisk.INDEX) | writes & known
    return if_(on_disk, KeptOnDisk.INDEX, if_(known, KeptOnDisk.PASSED, KeptOnDisk.MEMORY))


def _is_back(s: Durability, bookie: Parameter, fenced: Term) -> list[Update]:
    return [
        s.fenced[bookie].set(fenced),
        s.unflushed[bookie].set(False),
        *([] if s.parameters.storage == "db" else [s.written[bookie].set(False)]),
        *drops_requests(s, bookie),
    ]
