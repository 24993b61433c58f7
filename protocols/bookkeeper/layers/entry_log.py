"""A full ledger disk: a flush of the entry log writes a part of its buffer, and fails.

The entry log is a file behind a buffer (`BufferedChannel`). A flush that writes a part and throws keeps the
whole buffer, and the next flush writes it again. The file is then ahead of the channel's position, and every
location that the index gets is wrong (issue 4855). A restart, or a new entry log, begins a file whose
locations are right. Locations that the index has stay wrong.

- **InterleavedLedgerStorage** puts an entry in the buffer, and its location in the index, before the add is
answered. The flush that succeeds makes the location wrong, and no other copy is left on the bookie.
- **SortedLedgerStorage** does the same when it writes its memory table. It repeats a write that failed from
the table, into the entry log that it begins once the monitor has seen the full disk. Only entries of a table
that was written to the end, and that are still in the buffer, have no second copy.
- **DbLedgerStorage** takes the locations of a flush that failed back, but not those of the flush after it.
It also leaves the entries of the flush that failed in the cache that it has swapped out (`failed_flush`).

The rules apply with `full_disks` above 0. The worst case is taken: the part that was written has no whole
entry. The disk has room again before the next flush. A read of a wrong location fails with an I/O error,
which is no NoSuchEntry. Fences and keys stay; the layer of durability has lost ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import Enum

from fencepost.encoding.language.actions import Action, Group, Schema, each
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.sorts import BOOL, integers, members
from fencepost.encoding.language.state import family, variable
from fencepost.encoding.language.terms import Parameter, Term, TermLike, Update, any_of
from fencepost.protocols.bookkeeper import adds
from fencepost.protocols.bookkeeper.layers.crashes import drops_requests
from fencepost.protocols.bookkeeper.layers.durability import Durability
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import only_if, rule
from fencepost.protocols.bookkeeper.values import NOTHING, Status


class Place(Enum):
    """The place of an entry that a bookie has stored."""

    MEMORY = "memory"
    """The write cache or the memory table."""
    ASIDE = "set-aside"
    """The cache of a flush that failed."""
    BUFFER = "buffer"
    LOG = "log"
    MISPLACED = "misplaced"
    """The entry log, and not at its location in the index."""


class LogFile(Enum):
    """The end of the entry log's file, compared with the position of its channel."""

    IN_STEP = "in-step"
    TORN = "torn"
    """It has a part of the buffer, which will be written again."""
    AHEAD = "ahead"


class EntryLogs(Durability):
    """The place of each entry on each bookie, the records behind the mark, and the entry log's file."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables of entry logs. There are none unless `full_disks` is above 0."""
        super().__init__(parameters)
        if not parameters.full_disks:
            return
        self.place = family(members(Place), self.bookie, self.entry)
        self.behind_mark = family(BOOL, self.bookie, self.entry)
        """Whether the journal's mark has passed the record of the entry: no boot replays it."""
        self.log_file = family(members(LogFile), self.bookie)
        self.filled = variable(integers(0, parameters.full_disks))

    @property
    def is_buffered_at_once(self) -> bool:
        """Whether an add puts the entry in the buffer of the entry log."""
        return self.parameters.storage == "interleaved"

    def is_in(self, bookie: TermLike, entry: TermLike, *places: Place) -> Term:
        """Return whether the bookie has the entry in one of these places."""
        return self.has(bookie, entry) & any_of(*(self.place[bookie, entry] == p for p in places))

    def is_misplaced(self, bookie: TermLike, entry: TermLike) -> Term:
        """Return whether the index has a wrong location of the entry."""
        return self.place[bookie, entry] == Place.MISPLACED

    def after_partial_flush(self, bookie: Parameter) -> list[Update]:
        """Return the updates of the file and the process: the buffer will be written again."""
        return [self.log_file[bookie].set(LogFile.TORN)]


@only_if(lambda p: p.full_disks > 0)
class ReadsOfEntryLogs(EntryLogs):
    """Bookies answer a read of a wrong location with an error."""

    def cannot_say(self, bookie: TermLike, entry: TermLike, content: Term) -> Term:
        """Return whether the answer is an error, also because the location of the entry is wrong."""
        wrong = exists(self.entry, lambda e: (e == entry) & self.is_misplaced(bookie, e))
        return super().cannot_say(bookie, entry, content) | wrong


@rule("partial_flush", "kept-in-step", lambda p: p.full_disks > 0)
class BufferKeptInStep(EntryLogs):
    """The part that was written leaves the buffer."""

    def after_partial_flush(self, bookie: Parameter) -> list[Update]:
        """Return no update: the next flush writes the rest."""
        return []


