"""The driven code: its pending requests, and the last observation of it.

The clients decide themselves what they send. For a step of the model that sends a request, the code must
hold the same request; otherwise code and model differ. A request is delivered when the model's bookie
handles it. Its answer is handed on when the model's client receives it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from fencepost.encoding.language.traces import Json, Sending, TraceStep
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.values import WRITER
from fencepost.realcode.harness_session import WITH_LOG, Answer, CodeFailed, HarnessFailed, HarnessSession
from fencepost.realcode.observations import Observations, code_observations

KINDS = {
    "add": ("add", "recovery-add"),
    "fence": ("fence",),
    "read": ("fencing-read", "read"),
    "force": ("force",),
}
"""The code's kinds of a request, by the model's kind."""

COOKIES = "InvalidCookieException"
"""The one error of a start that is an answer of the code. Any other failed start says nothing about it."""

COMMITS = ("commit change", "commit and continue")
"""The actions that put a new ensemble into the metadata."""

Letter = tuple[str, Json, Json, Json, Json]
"""A request of the model: kind, client, bookie, entry and fragment (0 if it has none).

A force has its number in place of an entry.
"""


class Parted(Exception):
    """A difference: the code cannot take the model's step, or does something else. The message says how."""


class RefusedByCode(Parted):
    """A refusal by the code of something that the model's step needs. The message is the code's error."""


class NoSeam(Exception):
    """A step that nothing outside the code can cause alone. The message says why."""


Parameters = TypeVar("Parameters")


@dataclass
class DrivenCode(ABC, Generic[Parameters]):
    """The driven code: its pending requests, and the last observation of it."""

    session: HarnessSession
    parameters: Parameters
    steps: Sequence[TraceStep]
    """The whole trace, from which a replacement bookie is known before the code asks for it."""
    seen: Answer = field(default_factory=lambda: {"told": [], "bookies": {}})
    unclaimed: list[Mapping[str, Any]] = field(default_factory=list)
    """The requests that the code has made and the model has not yet."""
    notes: list[str] = field(default_factory=list)
    """The code's actions in this step, in words."""

    def ask(self, command: str, **arguments: object) -> Answer:
        """Ask the harness; keep the answer if it is an observation."""
        answer = self.session.ask(command, **arguments)
        if "metadata" in answer:
            self.notes += [f"told {told}" for told in answer["told"][len(self.seen["told"]) :]]
            for request in answer["requests"]:
                self.note(request)
            self.seen = answer
        return answer

    def note(self, request: Mapping[str, Any]) -> None:
        """Note a request that the code has made."""
        if request["to"] != "zk":
            self.unclaimed.append(request)

    def look(self) -> Answer:
        """Return everything that can be observed now."""
        return self.ask("look")

    @abstractmethod
    def observations(self, answer: Answer) -> Observations:
        """Return the observations in an answer of the harness."""


