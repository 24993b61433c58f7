"""The journal's mark: what a bookie replays after a crash, and what it has deleted before.

The mark is a position in the journal (`Journal.LastLogMark`). A boot replays the records after it
(`BookieImpl.readJournal`). A flush writes entries to the entry log and the index. Then it moves the mark to a
position that was sampled before the flush (`Journal.newCheckpoint`, `checkpointComplete`), and deletes
journal files behind the mark. An entry is lost in a crash if the mark has passed its record and no flush
has written it. Two threads flush with DbLedgerStorage: the SyncThread in intervals, and the storage when
its write cache is full (`SingleDirectoryDbLedgerStorage.triggerFlushAndAddEntry`).

- **The mark moves back** (`mark_order`, issue 4105). Of two checkpoints under way the older one may end last,
  after the newer one has deleted the file that the older one names. Then the bookie does not boot
  (`BookieImpl.replay`). No entry is lost: files go from the oldest on, so a boot finds all files from the
  mark on, or not the first of them.
- **Several ledger directories** (`mark_scope`, PR 3329). A flush of one of them moved the mark for all.
- **Several journals** (`checkpoint_skip`, PR 4844). A checkpoint has a position for each journal, sampled in
  turn. A flush that was sampled in between is taken for later, although it covers less of the last one.
- **A failed flush** (`failed_flush`). The storage swaps its two caches and then fails. The next flush swaps
  them again and writes the other one. It moves the mark past the entries of the first.

The rules apply with `journals` above 0. The ledger is on the last journal, other ledgers are on all of them
and in all directories, and write between any two steps. A flush of the write cache is one step. The thread
that is overtaken is the SyncThread. Fences stay; the layer of durability has lost fences.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from fencepost.encoding.language.actions import Action, Group, Schema, each
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.sorts import BOOL, integers, members
from fencepost.encoding.language.state import family, variable
from fencepost.encoding.language.terms import FALSE, Parameter, Term, TermLike, Update
from fencepost.protocols.bookkeeper import adds
from fencepost.protocols.bookkeeper.layers.crashes import Crashes, drops_requests
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import also, rule
from fencepost.protocols.bookkeeper.values import NOTHING, Stage, Status


class Sync(Enum):
    """The progress of the SyncThread's checkpoint."""

    IDLE = "idle"
    BEGUN = "has sampled the first journal"
    SAMPLED = "has sampled all journals"


class JournalMark(Crashes):
    """The flushed entries of each bookie, the records that its mark has passed, and its checkpoint."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables of the mark. There are none unless `journals` is above 0."""
        super().__init__(parameters)
        if not parameters.journals:
            return
        index = self.bookie, self.entry
        self.flushed = family(BOOL, *index)
        """Whether the entry is in the entry log and the index."""
        self.passed = family(BOOL, *index)
        """Whether the mark on disk has passed the record of the entry."""
        self.aside = family(BOOL, *index)
        """Whether the entry is in the cache of a flush that failed (writeCacheBeingFlushed)."""
        self.sync = family(members(Sync), self.bookie)
        self.covered_by_sync = family(BOOL, *index)
        """Whether the SyncThread's position in the ledger's journal is after the record of the entry."""
        self.overtaken_sync = family(BOOL, self.bookie)
        """Whether the last flush counts as later than the SyncThread's checkpoint (lastCheckpoint)."""
        self.mark_is_later = family(BOOL, self.bookie)
        """Whether the mark on disk is after the SyncThread's position."""
        self.sync_file_gone = family(BOOL, self.bookie)
        """Whether the journal file of the SyncThread's position is deleted."""
        self.mark_file_gone = family(BOOL, self.bookie)
        """Whether the journal file that the mark names is deleted: the bookie will not boot."""
        self.flushes_failed = variable(integers(0, parameters.failed_flushes))

    def in_write_cache(self, bookie: TermLike, entry: TermLike) -> Term:
        """Return whether the entry is in the cache that the next flush writes."""
        return self.has(bookie, entry) & ~self.flushed[bookie, entry] & ~self.aside[bookie, entry]

    def passed_by_sync(self, bookie: TermLike, entry: TermLike) -> Term:
        """Return whether the mark has passed the record once the SyncThread's checkpoint has ended.

        The mark never moves back.
        """
        return self.covered_by_sync[bookie, entry] | self.passed[bookie, entry]

    def is_file_of_sync_gone(self, bookie: TermLike) -> Term:
        """Return whether the SyncThread's checkpoint may name a file that is deleted: it does not."""
        return FALSE

    @property
    def own_flush_moves_mark(self) -> bool:
        """Whether a flush of the write cache moves the mark: with one ledger directory."""
        return not self.parameters.other_dirs

    def on_sample(self, bookie: TermLike) -> list[Update]:
        """Return more updates for the sample of the last journal."""
        return []

    def on_failed_flush(self, bookie: TermLike) -> list[Update]:
        """Set the entries of the write cache aside: the next flush leaves them out."""
        return [self.aside[bookie, e].set(self.in_write_cache(bookie, e)) for e in self.entry]