@rule("partial_flush", "given-up", lambda p: p.full_disks > 0)
class LogGivenUp(EntryLogs):
    """The channel is unusable and the bookie stops. It boots once its disk has room."""

    def after_partial_flush(self, bookie: Parameter) -> list[Update]:
        """Return the updates of a boot, which is the same step here."""
        return _boots(self, bookie)


def handle_add(
    s: EntryLogs, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Store an entry in the write cache, the memory table or the buffer, and write its record.

    Code: BookieImpl.addEntryInternal, InterleavedLedgerStorage.processEntry, EntryMemTable.addEntry,
    SingleDirectoryDbLedgerStorage.addEntry, Journal.logAddEntry.
    """
    action = adds.handle_add(s, client, fragment, entry, bookie)
    stores = ~adds.is_refused(s, client, fragment, entry, bookie) & s.takes_copy(bookie, entry)
    noted = [
        s.place[bookie, entry].set(Place.BUFFER if s.is_buffered_at_once else Place.MEMORY, when=stores),
        s.behind_mark[bookie, entry].set(False, when=stores),
    ]
    return replace(action, then=[*action.then, *noted])


# Flushes.


def write_memory_table(s: EntryLogs, bookie: Parameter) -> Action:
    """Write the memory table to the buffer of the entry log, and forget the table.

    Code: EntryMemTable.flushSnapshot, SortedLedgerStorage.process.
    """
    full = {e: s.is_in(bookie, e, Place.MEMORY) for e in s.entry}
    return Action(
        when=s.serves(bookie) & (s.log_file[bookie] == LogFile.IN_STEP) & any_of(*full.values()),
        then=[s.place[bookie, e].set(Place.BUFFER, when=when) for e, when in full.items()],
        actor=bookie,
        note="writes its memory table to the buffer of the entry log",
    )


def fill_disk(s: EntryLogs, bookie: Parameter) -> Action:
    """Write a part of the buffer, and fail because the disk is full.

    Code: BufferedChannel.flush, SyncThread.checkpoint.
    """
    p = s.parameters
    swapped = p.storage == "db" and p.failed_flush == "set-aside"
    unwritten = [s.is_in(bookie, e, Place.MEMORY, Place.BUFFER) for e in s.entry]
    entries = s.entry if swapped and p.partial_flush != "given-up" else ()
    aside = [s.place[bookie, e].set(Place.ASIDE, when=s.is_in(bookie, e, Place.MEMORY)) for e in entries]
    return Action(
        when=s.serves(bookie)
        & (s.log_file[bookie] == LogFile.IN_STEP)
        & any_of(*unwritten)
        & (s.filled < p.full_disks),
        then=[
            s.filled.set(s.filled + 1),
            *aside,
            *s.after_partial_flush(bookie),
        ],
        actor=bookie,
        note="writes a part of its entry log's buffer: its disk is full",
        fault="full_disks",
    )


def flush_log(s: EntryLogs, bookie: Parameter) -> Action:
    """Flush the entry log; with DbLedgerStorage also the write cache, and move the mark.

    A cache that was swapped out is swapped in again, and not written.

    Code: BufferedChannel.flush, SingleDirectoryDbLedgerStorage.checkpoint.
    """
    is_db = s.parameters.storage == "db"
    places = (Place.MEMORY, Place.ASIDE) if is_db else (Place.BUFFER,)
    torn = s.log_file[bookie] == LogFile.TORN
    return Action(
        when=s.serves(bookie) & (exists(s.entry, lambda e: s.is_in(bookie, e, *places)) | torn),
        then=[
            *_writes(s, bookie, places[0], swapped_in=Place.ASIDE),
            *(_moves_mark(s, bookie) if is_db else []),
            s.log_file[bookie].set(LogFile.AHEAD, when=torn),
        ],
        actor=bookie,
        note="flushes its entry log" + (", and moves its mark" if is_db else ""),
    )


def begin_log(s: EntryLogs, bookie: Parameter) -> Action:
    """Flush the entry log and begin another one; with index files a checkpoint moves the mark.

    The monitor of disks asks for another entry log after it has seen a full disk.

    Code: EntryLogManagerForSingleEntryLog.getCurrentLogForLedgerForAddEntry,
    EntryLogManagerBase.createNewLog, InterleavedLedgerStorage.onRotateEntryLog,
    SortedLedgerStorage.checkpoint.
    """
    is_db = s.parameters.storage == "db"
    return Action(
        when=s.serves(bookie)
        & any_of(
            s.log_file[bookie] != LogFile.IN_STEP,
            *(s.is_in(bookie, e, Place.MEMORY, Place.BUFFER) for e in s.entry if not is_db),
        ),
        then=[
            *_writes(s, bookie, Place.BUFFER, to_new=() if is_db else (Place.MEMORY,)),
            *([] if is_db else _moves_mark(s, bookie)),
            s.log_file[bookie].set(LogFile.IN_STEP),
        ],
        actor=bookie,
        note="begins another entry log" + ("" if is_db else ", and moves its mark"),
    )


def _writes(
    s: EntryLogs,
    bookie: TermLike,
    *places: Place,
    to_new: tuple[Place, ...] = (),
    swapped_in: Place | None = None,
) -> list[Update]:
    """Return the updates of a flush that succeeds: the file has the entries of these places.

    Their locations are wrong unless the file was in step. Those of `to_new` are in another file.
    """
    right = s.log_file[bookie] == LogFile.IN_STEP
    found: list[Update] = []
    for e in s.entry:
        place, written = s.place[bookie, e], s.is_in(bookie, e, *places)
        after = if_(written, if_(right, Place.LOG, Place.MISPLACED), place)
        for source in to_new:
            after = if_(s.is_in(bookie, e, source), Place.LOG, after)
        if swapped_in is not None:
            after = if_(place == swapped_in, Place.MEMORY, after)
        found += [place.set(after), s.stored[bookie, e].set(NOTHING, when=written & ~right)]
    return found


def _moves_mark(s: EntryLogs, bookie: TermLike) -> list[Update]:
    """Return the updates that move the mark past all records, those of misplaced entries too."""
    return [
        s.behind_mark[bookie, e].set(True, when=s.has(bookie, e) | s.is_misplaced(bookie, e)) for e in s.entry
    ]


# Going down, and coming back.


def restart(s: EntryLogs, bookie: Parameter) -> Action:
    """Restart a bookie cleanly: it flushes everything, and moves the mark.

    Code: BookieImpl.shutdown, SyncThread.shutdown, SingleDirectoryDbLedgerStorage.shutdown.
    """
    of_table = (Place.MEMORY,) if s.parameters.storage == "sorted" else ()
    places = [p for p in (Place.MEMORY, Place.ASIDE, Place.BUFFER) if p not in of_table]
    return Action(
        when=s.serves(bookie) & (s.status != Status.NONE) & (s.restarted < s.parameters.restarts),
        then=[
            s.restarted.set(s.restarted + 1),
            *_writes(s, bookie, *places, to_new=of_table),
            *_moves_mark(s, bookie),
            s.log_file[bookie].set(LogFile.IN_STEP),
            *drops_requests(s, bookie),
        ],
        actor=bookie,
        note="is shut down cleanly, and started again",
        fault="restarts",
    )


def crash(s: EntryLogs, bookie: Parameter) -> Action:
    """Crash a bookie. It boots, replays the records after the mark, and flushes.

    Code: BookieImpl.readJournal.
    """
    return Action(
        when=s.serves(bookie) & (s.status != Status.NONE) & (s.crashed < s.parameters.crashes),
        then=[s.crashed.set(s.crashed + 1), *_boots(s, bookie)],
        actor=bookie,
        note="crashes, and comes back with what it has written and what its journal replays",
        fault="crashes",
    )


def _boots(s: EntryLogs, bookie: Parameter) -> list[Update]:
    """Return the updates of a boot: a replayed entry is in a new entry log, at its location.

    An entry in memory whose record is behind the mark is lost.
    """
    known = {e: s.has(bookie, e) | s.is_misplaced(bookie, e) for e in s.entry}
    replayed = {e: known[e] & ~s.behind_mark[bookie, e] for e in s.entry}
    lost = {
        e: s.is_in(bookie, e, Place.MEMORY, Place.ASIDE, Place.BUFFER) & s.behind_mark[bookie, e]
        for e in s.entry
    }
    return [
        *(s.stored[bookie, e].set(if_(lost[e], NOTHING, e), when=replayed[e] | lost[e]) for e in s.entry),
        *(s.stored_lac[bookie, e].set(0, when=lost[e]) for e in s.entry),
        *(s.place[bookie, e].set(Place.LOG, when=replayed[e]) for e in s.entry),
        *(s.behind_mark[bookie, e].set(True, when=replayed[e]) for e in s.entry),
        s.log_file[bookie].set(LogFile.IN_STEP),
        *drops_requests(s, bookie),
    ]


def entry_logs(s: EntryLogs) -> Iterator[Schema | Group]:
    """Yield the flushes of the entry log, and the crashes and restarts of bookies."""
    if s.parameters.storage == "sorted":
        yield each(write_memory_table, s, s.bookie)
    yield each(fill_disk, s, s.bookie)
    yield each(flush_log, s, s.bookie)
    yield each(begin_log, s, s.bookie)
    if s.parameters.restarts:
        yield each(restart, s, s.bookie)
    if s.parameters.crashes:
        yield each(crash, s, s.bookie)
