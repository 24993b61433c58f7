"""A trace of `ledger-copies` on the real code: model and code step by step, and the ending."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.forms.counterexample import OF_PATH
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Term
from fencepost.encoding.language.traces import Json, Trace, plain
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.values import WRITER
from fencepost.protocols.ledger_copies.parameters import CopiesParameters
from fencepost.protocols.ledger_copies.releases import RULES, as_in
from fencepost.protocols.ledger_copies.state import NOBODY, Copies
from fencepost.quorums.storages import STORAGES
from fencepost.realcode.course import Course, Ending
from fencepost.realcode.drive.code import NoSeam, Parted
from fencepost.realcode.drive.copies import CopiesCode, take
from fencepost.realcode.harness_session import HarnessSession
from fencepost.realcode.observations import Observations
from fencepost.realcode.reproduction import Reproduction, Setting, followed, is_violated, judged, started

AS_WRITTEN = {"journal": "yes", "checks": "no"}
"""The settings of bookies that hold copies."""


def is_of_copies(trace: Trace) -> bool:
    """Return whether a trace is one of `ledger-copies`."""
    return isinstance(find(trace.protocol).defaults, CopiesParameters)


def reproduce_copies(trace: Trace, setting: Setting, session: HarnessSession) -> Reproduction:
    """Drive the code through the trace as far as it goes, and judge the ending."""
    instance = find(trace.protocol).instance({**trace.parameters, **trace.switches}.items())
    parameters = instance.parameters
    assert isinstance(parameters, CopiesParameters)
    try:
        must_be_drivable(parameters, setting)
    except NoSeam as why:
        return Reproduction(trace, setting, (), Ending.UNDRIVABLE, None, str(why))
    setting = started(session, setting, parameters.bookies, AS_WRITTEN)
    code = CopiesCode(session, parameters, trace.steps)
    code.write_ledger()
    course = course_of(code, _said_by(instance.system, trace))
    steps = tuple(course.steps(trace.steps))
    run = Reproduction(trace, setting, steps, course.ending, course.step, course.reason)
    if run.ending is Ending.UNDRIVABLE:
        return run
    goes_through = run.ending is Ending.REPRODUCED
    finding = JUDGES[trace.property](code) if goes_through and trace.property != OF_PATH.name else None
    return judged(run, finding, partial(_as_release, goes_through))


def course_of(code: CopiesCode, observations: Sequence[Observations]) -> Course[CopiesCode]:
    """Return the course of this code, which is looked at before the first step."""
    course = Course(code, observations, take, copies_differences)
    course.observations = code.observations(code.look())
    return course


def must_be_drivable(parameters: CopiesParameters, setting: Setting) -> None:
    """Raise NoSeam if the release or storage has no setting that the trace needs."""
    if parameters.fragments > 1:
        raise NoSeam("the harness makes a ledger of one fragment")
    if parameters.storage not in ("at-once", STORAGES[setting.storage].copies):
        able = [name for name, storage in STORAGES.items() if storage.copies == parameters.storage]
        raise NoSeam(f"its trace is of {' or '.join(able)} storage")


def _said_by(system: System, trace: Trace) -> list[Observations]:
    """Return the model's observations before the first step and after each step it can take."""
    concrete, states = followed(system, trace)
    copies = system.state
    assert isinstance(copies, Copies)

    return [copies_observations(copies, concrete, state) for state in states]


def copies_observations(copies: Copies, concrete: Concrete, state: State) -> Observations:
    """Return the model's observations in a state."""

    def value(term: Term) -> Json:
        return plain(concrete.evaluate(term, {}, state))

    ensemble = ", ".join(str(value(copies.ensemble[1, i])) for i in copies.position)
    found: dict[str, Json] = {"ensemble from 1": ensemble}
    for b in copies.bookie:
        found[f"live[{b}]"] = value(copies.live[b])
        if found[f"live[{b}]"]:
            found |= {f"copy[{b}, {e}]": value(copies.copy[b, e]) for e in copies.entry}
            if copies.reuses:
                kept = [e for e in copies.entry if value(copies.copy[b, e])]
                found |= {f"new[{b}, {e}]": value(copies.is_new[b, e]) for e in kept}
    if copies.worker_names:
        found["locked"] = value(copies.lock) != NOBODY
    return found


def copies_differences(model: Observations, code: Observations) -> dict[str, tuple[Json | None, Json | None]]:
    """Return the observations that differ, each with the model's and the code's value."""
    names = {**model, **code}
    return {n: (model.get(n), code.get(n)) for n in names if model.get(n) != code.get(n)}


