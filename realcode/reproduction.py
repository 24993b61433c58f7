"""A trace of the model on the real code: step by step what the model says, what the code did, and how it ends."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.state import show
from fencepost.encoding.language.system import GroundAction, Property, System
from fencepost.encoding.language.traces import Json, Trace, TraceStep
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.parameters import LOSE_ENTRIES, BookKeeperParameters
from fencepost.protocols.bookkeeper.releases import ordered
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.realcode.drive.actions import take
from fencepost.realcode.drive.code import Code, NoSeam, Parted, RefusedByCode
from fencepost.realcode.drive.recoverers import drive_on
from fencepost.realcode.harness_session import Answer, CodeFailed, HarnessSession
from fencepost.realcode.judgement import violated
from fencepost.realcode.observations import Facts, code_facts, differences, model_facts
from fencepost.realcode.release_behaviour import as_driven, mending

STORAGES = ("sorted", "interleaved", "db")
"""How a bookie stores entries: SortedLedgerStorage, the default; InterleavedLedgerStorage; DbLedgerStorage, Pulsar's."""


class Ending(Enum):
    """How it ended."""

    REPRODUCED = "reproduced"
    """What the model says is violated is violated on this release."""
    REFUSED = "refused"
    """A bookie refuses the add that the violation needs, or the model with this release's switches goes no further either."""
    PARTED = "parted"
    """The code does something else than the model, and no switch says why."""
    UNDRIVABLE = "cannot be driven"
    """A step has no seam, or the release has no setting for what the trace needs."""


@dataclass(frozen=True)
class CodeStep:
    """The code's side of one step."""

    index: int
    did: tuple[str, ...]
    """What the code did, in the order in which it was seen."""
    facts: Facts
    """What could be seen after it."""
    changes: Mapping[str, Json]
    differs: Mapping[str, tuple[Json | None, Json | None]]
    """By name, what the model says and what the code has, where they differ."""


@dataclass(frozen=True)
class Setting:
    """On what a trace is reproduced."""

    release: str
    storage: str
    zookeeper: str = ""
    jdk: str = ""


@dataclass(frozen=True)
class Reproduction:
    """A trace, the code's side of it, and the end."""

    trace: Trace
    setting: Setting
    steps: tuple[CodeStep, ...]
    ending: Ending
    step: int | None
    """Where the code refused, where the two parted, or which step cannot be driven."""
    reason: str
    as_release: bool | None = None
    """Whether all that was seen is as the model with this release's switches has it; None if it was not asked."""


def bookkeeper_of(trace: Trace) -> tuple[System, BookKeeperParameters]:
    """The system that the trace is of; raises BadInput if it is no trace of a BookKeeper ledger."""
    protocol = find(trace.protocol)
    if not isinstance(protocol.defaults, BookKeeperParameters):
        raise BadInput(
            f"{trace.protocol}: is not modelled after BookKeeper's code; give a trace of bookkeeper, bookkeeper-4.13 "
            "or bookkeeper-no-journal"
        )
    instance = protocol.instance({**trace.parameters, **trace.switches}.items())
    assert isinstance(instance.parameters, BookKeeperParameters)
    return instance.system, instance.parameters


def needs(parameters: BookKeeperParameters, setting: Setting) -> dict[str, str]:
    """How the bookies have to be set up; raises NoSeam if this release, or its storage, has no such setting."""
    if parameters.storage not in ("any", setting.storage):
        raise NoSeam(f"its trace is of {parameters.storage} storage")
    if not parameters.crashes or parameters.storage != "any":
        return {"journal": "yes", "checks": "no"}
    fences, limbo = parameters.fence_on_unclean_shutdown, parameters.limbo_on_unclean_shutdown
    checks = "yes" in (fences, limbo)
    if checks and ordered(setting.release) < (4, 15, 0):
        raise NoSeam("dataIntegrityChecking came with 4.15.0")
    if checks and setting.storage != "db":
        raise NoSeam("limbo is there in DbLedgerStorage only: --storage db")
    if checks and fences != limbo:
        raise NoSeam(
            "one setting, dataIntegrityChecking, turns fence and limbo on; neither goes without the other"
        )
    loses = parameters.lose in LOSE_ENTRIES
    return {"journal": "no" if loses else "yes", "checks": "yes" if checks else "no"}


