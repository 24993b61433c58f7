"""How each action of the model is driven on the real code, and what is seen then: one table, for all releases.

The clients decide for themselves what they send; a step of the model that sends finds the request held on the code's
side, or the two have parted. A request is let go when the model's bookie handles it, and its answer is handed on when
the model's client receives it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.encoding.language.traces import Json, Sending, TraceStep
from fencepost.protocols.bookkeeper.metadata import WRITER
from fencepost.protocols.bookkeeper.parameters import Parameters
from fencepost.realcode.session import Answer, CodeFailed, Session

KINDS = {"add": ("add", "recovery-add"), "fence": ("fence",), "read": ("fencing-read", "read")}
"""By the model's kind of a request, what it may be on the code's side."""

Letter = tuple[str, Json, Json, Json, Json]
"""A request of the model: its kind, client, bookie, entry and fragment (0 where it has none)."""


class Parted(Exception):
    """The code cannot take the model's step, or does not do what it says; the message says how."""


class Refused(Parted):
    """The code refuses what the model's step needs: the message is the error that says so."""


class NoSeam(Exception):
    """Nothing outside the code can make it take that step alone; the message says why."""


@dataclass
class Code:
    """The code, driven: what is under way in it, and what was seen last."""

    session: Session
    parameters: Parameters
    steps: Sequence[TraceStep]
    """The whole trace: which bookie replaces another is known before the code asks."""
    seen: Answer | None = None
    unclaimed: list[Mapping[str, Any]] = field(default_factory=list)
    """Requests that the code has made and the model has not yet."""
    under_way: dict[Letter, int] = field(default_factory=dict)
    """By the model's request, the code's."""
    reading: set[str] = field(default_factory=set)
    """The recoverers that have heard enough to begin to read."""
    closing: set[str] = field(default_factory=set)
    """The recoverers that have asked the metadata store to close the ledger, and wait for it."""
    delivered: set[int] = field(default_factory=set)
    handed: set[int] = field(default_factory=set)
    held_journals: set[str] = field(default_factory=set)
    """The bookies whose journal writes nothing for now."""
    notes: list[str] = field(default_factory=list)
    """What the code did in this step, for people."""

    def ask(self, command: str, **arguments: object) -> Answer:
        """Ask the harness; if the answer is a look, it is what was seen last."""
        answer = self.session.ask(command, **arguments)
        if "metadata" in answer:
            before = [] if self.seen is None else self.seen["told"]
            self.notes += [f"told {told}" for told in answer["told"][len(before) :]]
            for request in answer["requests"]:
                if request["kind"] == "write-metadata":
                    self.closing.add(request["client"])
                if request["to"] != "zk":
                    self.unclaimed.append(request)
                    self.notes.append(f"sent {_shown(request)}")
                if request["kind"] in KINDS["read"]:
                    self.reading.add(request["client"])
            self.seen = answer
        if command == "metadata":
            self.closing.discard(str(arguments["client"]))
        return answer

    def take(self, step: TraceStep) -> list[str]:
        """Drive one step; what the code did in it. Raises Parted, or NoSeam."""
        self.notes = []
        drive = DRIVEN.get(step.action)
        if drive is None:
            raise NoSeam(UNDRIVABLE.get(step.action, "it is no action of the releases that can be driven"))
        try:
            drive.do(self, step)
            for message in step.sent:
                if message.kind in KINDS:
                    self._claim(message)
        except CodeFailed as failure:
            raise Parted(f"the code fails: {failure}") from failure
        return self.notes

    def look(self) -> Answer:
        """Everything that can be seen now."""
        return self.ask("look")

    def _claim(self, message: Sending) -> None:
        """Find what the code sent for a request that the model sends."""
        wanted = _letter(message)
        kind, client, bookie, entry, _ = wanted
        fitting = [
            request
            for request in self.unclaimed
            if request["kind"] in KINDS[kind]
            and (request["client"], request["to"]) == (client, bookie)
            and (kind == "fence" or request["entry"] + 1 == entry)
        ]
        if not fitting:
            sent = [_shown(r) for r in self.unclaimed if r["client"] == client and r["kind"] in KINDS[kind]]
            instead = f"; {client} sent {', '.join(sent)}" if sent else ""
            raise Parted(f"there is no {_spoken(wanted)}{instead}")
        request = fitting[0]
        self.unclaimed.remove(request)
        self.under_way[wanted] = request["id"]
        for name, offset in (("lac", 1), ("content", 0)):
            if name in message.fields and int(request[name]) + offset != message.fields[name]:
                says = f"{name} {message.fields[name]}, the code's {int(request[name]) + offset}"
                raise Parted(f"{_spoken(wanted)} carries {says}")

    def deliver(self, letter: Letter, model: str | None) -> None:
        """Let a request go; its answer must be the model's, if that is known. Raises Refused if it is a refusal."""
        answer = self._let_go(letter)
        if model is not None and _meaning(letter[0], answer) != model:
            differs = Refused if letter[0] == "add" and model == "stored" else Parted
            raise differs(
                f"{answer}" if differs is Refused else f"{letter[2]} answers {answer}, the model's {model}"
            )

    def _let_go(self, letter: Letter) -> str:
        answer = str(self.ask("deliver", id=self._id(letter))["answer"])
        self.delivered.add(self._id(letter))
        self.notes.append(f"{letter[2]} answers {answer}")
        return answer

    def deliver_fence(self, letter: Letter, unknown: bool) -> None:
        """Let a fencing read go; whether the bookie can tell its LAC must be as in the model."""
        answer = self._let_go(letter)
        if (_meaning("fence", answer) == "unknown") != unknown:
            raise Parted(f"{letter[2]} answers {answer}, the model's {'unknown' if unknown else 'its LAC'}")

    def hand(self, letter: Letter) -> None:
        """Hand on the answer to a request."""
        self.ask("hand", id=self._id(letter))
        self.handed.add(self._id(letter))

    def time_out(self, letter: Letter) -> None:
        """Hand on a time-out in place of the answer."""
        self.ask("time-out", id=self._id(letter))
        self.handed.add(self._id(letter))

    def _id(self, letter: Letter) -> int:
        if letter not in self.under_way:
            raise Parted(f"the code never sent {_spoken(letter)}")
        return self.under_way[letter]

    def latest(self, kind: str, client: Json, entry: Json, bookie: Json) -> Letter:
        """The last request of that kind that the client sent to the bookie for that entry."""
        found = [key for key in self.under_way if key[:4] == (kind, client, bookie, entry)]
        if not found:
            raise Parted(f"the code never sent {kind} of entry {entry} from {client} to {bookie}")
        return found[-1]

    def spare_after(self, step: TraceStep) -> Json:
        """Which bookie replaces the one that failed: the trace says so where the change is committed."""
        client = step.arguments["client"]
        for later in self.steps[step.index - 1 :]:
            if later.action == "commit change" and later.arguments["client"] == client:
                return later.arguments["spare"]
        assert self.seen is not None
        ensemble = self.seen["metadata"]["fragments"][-1]["ensemble"]
        names = [f"b{i}" for i in range(1, self.parameters.bookies + 1)]
        return next((name for name in names if name not in ensemble), names[-1])


