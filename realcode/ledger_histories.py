"""The history of each ledger in a log of BookKeeper: whether it contradicts the protocol, and what was lost.

Lines of one file are in their order. Lines of two files are compared by their times. The rules are those of
`LedgerHandle` and `ReadOnlyLedgerHandle`. If a rule leaves open whether the protocol allows the lines, the
model is asked for an execution that has them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.state import amount
from fencepost.encoding.logs.events import Event, Logs
from fencepost.encoding.logs.following import Fit, LogAnswer, Share, follow
from fencepost.realcode.bookkeeper_log import BookKeeperLog, LedgerLine, numbered

RESTARTS = ("start", "replay")
FORGOTTEN_FENCES = ("bare-fence", "unawaited-fence", "flushed-fence", "flushed-fence-db")
"""Known losses in which a restart makes a bookie forget a fence."""

BEHIND_THE_END = ("#2614", "#4701", "deleted-ledger")
"""Known losses in which an entry is acknowledged behind the end that a recovery chose, without a restart."""

SMALL = {"bookies": 2, "ensemble": 2, "write_quorum": 2, "ack_quorum": 1}
SMALLEST = {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1}
ONE_RECOVERY: tuple[tuple[str, dict[str, str]], ...] = (
    ("create ledger", {}),
    ("begin recovery", {"client": "r1"}),
    ("finish recovery", {}),
)
CHANGE_AFTER_RECOVERY = (*ONE_RECOVERY[:2], ("commit change", {"client": "w"}))
OTHERWISE = "So the clocks differ, the metadata went back, or the number was used again"


class FindingKind(StrEnum):
    """The kind of something that a log says about a ledger."""

    TWO_OWNERS = "two owners wrote"
    LOST = "lost"
    PERHAPS_LOST = "possibly lost"
    CAME_BACK = "a bookie left and came back"
    RESTARTED = "a bookie restarted between a fence and an add"
    NOTHING = "nothing contradicts the protocol"


@dataclass(frozen=True)
class Finding:
    """Something that the log says about one ledger."""

    kind: FindingKind
    text: str
    lines: tuple[str, ...] = ()
    """The places of the lines that say it."""
    fits: tuple[str, ...] = ()
    """Known losses with these lines, by name."""


@dataclass(frozen=True)
class LedgerHistory:
    """The lines of one ledger, with the restarts of the bookies that fenced it."""

    ledger: int
    lines: tuple[LedgerLine, ...]
    restarts: tuple[LedgerLine, ...] = ()
    acked: int | None = None
    """The last entry that the application says was acknowledged; None if it says nothing."""

    def of(self, *kinds: str) -> list[LedgerLine]:
        """Return the lines of these kinds."""
        return [line for line in self.lines if line.kind in kinds]

    def is_before(self, one: LedgerLine, other: LedgerLine) -> bool:
        """Return whether a line is before another: by its place in the same file, else by the clocks."""
        if one.process == other.process:
            return _number(one) < _number(other)
        return one.time is not None and other.time is not None and one.time < other.time

    @property
    def ends(self) -> list[int]:
        """The last entries that the metadata may have: of a conflict at close, else of recoveries."""
        conflicts = numbered("recorded", self.of("close conflict"))
        return sorted({end for end, _ in conflicts or numbered("recorded", self.of("recovered"))})

    @property
    def acknowledged(self) -> tuple[int, str, LedgerLine | None] | None:
        """The last entry that was certainly acknowledged, the reason, and the line that shows it."""
        found: list[tuple[int, str, LedgerLine | None]] = []
        if self.acked is not None:
            found.append((self.acked, "the application's list has it", None))
        for own, line in numbered("own", self.of("close conflict")):
            found.append((own, "a writer closes at its last acknowledged entry", line))
        failed = numbered("entry", filter(self._is_writers, self.of("failed for good")))
        if failed:
            entry, line = min(failed, key=lambda pair: pair[0])
            found.append((entry - 1, f"{entry} is the first entry whose add failed for good", line))
        return max(found, key=lambda one: one[0], default=None)

    @property
    def tried(self) -> list[LedgerLine]:
        """The writer's adds that a bookie did not store. Each may have been acknowledged later."""
        given_up = {line.number("entry") for line in self.of("failed for good")}
        tried = self.of("add failed", "add refused")
        return [line for line in tried if self._is_writers(line) and line.number("entry") not in given_up]

    def _is_writers(self, line: LedgerLine) -> bool:
        """Return whether the client that created the ledger wrote the line, before any recovery there."""
        created = [one for one in self.of("created") if one.process == line.process]
        recovered = [one for one in self.of("recovered") if one.process == line.process]
        return bool(created) and not any(self.is_before(one, line) for one in recovered)

    def findings(self) -> tuple[Finding, ...]:
        """Return all that these lines say."""
        found = (*self._two_owners(), *self._behind_the_end(), *self._came_back(), *self._restarted())
        if found:
            return found
        unknown = "" if self.acknowledged else "; which entries were acknowledged is unknown"
        return (Finding(FindingKind.NOTHING, f"{FindingKind.NOTHING}{unknown}"),)

    def _two_owners(self) -> Iterator[Finding]:
        for end, change in itertools.product(self.of("recovered"), self.of("new ensemble")):
            if not self.is_before(end, change):
                continue
            who = "another handle" if end.process == change.process else change.process
            yield Finding(
                FindingKind.TWO_OWNERS,
                f"a recovery by {end.process} ended the ledger at entry {end.number('recorded')}, and "
                f"{who} wrote on with a new ensemble{_later(end, change)}",
                (end.where, change.where),
            )

    def _behind_the_end(self) -> Iterator[Finding]:
        if not self.ends:
            return
        least, most = self.ends[0], self.ends[-1]
        ended = tuple(line.where for line in self.of("recovered", "close conflict"))
        known = self.acknowledged
        if known is not None and known[0] > most:
            entries = _entries(most + 1, known[0])
            where = () if known[2] is None else (known[2].where,)
            yield Finding(
                FindingKind.LOST,
                f"acknowledged {entries} behind the recorded end {most}: lost ({known[1]})",
                tuple(dict.fromkeys((*where, *ended))),
                self._losses(),
            )
            return
        above = [(entry, line) for entry, line in numbered("entry", self.tried) if entry > least]
        if above and self.acked is None:
            last, line = max(above, key=lambda pair: pair[0])
            yield Finding(
                FindingKind.PERHAPS_LOST,
                f"the writer had sent entry {last}, and the recorded end is {least}: "
                f"{_entries(least + 1, last)} lost if acknowledged, which is unknown",
                (line.where, *ended),
                self._losses(),
            )

    def _losses(self) -> tuple[str, ...]:
        """Return the known losses that acknowledge an entry behind the end and fit these lines."""
        return FORGOTTEN_FENCES if self.restarts else BEHIND_THE_END

    def _came_back(self) -> Iterator[Finding]:
        for process in dict.fromkeys(line.process for line in self.of("new ensemble")):
            own = [one for one in self.of("created", "new ensemble") if one.process == process]
            for number, line in enumerate(own[2:], 2):
                before, earlier = own[number - 1], own[: number - 1]
                back = set(line.ensemble) - set(before.ensemble)
                back &= {bookie for one in earlier for bookie in one.ensemble}
                for bookie in sorted(back):
                    yield Finding(
                        FindingKind.CAME_BACK,
                        f"{bookie} left the ensemble and came back",
                        (before.where, line.where),
                        ("#4459",),
                    )

    def _restarted(self) -> Iterator[Finding]:
        """Yield a bookie that restarted after its fence, if the writer went on or may have gone on."""
        goes_on = self.of("add failed", "add refused", "failed for good", "new ensemble", "close conflict")
        for bookie in dict.fromkeys(line.process for line in self.of("fenced")):
            fence = next(line for line in self.of("fenced") if line.process == bookie)
            after = [one for one in self.restarts if one.process == bookie and self.is_before(fence, one)]
            later = [line for line in goes_on if after and self.is_before(after[0], line)]
            if later:
                yield Finding(
                    FindingKind.RESTARTED,
                    f"{bookie} was fenced and restarted, and the writer went on. If {bookie} accepted "
                    "an add then, it had forgotten the fence; no line shows this",
                    (fence.where, after[0].where, later[0].where),
                    FORGOTTEN_FENCES,
                )