def started(session: HarnessSession, setting: Setting, bookies: int, settings: Mapping[str, str]) -> Setting:
    """Start that many bookies, set up so; the setting, with what they run on. Raises BadInput if they do not start."""
    try:
        versions = session.ask("start", bookies=bookies, storage=setting.storage, **settings)
    except CodeFailed as failure:
        raise BadInput(f"BookKeeper {setting.release} does not start: {failure}; try again") from failure
    return replace(setting, zookeeper=versions["zookeeper"], jdk=versions["jdk"])


def reproduce(trace: Trace, setting: Setting, session: HarnessSession) -> Reproduction:
    """Drive the code through the trace as far as it goes, and judge how that ends."""
    system, parameters = bookkeeper_of(trace)
    try:
        settings = needs(parameters, setting)
    except NoSeam as why:
        return Reproduction(trace, setting, (), Ending.UNDRIVABLE, None, str(why))
    setting = started(session, setting, parameters.bookies, settings)
    code = Code(session, parameters, trace.steps)
    course = Course(code, _said_by(system, trace), parameters)
    steps = tuple(course.steps(trace.steps))
    return _judged(
        Reproduction(trace, setting, steps, course.ending, course.step, course.reason), code, parameters
    )


def without_needless(trace: Trace, system: System, prop: Property) -> Trace:
    """The execution without the steps that it does not need: left out one after another as long as it still violates."""
    replayer = Replayer(system, trace.subject)
    choices = [v.name for v in system.choices if trace.initial.get(v.name) is True]
    at = len(trace.steps) - 1
    while at >= 0:
        steps = [*trace.steps[:at], *trace.steps[at + 1 :]]
        actions = [_action(system, step.action, step.arguments) for step in steps]
        with contextlib.suppress(NotAnExecution):
            trace = replayer.replay(prop, [a for a in actions if a is not None], choices)
        at = min(at, len(trace.steps)) - 1
    return trace


def as_code_can(trace: Trace, system: System, prop: Property) -> Trace:
    """The same execution in an order that the code can take: a recoverer writes back when it receives the entry.

    In the model it may wait, and other steps come between; then the answer is received as late as that. Where that
    would be another execution the order stays.
    """
    replayer = Replayer(system, trace.subject)
    choices = [v.name for v in system.choices if trace.initial.get(v.name) is True]
    for entry in (s.arguments["entry"] for s in trace.steps if s.action == "write back"):
        steps = list(trace.steps)
        written = next(i for i, s in enumerate(steps) if _is(s, "write back", entry))
        read = next(
            (i for i, s in enumerate(steps) if _is(s, "receive read answer", entry) and _has(s)), written - 1
        )
        steps.insert(written - 1, steps.pop(read))
        actions = [_action(system, step.action, step.arguments) for step in steps]
        with contextlib.suppress(NotAnExecution):
            trace = replayer.replay(prop, [a for a in actions if a is not None], choices)
    return trace


def _is(step: TraceStep, action: str, entry: Json) -> bool:
    return step.action == action and step.arguments["entry"] == entry


def _has(step: TraceStep) -> bool:
    """The answer received is the entry."""
    return step.received is not None and step.received.fields["answer"] == "entry"


def _said_by(system: System, trace: Trace) -> list[Facts]:
    """What the model says can be seen, before the first step and after each that it can take."""
    replayer = Replayer(system, trace.subject)
    actions = [_action(system, step.action, step.arguments) for step in trace.steps]
    choices = [v.name for v in system.choices if trace.initial.get(v.name) is True]
    states = replayer.follow([], choices)
    for action in actions:
        try:
            if action is None:
                break
            states.append(replayer.after(action, states))
        except NotAnExecution:
            break
    ledger = system.state
    assert isinstance(ledger, Ledger)
    return [model_facts(ledger, replayer.concrete, state) for state in states]


