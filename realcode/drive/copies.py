"""The drive of `ledger-copies`: the copies of a closed ledger, made by `recover` and by replication workers.

The harness writes and closes a ledger first. The requests of operators and of workers are held, as those of
other clients are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.encoding.language.traces import Json, TraceStep
from fencepost.protocols.bookkeeper.values import WRITER
from fencepost.protocols.ledger_copies.parameters import CopiesParameters
from fencepost.realcode.drive.code import DrivenCode, NoSeam, Parted, RefusedByCode
from fencepost.realcode.harness_session import Answer, CodeFailed
from fencepost.realcode.observations import Observations

NEW = 100
"""Entry n of the first ledger has the content n, that of a new ledger with the same id 100 + n."""


@dataclass
class CopiesCode(DrivenCode[CopiesParameters]):
    """The operators, replication workers and bookies of a closed ledger."""

    collecting: set[Json] = field(default_factory=set)
    """The bookies whose collector waits before it deletes the ledger."""
    cached: set[Json] = field(default_factory=set)
    """The bookies with entries of the ledger that were not flushed."""
    pushed: set[Json] = field(default_factory=set)
    """The entries that the writer of the new ledger has sent."""
    shut_down: set[Json] = field(default_factory=set)
    """The workers that were shut down after the end of their session."""

    def observations(self, answer: Answer) -> Observations:
        """Return the observations in an answer of the harness."""
        found: dict[str, Json] = {}
        for fragment in answer["metadata"]["fragments"]:
            found[f"ensemble from {fragment['first'] + 1}"] = ", ".join(fragment["ensemble"])
        for name, inside in list(answer["bookies"].items())[: self.parameters.bookies]:
            found[f"live[{name}]"] = inside["up"]
            if inside["up"]:
                stored = {item["entry"] + 1 for item in inside["entries"]}
                for entry in range(1, self.parameters.entries + 1):
                    found[f"copy[{name}, {entry}]"] = entry in stored
                if self.parameters.reuse != "never":
                    for item in inside["entries"]:
                        found[f"new[{name}, {item['entry'] + 1}]"] = int(item["content"]) > NEW
        if "locked" in answer:
            found["locked"] = answer["locked"]
        return found

    def write_ledger(self) -> None:
        """Write the ledger on its first ensemble, close it, and start the replication workers."""
        p = self.parameters
        ensemble = ",".join(p.first_ensemble(1))
        self.ask("create", client=WRITER, ensemble=ensemble, wq=p.write_quorum, aq=p.ack_quorum)
        self.ask("metadata", client=WRITER)
        for entry in range(1, p.entries + 1):
            self.ask("push", client=WRITER, content=entry)
        for request in list(self.unclaimed):
            self._exchange(request)
        if p.closed_by == "recovery":
            self.recover_ledger("r1")
        else:
            self.close()
        for bookie in p.first_ensemble(1) if p.storage != "memtable" else ():
            self.ask("flush", bookie=bookie)
        for number in range(1, p.workers + 1):
            self.ask("start-worker", client=f"w{number}")
        self.notes = []

    def close(self) -> None:
        """Let the writer close its ledger."""
        self.ask("close", client=WRITER)
        self.ask("metadata", client=WRITER)

    def recover_ledger(self, client: str) -> int:
        """Let a client recover the ledger, and return its number of entries. Raises Parted if it cannot."""
        told = len(self.seen["told"])
        self.ask("open", client=client)
        self.ask("metadata", client=client)
        while own := [request for request in self.unclaimed if request["client"] == client]:
            for request in own:
                self._exchange(request)
            self.ask("metadata", client=client)
        opened = [line for line in self.seen["told"][told:] if line.startswith(f"{client}: opened: OK at ")]
        if not opened:
            raise Parted(f"{client} has not recovered the ledger")
        return int(opened[-1].split()[-1]) + 1

    def add_again(self, entry: Json) -> None:
        """Let the writer of the new ledger send an entry, if it has not."""
        if entry not in self.pushed:
            self.pushed.add(entry)
            self.ask("push", client=WRITER, entry=entry, content=NEW + int(str(entry)))

    def added(self) -> list[int]:
        """Return the entries of the new ledger that its writer knows to be acknowledged."""
        entries = range(1, self.parameters.entries + 1)
        return [entry for entry in entries if f"{WRITER}: add {NEW + entry}: OK" in self.seen["told"]]

    def exchange(self, client: Json, kind: str, to: Sequence[Json], entry: Json) -> str:
        """Deliver a request of the client to one of these bookies, hand it the answer, and return this.

        Raises Parted if the client has sent none.
        """
        found = [
            request
            for request in self.unclaimed
            if (request["client"], request["kind"], request["entry"] + 1) == (client, kind, entry)
            and request["to"] in to
        ]
        if not found:
            raise Parted(f"{client} has sent no {kind} of entry {entry} to {', '.join(map(str, to))}")
        return self._exchange(found[-1])

    def _exchange(self, request: Mapping[str, Any]) -> str:
        self.unclaimed.remove(request)
        answer = str(self.ask("deliver", id=request["id"])["answer"])
        self.notes.append(f"{request['to']} answers {request['kind']} of {request['client']}: {answer}")
        self.ask("hand", id=request["id"])
        return answer

    def holding(self, entry: Json) -> list[Json]:
        """Return the bookies that had the entry when they were last seen."""
        found = self.observations(self.seen)
        bookies = self.seen["bookies"]
        return [bookie for bookie in bookies if found.get(f"copy[{bookie}, {entry}]")]

    def result(self, client: Json, begun: int) -> str | None:
        """Return the result of the `recover` that the client has begun with this number; None if none yet."""
        told = [line.split(": ")[-1] for line in self.seen["told"] if line.startswith(f"{client}: recovered")]
        return told[begun - 1] if len(told) >= begun else None

    def begun(self, client: Json, index: int) -> list[TraceStep]:
        """Return the steps up to that index in which the client has begun a re-replication."""
        return [s for s in self.steps[:index] if s.action in BEGINNINGS and s.actor == client]

    def is_worker(self, client: Json) -> bool:
        """Return whether the client is a replication worker."""
        return str(client).startswith("w")

    def store_at_once(self, bookie: Json) -> None:
        """Flush the bookie, if in the model it stores and deletes at once."""
        if self.parameters.storage == "at-once":
            self.ask("flush", bookie=bookie)


BEGINNINGS = ("take ledger", "recover bookie")
"""The actions that begin a re-replication."""


def _replaced(code: CopiesCode, step: TraceStep) -> Json:
    """Return the bookie at the position of the step."""
    ensemble = code.seen["metadata"]["fragments"][0]["ensemble"]
    replaced: Json = ensemble[int(str(step.arguments["position"])) - 1]
    return replaced


def _place(code: CopiesCode, step: TraceStep) -> None:
    """Fix the target of a re-replication if there are several, of which the code takes one by chance."""
    if code.parameters.bookies > code.parameters.ensemble + 1:
        code.ask("place", client=step.actor, bookie=step.arguments["target"])


def _take_ledger(code: CopiesCode, step: TraceStep) -> None:
    """Mark the ledger as the auditor does, and let the worker take it and check it."""
    if step.actor in code.shut_down:
        raise NoSeam("a worker that was shut down takes no ledger")
    _place(code, step)
    code.ask("take", client=step.actor, bookie=_replaced(code, step))


def _end_session(code: CopiesCode, step: TraceStep) -> None:
    holder = step.arguments["holder"]
    if not code.is_worker(holder):
        raise NoSeam("the harness ends the sessions of workers only")
    code.ask("end-session", client=holder)


def _shut_down(code: CopiesCode, step: TraceStep) -> None:
    code.ask("stop-worker", client=step.actor)
    code.shut_down.add(step.actor)


def _recover(code: CopiesCode, step: TraceStep) -> None:
    _place(code, step)
    code.ask("recover", client=step.actor, bookie=_replaced(code, step))


def _copy(code: CopiesCode, step: TraceStep) -> None:
    client, entry = step.actor, step.arguments["entry"]
    target = code.begun(client, step.index)[-1].arguments["target"]
    read = code.exchange(client, "read", code.holding(entry), entry)
    if read != "OK":
        raise Parted(f"{client} reads entry {entry}: {read}")
    answer = code.exchange(client, "recovery-add", [target], entry)
    if answer != "OK":
        raise RefusedByCode(answer)
    code.cached.add(target)
    code.store_at_once(target)


def _write_metadata(code: CopiesCode, step: TraceStep) -> None:
    code.ask("metadata", client=step.actor)
    if code.is_worker(step.actor):
        code.ask("finish", client=step.actor)
    elif code.result(step.actor, len(code.begun(step.actor, step.index))) != "OK":
        raise Parted(f"{step.actor} has not written the metadata")


def _read_again(code: CopiesCode, step: TraceStep) -> None:
    """Deliver the write, which fails, and the read that follows from it; the next write stays held.

    A replicator that was told of the change before it wrote has no such write.
    """
    code.ask("read-again", client=step.actor)


def _begin_collecting(code: CopiesCode, step: TraceStep) -> None:
    if not code.ask("begin-collecting", bookie=step.actor)["deletes"]:
        raise Parted(f"the collector of {step.actor} does not delete the ledger")
    code.collecting.add(step.actor)
    code.notes.append(f"{step.actor} is about to delete the ledger")


def _collect(code: CopiesCode, step: TraceStep) -> None:
    code.ask("collect", bookie=step.actor)
    code.collecting.discard(step.actor)
    code.store_at_once(step.actor)


def _flush(code: CopiesCode, step: TraceStep) -> None:
    """Flush the bookie. With an empty write cache this would be no flush, so it first gets another entry."""
    if step.actor not in code.cached:
        code.ask("store-other", bookie=step.actor)
    code.ask("flush", bookie=step.actor)
    code.cached.discard(step.actor)


def _come_back(code: CopiesCode, step: TraceStep) -> None:
    """Boot the bookie. It replays the journal, and flushes."""
    code.ask("boot", bookie=step.actor)
    code.cached.discard(step.actor)


def _lose_disks(code: CopiesCode, step: TraceStep) -> None:
    code.cached.discard(step.actor)
    is_up = code.seen["bookies"][step.actor]["up"]
    if is_up:
        code.ask("crash", bookie=step.actor)
    for disk in ("journal", "ledger", "index"):
        code.ask("lose-disk", bookie=step.actor, disk=disk)
    code.ask("delete-cookie", bookie=step.actor)
    if is_up:
        code.ask("boot", bookie=step.actor)


def _delete_ledger(code: CopiesCode, step: TraceStep) -> None:
    code.ask("delete")


def _create_again(code: CopiesCode, step: TraceStep) -> None:
    p = code.parameters
    names = [f"b{i + 1}" for i in range(p.bookies)]
    first = names.index(str(step.arguments["bookie"]))
    ensemble = ",".join((names[first:] + names[:first])[: p.ensemble])
    code.ask("create-again", client=WRITER, ensemble=ensemble, wq=p.write_quorum, aq=p.ack_quorum)


def _add_again(code: CopiesCode, step: TraceStep) -> None:
    entry = step.arguments["entry"]
    code.add_again(entry)
    answer = code.exchange(WRITER, "add", [step.actor], entry)
    if answer != "OK":
        raise RefusedByCode(answer)
    code.cached.add(step.actor)
    code.store_at_once(step.actor)


def _close_again(code: CopiesCode, step: TraceStep) -> None:
    code.close()


def _asked(command: str) -> Callable[[CopiesCode, TraceStep], None]:
    def ask(code: CopiesCode, step: TraceStep) -> None:
        code.ask(command, bookie=step.actor)

    return ask


COPIES_DRIVEN: Mapping[str, tuple[str, Callable[[CopiesCode, TraceStep], None]]] = {
    "recover bookie": (
        "BookKeeperAdmin.asyncRecoverBookieData; reads of metadata are delivered, other requests are held",
        _recover,
    ),
    "take ledger": (
        "the ledger is marked as under-replicated; ReplicationWorker takes its lock and checks it",
        _take_ledger,
    ),
    "end session": ("the store ends the worker's session, and the client gets a new one", _end_session),
    "shut down": ("ReplicationWorker.shutdown, after the end; the client stays open", _shut_down),
    "copy entry": ("the held read and the add that follows are delivered and answered", _copy),
    "update ensemble": (
        "the held metadata write is delivered; a worker checks the ledger again, and releases it",
        _write_metadata,
    ),
    "find replaced": ("the replicator writes nothing; a worker checks and releases", _write_metadata),
    "read again": (
        "the metadata write is delivered and fails; they are read again, unless the handle was told before",
        _read_again,
    ),
    "begin collecting": (
        "ScanAndCompareGarbageCollector.gc; its GarbageCleaner waits before it deletes the ledger",
        _begin_collecting,
    ),
    "collect": ("the GarbageCleaner deletes the ledger", _collect),
    "delete ledger": ("BookKeeper.deleteLedger, by a client of its own", _delete_ledger),
    "find deleted": (
        "ScanAndCompareGarbageCollector.gc; its GarbageCleaner waits before it deletes the ledger",
        _begin_collecting,
    ),
    "delete copies": ("the GarbageCleaner deletes the ledger", _collect),
    "create again": ("BookKeeper.asyncCreateLedgerAdv with the id and the password", _create_again),
    "add again": ("LedgerHandleAdv.asyncAddEntry; the held add is delivered and answered", _add_again),
    "close again": ("LedgerHandle.asyncClose", _close_again),
    "read old entry": ("the harness reads it; the read cache is no longer emptied", _asked("keep-reads")),
    "flush": (
        "SyncThread.requestFlush; with an entry of another ledger, if none of this one waits",
        _flush,
    ),
    "pass over": ("SyncThread.checkpoint", _asked("checkpoint")),
    "stop": ("the bookie's folders are as a killed process leaves them", _asked("crash")),
    "come back": ("the bookie is booted", _come_back),
    "lose disks": ("all folders are emptied, and the cookie in ZooKeeper deleted", _lose_disks),
}
"""The drive of each action by name: in words, and the function."""

COPIES_UNDRIVABLE: Mapping[str, str] = {
    "start over": "no release compares the version that a re-replication began with",
    "give up": "the harness ends no re-replication before its result",
    "find replicated": "the harness runs no auditor",
}
"""The reasons why an action is not driven, by name."""


def take(code: CopiesCode, step: TraceStep) -> list[str]:
    """Drive one step and return the code's actions in it. Raises Parted or NoSeam."""
    code.notes = []
    if step.action not in COPIES_DRIVEN:
        raise NoSeam(COPIES_UNDRIVABLE[step.action])
    try:
        COPIES_DRIVEN[step.action][1](code, step)
    except CodeFailed as failure:
        raise Parted(f"the code fails: {failure}") from failure
    return code.notes