def _letter(message: Sending) -> Letter:
    fields = message.fields
    return (message.kind, message.sender, message.receiver, fields.get("entry", 0), fields.get("fragment", 0))


def _spoken(letter: Letter) -> str:
    kind, client, bookie, entry, _ = letter
    return f"{kind}{f' of entry {entry}' if entry else ''} from {client} to {bookie}"


def _shown(request: Mapping[str, Any]) -> str:
    entry = f" of entry {request['entry'] + 1}" if request["entry"] >= 0 else ""
    lac = f" with LAC {request['lac'] + 1}" if "add" in request["kind"] else ""
    return f"{request['kind']}{entry}{lac} to {request['to']}"


NEGATIVE = (
    "NoSuchEntryException",
    "NoSuchLedgerExistsException",
    "NoSuchLedgerExistsOnMetadataServerException",
)


def _meaning(kind: str, answer: str) -> str:
    """An answer of the code in the model's words."""
    if kind == "add":
        return "stored" if answer == "OK" else "refused"
    if answer == "OK":
        return "entry"
    return "NoSuchEntry" if answer in NEGATIVE else "unknown"


# What is done for each action.


def _create(code: Code, step: TraceStep) -> None:
    p = code.parameters
    ensemble = ",".join(f"b{i}" for i in range(1, p.ensemble + 1))
    code.ask("create", client=WRITER, ensemble=ensemble, wq=p.write_quorum, aq=p.ack_quorum)