def _action(system: System, name: str, arguments: Mapping[str, Json]) -> GroundAction | None:
    return system.find(name, [show(a) for a in arguments.values()])


class Course:
    """The code on its way through some steps of the model; `ending` is where that got to."""

    def __init__(self, code: Code, model: Sequence[Facts], parameters: BookKeeperParameters) -> None:
        self.code, self.model, self.parameters = code, model, parameters
        self.ending = Ending.REPRODUCED
        self.step: int | None = None
        self.reason = ""
        self.facts: Facts = {}

    def steps(self, steps: Sequence[TraceStep]) -> Iterator[CodeStep]:
        """The code's side of one step after another, until it refuses or cannot be driven."""
        for step in steps:
            try:
                did = take(self.code, step)
            except NoSeam as why:
                self._end(Ending.UNDRIVABLE, step.index, str(why))
                return
            except Parted as why:
                ending = Ending.REFUSED if isinstance(why, RefusedByCode) else Ending.PARTED
                self._end(ending, step.index, str(why))
                notes = self.code.notes
                yield self._seen(step.index, tuple(notes if ending is Ending.REFUSED else [*notes, str(why)]))
                return
            yield self._seen(step.index, tuple(did))

    def _end(self, ending: Ending, step: int, reason: str) -> None:
        self.ending, self.step, self.reason = ending, step, reason

    def _seen(self, index: int, did: tuple[str, ...]) -> CodeStep:
        before, p = self.facts, self.parameters
        self.facts = code_facts(self.code.look(), self.code.reading, self.code.closing, p)
        changes = {name: value for name, value in self.facts.items() if before.get(name) != value}
        differs = differences(self.model[index], self.facts)
        return CodeStep(index, did, self.facts, changes, differs)


def _judged(run: Reproduction, code: Code, parameters: BookKeeperParameters) -> Reproduction:
    """The end, from what was seen: the violation itself, or who explains that it is not there."""
    told: Answer = code.seen or {"told": []}
    last = run.steps[-1].facts if run.steps else {}
    first = next((s for s in run.steps if s.differs), None)
    if run.ending is Ending.UNDRIVABLE:
        return run
    if run.ending is Ending.REPRODUCED and run.trace.property == "recovery-can-finish":
        drive_on(code)
        told = code.seen or told
    finding = violated(run.trace.property, last, told["told"], parameters)
    if run.ending is Ending.REPRODUCED and (finding if finding is not None else first is None):
        return replace(run, as_release=_as_release(run))
    if run.ending is Ending.REPRODUCED:
        where = first.index if first is not None else len(run.trace.steps)
        why = (
            _difference(first)
            if first is not None
            else "the code agrees to the end, and nothing is violated there"
        )
        run = replace(run, ending=Ending.PARTED, step=where, reason=why)
    explained = _as_release(run)
    ending = Ending.REFUSED if explained else run.ending
    return replace(run, ending=ending, as_release=explained)


def _difference(step: CodeStep) -> str:
    name, (model, code) = next(iter(step.differs.items()))
    return (
        f"{name} is {show(code)} in the code, {show(model)} in the model"
        if code is not None
        else f"no {name}"
    )


def _as_release(run: Reproduction) -> bool:
    """Whether the model with this release's switches takes the same steps to the same facts, and no step further."""
    _, parameters = bookkeeper_of(run.trace)
    setting = run.setting
    if run.ending is not Ending.REPRODUCED and not mending(setting.release, setting.storage, parameters):
        return False
    own = find(run.trace.protocol).system(as_driven(setting.release, setting.storage, parameters))
    said = _said_by(own, run.trace)
    agrees = all(not differences(said[s.index], s.facts) for s in run.steps if s.index < len(said))
    stops = len(said) - 1
    return agrees and (
        run.ending is Ending.REPRODUCED or run.step is None or stops <= run.step + 1 or stops == 0
    )
