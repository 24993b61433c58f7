"""`fencepost reproduce`: a saved counterexample, a script or known bugs on the real BookKeeper."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from fencepost.cli.commands.export_trace import replays_in
from fencepost.cli.exits import ExitCode
from fencepost.cli.options import shared
from fencepost.cli.options.completion import bug_names
from fencepost.cli.options.grouped import CODE, argument, grouped_command, option, refuse
from fencepost.cli.process.handover import elapsed, timeout_option
from fencepost.cli.rendering.output import Result, ResultOptions, emit, form_option_of, write_whole
from fencepost.cli.rendering.progress import StatusLine
from fencepost.cli.rendering.reproduction import (
    SETTING,
    as_json,
    as_text,
    spoken,
    with_observations,
)
from fencepost.encoding import keys as k
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.errors import BadInput, time_out
from fencepost.encoding.forms import in_form
from fencepost.encoding.forms.counterexample import OF_PATH, Counterexample
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.safe_text import one_line
from fencepost.explore.scripts import script_in
from fencepost.properties.expectations import Expectation
from fencepost.quorums.storages import DEFAULT, STORAGES
from fencepost.realcode.copies_reproduction import is_of_copies, reproduce_copies
from fencepost.realcode.course import Ending
from fencepost.realcode.harness_session import NOT_THIS_RUN, HarnessFailed, HarnessSession, Recording, running
from fencepost.realcode.library import Library, library, with_rules
from fencepost.realcode.matrix import Cell, Mark, bugs, cell, trace_of, without_running
from fencepost.realcode.reproduction import (
    Reproduction,
    Setting,
    as_code_can,
    bookkeeper_of,
    reproduce,
    setting_of,
)
from fencepost.realcode.transcripts import read_transcript, recorded

EXITS = {
    Ending.REPRODUCED: ExitCode.VIOLATED,
    Ending.FOLLOWED: ExitCode.SUCCESS,
    Ending.REFUSED: ExitCode.SUCCESS,
    Ending.PARTED: ExitCode.UNDECIDED,
    Ending.UNDRIVABLE: ExitCode.UNDECIDED,
}


class ReproduceOptions(ResultOptions):
    """The options of `fencepost reproduce`."""

    names: tuple[str, ...] = argument("TRACE|[BUG]...", nargs=-1, type=click.Path(), shell_complete=bug_names)
    folders: tuple[Path, ...] = option(
        "--bookkeeper LIB",
        "The lib folder of a BookKeeper distribution (repeatable for bugs).",
        CODE,
        click.Path(path_type=Path),
        multiple=True,
    )
    release: str | None = shared.rules
    storages: tuple[str, ...] = option(
        "--storage",
        "How bookies store entries (repeatable for bugs).",
        CODE,
        STORAGES,
        multiple=True,
        default=[DEFAULT],
    )
    name: str | None = option("--property NAME", "The property of the trace, if the file has several.", CODE)
    log: Path | None = shared.log
    timeout: float = timeout_option(default=None)
    form: str = form_option_of(("text", "json", "html"))


@grouped_command(example="fencepost reproduce found/bookkeeper-4.13.no-divergence.json --bookkeeper LIB")
def command(asked: ReproduceOptions) -> int:
    """Drive the real BookKeeper in LIB through the counterexample in TRACE, or through known bugs.

    TRACE may be a script of your own. Real bookies and clients run in a temporary folder, and all of them
    are stopped at the end. Exits with 1 if the violation is reproduced, 0 if nothing is violated or the
    code refuses a step, 3 if model and code differ in another way or a step cannot be driven.

    The counterexamples of all known bugs, or of those named, are driven on each LIB and storage. A release
    must have a bug, or refuse it at the step at which it did so before. Exits with 0 if all come out as
    expected, 1 if one does not, 3 if one is undecided.
    """
    if len(asked.names) != 1 or not _is_file(asked.names[0]):
        return matrix(asked)
    counterexample = _counterexample(Path(asked.names[0]), asked.name)
    if asked.form == "html" and counterexample.prop is OF_PATH:
        raise BadInput(f"--format html: {asked.names[0]} violates nothing; valid: text, json")
    if (played := shared.file_of(shared.PLAYBACK)) is not None:
        refuse(shared.PLAYBACK, "folders", "release", "storages", "log")
        run = _played(counterexample, played)
    elif len(asked.folders) != 1 or len(asked.storages) > 1:
        raise BadInput("--bookkeeper: give one lib folder of a BookKeeper distribution, and one --storage")
    else:
        lib = with_rules(library(asked.folders[0], asked.release))
        run = _driven(counterexample, lib, asked.storages[0], asked.log)
    emit(_written(run, counterexample, asked.form), asked.output)
    return EXITS[run.ending]


def _is_file(name: str) -> bool:
    """Return whether an argument is the file of a trace, and no known bug."""
    return Path(name).exists() or "." in name or os.sep in name


def _counterexample(path: Path, name: str | None) -> Counterexample:
    """Return the one counterexample or path in the file; raises BadInput.

    A saved trace is put in an order that the code can take. A script keeps the order that its author gave.
    """
    replays = replays_in(path, None, (name,) if name else ())
    if len(replays) > 1:
        names = ", ".join(replay.prop.name for replay in replays)
        raise BadInput(f"{path}: has traces of {names}; choose with --property")
    counterexample = replays[0].counterexample
    if counterexample is None:
        raise BadInput(
            f"{path}: does not replay ({replays[0].reason}); give a trace that `check --traces` wrote"
        )
    if is_of_copies(counterexample.trace):
        return counterexample
    bookkeeper_of(counterexample.trace)
    if script_in(path) is not None:
        return counterexample
    return replace(
        counterexample, trace=as_code_can(counterexample.trace, counterexample.system, counterexample.prop)
    )


def _driven(counterexample: Counterexample, lib: Library, storage: str, log: Path | None) -> Reproduction:
    with StatusLine(f"BookKeeper {lib.release} starts"), running(lib, log) as harness:
        recording, setting = Recording(harness), setting_of(lib, storage)
        run = Reproduction(counterexample.trace, setting, (), Ending.UNDRIVABLE, None, "the harness failed")
        try:
            run = _on_code(counterexample.trace, setting, recording)
        finally:
            if (transcript := shared.file_of(shared.TRANSCRIPT)) is not None:
                file = recorded(counterexample.trace, run, recording.lines)
                write_whole(transcript, file.to_json_lines())
    return run


def _on_code(trace: Trace, setting: Setting, session: HarnessSession) -> Reproduction:
    return (reproduce_copies if is_of_copies(trace) else reproduce)(trace, setting, session)


def _played(counterexample: Counterexample, playback: Path) -> Reproduction:
    transcript = read_transcript(playback)
    try:
        transcript.fits(counterexample.trace)
        run = _on_code(counterexample.trace, transcript.setting, transcript.playback())
        transcript.agrees(run)
        return run
    except HarnessFailed:
        raise
    except NOT_THIS_RUN as error:
        raise BadInput(
            f"{playback}: is no transcript of this trace ({one_line(str(error))}); give the one made with it"
        ) from error


def _written(run: Reproduction, counterexample: Counterexample, form: str) -> Result:
    if form == "json":
        return as_json(run)
    if form == "html":
        return in_form(with_observations(run, counterexample), "html").rstrip("\n")
    return as_text(run, counterexample)


SECONDS = 600
"""The seconds that finding one counterexample may take."""


def matrix(asked: ReproduceOptions) -> ExitCode:
    """Drive known bugs on each release and storage, as far as time allows, and print the matrix.

    Raises BadInput.
    """
    refuse("known bugs", "name")
    if asked.form == "html":
        raise BadInput("--format html: is for one trace; valid: text, json")
    if not asked.folders:
        raise BadInput("--bookkeeper: missing; give the lib folder of a BookKeeper distribution")
    if asked.release is not None and len(asked.folders) > 1:
        raise BadInput(f"--release: not with {len(asked.folders)} LIBs; give one --bookkeeper with it")
    libraries = [with_rules(library(folder, asked.release)) for folder in asked.folders]
    on = [(lib, storage) for lib in libraries for storage in asked.storages]
    runs = [(known, lib, storage) for known in bugs(asked.names) for lib, storage in on]
    cells: list[Cell] = []
    for known, lib, storage in runs:
        if elapsed() < asked.timeout:
            click.echo(f"{known.name} on {setting_of(lib, storage).code}, {storage}", err=True)
            cells.append(_cell(known, lib, storage, asked.log))
        else:
            why = time_out(asked.timeout)
            cells.append(Cell(known.name, setting_of(lib, storage), Mark.NOT_REACHED, why))
    asked.show(cells, _text, _json)
    return _exit_code(cells)


_TRACES: dict[str, Trace | None] = {}
"""The counterexample of each bug, found once for all releases."""


def _cell(known: Expectation, lib: Library, storage: str, log: Path | None) -> Cell:
    setting = setting_of(lib, storage)
    found = without_running(known, setting)
    if found is not None:
        return found
    if known.name not in _TRACES:
        _TRACES[known.name] = trace_of(known, Limits(timeout=SECONDS))
    trace = _TRACES[known.name]
    if trace is None:
        return Cell(known.name, setting, Mark.NO_TRACE, f"not found within {SECONDS} s")
    try:
        with running(lib, log) as harness:
            return cell(known, reproduce(trace, setting, harness))
    except BadInput as error:
        return Cell(known.name, setting, Mark.NO_TRACE, str(error))


DRIVEN = (Mark.HAS, Mark.REFUSES, Mark.PARTED)
"""The results that only a run on the code gives."""


def _text(cells: Sequence[Cell]) -> str:
    width, wide = max(len(c.bug) for c in cells), max(len(c.setting.code) for c in cells)
    lines = []
    for c in cells:
        step = f" (seen before: step {c.refused_at})" if c.refused_at not in (None, c.step) else ""
        wrong = {True: "", False: f"  DIFFERS{step}", None: "  NOT RUN"}[c.as_expected]
        lines.append(f"{c.bug:{width}}  {c.setting.code:{wide}}  {c.setting.storage:11} {c}{wrong}")
    good = sum(c.as_expected is True for c in cells)
    driven = sum(c.mark in DRIVEN for c in cells)
    on = {spoken(c.setting) for c in cells if c.setting.jdk}
    return "\n".join(
        [
            *lines,
            "",
            f"{good} of {len(cells)} as expected; the code was driven in {driven}",
            *sorted(on),
        ]
    )


CELL = k.keys(
    bug=k.text("the name of the bug"),
    **SETTING,
    cell=k.among((mark.value for mark in Mark), "what became of the bug on this release").of("mark"),
    why=k.text("where, or why not"),
    has_it=k.flag("the release has the bug, by the table of releases").of("expected"),
    as_expected=k.null(k.flag("the cell is as it was seen before"), "if it could not be run"),
)
MATRIX = k.document("fencepost.releases/1", cells=k.many(CELL, "a cell for each bug and release"))


def _json(cells: Sequence[Cell]) -> dict[str, Any]:
    return k.from_record(MATRIX, None, cells=cells)


def _exit_code(cells: Sequence[Cell]) -> ExitCode:
    if any(c.as_expected is False for c in cells):
        return ExitCode.VIOLATED
    return ExitCode.UNDECIDED if any(c.as_expected is None for c in cells) else ExitCode.SUCCESS