def _push(code: Code, step: TraceStep) -> None:
    following = next(iter(code.steps[step.index :]), None)
    if following is not None and following.action == "begin change" and _was_noted(code, following):
        code.ask("place", client=WRITER, bookie=code.spare_after(following))
    code.ask("push", client=WRITER, content=step.arguments["entry"])


def _was_noted(code: Code, change: TraceStep) -> bool:
    """The bookie refused an entry that has AQ acks: the writer, told so, replaces it with the next add."""
    a = change.arguments
    told = ("receive fenced", WRITER, a["entry"], a["failed"])
    return any(
        (s.action, *(s.arguments.get(name) for name in ("client", "entry", "bookie"))) == told
        for s in code.steps[: change.index]
    )


def _about(step: TraceStep, kind: str) -> Letter:
    a = step.arguments
    return (kind, a["client"], a["bookie"], a.get("entry", 0), a.get("fragment", 0))


def _handle_add(code: Code, step: TraceStep) -> None:
    _let_journal_write(code, step)
    code.deliver(_about(step, "add"), "refused" if step.sent[0].fields["fenced"] else "stored")


def _receive(kind: str) -> Callable[[Code, TraceStep], None]:
    return lambda code, step: code.hand(_about(step, kind))


def _begin_recovery(code: Code, step: TraceStep) -> None:
    client = step.arguments["client"]
    code.ask("open", client=client)
    code.ask("metadata", client=client)


def _handle_fence(code: Code, step: TraceStep) -> None:
    _hold_journal(code, step, negative=not step.sent[0].fields["lac"] and not _stores(code, step))
    code.deliver_fence(_about(step, "fence"), step.sent[0].fields.get("answer") == "unknown")


def _handle_read(code: Code, step: TraceStep) -> None:
    _hold_journal(code, step, negative=step.sent[0].fields["answer"] == "NoSuchEntry")
    code.deliver(_about(step, "read"), str(step.sent[0].fields["answer"]))


def _stores(code: Code, step: TraceStep) -> bool:
    """The bookie stores an entry of the ledger, by what was seen last."""
    return code.seen is not None and bool(code.seen["bookies"][str(step.actor)].get("entries"))


def _hold_journal(code: Code, step: TraceStep, negative: bool) -> None:
    """Where the model says what is durable when, a negative answer comes before its fence is in the journal."""
    if code.parameters.storage == "any" or not negative:
        _let_journal_write(code, step)
    elif code.parameters.negative_answers == "at-once":
        code.held_journals.add(str(step.actor))
        code.ask("journal", bookie=step.actor, hold="yes")


def _let_journal_write(code: Code, step: TraceStep) -> None:
    """The bookie's journal goes on, if it was held, and writes what was queued."""
    bookie = str(step.actor)
    if bookie in code.held_journals:
        code.held_journals.discard(bookie)
        code.ask("journal", bookie=bookie, hold="no")


def _checkpoint(code: Code, step: TraceStep) -> None:
    code.ask("checkpoint", bookie=step.actor)


def _stop_and_start(code: Code, step: TraceStep) -> None:
    _let_journal_write(code, step)
    code.ask("shut-down", bookie=step.actor)
    code.ask("boot", bookie=step.actor)


