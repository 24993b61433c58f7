"""A trace on the real code as text, JSON and a page: the model's side, and the code's beside it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import replace

from fencepost.cli.rendering.check_text import WIDTH, paragraph
from fencepost.encoding import keys as k
from fencepost.encoding.concrete.saved_traces import PATH, TRACE
from fencepost.encoding.forms.counterexample import OF_PATH, Counterexample, action_line
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.state import show_all
from fencepost.quorums.storages import STORAGES
from fencepost.realcode.copies_reproduction import is_of_copies, mending_copies
from fencepost.realcode.course import CodeStep, Ending
from fencepost.realcode.release_behaviour import mending
from fencepost.realcode.reproduction import Reproduction, Setting, bookkeeper_of


def as_text(run: Reproduction, counterexample: Counterexample) -> str:
    """Both sides of every step, and the end."""
    lines = [heading(run), ""]
    for step, code in zip(run.trace.steps, run.steps, strict=False):
        lines.append(f"{step.index:3}  {show(step.actor)} {action_line(step)}")
        lines += code_lines(code)
    return "\n".join([*lines, "", *paragraph(ending(run, counterexample))])


def heading(run: Reproduction) -> str:
    """Return the trace and the setting on one line."""
    trace = run.trace
    steps = f"{len(trace.steps)} steps"
    return f"{trace.property} of {trace.protocol}, {steps}, on {spoken(run.setting)}"


def spoken(setting: Setting) -> str:
    """Return a release with the versions that ran with it."""
    parts = [f"{setting.storage} storage"]
    parts += [f"ZooKeeper {setting.zookeeper}", f"JDK {setting.jdk}"] if setting.zookeeper else []
    return f"BookKeeper {setting.code} ({', '.join(parts)})"


def beside(code: CodeStep) -> Iterator[str]:
    """Return the observations of a step on the code, one a line."""
    if code.did:
        yield f"code: {'; '.join(code.did)}"
    if code.changes:
        yield f"seen: {'; '.join(f'{name}: {show(value)}' for name, value in code.changes.items())}"
    for name, (model, found) in code.differs.items():
        yield f"≠ {name}: {_side(found)} in the code, {_side(model)} in the model"


def code_lines(code: CodeStep) -> Iterator[str]:
    """Yield the observations of a step on the code as lines below it."""
    for part in beside(code):
        yield from textwrap.wrap(part, WIDTH - 9, initial_indent=" " * 7, subsequent_indent=" " * 9)


def _side(value: object) -> str:
    return "not there" if value is None else show(value)


def ending(run: Reproduction, counterexample: Counterexample) -> str:
    """How it ended, in a sentence or two."""
    release = run.setting.code
    match run.ending:
        case Ending.REPRODUCED:
            differs = sum(bool(step.differs) for step in run.steps)
            agree = (
                f"they differ after {differs} steps" if differs else "model and code agree after each step"
            )
            reproduced = f"Reproduced on {release}: {run.trace.property} is violated; {agree}."
            at_end = f"{run.reason[0].upper()}{run.reason[1:]}. " if run.reason else ""
            return f"{reproduced} {at_end}{counterexample.explanation}"
        case Ending.FOLLOWED:
            return f"Followed by {release}: nothing is violated; model and code agree after each step."
        case Ending.REFUSED:
            return f"Refused by {release} at step {run.step}: {run.reason}. {_as_release(run)}"
        case Ending.PARTED:
            return f"Model and code differ at step {run.step}: {run.reason}."
        case Ending.UNDRIVABLE:
            what = f"Step {run.step}" if run.step is not None else "It"
            return f"{what} cannot be driven: {run.reason}."


def _as_release(run: Reproduction) -> str:
    if not run.as_release:
        return "No switch of the model explains it."
    if is_of_copies(run.trace):
        switches = mending_copies(run.setting.release, run.trace)
    else:
        parameters = bookkeeper_of(run.trace)[1]
        switches = mending(run.setting.release, run.setting.storage, parameters)
    return (
        f"The model with {show_all(switches)} refuses it too, and agrees with all observations up to there."
    )


SETTING = k.keys(
    bookkeeper=k.text("the release").of("setting.code"),
    storage=k.among(tuple(STORAGES), "the storage of the ledgers").of("setting.storage"),
    zookeeper=k.text("its version; empty if nothing was started").of("setting.zookeeper"),
    jdk=k.text("its version; empty if nothing was started").of("setting.jdk"),
)
"""The keys that say on what code something was run."""

SIDES = k.keys(model=k.null(k.plain("what the model says")), code=k.null(k.plain("what the code has")))
CODE_STEP = k.keys(
    index=k.whole("the number of the step in the trace", 1),
    code=k.texts("what the code sent, answered and told its application").of("did"),
    changes=k.ruled(dict, "what can be seen, where it changed"),
    differs=k.named(SIDES, "by name, what differs"),
)
REPRODUCED = k.document(
    "fencepost.reproduce/1",
    trace=k.either((TRACE, PATH), "the trace, or the path of steps that violate nothing, as driven"),
    **SETTING,
    ending=k.among((e.value for e in Ending), "how it ended"),
    step=k.null(k.whole("the step that was refused, that cannot be driven, or where the two parted", 1)),
    reason=k.text("what happened there"),
    as_release=k.null(k.flag("the model of this release agrees with all that was seen"), "if nothing was"),
    steps=k.many(CODE_STEP, "the steps on the code, as far as it got"),
)


def as_json(run: Reproduction) -> dict[str, object]:
    """Return everything that was seen."""
    steps = [k.from_record(CODE_STEP, step, differs=_sides(step)) for step in run.steps]
    trace = run.trace.to_path_json() if run.trace.property == OF_PATH.name else run.trace.to_json()
    return k.from_record(REPRODUCED, run, trace=trace, steps=steps)


def _sides(step: CodeStep) -> dict[str, object]:
    return {name: {"model": ours, "code": theirs} for name, (ours, theirs) in step.differs.items()}


def with_observations(run: Reproduction, counterexample: Counterexample) -> Counterexample:
    """Return the counterexample with the observations of each step, and the ending as its verdict."""
    sides = {step.index: tuple(beside(step)) for step in run.steps}
    return replace(
        counterexample, verdict=f"{heading(run)}. {ending(run, counterexample)}", observations=sides
    )