def has_journals(parameters: BookKeeperParameters) -> bool:
    """Return whether the journal's mark is modelled."""
    return parameters.journals > 0


@rule("mark_order", "as-completed", has_journals)
class MarkMovesBack(JournalMark):
    """The checkpoint that ends last writes the mark."""

    def passed_by_sync(self, bookie: TermLike, entry: TermLike) -> Term:
        """Return whether the SyncThread's position is after the record: the mark may move back."""
        return self.covered_by_sync[bookie, entry]

    def is_file_of_sync_gone(self, bookie: TermLike) -> Term:
        """Return whether the file that the SyncThread's checkpoint names is deleted."""
        return self.sync_file_gone[bookie]


@rule("mark_scope", "one-directory", has_journals)
class OneDirectoryMovesMark(JournalMark):
    """A flush of any ledger directory moves the mark for all."""

    @property
    def own_flush_moves_mark(self) -> bool:
        """Whether a flush of the write cache moves the mark: always."""
        return True


@rule("checkpoint_skip", "by-every-journal", has_journals)
class SkipsByEveryJournal(JournalMark):
    """A flush counts as later than a checkpoint only if it was not earlier in any journal."""

    def on_sample(self, bookie: TermLike) -> list[Update]:
        """Forget the flushes before the sample: they do not count as later."""
        return [*super().on_sample(bookie), self.overtaken_sync[bookie].set(False)]


@rule("failed_flush", "flushed-first", has_journals)
class FailedFlushFirst(JournalMark):
    """After a flush that failed the next one writes its entries."""

    def on_failed_flush(self, bookie: TermLike) -> list[Update]:
        """Set nothing aside."""
        return []


