"""A full ledger disk: a flush of the entry log writes a part of its buffer, and fails.

The entry log is a file behind a buffer (`BufferedChannel`). A flush that writes a part and throws keeps the
whole buffer, and the next flush writes it again. The file is then ahead of the channel's position, and every
location that the index gets is wrong (issue 4855), until a restart or a new entry log.

- **Interleaved**: an add puts the entry in the buffer, and its location in the index.
- **Sorted**: the same, when it writes its memory table. A write of the table that failed is repeated in
another entry log, begun once the monitor of disks has seen the full disk. A table that was written is gone.
- **Db**: the index gets no location of a flush that failed, but wrong ones of the flush after it. The
entries of the flush that failed stay in the cache that was swapped out (`failed_flush`). A shutdown whose own
cache is empty does not write them, and moves the mark (`empty_flush`).

The rules apply with `full_disks` above 0. In the worst case the part that was written has no whole entry. A
read of a wrong location fails with an I/O error, which is no NoSuchEntry. Fences and keys stay.
"""

from __future__ import annotations

from collections.abc import Iterator
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
from fencepost.protocols.bookkeeper.rules import also, only_if
from fencepost.protocols.bookkeeper.values import NOTHING, Status


class Place(Enum):
    """The place of an entry that a bookie has stored."""

    MEMORY = "memory"  # the write cache or the memory table
    ASIDE = "set-aside"  # the cache of a flush that failed
    BUFFER = "buffer"
    LOG = "log"
    MISPLACED = "misplaced"  # in the log, and not at its location in the index


class LogFile(Enum):
    """The end of the entry log's file, compared with the position of its channel."""

    IN_STEP = "in-step"
    TORN = "torn"  # it has a part of the buffer, which will be written again
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

    def is_in(self, bookie: TermLike, entry: TermLike, *places: Place) -> Term:
        """Return whether the bookie has the entry in one of these places."""
        return self.has(bookie, entry) & any_of(*(self.place[bookie, entry] == p for p in places))

    def is_misplaced(self, bookie: TermLike, entry: TermLike) -> Term:
        """Return whether the index has a wrong location of the entry."""
        return self.place[bookie, entry] == Place.MISPLACED


@only_if(lambda p: p.full_disks > 0)
class ReadsOfEntryLogs(EntryLogs):
    """Bookies answer a read of a wrong location with an error."""

    def cannot_say(self, bookie: TermLike, entry: TermLike, content: Term) -> Term:
        """Return whether the answer is an error, also because the location of the entry is wrong."""
        wrong = exists(self.entry, lambda e: (e == entry) & self.is_misplaced(bookie, e))
        return super().cannot_say(bookie, entry, content) | wrong

    def says_unknown(self, bookie: TermLike) -> Term:
        """Return whether a fencing read ends with an error: the location of the last entry is wrong.

        Entries in memory are looked at first (SingleDirectoryDbLedgerStorage.getLastEntry).
        """

        def is_last(e: Term) -> Term:
            return ~exists(self.entry, lambda other: (e < other) & self.has(bookie, other))

        wrong = exists(self.entry, lambda e: self.is_misplaced(bookie, e) & is_last(e))
        in_memory = any_of(*(self.is_in(bookie, e, Place.MEMORY, Place.ASIDE) for e in self.entry))
        return super().says_unknown(bookie) | (wrong & ~in_memory)

    def refuses_adds(self, bookie: TermLike) -> Term:
        """Return whether the bookie refuses adds without a fence. A wrong location is no reason."""
        return super().says_unknown(bookie)

    def fence_answer_says(
        self, client: TermLike, bookie: TermLike, lac: TermLike, unknown: TermLike
    ) -> dict[str, TermLike]:
        """Return the LAC, and whether it is known."""
        says = super().fence_answer_says(client, bookie, lac, unknown)
        return {"answer": if_(unknown, "unknown", "lac"), **says}