def _crash_in_first_add(code: Code, step: TraceStep) -> None:
    """The add is journaled, and answered to nobody; then its record is taken out of what the killed process leaves."""
    _let_journal_write(code, step)
    code.deliver(_about(step, "add"), None)
    code.ask("crash", bookie=step.actor, torn="yes")
    code.ask("boot", bookie=step.actor)


def _begin_change(code: Code, step: TraceStep) -> None:
    a = step.arguments
    if a["client"] != WRITER:
        return  # a recoverer changes its ensemble in one go: at the commit
    if _was_noted(code, step):
        return  # the push before began it
    code.ask("place", client=WRITER, bookie=code.spare_after(step))
    code.time_out(code.latest("add", WRITER, a["entry"], a["failed"]))


def _commit_change(code: Code, step: TraceStep) -> None:
    if step.arguments["client"] == WRITER:
        code.ask("metadata", client=WRITER)
    else:
        _change_of_recoverer(code, step, step.arguments["spare"])


def _change_of_recoverer(code: Code, step: TraceStep, spare: Json) -> None:
    """The add that the model's change began with times out: the code replaces the bookie at once."""
    client, failed = step.arguments["client"], step.arguments["failed"]
    began = [
        s for s in code.steps[: step.index] if s.action == "begin change" and s.arguments["client"] == client
    ]
    code.ask("place", client=client, bookie=spare)
    code.time_out(code.latest("add", client, began[-1].arguments["entry"], failed))


def _abandon_change(code: Code, step: TraceStep) -> None:
    code.ask("metadata", client=step.arguments["client"])


def _try_invalid_fragment(code: Code, step: TraceStep) -> None:
    """The recoverer notices only when it closes: whatever else it waits for is let go until it reports."""
    client = step.arguments["client"]
    if client == WRITER:
        code.ask("metadata", client=WRITER)
        return
    _change_of_recoverer(code, step, code.spare_after(step))
    code.notes.append("and is driven on, until it reports")
    run_on(code, client)


def run_on(code: Code, client: Json, silent: Sequence[str] = ()) -> None:
    """Deliver and hand on whatever the client sends, save to silent bookies, until it sends nothing more."""
    for _ in range(100):
        waiting = [r for r in code.unclaimed if r["client"] == client and r["to"] not in silent]
        if not waiting:
            code.ask("metadata", client=client)
            if not [r for r in code.unclaimed if r["client"] == client and r["to"] not in silent]:
                return
            continue
        code.unclaimed.remove(waiting[0])
        answer = code.ask("deliver", id=waiting[0]["id"])["answer"]
        code.notes.append(f"{waiting[0]['to']} answers {answer}")
        code.ask("hand", id=waiting[0]["id"])


def drive_on(code: Code) -> None:
    """Let everything that recoverers wait for come, save from silent bookies: whether recovery can finish."""
    silent = [str(s.arguments["bookie"]) for s in code.steps if s.action == "fall silent"]
    for step in _changes_under_way(code):
        _change_of_recoverer(code, step, code.spare_after(step))
    for letter, request in list(code.under_way.items()):
        _, client, bookie, _, _ = letter
        if client == WRITER or bookie in silent or request in code.handed:
            continue
        if request not in code.delivered:
            code._let_go(letter)
        code.hand(letter)
    for client in {str(s.arguments["client"]) for s in code.steps if s.action == "begin recovery"}:
        run_on(code, client, silent)


def _changes_under_way(code: Code) -> list[TraceStep]:
    """The ensemble changes that recoverers have begun and not committed."""
    begun: dict[Json | None, TraceStep] = {}
    for step in code.steps:
        client = step.arguments.get("client")
        if step.action == "begin change" and client != WRITER:
            begun[client] = step
        elif step.action in ("commit change", "try invalid fragment"):
            begun.pop(client, None)
    return list(begun.values())


