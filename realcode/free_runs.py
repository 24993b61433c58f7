"""Free runs: the real code runs by chance, and the model judges the log of each run."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fencepost.encoding.errors import BadInput
from fencepost.encoding.logs.events import read_logs
from fencepost.encoding.logs.following import Fit, LogAnswer, follow
from fencepost.protocols.ledger_copies.parameters import CopiesParameters
from fencepost.realcode.conformance import grounds, parameters_of
from fencepost.realcode.free_bookies import Line
from fencepost.realcode.harness_session import HarnessSession
from fencepost.realcode.run_instances import Settings
from fencepost.realcode.runs import Ground
from fencepost.realcode.scheduler import FreeRun

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

ABSENT = ("silent", "full_disks", "forces", "readers", "deletions", "journals", "racks", "given_ids")
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
        """Judge a log. The lines of the first departures that contradict each other are searched for.

        Raises BadInput for a line that names no action of the model, unless it may not have happened.
        """
        instance, replayer = self.ground.instance, self.ground.replayer
        explains = [Fit.NONE] if len(self.named(Fit.NONE)) < EXPLAINED else []
        logged = [schema.name for schema in instance.system.schemas if schema.name not in INSIDE]
        logs = read_logs([log], instance.system, {})
        lines = log.read_text(encoding="utf-8").splitlines()
        for where in logs.unread:
            if '"maybe": true' not in lines[int(where.rpartition(":")[2]) - 1]:
                raise BadInput(f"{where}: names no action of the model with these settings; change them")
        found = follow(instance, logs, (), (), SECONDS, logged, explains, replayer)
        self.answers[log.name] = found


def free_ground(protocol: str, settings: Settings, storage: str, release: str) -> Ground:
    """Return the instance of free runs, with the rules of the release. Raises BadInput."""
    durable = {"storage": storage} if {"crashes", "restarts"} & set(settings) else {}
    (ground,) = grounds(protocol, {**PAIR, **durable, **settings}, storage, release)
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
