"""Conformance runs: random executions of the model on the real code, compared after each step.

For each kind of departure the shortest run that shows it is kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.traces import TraceStep
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.ledger_copies.parameters import CopiesParameters
from fencepost.quorums.storages import STORAGES
from fencepost.realcode.copies_reproduction import AS_WRITTEN, must_be_drivable
from fencepost.realcode.copies_runs import CopiesGround, begun, copies_grounds, tidied
from fencepost.realcode.course import CodeStep, Course, Driven, Ending
from fencepost.realcode.drive.bookies import begin_anew
from fencepost.realcode.drive.code import Code, NoSeam
from fencepost.realcode.drive.taking import take
from fencepost.realcode.harness_session import HarnessFailed, HarnessSession, Recording, running
from fencepost.realcode.library import Library
from fencepost.realcode.observations import differences
from fencepost.realcode.release_behaviour import rules_in_runs
from fencepost.realcode.reproduction import Setting, needs, started
from fencepost.realcode.run_instances import DURABLE, INSTANCES, STRIPED, Settings
from fencepost.realcode.runs import ConformanceRun, Ground, met, random_runs

ATTEMPTS = 80
"""The largest number of attempts to shorten one departure."""
ENOUGH = 20
"""The number of runs in which each action should fire."""


@dataclass(frozen=True)
class Departure:
    """The first difference between code and model: the step, and the observations that differ."""

    kind: str
    """The action and the kind of observation. Departures of one kind are counted together."""
    reason: str
    run: ConformanceRun
    """The run, up to the step after which they differ."""
    steps: tuple[TraceStep, ...]
    code: tuple[CodeStep, ...]


@dataclass
class Found:
    """A kind of departure: the shortest run to it, and the number of runs that show it."""

    departure: Departure
    ground: Ground
    runs: int = 1


@dataclass
class Conformance:
    """The result of conformance runs on the real code."""

    setting: Setting
    protocol: str
    seed: int
    asked: int
    lengths: list[int] = field(default_factory=list)
    """The number of steps taken on the code, for each run."""
    fired: Counter[str] = field(default_factory=Counter)
    """The number of runs in which each action was taken on the code."""
    wider: int = 0
    """The number of runs with a step that the model may delay and the code takes at once."""
    found: dict[str, Found] = field(default_factory=dict)
    seconds: float = 0.0
    failed: str | None = None
    """The reason why the harness failed in the run after the last one; None if it did not."""

    def note(
        self, ground: Ground, run: ConformanceRun, taken: int, departure: Departure | None
    ) -> Found | None:
        """Count a run and its steps taken; return its departure if it is the first of its kind."""
        self.lengths.append(taken)
        self.fired.update({action.schema.name for action in run.actions[:taken]})
        self.wider += met(run.actions[:taken])
        if departure is None:
            return None
        if departure.kind in self.found:
            self.found[departure.kind].runs += 1
            return None
        self.found[departure.kind] = Found(departure, ground)
        return self.found[departure.kind]

    @property
    def runs(self) -> int:
        """The number of runs that were taken."""
        return len(self.lengths)

    @property
    def departed(self) -> int:
        """The number of runs that departed."""
        return sum(found.runs for found in self.found.values())


def defaults_of(protocol: str) -> BookKeeperParameters | CopiesParameters:
    """Return a protocol's defaults; raise BadInput if it is not modelled after BookKeeper's code."""
    defaults = find(protocol).defaults
    if not isinstance(defaults, BookKeeperParameters | CopiesParameters):
        raise BadInput(
            f"{protocol}: is not modelled after BookKeeper's code; give bookkeeper, bookkeeper-4.13 or "
            "ledger-copies"
        )
    return defaults


def grounds(protocol: str, settings: Settings, storage: str, release: str) -> list[Ground]:
    """Return the instances to run: a set that covers every action, or the one that `settings` names.

    With forces, readers, given ids or lengths no instance has crashes. With batch reads none is striped.

    A bookie treats the second copy of an entry as its storage does. The client queues adds, changes ensembles
    and continues after a refused change as its release does.

    Raises BadInput for a protocol that is not modelled after the code.
    """
    found, defaults = find(protocol), defaults_of(protocol)
    if isinstance(defaults, CopiesParameters):
        return [*copies_grounds(settings, storage, release)]
    several = defaults.crashes == 0 and not {"bookies", "crashes", "storage"} & set(settings)
    chosen = (*INSTANCES, {**DURABLE, "storage": storage}) if several else ({},)

    def ground(asked: Settings) -> Ground:
        parameters = parameters_of(found.instance(asked.items()))
        own = {"second_copy": STORAGES[storage].second_copy, **rules_in_runs(release, parameters)}
        return Ground(found.instance({**own, **asked}.items()))

    if {"forces", "readers", "given_ids", "lengths"} & set(settings):
        chosen = tuple(instance for instance in chosen if "crashes" not in instance)
    if settings.get("way_to_read") == "batch" and "write_quorum" not in settings:
        chosen = tuple(instance for instance in chosen if instance is not STRIPED)
    return [ground({**instance, **settings}) for instance in chosen]


def none_fired(grounds: Sequence[Ground]) -> Counter[str]:
    """Return a count of zero for every action that runs on these instances may take."""
    return Counter(dict.fromkeys(sorted({name for ground in grounds for name in ground.names}), 0))


def parameters_of(instance: Instance) -> BookKeeperParameters:
    """Return the sizes and switches of an instance."""
    parameters = instance.parameters
    assert isinstance(parameters, BookKeeperParameters)
    return parameters


def ground_of(instance: Instance) -> Ground:
    """Return the instance for conformance runs."""
    return (CopiesGround if isinstance(instance.parameters, CopiesParameters) else Ground)(instance)


def start(grounds: Sequence[Ground], setting: Setting, session: HarnessSession) -> Setting:
    """Start as many bookies as the largest instance has.

    Raises NoSeam if the instances need different settings.
    """
    if copies := [ground for ground in grounds if isinstance(ground, CopiesGround)]:
        of_copies = [ground.copies.parameters for ground in copies]
        for parameters in of_copies:
            must_be_drivable(parameters, setting)
        return started(session, setting, max(p.bookies for p in of_copies), AS_WRITTEN)
    if any(parameters_of(ground.instance).journals for ground in grounds):
        raise NoSeam("runs do not move the journal's mark; `reproduce` does")
    needed = [needs(parameters_of(ground.instance), setting) for ground in grounds]
    if any(other != needed[0] for other in needed):
        raise NoSeam("these instances need bookies that are set up differently")
    bookies = max(parameters_of(ground.instance).bookies for ground in grounds)
    return started(session, setting, bookies, needed[0])


@contextmanager
def driven(
    found: Conformance, grounds: Sequence[Ground], lib: Library, log: Path | None = None
) -> Iterator[HarnessSession]:
    """Run the code, with the bookies that these instances need.

    Raises BadInput if the code cannot be set up so.
    """
    with running(lib, log) as session:
        try:
            found.setting = start(grounds, found.setting, session)
            yield session
        except NoSeam as why:
            raise BadInput(f"{found.protocol}: {why}; set what the release and the storage have") from why


def drive(session: HarnessSession, ground: Ground, run: ConformanceRun) -> tuple[int, Departure | None]:
    """Take a run on the code, on a new ledger; return the steps taken and the departure, if any."""
    steps, observations = ground.followed(run)
    session.ask("forget")
    if isinstance(ground, CopiesGround):
        copies = begun(session, ground.copies.parameters, steps, observations)
        found = _driven(run, steps, copies)
        tidied(copies.code)
        return found
    parameters = parameters_of(ground.instance)
    begin_anew(session, parameters)
    return _driven(run, steps, Course(Code(session, parameters, steps), observations, take, differences))


def _driven(
    run: ConformanceRun, steps: Sequence[TraceStep], course: Course[Driven]
) -> tuple[int, Departure | None]:
    taken: list[CodeStep] = []
    for step in course.steps(steps):
        taken.append(step)
        if step.differs or course.ending is not Ending.REPRODUCED:
            return len(taken), _departure(run, steps, taken, course)
    if course.ending is not Ending.REPRODUCED:
        raise BadInput(
            f"{steps[len(taken)].name}: cannot be driven ({course.reason}); leave such steps out of runs"
        )
    return len(taken), None


def _departure(
    run: ConformanceRun, steps: Sequence[TraceStep], taken: Sequence[CodeStep], course: Course[Driven]
) -> Departure:
    last, at = taken[-1], len(taken)
    reason = course.reason or last.difference
    kind = f"{steps[at - 1].action}: {_general(next(iter(last.differs), course.reason))}"
    return Departure(kind, reason, replace(run, actions=run.actions[:at]), tuple(steps[:at]), tuple(taken))


def _general(text: str) -> str:
    """Return the text without names of machines and without numbers."""
    return re.sub(r"\[.*?\]|\b[bwr]?\d+\b|;.*", "", text).strip()


def shorter(departure: Departure, departs: Callable[[ConformanceRun], Departure | None]) -> Departure:
    """Return the same kind of departure with fewer steps and losses (ddmin, one pass for each size)."""
    best, attempts = departure, 0
    size = len(best.run.actions) // 2
    while size and attempts < ATTEMPTS:
        at = len(best.run.actions) - size
        while at >= 0 and attempts < ATTEMPTS:
            actions = (*best.run.actions[:at], *best.run.actions[at + size :])
            with suppress(NotAnExecution):
                attempts += 1
                other = departs(replace(best.run, actions=actions))
                if other is not None and other.kind == departure.kind:
                    best = other
            at = min(at, len(best.run.actions) - size + 1) - 1
        size //= 2
    with suppress(NotAnExecution):
        other = departs(replace(best.run, lost=()))
        if other is not None and other.kind == departure.kind:
            best = other
    return best


def conform(
    session: HarnessSession,
    grounds: Sequence[Ground],
    so_far: Conformance,
    keep_on: Callable[[Conformance], bool],
    keep: Callable[[Ground, ConformanceRun, Sequence[tuple[str, str]]], None] = lambda ground, run, lines: (
        None
    ),
) -> Iterator[Conformance]:
    """Take runs on the code, as many as asked for, and yield the results so far after each.

    `keep` gets each run with the lines that were asked and answered for it, also the run in which the harness
    fails. Raises HarnessFailed then.
    """
    following = random_runs(grounds, so_far.seed)
    while so_far.runs < so_far.asked and keep_on(so_far):
        ground, run = next(following)
        recording = Recording(session)
        try:
            taken, departure = drive(recording, ground, run)
        except HarnessFailed:
            keep(ground, run, recording.lines)
            raise
        keep(ground, run, recording.lines)
        new = so_far.note(ground, run, taken, departure)
        if new is not None:
            new.departure = shorter(new.departure, partial(_departure_of, session, ground))
        yield so_far


def _departure_of(session: HarnessSession, ground: Ground, run: ConformanceRun) -> Departure | None:
    return drive(session, ground, run)[1]


def action_of(ground: Ground, words: Sequence[str]) -> GroundAction:
    """Return the action with that name and these arguments; raise NotAnExecution if there is none."""
    found = ground.instance.system.find(words[0], list(words[1:]))
    if found is None:
        raise NotAnExecution(f"{' '.join(words)}: no such action")
    return found


def spelled(run: ConformanceRun) -> list[list[str]]:
    """Return the actions as a file has them."""
    return [[a.schema.name, *map(show, a.arguments)] for a in run.actions]


def rare(found: Conformance) -> list[str]:
    """Return the actions that fired in fewer runs than they should."""
    return [name for name, runs in found.fired.items() if runs < ENOUGH]