def _abandon_recovery(code: Code, step: TraceStep) -> None:
    """Every read that was not answered times out."""
    client = step.arguments["client"]
    answered = {
        ("read", client, s.arguments["bookie"], s.arguments["entry"])
        for s in code.steps[: step.index]
        if s.action == "receive read answer" and s.arguments["client"] == client
    }
    last = max(key[3] for key in code.under_way if key[:2] == ("read", client))
    for key in list(code.under_way):
        if key[:2] == ("read", client) and key[3] == last and key[:4] not in answered:
            code.time_out(key)


def _metadata(code: Code, step: TraceStep) -> None:
    code.ask("metadata", client=step.arguments["client"])


def _close(code: Code, step: TraceStep) -> None:
    if not _was_fenced_out(code, step):
        code.ask("close", client=WRITER)
    change = _own_change(code.steps[: step.index])
    code.ask("metadata", client=WRITER, **({"after": 1} if change else {}))


def _was_fenced_out(code: Code, step: TraceStep) -> bool:
    """A bookie that the writer needs has refused an entry: it closes the ledger of itself."""
    return any(
        s.action == "receive fenced" and f"phase[{WRITER}]" in s.changes for s in code.steps[: step.index]
    )


def _own_change(steps: Sequence[TraceStep]) -> bool:
    """The writer has begun an ensemble change and not ended it: that write of metadata is held."""
    of_writer = [s.action for s in steps if s.action in CHANGES and s.arguments["client"] == WRITER]
    return bool(of_writer) and of_writer[-1] == "begin change"


CHANGES = ("begin change", "commit change", "abandon change")


def _crash_and_restart(code: Code, step: TraceStep) -> None:
    code.held_journals.discard(str(step.actor))
    bookie = step.arguments["bookie"]
    code.ask("crash", bookie=bookie)
    if _checks_after_replay(code.parameters):
        code.ask("boot-unchecked", bookie=bookie)
        code.ask("check", bookie=bookie)
    else:
        code.ask("boot", bookie=bookie)


def _checks_after_replay(p: Parameters) -> bool:
    """The journal is replayed before phase one, which nobody waits for: the order in which a bare fence is lost.

    The other way round phase one has given the ledger a key, though an empty one, and the replay keeps the fence.
    """
    checks = "yes" in (p.fence_on_unclean_shutdown, p.limbo_on_unclean_shutdown)
    return p.crashes_lose_fences and checks


def _crash(code: Code, step: TraceStep) -> None:
    code.ask("crash", bookie=step.arguments["bookie"])


def _lose_disk(code: Code, step: TraceStep) -> None:
    code.ask("lose-disk", bookie=step.arguments["bookie"], disk=step.arguments["disk"])


def _reimage(code: Code, step: TraceStep) -> None:
    for disk in ("journal", "ledger", "index"):
        code.ask("lose-disk", bookie=step.arguments["bookie"], disk=disk)
    code.ask("delete-cookie", bookie=step.arguments["bookie"])


def _serve(code: Code, step: TraceStep) -> None:
    bookie = step.arguments["bookie"]
    unfinished = [
        s for s in code.steps[step.index :] if s.action in PHASE_ONE and s.arguments["bookie"] == bookie
    ]
    if unfinished:
        raise NoSeam(
            f"phase one is kept from reading metadata or not: {unfinished[0].action} alone cannot wait"
        )
    crashed = max(s.index for s in code.steps if s.action == "crash" and s.index < step.index)
    over = any(s.action == "flush" for s in code.steps[crashed : step.index])
    awaited = code.parameters.phase_one_awaited == "yes"
    code.ask("boot" if awaited or over else "boot-unchecked", bookie=bookie)


def _refuse_cookies(code: Code, step: TraceStep) -> None:
    try:
        code.ask("boot", bookie=step.arguments["bookie"])
    except CodeFailed as failure:
        code.notes.append(f"{step.arguments['bookie']} does not boot: {failure}")
        return
    raise Parted(f"{step.arguments['bookie']} boots, which in the model it refuses")