@dataclass
class Code(DrivenCode[BookKeeperParameters]):
    """The clients and bookies of a ledger."""

    under_way: dict[Letter, int] = field(default_factory=dict)
    """The code's request by the model's."""
    reading: set[str] = field(default_factory=set)
    """The recoverers that have enough fencing answers to begin to read."""
    closing: set[str] = field(default_factory=set)
    """The recoverers that asked the metadata store to close the ledger and wait for it."""
    pushed: set[Json] = field(default_factory=set)
    """The entries that the writer's application has added."""
    delivered: set[int] = field(default_factory=set)
    handed: set[int] = field(default_factory=set)
    held_journals: set[str] = field(default_factory=set)
    """The bookies whose journal is held."""
    holds_worker: bool = False
    """Whether the writer's worker thread is held, in an idle change."""
    unsynced: set[str] = field(default_factory=set)
    """The bookies that have written an add to their journal since its last sync."""
    told_lacs: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """The LACs that bookies have told each reader that opens the ledger, with the requests."""

    def note(self, request: Mapping[str, Any]) -> None:
        """Note a request, and what it says of its client."""
        super().note(request)
        if request["kind"] == "write-metadata":
            self.closing.add(request["client"])
        if request["to"] != "zk":
            self.notes.append(f"sent {_shown(request)}")
        if request["kind"] in KINDS["read"]:
            self.reading.add(request["client"])

    def ask(self, command: str, **arguments: object) -> Answer:
        """Ask the harness; a client whose metadata write is delivered does not wait to close."""
        answer = super().ask(command, **arguments)
        if command == "metadata":
            self.closing.discard(str(arguments["client"]))
        return answer

    def boot(self, bookie: Json, command: str = "boot") -> None:
        """Boot a bookie. Raises CodeFailed if it refuses its cookies, HarnessFailed if it fails otherwise."""
        try:
            self.ask(command, bookie=bookie)
        except CodeFailed as failure:
            if str(failure).startswith(COOKIES):
                raise
            raise HarnessFailed(f"{bookie} does not start: {failure}; {WITH_LOG}") from failure

    def observations(self, answer: Answer) -> Observations:
        """Return the observations in an answer of the harness."""
        return code_observations(answer, self.reading, self.closing, self.pushed, self.parameters)

    def claim(self, message: Sending) -> None:
        """Match a request that the model sends with one of the code.

        Raises Parted if the code sent none, or another one.
        """
        wanted = _letter(message)
        kind, client, bookie, entry, _ = wanted
        fitting = [
            request
            for request in self.unclaimed
            if request["kind"] in KINDS[kind]
            and (request["client"], request["to"]) == (client, bookie)
            and (kind in ("fence", "force") or request["entry"] + 1 == entry)
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

    def refuse_more(self) -> None:
        """Raise Parted if the writer has sent an add to a bookie to which the model has not sent it.

        The end of a chain may send an add again to the same bookie (layers/chained_changes).
        """
        sent = {key[:4] for key in self.under_way}
        for request in self.unclaimed:
            add = ("add", request["client"], request["to"], request["entry"] + 1)
            if request["client"] == WRITER and add not in sent:
                raise Parted(f"the code sent one more {_spoken((*add, 0))}")

    def deliver(self, letter: Letter, model: str | None, **syncs: Json) -> None:
        """Deliver a request; its answer must be the model's, if that is known. `syncs` as for `let_go`.

        Raises RefusedByCode if the code refuses instead.
        """
        answer = self.let_go(letter, **syncs)
        if model is not None and _meaning(letter[0], answer) != model:
            differs = RefusedByCode if letter[0].endswith("add") and model == "stored" else Parted
            raise differs(
                f"{answer}"
                if differs is RefusedByCode
                else f"{letter[2]} answers {answer}, the model's {model}"
            )

    def let_go(self, letter: Letter, **syncs: Json) -> str:
        """Deliver a request to its bookie and hold the answer.

        With `syncs`, a bookie whose journal is held, raises Parted if it answers before its journal may sync.
        """
        answered = self.ask("deliver", id=self._id(letter), **syncs)
        if answered.get("early"):
            raise Parted(f"{letter[2]} answers before its journal is synced")
        answer = str(answered["answer"])
        self.delivered.add(self._id(letter))
        self.notes.append(f"{letter[2]} answers {answer}")
        return answer

    def deliver_fence(self, letter: Letter, unknown: bool) -> None:
        """Deliver a fencing read; the bookie must know its LAC or not, as in the model."""
        answer = self.let_go(letter)
        if (_meaning("fence", answer) == "unknown") != unknown:
            raise Parted(f"{letter[2]} answers {answer}, the model's {'unknown' if unknown else 'its LAC'}")

    def hand(self, letter: Letter) -> None:
        """Hand the answer of a request to its client."""
        self.ask("hand", id=self._id(letter))
        self.handed.add(self._id(letter))

    def time_out(self, letter: Letter) -> None:
        """Hand a time-out to the client in place of the answer."""
        self.ask("time-out", id=self._id(letter))
        self.handed.add(self._id(letter))

    def _id(self, letter: Letter) -> int:
        if letter not in self.under_way:
            raise Parted(f"the code never sent {_spoken(letter)}")
        return self.under_way[letter]

    def latest(self, kind: str, client: Json, entry: Json, bookie: Json) -> Letter:
        """Return the last request of that kind from the client to the bookie for that entry."""
        found = [key for key in self.under_way if key[:4] == (kind, client, bookie, entry)]
        if not found:
            raise Parted(f"the code never sent {kind} of entry {entry} from {client} to {bookie}")
        return found[-1]

    def hold_worker(self, holds: bool) -> None:
        """Hold the thread in which the writer's callbacks run, or let it go on."""
        self.holds_worker = holds
        self.ask("worker", client=WRITER, hold="yes" if holds else "no")

    def spare_from(self, begins: int, client: Json = WRITER) -> Json:
        """Return the bookie that the client's next change takes, as the trace has it from that place on.

        If the trace has no commit of it, this is a bookie outside the client's ensemble.
        """
        for later in self.steps[begins:]:
            if later.action in COMMITS and later.arguments["client"] == client:
                return later.arguments["spare"]
        names = [f"b{i}" for i in range(1, self.parameters.bookies + 1)]
        if client == WRITER:
            ensemble = self._ensemble_of_writer(self.steps[:begins])
        else:
            ensemble = set(self.seen["metadata"]["fragments"][-1]["ensemble"])
        return next((name for name in names if name not in ensemble), names[-1])

    def _ensemble_of_writer(self, taken: Sequence[TraceStep]) -> set[str]:
        """Return the ensemble that the writer knows; the metadata may have that of a recoverer."""
        ensemble = {f"b{i}" for i in range(1, self.parameters.ensemble + 1)}
        for step in taken:
            a = step.arguments
            if step.action in COMMITS and a["client"] == WRITER:
                ensemble = ensemble - {str(a["failed"])} | {str(a["spare"])}
        return ensemble


def _letter(message: Sending) -> Letter:
    fields = message.fields
    number = fields.get("entry", fields.get("force", 0))
    return (message.kind, message.sender, message.receiver, number, fields.get("fragment", 0))


def about(step: TraceStep, kind: str) -> Letter:
    """Return the request that a step handles, or whose answer it receives."""
    a = step.arguments
    number = a.get("entry", a.get("force", 0))
    return (kind, a.get("client", WRITER), a["bookie"], number, a.get("fragment", 0))


def _spoken(letter: Letter) -> str:
    kind, client, bookie, entry, _ = letter
    number = f" of entry {entry}" if entry and kind != "force" else ""
    return f"{kind}{number} from {client} to {bookie}"


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
    """Return an answer of the code in the model's words."""
    if kind.endswith("add"):
        return "stored" if answer == "OK" else "refused"
    if kind == "force" and answer == "OK":
        return "synced"
    if answer == "OK":
        return "entry"
    return "NoSuchEntry" if answer in NEGATIVE else "unknown"
