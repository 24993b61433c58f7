"""A trace of the model on the real code: model and code step by step, and the ending."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.errors import BadInput
from fencepost.encoding.forms.counterexample import OF_PATH
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.system import Property, System, choose
from fencepost.encoding.language.traces import Json, Trace, TraceStep
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.parameters import LOSE_ENTRIES, BookKeeperParameters
from fencepost.protocols.bookkeeper.releases import ordered
from fencepost.realcode.course import CodeStep, Course, Ending
from fencepost.realcode.drive.code import Code, NoSeam
from fencepost.realcode.drive.marks import settings as marked
from fencepost.realcode.drive.recoverers import drive_on
from fencepost.realcode.drive.taking import take
from fencepost.realcode.drive.writers import deliver_all
from fencepost.realcode.harness_session import CodeFailed, HarnessSession
from fencepost.realcode.judgement import unanswered, violated
from fencepost.realcode.library import Library
from fencepost.realcode.observations import Observations, differences, model_observations
from fencepost.realcode.release_behaviour import as_driven, mending


@dataclass(frozen=True)
class Setting:
    """The release and storage that a trace is reproduced on."""

    release: str
    storage: str
    zookeeper: str = ""
    jdk: str = ""
    version: str = ""
    """The version of the code, if it is compared with the rules of another release."""

    @property
    def code(self) -> str:
        """The release as texts and files have it; `4.19.0-SNAPSHOT as 4.18.0` if it is run as another."""
        return f"{self.version} as {self.release}" if self.version else self.release


def setting_of(lib: Library, storage: str) -> Setting:
    """Return the setting of a library that is not started yet."""
    return Setting(lib.release, storage, version=lib.version if lib.version != lib.release else "")


@dataclass(frozen=True)
class Reproduction:
    """A trace, the code's side of it, and the ending."""

    trace: Trace
    setting: Setting
    steps: tuple[CodeStep, ...]
    ending: Ending
    step: int | None
    """The step at which the code refused or differed, or the step that cannot be driven."""
    reason: str
    as_release: bool | None = None
    """Whether all observations agree with the model of this release; None if this was not checked."""


def bookkeeper_of(trace: Trace) -> tuple[System, BookKeeperParameters]:
    """Return the system of the trace; raise BadInput if it is no trace of a BookKeeper ledger."""
    protocol = find(trace.protocol)
    if not isinstance(protocol.defaults, BookKeeperParameters):
        raise BadInput(
            f"{trace.protocol}: is not modelled after BookKeeper's code; give a trace of bookkeeper, "
            "bookkeeper-4.13 or bookkeeper-no-journal"
        )
    instance = protocol.instance({**trace.parameters, **trace.switches}.items())
    assert isinstance(instance.parameters, BookKeeperParameters)
    return instance.system, instance.parameters


def storage_of(parameters: BookKeeperParameters) -> str:
    """Return the storage that the instance is about; `any` if it is about none."""
    return "db" if parameters.journals else parameters.storage


def needs(parameters: BookKeeperParameters, setting: Setting) -> dict[str, str]:
    """Return the settings that the bookies need; raise NoSeam if release or storage has no such setting."""
    if storage_of(parameters) not in ("any", setting.storage):
        raise NoSeam(f"its trace is of {storage_of(parameters)} storage")
    if parameters.journals:
        return {"journal": "yes", "checks": "no", **marked(parameters.journals, parameters.other_dirs)}
    racks = {"racks": str(parameters.racks)} if parameters.racks else {}
    if not parameters.crashes or parameters.storage != "any":
        return {"journal": "yes", "checks": "no", **racks}
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
    if checks and not loses and not parameters.boots_in_steps:
        raise NoSeam("a bookie that journals its entries runs no phase one after a crash (EmbeddedServer)")
    return {"journal": "no" if loses else "yes", "checks": "yes" if checks else "no", **racks}


def started(session: HarnessSession, setting: Setting, bookies: int, settings: Mapping[str, str]) -> Setting:
    """Start the bookies with these settings; return the setting with its versions.

    Raises BadInput if they do not start.
    """
    try:
        versions = session.ask("start", bookies=bookies, storage=setting.storage, **settings)
    except CodeFailed as failure:
        raise BadInput(f"BookKeeper {setting.release} does not start: {failure}; try again") from failure
    return replace(setting, zookeeper=versions["zookeeper"], jdk=versions["jdk"])


def reproduce(trace: Trace, setting: Setting, session: HarnessSession) -> Reproduction:
    """Drive the code through the trace as far as it goes, and judge the ending."""
    system, parameters = bookkeeper_of(trace)
    try:
        settings = needs(parameters, setting)
    except NoSeam as why:
        return Reproduction(trace, setting, (), Ending.UNDRIVABLE, None, str(why))
    setting = started(session, setting, parameters.bookies, settings)
    code = Code(session, parameters, trace.steps)
    course = Course(code, _said_by(system, trace), take, differences)
    steps = tuple(course.steps(trace.steps))
    run = Reproduction(trace, setting, steps, course.ending, course.step, course.reason)
    if run.ending is Ending.UNDRIVABLE:
        return run
    if run.ending is Ending.REPRODUCED and trace.property in DRIVEN_ON:
        DRIVEN_ON[trace.property](code)
    last = code.observations(code.seen) if steps else {}
    finding = violated(trace.property, last, code.seen["told"], parameters)
    return judged(run, finding, _as_release, _said_at_end(trace.property, last))


