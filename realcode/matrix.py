"""Known bugs on real releases: a cell for each bug, release and storage.

Each cell is compared with docs/known.md.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files

from fencepost.advice.known import KNOWN, chosen, decide
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.traces import Trace
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Expectation, Run
from fencepost.protocols.bookkeeper.parameters import V4_13_TLA, BookKeeperParameters
from fencepost.realcode.course import Ending
from fencepost.realcode.drive.code import NoSeam
from fencepost.realcode.drive.writers import AT_REST
from fencepost.realcode.left_out import UNDRIVABLE
from fencepost.realcode.release_behaviour import is_of_other_rules, is_there, refused_at
from fencepost.realcode.reproduction import (
    Reproduction,
    Setting,
    as_code_can,
    needs,
    storage_of,
    without_needless,
)


class Mark(Enum):
    """The result in a cell."""

    HAS = "has it"
    REFUSES = "refuses it"
    UNDRIVABLE = "cannot be driven"
    NOT_OF = "not this release's"
    PARTED = "parts company"
    NO_TRACE = "no trace"
    NOT_REACHED = "not reached"


@dataclass(frozen=True)
class Cell:
    """A bug on a release and a storage."""

    bug: str
    setting: Setting
    mark: Mark
    why: str = ""
    step: int | None = None
    """The step at which the code refused."""

    @property
    def expected(self) -> bool:
        """Whether the release has the bug, by its switches."""
        (known,) = chosen(KNOWN, [self.bug])
        return is_there(known, self.setting.release, self.setting.storage)

    @property
    def refused_at(self) -> int | None:
        """The step of the refusal in the table of observations; None if there is none."""
        return refused_at(self.bug, self.setting.release, self.setting.storage)

    @property
    def as_expected(self) -> bool | None:
        """Whether the result is as the tables say, the step included; None if the bug could not be run."""
        match self.mark:
            case Mark.HAS:
                return self.expected
            case Mark.REFUSES:
                return not self.expected and self.refused_at in (None, self.step)
            case Mark.UNDRIVABLE | Mark.NOT_OF:
                return True
            case Mark.PARTED | Mark.NO_TRACE | Mark.NOT_REACHED:
                return None

    def __str__(self) -> str:
        """Return the mark, with its reason."""
        return f"{self.mark.value}: {self.why}" if self.why else self.mark.value


_RACES = {
    ("fence_atomic", "no"): UNDRIVABLE["admit add"],
    ("lac_read_in_change", "racing"): UNDRIVABLE["block acks"],
    ("acks_after_change", "next-answer"): AT_REST,
    ("ensemble_change_commit", "local-first"): UNDRIVABLE["change locally"],
}
"""The reasons why these switches' actions cannot be driven. Without those actions nothing is violated."""


def bugs(names: Sequence[str]) -> list[Expectation]:
    """Return the known bugs of BookKeeper's code, or those named; raise BadInput for another name."""
    ours = [known for known in KNOWN if _is_of_the_code(known)]
    return chosen(ours, names)


def _is_of_the_code(known: Expectation) -> bool:
    defaults = find(known.protocol).defaults
    return isinstance(defaults, BookKeeperParameters) and defaults.read_decision != V4_13_TLA.read_decision


def without_running(known: Expectation, setting: Setting) -> Cell | None:
    """Return the cell if it is decided without a run; None if it needs one."""
    run = Run(known, with_bug=True)
    parameters = find(known.protocol).instance(run.settings.items()).parameters
    if is_of_other_rules(known, setting.release):
        return Cell(known.name, setting, Mark.NOT_OF)
    why = next((why for (name, value), why in _RACES.items() if getattr(parameters, name) == value), "")
    try:
        needs(parameters, setting)
    except NoSeam as reason:
        why = why or str(reason)
    if not why:
        return None
    of_storage = storage_of(parameters) in ("any", setting.storage)
    if of_storage and not is_there(known, setting.release, setting.storage):
        return Cell(known.name, setting, Mark.NOT_OF)
    return Cell(known.name, setting, Mark.UNDRIVABLE, why)


def trace_of(known: Expectation, limits: Limits) -> Trace | None:
    """Return the counterexample that shows the bug; None if none is found in time.

    `executions.json` has the steps. They are replayed like any others. If they are no longer an execution
    of today's model, a new counterexample is searched for.
    """
    run = Run(known, with_bug=True)
    instance = find(known.protocol).instance(run.settings.items())
    system = instance.system
    (prop,) = instance.properties(known.property)
    with contextlib.suppress(NotAnExecution):
        return kept(known.name, Replayer(system, instance.subject), prop)
    outcome = decide(run, limits)
    trace = next((result.trace for result in outcome.results if result.trace is not None), None)
    return trace and as_code_can(without_needless(trace, system, prop), system, prop)


def kept(name: str, replayer: Replayer, prop: Property) -> Trace:
    """Return the kept execution for that bug, replayed; raise NotAnExecution if there is none."""
    document = json.loads(files("fencepost.realcode").joinpath("executions.json").read_text(encoding="utf-8"))
    if name not in document:
        raise NotAnExecution(f"{name}: no execution is kept")
    steps = document[name]["steps"]
    actions = [replayer.system.find(action, arguments) for action, *arguments in steps]
    if None in actions:
        raise NotAnExecution(f"{name}: {steps[actions.index(None)]} is no action of today's model")
    lost = document[name]["lost"]
    if unknown := set(lost) - {v.name for v in replayer.system.choices}:
        raise NotAnExecution(f"{name}: {min(unknown)} is no choice of today's model")
    return replayer.replay(prop, [action for action in actions if action is not None], lost)


def cell(known: Expectation, run: Reproduction) -> Cell:
    """Return the cell of the bug, from a run."""
    where = f"at step {run.step}" if run.step is not None else ""
    match run.ending:
        case Ending.REPRODUCED:
            return Cell(known.name, run.setting, Mark.HAS)
        case Ending.REFUSED:
            return Cell(known.name, run.setting, Mark.REFUSES, where, run.step)
        case Ending.PARTED | Ending.FOLLOWED:
            return Cell(known.name, run.setting, Mark.PARTED, f"{where}: {run.reason}")
        case Ending.UNDRIVABLE:
            mark = (
                Mark.UNDRIVABLE if is_there(known, run.setting.release, run.setting.storage) else Mark.NOT_OF
            )
            return Cell(known.name, run.setting, mark, run.reason if mark is Mark.UNDRIVABLE else "")