def _as_release(goes_through: bool, run: Reproduction) -> bool:
    """Return whether the model of this release makes the same observations and goes as far as the code."""
    own = find(run.trace.protocol).system(_of_release(run.setting.release, run.trace))
    said = _said_by(own, run.trace)
    agrees = all(said[s.index] == s.observations for s in run.steps if s.index < len(said))
    if not goes_through:
        return agrees and run.step is not None and len(said) <= run.step
    goes_on = agrees and len(said) == len(run.trace.steps) + 1
    return goes_on and (run.ending is Ending.REPRODUCED or not is_violated(own, run.trace))


def _of_release(release: str, trace: Trace) -> CopiesParameters:
    parameters = find(trace.protocol).parameters({**trace.parameters, **trace.switches}.items())
    return replace(as_in(release, parameters), session=parameters.session)


def mending_copies(release: str, trace: Trace) -> dict[str, str]:
    """Return the switches in which this release differs from the trace, with the release's values."""
    own = _of_release(release, trace)
    return {name: str(getattr(own, name)) for name in RULES if getattr(own, name) != trace.switches[name]}


def _named(code: CopiesCode) -> list[str]:
    return [str(bookie) for bookie in code.seen["metadata"]["fragments"][0]["ensemble"]]


def _lost(code: CopiesCode) -> set[Json]:
    """Return the bookies that lost their disks in the steps."""
    return {step.actor for step in code.steps if step.action == "lose disks"}


def _incomplete(code: CopiesCode) -> bool:
    """Return whether the metadata names a live bookie without a copy that kept its disks."""
    seen = code.observations(code.seen)
    kept = [bookie for bookie in _named(code) if bookie not in _lost(code) and seen[f"live[{bookie}]"]]
    return any(not seen[f"copy[{b}, {e}]"] for b in kept for e in range(1, code.parameters.entries + 1))


def _unreadable(code: CopiesCode) -> bool:
    """Return whether no named bookie has an entry, all of them up, and fewer than AQ lost their disks."""
    seen, named = code.observations(code.seen), _named(code)
    if len(_lost(code)) >= code.parameters.ack_quorum or not all(seen[f"live[{b}]"] for b in named):
        return False
    if _is_again(code):
        return any(not any(seen.get(f"new[{b}, {e}]") for b in named) for e in code.added())
    entries = range(1, code.parameters.entries + 1)
    return any(not any(seen[f"copy[{b}, {e}]"] for b in named) for e in entries)


def _is_again(code: CopiesCode) -> bool:
    return any(step.action == "create again" for step in code.steps)


def _reads_old(code: CopiesCode) -> bool:
    """Return whether a client recovers more entries of the new ledger than its writer has added."""
    return _is_again(code) and code.recover_ledger("r2") > len(code.pushed)


def _refuses_new(code: CopiesCode) -> bool:
    """Return whether a bookie of the new ledger refuses an entry of it."""
    for entry in range(1, code.parameters.entries + 1):
        code.add_again(entry)
    adds = [r for r in code.unclaimed if (r["client"], r["kind"]) == (WRITER, "add")]
    return any(code.ask("deliver", id=request["id"])["answer"] != "OK" for request in adds)


def _twice(code: CopiesCode) -> bool:
    return len(set(_named(code))) < len(_named(code))


def _stuck(code: CopiesCode) -> bool:
    """Return whether a `recover` fails although everything under way is delivered and answered."""
    operators = dict.fromkeys(step.actor for step in code.steps if step.action == "recover bookie")
    for operator in operators:
        for entry in range(1, code.parameters.entries + 1):
            with contextlib.suppress(Parted):
                code.exchange(operator, "read", code.holding(entry), entry)
                code.exchange(
                    operator, "recovery-add", [f"b{i + 1}" for i in range(code.parameters.bookies)], entry
                )
        code.ask("metadata", client=operator)
    return any(code.result(o, len(code.begun(o, len(code.steps)))) != "OK" for o in operators)


JUDGES: Mapping[str, Callable[[CopiesCode], bool]] = {
    "acked-copies-readable": _unreadable,
    "copies-complete": _incomplete,
    "entries-are-of-the-ledger": _reads_old,
    "new-ledger-writable": _refuses_new,
    "no-bookie-twice": _twice,
    "re-replication-can-finish": _stuck,
}
"""The judges by property: each decides from the code alone whether the property is violated."""