def without_needless(trace: Trace, system: System, prop: Property) -> Trace:
    """Return the execution without steps that the violation does not need."""
    replayer = Replayer(system, trace.subject)
    choices = _true_choices(system, trace)
    at = len(trace.steps) - 1
    while at >= 0:
        steps = [*trace.steps[:at], *trace.steps[at + 1 :]]
        actions = steps_of(system, steps)
        with contextlib.suppress(NotAnExecution):
            trace = replayer.replay(prop, [a for a in actions if a is not None], choices)
        at = min(at, len(trace.steps)) - 1
    return trace


def as_code_can(trace: Trace, system: System, prop: Property) -> Trace:
    """Return the same execution in an order that the code can take, if there is one.

    In the code a recoverer writes an entry back when it receives it. In the model other steps may come
    between; the answer is then received as late as the write-back. If that is another execution, the order
    stays.
    """
    replayer = Replayer(system, trace.subject)
    choices = _true_choices(system, trace)
    for entry in (s.arguments["entry"] for s in trace.steps if s.action == "write back"):
        steps = list(trace.steps)
        written = next(i for i, s in enumerate(steps) if _is(s, "write back", entry))
        read = next(
            (i for i, s in enumerate(steps) if _is(s, "receive read answer", entry) and _has(s)), written - 1
        )
        steps.insert(written - 1, steps.pop(read))
        actions = steps_of(system, steps)
        with contextlib.suppress(NotAnExecution):
            trace = replayer.replay(prop, [a for a in actions if a is not None], choices)
    return trace


def _is(step: TraceStep, action: str, entry: Json) -> bool:
    return step.action == action and step.arguments["entry"] == entry


def _has(step: TraceStep) -> bool:
    """Return whether the received answer has the entry."""
    return step.received is not None and step.received.fields["answer"] == "entry"


def _said_by(system: System, trace: Trace) -> list[Observations]:
    """Return the model's observations before the first step and after each step it can take."""
    return model_observations(*followed(system, trace))


def followed(system: System, trace: Trace) -> tuple[Concrete, list[State]]:
    """Return the model's states before the first step and after each step it can take, and their reader."""
    replayer = Replayer(system, trace.subject)
    states = replayer.follow([], _true_choices(system, trace))
    for action in steps_of(system, trace.steps):
        try:
            if action is None:
                break
            states.append(replayer.after(action, states))
        except NotAnExecution:
            break
    return replayer.concrete, states


def steps_of(system: System, steps: Iterable[TraceStep]) -> list[GroundAction | None]:
    """Return the actions of these steps, None for one that the system does not have."""
    return [system.find(step.action, [show(a) for a in step.arguments.values()]) for step in steps]


def _true_choices(system: System, trace: Trace) -> list[str]:
    """Return the names of the choices that are true in the trace."""
    return [v.name for v in system.choices if trace.initial.get(v.name) is True]


def judged(
    run: Reproduction, finding: bool | None, as_release: Callable[[Reproduction], bool], said: str = ""
) -> Reproduction:
    """Return the run with its final ending.

    `finding` says whether the code violates the property. If it is None, model and code must only agree. If
    the violation is not there, the ending says whether the release's switches explain that. `said` is the
    reason of a violation.
    """
    first = next((s for s in run.steps if s.differs), None)
    if run.ending is Ending.REPRODUCED and (finding if finding is not None else first is None):
        ending = Ending.FOLLOWED if run.trace.property == OF_PATH.name else Ending.REPRODUCED
        return replace(run, ending=ending, as_release=as_release(run), reason=said)
    if run.ending is Ending.REPRODUCED:
        where = first.index if first else len(run.trace.steps)
        why = first.difference if first else "the code agrees to the end, and nothing is violated there"
        run = replace(run, ending=Ending.PARTED, step=where, reason=why)
    explained = as_release(run)
    return replace(run, ending=Ending.REFUSED if explained else run.ending, as_release=explained)


DRIVEN_ON: Mapping[str, Callable[[Code], None]] = {
    "recovery-can-finish": drive_on,
    "adds-answered": deliver_all,
}
"""The functions that deliver everything left after the last step, by property."""


def _said_at_end(property_name: str, last: Observations) -> str:
    """Return what the code does not do once everything is delivered; nothing for another property."""
    if property_name != "adds-answered":
        return ""
    entries = " and ".join(map(str, unanswered(last)))
    return f"everything under way was delivered and answered, and the add of entry {entries} has no answer"


def _as_release(run: Reproduction) -> bool:
    """Return whether the model of this release makes the same observations and stops at the same step."""
    _, parameters = bookkeeper_of(run.trace)
    setting = run.setting
    goes_through = run.ending in (Ending.REPRODUCED, Ending.FOLLOWED)
    if not goes_through and not mending(setting.release, setting.storage, parameters):
        return False
    own = find(run.trace.protocol).system(as_driven(setting.release, setting.storage, parameters))
    said = _said_by(own, run.trace)
    agrees = all(not differences(said[s.index], s.observations) for s in run.steps if s.index < len(said))
    stops = len(said) - 1
    if not goes_through and stops == len(run.trace.steps):
        return agrees and not is_violated(own, run.trace)
    return agrees and (goes_through or run.step is None or stops <= run.step + 1 or stops == 0)


def is_violated(system: System, trace: Trace) -> bool:
    """Return whether the trace's steps violate its property in that system, too; a path violates nothing."""
    if trace.property == OF_PATH.name:
        return False
    actions, choices = steps_of(system, trace.steps), _true_choices(system, trace)
    (prop,) = choose(system, (trace.property,))
    try:
        Replayer(system, trace.subject).replay(prop, [a for a in actions if a is not None], choices)
    except NotAnExecution:
        return False
    return True
