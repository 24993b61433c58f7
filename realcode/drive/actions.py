"""The table of actions: how each action of the model is driven on the code, and what can be observed.

One table serves all releases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fencepost.encoding.language.traces import TraceStep
from fencepost.realcode.drive import bookies, forces, marks, readers, recoverers, writers
from fencepost.realcode.drive.bookies import PHASE_ONE
from fencepost.realcode.drive.code import Code, about


@dataclass(frozen=True)
class Drive:
    """How an action is driven, in words; what can be observed then; and the function that drives it."""

    how: str
    seen: str
    do: Callable[[Code, TraceStep], None]


def _receive(kind: str) -> Callable[[Code, TraceStep], None]:
    return lambda code, step: code.hand(about(step, kind))


def _metadata(code: Code, step: TraceStep) -> None:
    code.ask("metadata", client=step.arguments["client"])


def _crash(code: Code, step: TraceStep) -> None:
    boots = code.parameters.journals or code.parameters.full_disks
    (marks.crash if boots else bookies.crash)(code, step)


def _nothing(code: Code, step: TraceStep) -> None:
    """Do nothing."""


NOTHING_NEW = "nothing new"
DOWN = "nothing of the bookie, which is down"
BOOTED = "entries, LACs, fences and limbo as after the boot"
OF_MARK = "the entries that a crash would lose; whether the journal file that the mark names is gone"
_AT_BOOT = Drive("part of the boot, which is one call at `serve`", NOTHING_NEW, _nothing)


DRIVEN: Mapping[str, Drive] = {
    "create ledger": Drive(
        "BookKeeper.asyncCreateLedger, over the ensemble that the harness's placement policy names",
        "the ledger is open, over the first ensemble",
        writers.create,
    ),
    "push": Drive(
        "LedgerHandle.asyncAddEntry; the adds are held, each with its LAC and content. For an earlier "
        "fragment, PendingAddOp.create just before the change that ends it, and now doAsyncAddEntry. With "
        "given ids LedgerHandleAdv.asyncAddEntry; if the id is given twice, a second thread calls it just "
        "before, and waits in the handle's throttle",
        "the adds, each with its LAC and content",
        writers.push,
    ),
    "queue second add": Drive(
        "the second thread goes on from the throttle", "the adds, which are held", writers.queue_second_add
    ),
    "handle second add": Drive(
        "the held second add is delivered to the bookie; its answer is held",
        "the copy with its LAC",
        lambda code, step: code.deliver(about(step, writers.SECOND), "stored"),
    ),
    "receive second ack": Drive(
        "the answer is handed to the client", "the LAC of the writer", _receive(writers.SECOND)
    ),
    "handle add": Drive(
        "the held add is delivered to the bookie; its answer is held",
        "the copy with its LAC, or a refusal",
        bookies.handle_add,
    ),
    "receive ack": Drive(
        "the answer is handed to the client",
        "the result for the writer's application, and the LAC; whether a recoverer asks to close the ledger",
        _receive("add"),
    ),
    "receive fenced": Drive(
        "the answer is handed to the client", "the result for the writer's application", _receive("add")
    ),
    "begin change": Drive(
        "the add's callback gets TimeoutException; the writer's metadata write is held. A recoverer replaces "
        "the bookie in the same call, so its time-out waits for the commit",
        NOTHING_NEW,
        writers.begin_change,
    ),
    "ignore failure": Drive("the add's callback gets TimeoutException", NOTHING_NEW, writers.ignore_failure),
    "note failure": Drive("the add's callback gets TimeoutException", NOTHING_NEW, writers.ignore_failure),
    "commit and continue": Drive(
        "the metadata write is delivered; the next change begins, and its metadata write is held. If that "
        "change replaces nothing, the worker thread of the client is held before the write is delivered",
        "the ensembles in the metadata; no add is sent again",
        writers.commit_and_continue,
    ),
    "continue change": Drive(
        "the worker thread goes on, and the next change's metadata write is held",
        NOTHING_NEW,
        writers.continue_change,
    ),
    "end change": Drive(
        "the worker thread goes on", "the adds that are sent again, each with its LAC", writers.end_change
    ),
    "end idle change": Drive(
        "nothing: the change has ended in the call that began it, unless other steps come between",
        NOTHING_NEW,
        writers.end_idle_change,
    ),
    "commit change": Drive(
        "the metadata write is delivered; adds that are sent again are held",
        "the ensembles in the metadata; the adds that are sent again, each with its LAC",
        writers.commit_change,
    ),
    "abandon change": Drive(
        "the metadata write is delivered and fails",
        "the result for the writer's application; no add is sent",
        writers.abandon_change,
    ),
    "try invalid fragment": Drive(
        "as a commit; the recoverer notices only when it closes, so it is driven on until it reports",
        "the recoverer's report",
        recoverers.try_invalid_fragment,
    ),
    "begin recovery": Drive(
        "BookKeeper.asyncOpenLedger; its metadata calls are delivered",
        "the ledger is in recovery; the fencing reads go to the whole last ensemble",
        recoverers.begin_recovery,
    ),
    "handle fence": Drive(
        "the held fencing read of entry -1 is delivered",
        "the fence; whether the bookie knows the ledger",
        bookies.handle_fence,
    ),
    "receive fence answer": Drive(
        "the answer is handed to the recoverer", "whether the recoverer begins to read", _receive("fence")
    ),
    "send reads": Drive(
        "nothing: the recoverer has sent them, to the whole write set at once", "the reads", _nothing
    ),
    "handle read": Drive(
        "the held read is delivered; its answer is held",
        "the fence; the entry, or its absence",
        bookies.handle_read,
    ),
    "receive read answer": Drive(
        "the answer is handed to the recoverer",
        "whether the recoverer writes the entry back, reads on, or asks to close the ledger",
        _receive("read"),
    ),
    "write back": Drive(
        "nothing: the recoverer has sent it with the first positive answer",
        "the adds, with their LAC and content",
        _nothing,
    ),
    "abandon recovery": Drive(
        "the unanswered reads get TimeoutException", "no further request", recoverers.abandon_recovery
    ),
    "finish recovery": Drive(
        "the metadata write is delivered; the recoverer's application gets its result",
        "the ledger is closed, and its last entry; the ensembles; the last entry that the recoverer's "
        "application gets",
        _metadata,
    ),
    "adopt close": Drive(
        "the metadata write is delivered and fails; the metadata is read again",
        "the last entry that the recoverer's application gets",
        _metadata,
    ),
    "close ledger": Drive(
        "LedgerHandle.asyncClose, unless a fence made the writer close; its metadata write is delivered, and "
        "that of an ensemble change under way stays held",
        "the ledger is closed, and its last entry; the last entry that the writer's application gets",
        writers.close,
    ),
    "withdraw": Drive(
        "as close ledger; the write fails, and the metadata that is read again has another last entry",
        "the metadata stays as it is; the writer's application gets an error",
        writers.close,
    ),
    "fall silent": Drive("nothing: requests to the bookie are held for good", NOTHING_NEW, _nothing),
    "crash and restart": Drive(
        "the bookie's folders are as a killed process leaves them, and it is booted on them. If fences "
        "are lost and phase one is on, phase one is kept from reading metadata until the journal is replayed",
        BOOTED,
        bookies.crash_and_restart,
    ),
    "checkpoint": Drive(
        "SyncThread.checkpoint; with InterleavedLedgerStorage the entry log is filled first",
        NOTHING_NEW,
        bookies.checkpoint,
    ),
    "catch up": Drive(
        "the journal, held since the negative answer, goes on", NOTHING_NEW, bookies.let_journal_write
    ),
    "stop and start": Drive(
        "the bookie is shut down as an operator does, and booted", BOOTED, bookies.stop_and_start
    ),
    "crash and replay": Drive(
        "the bookie's folders are as a killed process leaves them, and it is booted on them",
        BOOTED,
        bookies.crash_and_restart,
    ),
    "delete ledger": Drive(
        "BookKeeper.deleteLedger, by a client of its own", NOTHING_NEW, bookies.delete_ledger
    ),
    "collect": Drive(
        "ScanAndCompareGarbageCollector.gc; then the bookie is flushed",
        "nothing of the ledger on the bookie",
        bookies.collect,
    ),
    "fail recovery": Drive(
        "the metadata write is delivered and fails", "the failure of the recovery", _metadata
    ),
    "restart": Drive(
        "the bookie is shut down as an operator does, and booted", BOOTED, bookies.stop_and_start
    ),
    "crash in first add": Drive(
        "as a crash, and the first entry's record is removed from the journal",
        BOOTED,
        bookies.crash_in_first_add,
    ),
    "crash": Drive(
        "the bookie's folders are as a killed process leaves them. With the journal's mark or full disks it "
        "is then booted",
        f"{DOWN}; if it is booted, {BOOTED}, or, with the mark, that it does not boot",
        _crash,
    ),
    "lose disk": Drive("the folder of that disk is emptied", DOWN, bookies.lose_disk),
    "reimage": Drive("all folders are emptied, and the cookie in ZooKeeper deleted", DOWN, bookies.reimage),
    "serve": Drive(
        "the bookie is booted as by `bookkeeper bookie`; if phase one is not over by then, it is kept from "
        "reading any metadata",
        BOOTED,
        bookies.serve,
    ),
    "refuse cookies": Drive("the bookie is booted, which must fail", "the failure", bookies.refuse_cookies),
    "send force": Drive(
        "LedgerHandle.force; the requests are held. Such a ledger is created with WriteFlag.DEFERRED_SYNC, "
        "and no bookie syncs its journal unless a step says so",
        "the requests",
        forces.send_force,
    ),
    "handle force": Drive(
        "the journal may sync, and the held force is delivered; its answer is held",
        "the answer",
        forces.handle_force,
    ),
    "receive force answer": Drive(
        "the answer is handed to the client",
        "the result of the force for the writer's application, and the LAC",
        _receive("force"),
    ),
    "sync journal": Drive("the journal may sync", NOTHING_NEW, forces.sync_journal),
    "lose power": Drive(
        "the bookie's folders are as a killed process leaves them, and it is booted on them. The journal has "
        "the records of the last sync",
        BOOTED,
        forces.lose_power,
    ),
    "begin checkpoint": Drive(
        "CheckpointSourceList.newCheckpoint, in a thread that waits before it samples the last journal",
        NOTHING_NEW,
        marks.begin_checkpoint,
    ),
    "sample journal": Drive(
        "that thread goes on; with one journal, CheckpointSourceList.newCheckpoint",
        NOTHING_NEW,
        marks.sample_journal,
    ),
    "end checkpoint": Drive("SyncThread.checkpoint with that checkpoint", OF_MARK, marks.end_checkpoint),
    "flush cache": Drive(
        "SingleDirectoryDbLedgerStorage.flush of the ledger's directory", OF_MARK, marks.flush_cache
    ),
    "flush other directory": Drive(
        "SingleDirectoryDbLedgerStorage.flush of another directory", OF_MARK, marks.flush_other_directory
    ),
    "delete journals": Drive(
        "nothing: the flush before has deleted them. Before that flush, large entries of another ledger make "
        "the journal begin a new file",
        "whether the journal file that the checkpoint names is gone",
        marks.delete_journals,
    ),
    "fail flush": Drive(
        "the same flush; KeyValueStorage.Batch.flush of the locations throws an IOException",
        OF_MARK,
        marks.fail_flush,
    ),
    "write memory table": Drive("EntryMemTable.flush", NOTHING_NEW, bookies.after_the_journal("write-table")),
    "fill disk": Drive(
        "a flush of the entry log, whose writes all fail, with the error of a disk without room; then the "
        "first byte of its buffer is written to the file. With DbLedgerStorage its directory is flushed, so "
        "another ledger stores an entry before",
        NOTHING_NEW,
        bookies.after_the_journal("fill-disk"),
    ),
    "flush log": Drive(
        "EntryLogger.flush; with DbLedgerStorage SingleDirectoryDbLedgerStorage.flush, with an entry of "
        "another ledger",
        "the entries, as they can be read",
        bookies.after_the_journal("flush-log"),
    ),
    "begin log": Drive(
        "EntryLogManagerBase.createNewLog; with the other storages than db also SyncThread.checkpoint",
        "the entries, as they can be read",
        bookies.begin_log,
    ),
    "open for reading": Drive(
        "BookKeeper.asyncOpenLedgerNoRecovery; its read of the metadata is delivered",
        "for a closed ledger, as at the end of the opening",
        readers.open_for_reading,
    ),
    "hear lac": Drive(
        "the request of the opening is delivered, and its answer is held. A reader that is open calls "
        "LedgerHandle.asyncTryReadLastConfirmed, and this bookie's answer is handed to it",
        "the LAC of an open reader",
        readers.hear_lac,
    ),
    "learn metadata": Drive(
        "the handle's listener gets the metadata of which ZooKeeper has told the client",
        "the fragments that the open reader knows, whether it knows the end, and its LAC",
        readers.learn_metadata,
    ),
    "end opening": Drive(
        "the answers are handed to the reader, the highest LAC first",
        "the LAC of the reader, the fragments that it knows, and whether it knows the end",
        readers.end_opening,
    ),
    "report absent": Drive(
        "LedgerHandle.readAsync; each bookie of the write set answers, and the answers are handed on",
        "the result for the reader's application",
        readers.report_absent,
    ),
    "read entries": Drive(
        "LedgerHandle.readAsync or batchReadAsync, of a client with the v2 protocol. The bookie's answer is "
        "handed to the reader, and the other bookies of the write set do not answer",
        "the entries that the reader's application is given",
        readers.read_entries,
    ),
    **dict.fromkeys(
        ("look for marker", "accept cookies", "fix cookies", "stamp store", "stamp disks", *PHASE_ONE),
        _AT_BOOT,
    ),
}
"""The drive of each action by name. docs/conformance.md shows this table."""
