"""The bookies of a free run: what may happen to their requests, to their journals and to them.

A bookie crashes and restarts if the instance says so. It then loses what its storage loses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost.encoding.language.traces import Json, TraceStep
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.realcode.drive.actions import DRIVEN
from fencepost.realcode.drive.code import Code
from fencepost.realcode.harness_session import HarnessSession

ACTION_OF = {
    "add": "handle add",
    "recovery-add": "handle add",
    "fence": "handle fence",
    "fencing-read": "handle read",
}
"""The bookie's action by the kind of a request."""

WITH_KEY = ("handle add", "crash in first add", "crash and replay", "stop and start", "checkpoint")
"""The actions after which a bookie may have the ledger's key."""

Choice = tuple[str, Any]
Line = dict[str, Any]


@dataclass
class FreeCode(Code):
    """The code of a free run, with all requests that it has made and that may still be of use."""

    fresh: list[Mapping[str, Any]] = field(default_factory=list)
    """The requests since the last choice."""
    store: list[Mapping[str, Any]] = field(default_factory=list)
    """The requests to the metadata store that are held."""

    def note(self, request: Mapping[str, Any]) -> None:
        """Note a request."""
        super().note(request)
        self.fresh.append(request)
        if request["to"] == "zk":
            self.store.append(request)


class FreeBookies(ABC):
    """The requests that wait for a bookie, the log so far, and the choices about bookies."""

    def __init__(self, session: HarnessSession, parameters: BookKeeperParameters) -> None:
        """Leave the ledger of the run before."""
        session.ask("forget")
        self.code, self.parameters = FreeCode(session, parameters, ()), parameters
        self.lines: list[Line] = []
        self.held: dict[int, Mapping[str, Any]] = {}
        """The requests that may reach their bookie."""
        self.waits: dict[int, str] = {}
        """The requests whose answer the client waits for, each with the answer, or an empty text."""
        self.unflushed: set[str] = set()
        """The bookies that have stored an entry since their last flush."""

    @abstractmethod
    def _after(self, actor: str, follows: bool = False) -> None:
        """Add lines for the requests that the code has sent, and one with the observed values."""

    # What may come next.

    def choices_of_requests(self) -> Iterator[Choice]:
        """Yield each choice about a request that waits for its bookie."""
        for request, one in self.held.items():
            if self._is_next(one, self.held):
                yield "deliver", request
                yield "drop", request

    def choices_of_bookies(self) -> Iterator[Choice]:
        """Yield each choice about a bookie, if bookies lose what their storage loses."""
        if self.parameters.storage == "any":
            return
        p = self.parameters
        crashed = self._count("crash and replay") + self._count("crash in first add")
        for bookie in self.code.seen["bookies"]:
            if crashed < p.crashes:
                yield "crash", bookie
            if self._count("stop and start") < p.restarts:
                yield "restart", bookie
            if bookie in self.unflushed or p.storage == "db":
                yield "checkpoint", bookie
        yield from (("catch up", bookie) for bookie in sorted(self.code.held_journals))
        for request, one in self.held.items() if crashed < p.crashes else ():
            has_key = any(self._count(action, bookie=one["to"]) for action in WITH_KEY)
            refused = one["kind"] == "add" and self.code.seen["bookies"][one["to"]]["fenced"]
            if self._is_add(one) and self._is_next(one, self.held) and not has_key and not refused:
                yield "tear", request

    def _is_add(self, request: Mapping[str, Any]) -> bool:
        return "add" in request["kind"]

    def _is_next(self, request: Mapping[str, Any], others: Mapping[int, Mapping[str, Any]]) -> bool:
        """Return whether no add of a lower entry is before this one on the same connection."""
        if not self._is_add(request):
            return True
        way = request["client"], request["to"]
        before = [o for o in others.values() if self._is_add(o) and (o["client"], o["to"]) == way]
        return all(request["entry"] <= o["entry"] for o in before)

    # One choice: a method is named after each kind.

    def _drop(self, request: int) -> None:
        del self.held[request]

    def _deliver(self, request: int) -> None:
        one = self.held.pop(request)
        before = self._stored(one["to"])
        if self.parameters.storage != "any":
            self._prepare_journal(one)
        answer = str(self.code.ask("deliver", id=request)["answer"])
        if request in self.waits:
            self.waits[request] = answer
        self.code.look()
        if self._stored(one["to"]) > before:
            self.unflushed.add(one["to"])
        self._say(ACTION_OF[one["kind"]], **self._about(one))
        self._after(one["to"])

    def _stored(self, bookie: str) -> set[int]:
        return {item["entry"] for item in self.code.seen["bookies"][bookie]["entries"]}

    def _prepare_journal(self, request: Mapping[str, Any]) -> None:
        """Hold the journal if the answer does not wait for the fence; let it catch up before another."""
        bookie, stored = request["to"], self._stored(request["to"])
        found = request["entry"] in stored if request["kind"] == "fencing-read" else bool(stored)
        if self._is_add(request) or found or self.parameters.negative_answers != "at-once":
            self._catch_up(bookie)
        elif not self.code.seen["bookies"][bookie]["fenced"]:
            self.code.held_journals.add(bookie)
            self.code.ask("journal", bookie=bookie, hold="yes")

    def _catch_up(self, bookie: str) -> None:
        if bookie in self.code.held_journals:
            self._drive("catch up", bookie)

    def _checkpoint(self, bookie: str) -> None:
        """Make the bookie flush. The model has no step if there is nothing to write and no mark to move."""
        self._drive("checkpoint", bookie, bookie not in self.unflushed)
        self.unflushed.discard(bookie)

    def _restart(self, bookie: str) -> None:
        self._catch_up(bookie)
        self._drive("stop and start", bookie)
        self._is_back(bookie)

    def _crash(self, bookie: str) -> None:
        self._drive("crash and replay", bookie)
        self._is_back(bookie)

    def _drive(self, action: str, bookie: str, maybe: bool = False) -> None:
        """Drive an action of a bookie as conformance runs do, and add its line."""
        DRIVEN[action].do(self.code, TraceStep(0, action, {"bookie": bookie}, bookie, None, (), "", {}))
        self._say(action, maybe, bookie=bookie)

    def _tear(self, request: int) -> None:
        """Crash the bookie when the journal has the ledger's key, and its first entry is not whole in it."""
        one = self.held.pop(request)
        bookie = one["to"]
        self._catch_up(bookie)
        self.code.ask("deliver", id=request)
        self.code.ask("crash", bookie=bookie, torn="yes")
        self.code.boot(bookie)
        self._say("crash in first add", **self._about(one))
        self._is_back(bookie)

    def _is_back(self, bookie: str) -> None:
        """Note that a bookie has booted. The requests on their way to it are lost."""
        self.unflushed.discard(bookie)
        self.held = {number: one for number, one in self.held.items() if one["to"] != bookie}
        self.code.look()
        self._after(bookie)

    # Lines.

    def _about(self, request: Mapping[str, Any]) -> dict[str, Json]:
        entry = {} if request["kind"] == "fence" else {"entry": request["entry"] + 1}
        return {"client": request["client"], **entry, "bookie": request["to"]}

    def _count(self, action: str, **arguments: Json) -> int:
        """Return how many lines have that action with these arguments among others."""
        own = [line["arguments"] for line in self.lines if line.get("action") == action]
        return sum(arguments.items() <= told.items() for told in own)

    def _say(self, action: str, maybe: bool = False, /, **arguments: Json) -> None:
        self.lines.append({"action": action, "arguments": arguments, **({"maybe": True} if maybe else {})})