def histories(log: BookKeeperLog, acked: Mapping[int, int]) -> tuple[LedgerHistory, ...]:
    """Return the history of each ledger of a log."""
    restarts = [line for line in log.lines if line.kind in RESTARTS]
    found = []
    for ledger, lines in log.ledgers.items():
        fenced = {line.process for line in lines if line.kind == "fenced"}
        own = tuple(line for line in restarts if line.process in fenced)
        found.append(LedgerHistory(ledger, lines, own, acked.get(ledger)))
    return tuple(found)


def turns(log: BookKeeperLog) -> tuple[str, ...]:
    """Return pairs of clients of which each recovered a ledger that the other had created, in words."""
    created = {line.number("ledger"): line.process for line in log.lines if line.kind == "created"}
    took: dict[tuple[str, str], LedgerLine] = {}
    for line in log.lines:
        owner = created.get(line.number("ledger"), line.process)
        if line.kind == "recovered" and owner != line.process:
            took[line.process, owner] = line
    return tuple(
        f"{one} and {other} recovered each other's ledgers ({line.where}, {took[other, one].where}). So both "
        "were owners, in turn or at once. The application's list of ledgers is in no line: look there"
        for (one, other), line in took.items()
        if one < other and (other, one) in took
    )


def ask_model(kind: FindingKind, instance: Instance, timeout: float) -> str:
    """Say whether the protocol has an execution with the lines of a finding, within a bound of time."""
    is_change = kind is FindingKind.TWO_OWNERS
    lines = CHANGE_AFTER_RECOVERY if is_change else ONE_RECOVERY
    events = tuple(Event(f"line {n}", "", action, told) for n, (action, told) in enumerate(lines, 1))
    properties = () if is_change else instance.properties("no-divergence")
    found = follow(instance, Logs((events,)), (), properties, timeout)
    sizes = instance.subject.parameters
    quorums = "/".join(str(sizes[name]) for name in ("ensemble", "write_quorum", "ack_quorum"))
    return f"with {quorums} on {amount(int(sizes['bookies']), 'bookie')} {_said(kind, found)}"


def _said(kind: FindingKind, found: LogAnswer) -> str:
    """Return the answer of the model in words."""
    if Fit.UNDECIDED is found.fit or any(one.share is Share.UNDECIDED for one in found.violations):
        return "not decided in time; the finding follows from the rules alone"
    if kind is FindingKind.TWO_OWNERS:
        there = found.fit is Fit.EXECUTION
        what = "has a writer that changes the ensemble after a recovery has begun"
        what += "" if there else f". {OTHERWISE}"
    else:
        there = any(one.share is not Share.NONE for one in found.violations)
        what = "without a crash acknowledges an entry behind a recovery's end"
    return f"{'some' if there else 'no'} execution {what}"


def _number(line: LedgerLine) -> int:
    return int(line.where.rpartition(":")[2])


def _entries(first: int, last: int) -> str:
    return f"entry {first}" if first == last else f"entries {first} to {last}"


def _later(one: LedgerLine, other: LedgerLine) -> str:
    if one.time is None or other.time is None:
        return " (the order in the file)"
    clocks = "" if one.process == other.process else " by the clocks of both"
    return f" {other.time - one.time:,.0f} s later{clocks}"
