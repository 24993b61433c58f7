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
from typing import Any

from fencepost.encoding.language.traces import Json
from fencepost.protocols.bookkeeper.observed import OWN_LAC, PLACED, UNANSWERED
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.values import WRITER
from fencepost.realcode.drive.bookies import begin_anew
from fencepost.realcode.free_bookies import Choice, FreeBookies, Line
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


class FreeRun(FreeBookies):
    """One run of the code on a new ledger."""

    def __init__(
        self, session: HarnessSession, parameters: BookKeeperParameters, chance: random.Random
    ) -> None:
        """Leave the ledger of the run before."""
        super().__init__(session, parameters)
        self.chance = chance
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
        yield from self.choices_of_requests()
        answered = {request: self.requests[request] for request, answer in self.waits.items() if answer}
        for request, one in answered.items():
            if self._is_next(one, answered):
                yield "hand", request
        yield from (("time out", request) for request in self.waits if self._is_add(self.requests[request]))
        yield from (("metadata", request["id"]) for request in self.code.store if "write" in request["kind"])
        yield from self.choices_of_bookies()

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
