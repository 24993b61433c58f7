"""Free runs: the real code runs by chance, and the model judges the log of each run."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fencepost.encoding.errors import BadInput
from fencepost.encoding.logs.events import Logs, read_logs
from fencepost.encoding.logs.following import Fit, LogAnswer, Refusal, follow
from fencepost.protocols.bookkeeper.values import WRITER
from fencepost.protocols.ledger_copies.parameters import CopiesParameters
from fencepost.realcode.conformance import grounds, parameters_of
from fencepost.realcode.harness_session import HarnessSession
from fencepost.realcode.run_instances import Settings
from fencepost.realcode.runs import Ground
from fencepost.realcode.scheduler import FreeRun, Line

PAIR: Settings = {
    "bookies": 3,
    "ensemble": 2,
    "write_quorum": 2,
    "ack_quorum": 2,
    "entries": 2,
    "recoverers": 1,
    "fragments": 3,
}
"""The instance of free runs, unless settings are given: 2/2/2 on three bookies, one of them spare."""

ABSENT = ("silent", "crashes", "restarts", "forces", "readers", "deletions", "journals", "racks", "given_ids")
"""The sizes that must be 0: the scheduler causes nothing of this kind."""

SHORTEST, LONGEST = 15, 45
"""The limits on the choices of a run."""

SECONDS = 60.0
"""The seconds after which a log is undecided."""

INSIDE = ("continue change", "end change", "end idle change", "ignore failure", "note failure")
"""The actions that happen inside a client and leave no line. All others have one whenever they happen."""


def written(lines: Sequence[Line]) -> str:
    """Return the text of a log."""
    return "".join(json.dumps(line) + "\n" for line in lines)


TOLD_END = f"closed at[{WRITER}]"
"""The end of the ledger that the writer's application was told when it closed."""

KNOWN_GAP = (
    "known: the writer closes a ledger that another client has closed at its LAC, and is told that it is "
    "closed; the model has no such step"
)
"""The one kind of departure that is known: without TOLD_END the log is an execution."""

EXPLAINED = 3
"""The departures whose contradicting lines are searched for. Each search takes some seconds."""


@dataclass
class FreeRuns:
    """The judgements on the logs of free runs, and why the harness failed, if it did."""

    ground: Ground
    asked: int = 0
    """The number of runs asked for."""
    failed: str | None = None
    answers: dict[str, LogAnswer] = field(default_factory=dict)
    """The answer by the name of the log."""

    def named(self, fit: Fit) -> list[str]:
        """Return the names of the logs with that answer."""
        return [name for name, answer in self.answers.items() if answer.fit is fit]

    def judge(self, log: Path) -> None:
        """Judge a log. A departure is the known one if only the end that the writer was told contradicts."""
        logs = read_logs([log], self.ground.instance.system, {})
        found, few = self._followed(logs), len(self.named(Fit.NONE)) < EXPLAINED
        if found.fit is Fit.NONE:
            untold = [tuple(e.changed("after", TOLD_END, None) for e in own) for own in logs.by_process]
            if self._followed(Logs(tuple(untold))).fit is Fit.EXECUTION:
                found = replace(found, refusal=Refusal(needed=KNOWN_GAP))
            elif few:
                found = self._followed(logs, [Fit.NONE])
        self.answers[log.name] = found

    def _followed(self, logs: Logs, explains: Sequence[Fit] = ()) -> LogAnswer:
        instance = self.ground.instance
        logged = [schema.name for schema in instance.system.schemas if schema.name not in INSIDE]
        replayer = self.ground.replayer
        return follow(instance, logs, timeout=SECONDS, logged=logged, explains=explains, replayer=replayer)


def free_ground(protocol: str, settings: Settings, storage: str, release: str) -> Ground:
    """Return the instance of free runs, with the rules of the release. Raises BadInput."""
    (ground,) = grounds(protocol, {**PAIR, **settings}, storage, release)
    if isinstance(ground.instance.parameters, CopiesParameters):
        raise BadInput(
            f"{protocol}: free runs are of one ledger's clients; give bookkeeper or bookkeeper-4.13"
        )
    if given := [name for name in ABSENT if getattr(ground.instance.parameters, name)]:
        raise BadInput(f"{given[0]}: free runs have none; leave it out")
    return ground


def take(session: HarnessSession, ground: Ground, seed: int, number: int) -> str:
    """Take one free run and return its log."""
    chance = random.Random(f"{seed} {number}")
    run = FreeRun(session, parameters_of(ground.instance), chance)
    return written(run.lines_of(chance.randint(SHORTEST, LONGEST)))
