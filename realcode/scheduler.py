"""The scheduler of free runs: it lets the real code run by chance, and writes the log.

Nothing is drawn from the model. A scheduler chooses among the calls that an application may make, the
requests that the clients have sent, and the answers that the bookies have given. It delivers them in any
order that a connection keeps, drops them, or lets the client time out. It crashes bookies, restarts them and
makes them flush. Each choice is a line, and so is everything that the code does then by itself. After each
choice a line has the observed values.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost.encoding.language.traces import Json, TraceStep
from fencepost.protocols.bookkeeper.observed import OWN_LAC, PLACED, UNANSWERED
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.values import WRITER
from fencepost.realcode.drive.actions import DRIVEN
from fencepost.realcode.drive.bookies import begin_anew
from fencepost.realcode.drive.code import Code
from fencepost.realcode.harness_session import HarnessSession
from fencepost.realcode.judgement import write_set
from fencepost.realcode.observations import Observations

WEIGHTS = {
    "push": 3.0,
    "make": 0.5,
    "close": 0.15,
    "open": 0.5,
    "deliver": 1.0,
    "hand": 1.0,
    "metadata": 0.7,
    "time out": 0.12,
    "drop": 0.04,
    "crash": 0.1,
    "tear": 0.05,
    "restart": 0.1,
    "checkpoint": 0.1,
    "catch up": 0.3,
}
"""The weight of each choice of a kind, for one message or one call."""

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


class FreeRun:
    """One run of the code on a new ledger."""

    def __init__(
        self, session: HarnessSession, parameters: BookKeeperParameters, chance: random.Random
    ) -> None:
        """Leave the ledger of the run before."""
        session.ask("forget")
        self.code, self.parameters, self.chance = FreeCode(session, parameters, ()), parameters, chance
        self.lines: list[Line] = []
        self.held: dict[int, Mapping[str, Any]] = {}
        """The requests that may reach their bookie."""
        self.waits: dict[int, str] = {}
        """The requests whose answer the client waits for, each with the answer, or an empty text."""
        self.requests: dict[int, Mapping[str, Any]] = {}
        self.entries = 0
        """The entries that the application has made or pushed."""
        self.has_made = False
        """Whether the last of them is made and not pushed."""
        self.is_done = False
        """Whether the writer has begun to close the ledger."""
        self.ensembles: dict[str, list[str]] = {}
        """The last ensemble of each client that has begun."""
        self.changes: dict[str, int] = {}
        """The ensemble changes that each client knows, its own among them."""
        self.failed: dict[str, str] = {}
        """The bookie for which each client waited last before it timed out."""
        self.unflushed: set[str] = set()
        """The bookies that have stored an entry since their last flush."""

    @property
    def is_durable(self) -> bool:
        """Whether bookies crash and restart, and lose what their storage loses."""
        return self.parameters.storage != "any"

    def lines_of(self, choices: int) -> list[Line]:
        """Make that many choices, unless none is left or the ledger outgrows the instance; return the log."""
        p = self.parameters
        self.ensembles[WRITER] = [f"b{i}" for i in range(1, p.ensemble + 1)]
        self.changes[WRITER] = 0
        ensemble = ",".join(self.ensembles[WRITER])
        begin_anew(self.code.session, p)
        self.code.ask("create", client=WRITER, ensemble=ensemble, wq=p.write_quorum, aq=p.ack_quorum)
        self._say("create ledger")
        self._after(WRITER)
        for _ in range(choices):
            before, found = len(self.lines), list(self.choices())
            if not found:
                break
            kind, about = self.chance.choices(found, [WEIGHTS[kind] for kind, _ in found])[0]
            getattr(self, f"_{kind.replace(' ', '_')}")(about)
            if max(self.changes.values()) >= p.possible_fragments:
                del self.lines[before:]  # this change has no fragment in the instance
                break
        return self.lines

    # What may come next.

    def choices(self) -> Iterator[Choice]:
        """Yield each choice: its kind, and the message or client that it is about."""
        if not self.is_done:
            more = self.entries < self.parameters.entries
            if self.has_made or more:
                yield "push", None
            if more and not self.has_made:
                yield "make", None
            yield "close", None
        for number in range(1, self.parameters.recoverers + 1):
            if f"r{number}" not in self.ensembles and self.code.seen["metadata"]["state"] != "CLOSED":
                yield "open", f"r{number}"
        for request, one in self.held.items():
            if self._is_next(one, self.held):
                yield "deliver", request
                yield "drop", request
        answered = {request: self.requests[request] for request, answer in self.waits.items() if answer}
        for request, one in answered.items():
            if self._is_next(one, answered):
                yield "hand", request
        yield from (("time out", request) for request in self.waits if self._is_add(self.requests[request]))
        yield from (("metadata", request["id"]) for request in self.code.store if "write" in request["kind"])
        if self.is_durable:
            yield from self._choices_of_bookies()

    def _choices_of_bookies(self) -> Iterator[Choice]:
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

    def _place(self, client: str) -> None:
        """Let any bookie take the place of a failed one."""
        names = ",".join(f"b{i}" for i in range(1, self.parameters.bookies + 1))
        self.code.ask("place", client=client, bookie=names)

    def _make(self, _: None) -> None:
        self.entries += 1
        self.has_made = True
        self.code.ask("make", client=WRITER, content=self.entries)

    def _push(self, _: None) -> None:
        entry = self.entries = self.entries + (not self.has_made)
        self.has_made = False
        self._place(WRITER)
        self.code.pushed.add(entry)
        self.code.ask("push", client=WRITER, content=entry)
        if any(self._is_add(request) for request in self.code.fresh):  # a handle that is closed sends none
            self._say("push", entry=entry)
        else:
            self.code.pushed.discard(entry)
        self._after(WRITER)

    def _close(self, _: None) -> None:
        self.is_done = True
        self.code.ask("close", client=WRITER)
        self._after(WRITER)

    def _open(self, client: str) -> None:
        self.code.ask("open", client=client)
        self._store_calls(client)
        self.ensembles[client] = list(self.code.seen["metadata"]["fragments"][-1]["ensemble"])
        self.changes[client] = self._count("commit change", client=WRITER)
        self._say("begin recovery", client=client)
        self._after(client)

    def _deliver(self, request: int) -> None:
        one = self.held.pop(request)
        before = self._stored(one["to"])
        if self.is_durable:
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

    def _hand(self, request: int) -> None:
        one, answer = self.requests[request], self.waits.pop(request)
        client, entry = one["client"], one["entry"] + 1
        ignored = self._is_ignored(one)
        if self._is_add(one):
            self._place(client)
        self.code.ask("hand", id=request)
        action = {"fence": "receive fence answer", "fencing-read": "receive read answer"}.get(one["kind"])
        if not ignored:
            heard = self._count("receive read answer", client=client, entry=entry)
            maybe = one["kind"] == "fencing-read" and heard > 0
            self._say(
                action or ("receive ack" if answer == "OK" else "receive fenced"),
                maybe or self._has_failed(client),
                **self._about(one),
            )
        self._after(client)

    def _is_ignored(self, request: Mapping[str, Any]) -> bool:
        """Return whether the client takes no notice of the answer: what it asked for is over."""
        client, entry = request["client"], request["entry"] + 1
        if client == WRITER:
            return self.is_done
        if request["kind"] == "fence":
            return client in self.code.reading
        over = client in self.code.closing or self._count("write back", client=client, entry=entry)
        return (request["kind"] == "fencing-read" and bool(over)) or self._has_ended(client)

    def _has_failed(self, client: str) -> bool:
        """Return whether an add of the client has failed, after which an answer may do nothing."""
        return any(not told.endswith(": OK") for told in self._told(f"{client}: add "))

    def _has_ended(self, client: str) -> bool:
        """Return whether the application was told that the ledger is closed, or that the recovery failed."""
        return bool(self._told(f"{client}: closed: ", f"{client}: opened: "))

    def _told(self, *beginnings: str) -> list[str]:
        """Return the results for applications that begin so."""
        return [told for told in self.code.seen["told"] if told.startswith(beginnings)]

    def _time_out(self, request: int) -> None:
        del self.waits[request]
        one = self.requests[request]
        self.failed[one["client"]] = one["to"]
        self._place(one["client"])
        self.code.ask("time-out", id=request)
        self._after(one["client"])

    def _drop(self, request: int) -> None:
        del self.held[request]

    def _metadata(self, request: int) -> None:
        """Deliver a metadata write. If it fails, the client reads the metadata again in the same step."""
        one = next(one for one in self.code.store if one["id"] == request)
        if one["client"] == WRITER:
            self._write_of_writer(one)
        else:
            self._write_of_recoverer(one["client"])
        self._after(one["client"], follows=one["client"] == WRITER)

    def _write_of_recoverer(self, client: str) -> None:
        before = self.code.seen["metadata"]["state"]
        self._store_calls(client)
        if self._told(f"{client}: opened: OK"):
            self._say("adopt close" if before == "CLOSED" else "finish recovery", client=client)

    def _write_of_writer(self, one: Mapping[str, Any]) -> None:
        before = self.code.seen["metadata"]
        self._store_call(one["id"])
        while reads := [o["id"] for o in self._held_of(WRITER) if "read" in o["kind"]]:
            self._store_call(reads[0])
        now = self.code.seen["metadata"]
        if one["content"] == "CLOSED":
            if before["state"] != now["state"] or self._told(f"{WRITER}: closed: OK"):
                self._say("close ledger")
            elif self._told(f"{WRITER}: closed: "):
                self._say("withdraw", True)
        elif now["fragments"] != before["fragments"]:
            self._say("commit change", self.parameters.has_chains, client=WRITER)
            if self.parameters.has_chains:
                self._say("commit and continue", True, client=WRITER)
        else:
            self._say("abandon change", self.is_done or self._has_failed(WRITER), client=WRITER)

    def _held_of(self, client: str) -> list[Mapping[str, Any]]:
        """Return the client's requests to the metadata store that are held."""
        return [one for one in self.code.store if one["client"] == client]

    def _store_calls(self, client: str) -> None:
        """Deliver all that a client asks of the metadata store."""
        self.code.ask("metadata", client=client)
        self.code.store = [one for one in self.code.store if one["client"] != client]

    def _store_call(self, request: int) -> None:
        """Deliver one request of the writer to the metadata store."""
        place = [one["id"] for one in self._held_of(WRITER)].index(request)
        self.code.ask("metadata", client=WRITER, calls=1, after=place)
        self.code.store = [one for one in self.code.store if one["id"] != request]

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

    def _after(self, actor: str, follows: bool = False) -> None:
        """Add lines for the requests that the code has sent, and one with the observed values."""
        fresh, self.code.fresh = self.code.fresh, []
        for one in fresh:
            self._sent(one, follows)
        values = self.code.observations(self.code.seen)
        shown = {name: value for name, value in values.items() if self._is_told(name, actor)}
        if actor not in self.code.seen["bookies"]:
            shown |= self._placed(values)
        self.lines.append({"after": shown})

    def _is_told(self, name: str, actor: str) -> bool:
        if name.startswith(("acknowledged", UNANSWERED)):
            return actor == WRITER and (name.startswith("acknowledged") or not self.is_done)
        if name == OWN_LAC:
            return actor == WRITER and not (self.is_done or self._has_failed(WRITER))
        if name in ("status", "last entry"):
            return actor not in self.code.seen["bookies"]
        return f"[{actor}" in name and not name.startswith(("limbo", "lac told"))

    def _placed(self, values: Observations) -> dict[str, Json]:
        """Return on which bookies each entry belongs, by the metadata."""
        p, bookies = self.parameters, [f"b{i}" for i in range(1, self.parameters.bookies + 1)]
        return {
            f"{PLACED}[{bookie}, {entry}]": bookie in members
            for entry in range(1, p.entries + 2)
            for members in [write_set(entry, values, p)]
            for bookie in bookies
        }

    def _sent(self, request: Mapping[str, Any], follows: bool) -> None:
        """Note a request, with a line if the model sends it in a step of its own."""
        client, kind, number = request["client"], request["kind"], request["id"]
        if kind == "write-metadata":
            if client == WRITER and request["content"] == "CLOSED":
                self.is_done = True
            elif client == WRITER:
                self.changes[WRITER] += 1
                if not follows:
                    self._say("begin change", self.is_done or self._has_failed(WRITER), client=WRITER)
        if request["to"] == "zk":
            return
        self.requests[number] = self.held[number] = request
        self.waits[number] = ""
        of_entry = {"client": client, "entry": request["entry"] + 1}
        if kind == "fencing-read" and not self._count("send reads", **of_entry):
            self._say("send reads", **of_entry)
        if kind == "recovery-add":
            if request["to"] not in self.ensembles[client]:
                failed = self.failed[client]
                self.ensembles[client] = [request["to"] if b == failed else b for b in self.ensembles[client]]
                self.changes[client] += 1
                self._say("begin change", client=client, failed=failed)
                self._say("commit change", client=client, failed=failed, spare=request["to"])
            if not self._count("write back", **of_entry):
                self._say("write back", **of_entry)