def handle_add(
    s: JournalMark, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Store an entry in the write cache and write its record, which is after the mark.

    Code: BookieImpl.addEntryInternal, SingleDirectoryDbLedgerStorage.addEntry, Journal.logAddEntry.
    """
    action = adds.handle_add(s, client, fragment, entry, bookie)
    stores = ~adds.is_refused(s, client, fragment, entry, bookie)
    noted = [flag[bookie, entry].set(False, when=stores) for flag in (s.passed, s.aside, s.covered_by_sync)]
    return also(action, *noted)


# The SyncThread.


def begin_checkpoint(s: JournalMark, bookie: Parameter) -> Action:
    """Begin a checkpoint: sample the position in the first of several journals.

    Code: SyncThread.doCheckpoint, CheckpointSourceList.newCheckpoint, Journal.newCheckpoint.
    """
    return Action(
        when=s.serves(bookie) & (s.status != Status.NONE) & (s.sync[bookie] == Sync.IDLE),
        then=[s.sync[bookie].set(Sync.BEGUN)],
        actor=bookie,
        note="begins a checkpoint",
    )


def sample_journal(s: JournalMark, bookie: Parameter) -> Action:
    """Sample the position in the ledger's journal, which is the last one.

    Code: CheckpointSourceList.newCheckpoint, Journal.newCheckpoint.
    """
    before = Sync.BEGUN if s.parameters.journals > 1 else Sync.IDLE
    return Action(
        when=s.serves(bookie) & (s.status != Status.NONE) & (s.sync[bookie] == before),
        then=[
            s.sync[bookie].set(Sync.SAMPLED),
            *(s.covered_by_sync[bookie, e].set(s.has(bookie, e)) for e in s.entry),
            *s.on_sample(bookie),
        ],
        actor=bookie,
        note="has the position of its checkpoint",
    )


def end_checkpoint(s: JournalMark, bookie: Parameter) -> Action:
    """End the checkpoint: flush, unless a later flush has ended, and write the mark.

    Code: SyncThread.checkpoint, SingleDirectoryDbLedgerStorage.checkpoint, Journal.checkpointComplete.
    """
    flushes = ~s.overtaken_sync[bookie]
    return Action(
        when=s.serves(bookie) & (s.sync[bookie] == Sync.SAMPLED),
        then=[
            *_flushes(s, bookie, flushes),
            *(s.passed[bookie, e].set(s.passed_by_sync(bookie, e)) for e in s.entry),
            s.mark_file_gone[bookie].set(s.is_file_of_sync_gone(bookie)),
            *_forgets_sync(s, bookie),
        ],
        actor=bookie,
        note="ends the checkpoint, and writes its mark",
    )


def _forgets_sync(s: JournalMark, bookie: TermLike) -> list[Update]:
    """Return the updates after which no checkpoint of the SyncThread is under way."""
    return [
        s.sync[bookie].set(Sync.IDLE),
        *(s.covered_by_sync[bookie, e].set(False) for e in s.entry),
        *(flag[bookie].set(False) for flag in (s.overtaken_sync, s.mark_is_later, s.sync_file_gone)),
    ]


def _flushes(s: JournalMark, bookie: TermLike, when: TermLike = True) -> list[Update]:
    """Return the updates of a flush that succeeds: it writes the current cache, and swaps the two."""
    return [
        update
        for e in s.entry
        for update in (
            s.flushed[bookie, e].set(s.has(bookie, e), when=~s.aside[bookie, e] & when),
            s.aside[bookie, e].set(False, when=when),
        )
    ]


# The storage's own flush.


def flush_cache(s: JournalMark, bookie: Parameter) -> Action:
    """Flush the full write cache, and move the mark if this is the only ledger directory.

    Code: SingleDirectoryDbLedgerStorage.flush, SingleDirectoryDbLedgerStorage.checkpoint,
    Journal.checkpointComplete.
    """
    moves = s.own_flush_moves_mark
    return Action(
        when=s.serves(bookie) & (s.status != Status.NONE),
        then=[
            *_flushes(s, bookie),
            s.overtaken_sync[bookie].set(True, when=s.sync[bookie] != Sync.IDLE),
            *(_moves_mark(s, bookie) if moves else []),
        ],
        actor=bookie,
        note="flushes its full write cache" + (", and moves the mark" if moves else ""),
    )


def delete_journals(s: JournalMark, bookie: Parameter) -> Action:
    """Delete the journal files behind the mark, among them that of the SyncThread's position.

    Code: Journal.checkpointComplete.
    """
    return Action(
        when=s.serves(bookie) & s.mark_is_later[bookie] & ~s.sync_file_gone[bookie],
        then=[s.sync_file_gone[bookie].set(True)],
        actor=bookie,
        note="deletes journal files behind the mark",
    )


def flush_other_directory(s: JournalMark, bookie: Parameter) -> Action:
    """Flush another ledger directory, and move the mark for all.

    Code: SingleDirectoryDbLedgerStorage.flush, Journal.checkpointComplete.
    """
    return Action(
        when=s.serves(bookie) & (s.status != Status.NONE),
        then=_moves_mark(s, bookie),
        actor=bookie,
        note="flushes another ledger directory, and moves the mark",
    )


def _moves_mark(s: JournalMark, bookie: TermLike) -> list[Update]:
    """Return the updates that move the mark past all records."""
    return [
        *(s.passed[bookie, e].set(s.has(bookie, e)) for e in s.entry),
        s.mark_is_later[bookie].set(True, when=s.sync[bookie] != Sync.IDLE),
        s.mark_file_gone[bookie].set(False),
    ]


def fail_flush(s: JournalMark, bookie: Parameter) -> Action:
    """Fail to flush the write cache: the entries stay in the cache that was being flushed.

    Code: SingleDirectoryDbLedgerStorage.swapWriteCache, SingleDirectoryDbLedgerStorage.checkpoint.
    """
    return Action(
        when=s.serves(bookie) & (s.status != Status.NONE) & (s.flushes_failed < s.parameters.failed_flushes),
        then=[s.flushes_failed.set(s.flushes_failed + 1), *s.on_failed_flush(bookie)],
        actor=bookie,
        note="fails to flush its write cache",
        fault="failed_flushes",
    )


# Crashes.


def crash(s: JournalMark, bookie: Parameter) -> Action:
    """Crash a bookie. It boots, replays the records after the mark and flushes, or does not boot.

    Code: BookieImpl.readJournal, BookieImpl.replay.
    """
    gone = s.mark_file_gone[bookie]
    lost = {e: s.passed[bookie, e] & ~s.flushed[bookie, e] for e in s.entry}
    return Action(
        when=s.serves(bookie) & (s.status != Status.NONE) & (s.crashed < s.parameters.crashes),
        then=[
            s.crashed.set(s.crashed + 1),
            s.stage[bookie].set(if_(gone, Stage.REFUSED, Stage.SERVING)),
            *(s.stored[bookie, e].set(NOTHING, when=lost[e] & ~gone) for e in s.entry),
            *(s.stored_lac[bookie, e].set(0, when=lost[e] & ~gone) for e in s.entry),
            *(
                flag[bookie, e].set(s.has(bookie, e) & ~lost[e])
                for flag in (s.flushed, s.passed)
                for e in s.entry
            ),
            *(s.aside[bookie, e].set(False) for e in s.entry),
            *_forgets_sync(s, bookie),
            *drops_requests(s, bookie),
        ],
        actor=bookie,
        note="crashes, and comes back with what it has flushed and what its journal replays",
        fault="crashes",
    )


def marks(s: JournalMark) -> Iterator[Schema | Group]:
    """Yield the actions by which data become durable and the mark moves, and the crashes."""
    p = s.parameters
    if p.journals > 1:
        yield each(begin_checkpoint, s, s.bookie)
    yield each(sample_journal, s, s.bookie)
    yield each(end_checkpoint, s, s.bookie)
    yield each(flush_cache, s, s.bookie)
    if p.mark_order == "as-completed":
        yield each(delete_journals, s, s.bookie)
    if p.other_dirs and p.mark_scope == "one-directory":
        yield each(flush_other_directory, s, s.bookie)
    if p.failed_flushes:
        yield each(fail_flush, s, s.bookie)
    if p.crashes:
        yield each(crash, s, s.bookie)