def _nothing(code: Code, step: TraceStep) -> None:
    """Nothing has to be done."""


@dataclass(frozen=True)
class Drive:
    """How an action is driven, in words; what can be seen then; and how it is done."""

    how: str
    seen: str
    do: Callable[[Code, TraceStep], None]


PHASE_ONE = ("note check", "put in limbo", "fence at boot", "flush")
NOTHING_NEW = "nothing new"
DOWN = "nothing of the bookie: it is down"
BOOTED = "entries, LACs, fences and limbo as after the boot"
_AT_BOOT = Drive("with the boot, which is one call: at `serve`", NOTHING_NEW, _nothing)

DRIVEN: Mapping[str, Drive] = {
    "create ledger": Drive(
        "BookKeeper.asyncCreateLedger, over the ensemble that our placement names",
        "the ledger is open, over the first ensemble",
        _create,
    ),
    "push": Drive(
        "LedgerHandle.asyncAddEntry; the adds are held, each with its LAC and content",
        "the adds, each with its LAC and content",
        _push,
    ),
    "handle add": Drive(
        "the held add is let go to the bookie; its answer is held",
        "the copy with the LAC that it carries, or a refusal",
        _handle_add,
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
        _begin_change,
    ),
    "commit change": Drive(
        "the metadata write is let go; what is sent again is held",
        "the ensembles in the metadata; the adds that are sent again, with the LAC they carry",
        _commit_change,
    ),
    "abandon change": Drive(
        "the metadata write is let go, and fails",
        "what the writer's application is told; no add is sent",
        _abandon_change,
    ),
    "try invalid fragment": Drive(
        "as a commit; the recoverer notices when it closes, so it is driven on until it reports",
        "what the recoverer reports",
        _try_invalid_fragment,
    ),
    "begin recovery": Drive(
        "BookKeeper.asyncOpenLedger; its metadata calls are let go",
        "the ledger is in recovery; the fencing reads, to the whole last ensemble",
        _begin_recovery,
    ),
    "handle fence": Drive(
        "the held read of entry -1 that fences is let go",
        "the fence; whether the bookie knows the ledger",
        _handle_fence,
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
        _handle_read,
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
        _abandon_recovery,
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
        _close,
    ),
    "withdraw": Drive(
        "as close ledger: the write fails, and the metadata, read again, says closed elsewhere",
        "the metadata stays as it is; the writer's application is told of an error",
        _close,
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
        _crash_and_restart,
    ),
    "checkpoint": Drive(
        "SyncThread.checkpoint; with InterleavedLedgerStorage the entry log is full first",
        NOTHING_NEW,
        _checkpoint,
    ),
    "catch up": Drive(
        "the journal, held since the negative answer, goes on",
        NOTHING_NEW,
        _let_journal_write,
    ),
    "stop and start": Drive(
        "the bookie is shut down as an operator does, and booted",
        BOOTED,
        _stop_and_start,
    ),
    "crash and replay": Drive(
        "the bookie's folders as a killed process leaves them; booted on them",
        BOOTED,
        _crash_and_restart,
    ),
    "crash in first add": Drive(
        "as a crash, and the first entry's record is taken out of the journal",
        BOOTED,
        _crash_in_first_add,
    ),
    "crash": Drive(
        "the bookie's folders as a killed process leaves them",
        DOWN,
        _crash,
    ),
    "lose disk": Drive(
        "the folder of that disk is emptied",
        DOWN,
        _lose_disk,
    ),
    "reimage": Drive(
        "all folders are emptied, and the cookie in ZooKeeper deleted",
        DOWN,
        _reimage,
    ),
    "serve": Drive(
        "the bookie is booted as `bookkeeper bookie` boots it; if phase one is not over by then, it is kept from reading "
        "any metadata",
        BOOTED,
        _serve,
    ),
    "refuse cookies": Drive(
        "the bookie is booted, and must fail to",
        "that it does not boot",
        _refuse_cookies,
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
