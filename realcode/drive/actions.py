"""How each action of the model is driven on the real code, and what is seen then: one table, for all releases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fencepost.encoding.language.traces import TraceStep
from fencepost.realcode.drive import bookies, recoverers, writers
from fencepost.realcode.drive.bookies import PHASE_ONE
from fencepost.realcode.drive.code import KINDS, Code, NoSeam, Parted, about
from fencepost.realcode.harness_session import CodeFailed


@dataclass(frozen=True)
class Drive:
    """How an action is driven, in words; what can be seen then; and how it is done."""

    how: str
    seen: str
    do: Callable[[Code, TraceStep], None]


def _receive(kind: str) -> Callable[[Code, TraceStep], None]:
    return lambda code, step: code.hand(about(step, kind))


def _metadata(code: Code, step: TraceStep) -> None:
    code.ask("metadata", client=step.arguments["client"])


def _nothing(code: Code, step: TraceStep) -> None:
    """Nothing has to be done."""


NOTHING_NEW = "nothing new"
DOWN = "nothing of the bookie: it is down"
BOOTED = "entries, LACs, fences and limbo as after the boot"
_AT_BOOT = Drive("with the boot, which is one call: at `serve`", NOTHING_NEW, _nothing)


DRIVEN: Mapping[str, Drive] = {
    "create ledger": Drive(
        "BookKeeper.asyncCreateLedger, over the ensemble that our placement names",
        "the ledger is open, over the first ensemble",
        writers.create,
    ),
    "push": Drive(
        "LedgerHandle.asyncAddEntry; the adds are held, each with its LAC and content",
        "the adds, each with its LAC and content",
        writers.push,
    ),
    "handle add": Drive(
        "the held add is let go to the bookie; its answer is held",
        "the copy with the LAC that it carries, or a refusal",
        bookies.handle_add,
    ),
    "receive ack": Drive(
        "the answer is handed to the client",
        "what the writer's application is told, and its LAC; whether a recoverer asks to close the ledger",
        _receive("add"),
    ),
    "receive fenced": Drive(
        "the answer is handed to the client",
        "what the writer's application is told",
        _receive("add"),
    ),
    "begin change": Drive(
        "the add's callback gets TimeoutException; the writer's metadata write is held. A recoverer replaces the "
        "bookie in the same call: its time-out waits for the commit",
        NOTHING_NEW,
        writers.begin_change,
    ),
    "commit change": Drive(
        "the metadata write is let go; what is sent again is held",
        "the ensembles in the metadata; the adds that are sent again, with the LAC they carry",
        writers.commit_change,
    ),
    "abandon change": Drive(
        "the metadata write is let go, and fails",
        "what the writer's application is told; no add is sent",
        writers.abandon_change,
    ),
    "try invalid fragment": Drive(
        "as a commit; the recoverer notices when it closes, so it is driven on until it reports",
        "what the recoverer reports",
        recoverers.try_invalid_fragment,
    ),
    "begin recovery": Drive(
        "BookKeeper.asyncOpenLedger; its metadata calls are let go",
        "the ledger is in recovery; the fencing reads, to the whole last ensemble",
        recoverers.begin_recovery,
    ),
    "handle fence": Drive(
        "the held read of entry -1 that fences is let go",
        "the fence; whether the bookie knows the ledger",
        bookies.handle_fence,
    ),
    "receive fence answer": Drive(
        "the answer is handed to the recoverer",
        "whether the recoverer begins to read",
        _receive("fence"),
    ),
    "send reads": Drive(
        "nothing: the recoverer has sent them, to the whole write set at once",
        "the reads",
        _nothing,
    ),
    "handle read": Drive(
        "the held read is let go; its answer is held",
        "the fence; the entry, or that it is not there",
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
        "the reads not answered get TimeoutException",
        "no further request",
        recoverers.abandon_recovery,
    ),
    "finish recovery": Drive(
        "the metadata write is let go; the recoverer's application is told",
        "the ledger is closed, and where; the ensembles; what the recoverer's application is told of its end",
        _metadata,
    ),
    "adopt close": Drive(
        "the metadata write is let go, fails, and is read again",
        "what the recoverer's application is told of the ledger's end",
        _metadata,
    ),
    "close ledger": Drive(
        "LedgerHandle.asyncClose, unless a fence made the writer close; its metadata write is let go, and an ensemble "
        "change's under way stays held",
        "the ledger is closed, and where; what the writer's application is told of its end",
        writers.close,
    ),
    "withdraw": Drive(
        "as close ledger: the write fails, and the metadata, read again, says closed elsewhere",
        "the metadata stays as it is; the writer's application is told of an error",
        writers.close,
    ),
    "fall silent": Drive(
        "nothing: requests to it are held for good",
        NOTHING_NEW,
        _nothing,
    ),
    "crash and restart": Drive(
        "the bookie's folders as a killed process leaves them; booted on them. Where fences are lost and phase one is on, "
        "phase one is kept from reading metadata until the journal is replayed",
        BOOTED,
        bookies.crash_and_restart,
    ),
    "checkpoint": Drive(
        "SyncThread.checkpoint; with InterleavedLedgerStorage the entry log is full first",
        NOTHING_NEW,
        bookies.checkpoint,
    ),
    "catch up": Drive(
        "the journal, held since the negative answer, goes on",
        NOTHING_NEW,
        bookies.let_journal_write,
    ),
    "stop and start": Drive(
        "the bookie is shut down as an operator does, and booted",
        BOOTED,
        bookies.stop_and_start,
    ),
    "crash and replay": Drive(
        "the bookie's folders as a killed process leaves them; booted on them",
        BOOTED,
        bookies.crash_and_restart,
    ),
    "crash in first add": Drive(
        "as a crash, and the first entry's record is taken out of the journal",
        BOOTED,
        bookies.crash_in_first_add,
    ),
    "crash": Drive(
        "the bookie's folders as a killed process leaves them",
        DOWN,
        bookies.crash,
    ),
    "lose disk": Drive(
        "the folder of that disk is emptied",
        DOWN,
        bookies.lose_disk,
    ),
    "reimage": Drive(
        "all folders are emptied, and the cookie in ZooKeeper deleted",
        DOWN,
        bookies.reimage,
    ),
    "serve": Drive(
        "the bookie is booted as `bookkeeper bookie` boots it; if phase one is not over by then, it is kept from reading "
        "any metadata",
        BOOTED,
        bookies.serve,
    ),
    "refuse cookies": Drive(
        "the bookie is booted, and must fail to",
        "that it does not boot",
        bookies.refuse_cookies,
    ),
    **dict.fromkeys(
        ("look for marker", "accept cookies", "fix cookies", "stamp store", "stamp disks", *PHASE_ONE),
        _AT_BOOT,
    ),
}
"""By the name of an action, how it is driven, and what can be seen then: docs/walks.md has it as a page."""


UNDRIVABLE: Mapping[str, str] = {
    "admit add": "the look at the fence and the store are one method of the bookie (issue 4701 is a race inside it)",
    "read lac first": "reading the LAC and blocking acks are one method of the client (issue 4651 is a race inside it)",
    "block acks": "reading the LAC and blocking acks are one method of the client (issue 4651 is a race inside it)",
    "change locally": "a client that uses an ensemble before the metadata has it is older than 4.8.0",
    "commit later": "a client that uses an ensemble before the metadata has it is older than 4.8.0",
    "abandon later": "a client that uses an ensemble before the metadata has it is older than 4.8.0",
    "resend": "the code sends pending entries again with the change, not one by one",
    "mark dirty": "the marker is set within the boot",
    "copy entry": "phase two runs in threads of its own",
    "leave limbo": "phase two runs in threads of its own",
    "end check": "phase two runs in threads of its own",
}
"""By the name of an action, why nothing outside the code can make it happen alone."""


def take(code: Code, step: TraceStep) -> list[str]:
    """Drive one step; what the code did in it. Raises Parted, or NoSeam."""
    code.notes = []
    drive = DRIVEN.get(step.action)
    if drive is None:
        raise NoSeam(UNDRIVABLE.get(step.action, "it is no action of the releases that can be driven"))
    try:
        drive.do(code, step)
        for message in step.sent:
            if message.kind in KINDS:
                code.claim(message)
    except CodeFailed as failure:
        raise Parted(f"the code fails: {failure}") from failure
    return code.notes