def handle_add(
    s: EntryLogs, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Store an entry in memory or in the buffer, and write its record.

    Code: BookieImpl.addEntryInternal, LedgerStorage.addEntry, Journal.logAddEntry.
    """
    action = adds.handle_add(s, client, fragment, entry, bookie)
    stores = ~adds.is_refused(s, client, fragment, entry, bookie) & s.takes_copy(bookie, entry)
    first = Place.BUFFER if s.parameters.adds_to == "at-once" else Place.MEMORY
    noted = s.place[bookie, entry].set(first, when=stores)
    return also(action, noted, s.behind_mark[bookie, entry].set(False, when=stores))


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
    """Write a part of the buffer, and fail because the disk is full. With `given-up` the bookie boots.

    Code: BufferedChannel.flush, SyncThread.checkpoint.
    """
    p = s.parameters
    swapped = p.has_caches and p.failed_flush == "set-aside"
    unwritten = any_of(*(s.is_in(bookie, e, Place.MEMORY, Place.BUFFER) for e in s.entry))
    in_step = s.log_file[bookie] == LogFile.IN_STEP
    entries = s.entry if swapped and p.partial_flush != "given-up" else ()
    swaps = [
        s.place[bookie, e].set(
            if_(s.is_in(bookie, e, Place.MEMORY), Place.ASIDE, Place.MEMORY),
            when=s.is_in(bookie, e, Place.MEMORY, Place.ASIDE),
        )
        for e in entries
    ]
    return Action(
        when=s.serves(bookie) & in_step & unwritten & (s.filled < p.full_disks),
        then=[
            s.filled.set(s.filled + 1),
            *swaps,
            *([s.log_file[bookie].set(LogFile.TORN)] if p.partial_flush == "written-again" else []),
            *(_boots(s, bookie) if p.partial_flush == "given-up" else []),
        ],
        actor=bookie,
        note="writes a part of its entry log's buffer: its disk is full",
        fault="full_disks",
    )


def flush_log(s: EntryLogs, bookie: Parameter) -> Action:
    """Flush the entry log; with DbLedgerStorage also the write cache, and move the mark.

    Code: BufferedChannel.flush, SingleDirectoryDbLedgerStorage.checkpoint.
    """
    cached = s.parameters.has_caches
    places = (Place.MEMORY, Place.ASIDE) if cached else (Place.BUFFER,)
    torn = s.log_file[bookie] == LogFile.TORN
    return Action(
        when=s.serves(bookie) & (exists(s.entry, lambda e: s.is_in(bookie, e, *places)) | torn),
        then=[
            *_writes(s, bookie, places[0], swapped_in=Place.ASIDE),
            *(_moves_mark(s, bookie) if cached else []),
            s.log_file[bookie].set(LogFile.AHEAD, when=torn),
        ],
        actor=bookie,
        note="flushes its entry log" + (", and moves its mark" if cached else ""),
    )


def begin_log(s: EntryLogs, bookie: Parameter) -> Action:
    """Flush the entry log and begin another one; with index files a checkpoint moves the mark.

    Code: EntryLogManagerBase.createNewLog, SyncThread.checkpoint, SortedLedgerStorage.checkpoint.
    """
    cached = s.parameters.has_caches
    return Action(
        when=s.serves(bookie)
        & any_of(
            s.log_file[bookie] != LogFile.IN_STEP,
            *(s.is_in(bookie, e, Place.MEMORY, Place.BUFFER) for e in s.entry if not cached),
        ),
        then=[
            *_writes(s, bookie, Place.BUFFER, to_new=() if cached else (Place.MEMORY,)),
            *([] if cached else _moves_mark(s, bookie)),
            s.log_file[bookie].set(LogFile.IN_STEP),
        ],
        actor=bookie,
        note="begins another entry log" + ("" if cached else ", and moves its mark"),
    )


def _writes(
    s: EntryLogs,
    bookie: TermLike,
    *places: Place,
    to_new: tuple[Place, ...] = (),
    swapped_in: Place | None = None,
    loses_aside: Term | None = None,
) -> list[Update]:
    """Return the updates of a flush that succeeds: the file has the entries of these places.

    Their locations are wrong unless the file was in step. Those of `to_new` are in another file. If
    `loses_aside` holds, the entries that were set aside are written nowhere.
    """
    right = s.log_file[bookie] == LogFile.IN_STEP
    found: list[Update] = []
    for e in s.entry:
        place, written = s.place[bookie, e], s.is_in(bookie, e, *places)
        gone = written & ~right
        if loses_aside is not None:
            lost = loses_aside & s.is_in(bookie, e, Place.ASIDE)
            written, gone = written & ~lost, gone | lost
            found.append(s.stored_lac[bookie, e].set(0, when=lost))
        after = if_(written, if_(right, Place.LOG, Place.MISPLACED), place)
        for source in to_new:
            after = if_(s.is_in(bookie, e, source), Place.LOG, after)
        if swapped_in is not None:
            after = if_(place == swapped_in, Place.MEMORY, after)
        found += [place.set(after), s.stored[bookie, e].set(NOTHING, when=gone)]
    return found


def _moves_mark(s: EntryLogs, bookie: TermLike) -> list[Update]:
    """Return the updates that move the mark past all records, those of misplaced entries too."""
    return [
        s.behind_mark[bookie, e].set(True, when=s.has(bookie, e) | s.is_misplaced(bookie, e)) for e in s.entry
    ]


def restart(s: EntryLogs, bookie: Parameter) -> Action:
    """Restart a bookie cleanly: it flushes everything, and moves the mark.

    A flush with an empty write cache swaps no caches: entries that were set aside are lost (`empty_flush`).
    If another ledger has an entry in the cache, this is `flush_log` before the restart.
    Code: BookieImpl.shutdown, SyncThread.flush, SingleDirectoryDbLedgerStorage.checkpoint, shutdown.
    """
    p = s.parameters
    of_table = (Place.MEMORY,) if p.adds_to == "memtable" else ()
    places = [place for place in (Place.MEMORY, Place.ASIDE, Place.BUFFER) if place not in of_table]
    swaps_none = p.has_caches and p.empty_flush == "swaps-none"
    is_empty = ~any_of(*(s.is_in(bookie, e, Place.MEMORY) for e in s.entry)) if swaps_none else None
    return Action(
        when=s.serves(bookie) & (s.status != Status.NONE) & (s.restarted < p.restarts),
        then=[
            s.restarted.set(s.restarted + 1),
            *_writes(s, bookie, *places, to_new=of_table, loses_aside=is_empty),
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
    behind = {e: s.behind_mark[bookie, e] for e in s.entry}
    replayed = {e: (s.has(bookie, e) | s.is_misplaced(bookie, e)) & ~behind[e] for e in s.entry}
    lost = {e: s.is_in(bookie, e, Place.MEMORY, Place.ASIDE, Place.BUFFER) & behind[e] for e in s.entry}
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
    if s.parameters.adds_to == "memtable":
        yield each(write_memory_table, s, s.bookie)
    yield each(fill_disk, s, s.bookie)
    yield each(flush_log, s, s.bookie)
    yield each(begin_log, s, s.bookie)
    if s.parameters.restarts:
        yield each(restart, s, s.bookie)
    if s.parameters.crashes:
        yield each(crash, s, s.bookie)
