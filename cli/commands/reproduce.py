"""`fencepost reproduce`: a saved counterexample, a script or known bugs on the real BookKeeper."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import click

from fencepost.cli.commands.export_trace import replays_in
from fencepost.cli.exits import ExitCode
from fencepost.cli.options.completion import bug_names
from fencepost.cli.options.grouped import CODE, argument, grouped_command, option
from fencepost.cli.options.realcode import PLAYBACK, TRANSCRIPT, file_of, log_option, release_option
from fencepost.cli.options.refused import refuse
from fencepost.cli.process.handover import timeout_option
from fencepost.cli.rendering.output import Result, ResultOptions, emit, form_option_of, write_whole
from fencepost.cli.rendering.progress import StatusLine
from fencepost.cli.rendering.reproduction import as_json, as_text, with_observations
from fencepost.encoding.errors import BadInput
from fencepost.encoding.forms import in_form
from fencepost.encoding.forms.counterexample import OF_PATH, Counterexample
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.safe_text import one_line
from fencepost.explore.scripts import script_in
from fencepost.quorums.storages import DEFAULT, STORAGES
from fencepost.realcode.copies_reproduction import is_of_copies, reproduce_copies
from fencepost.realcode.course import Ending
from fencepost.realcode.harness_session import NOT_THIS_RUN, HarnessFailed, HarnessSession, Recording, running
from fencepost.realcode.library import Library, library, with_rules
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

    group = CODE

    names: tuple[str, ...] = argument("TRACE|[BUG]...", nargs=-1, type=click.Path(), shell_complete=bug_names)
    folders: tuple[Path, ...] = option(
        "--bookkeeper LIB",
        "The lib folder of a BookKeeper distribution (repeatable for bugs).",
        type=click.Path(path_type=Path),
        multiple=True,
    )
    release: str | None = release_option
    storages: tuple[str, ...] = option(
        "--storage",
        "How bookies store entries (repeatable for bugs).",
        type=STORAGES,
        multiple=True,
        default=[DEFAULT],
    )
    name: str | None = option("--property NAME", "The property of the trace, if the file has several.")
    log: Path | None = log_option
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
        return _of_bugs(asked)
    counterexample = _counterexample(Path(asked.names[0]), asked.name)
    if asked.form == "html" and counterexample.prop is OF_PATH:
        raise BadInput(f"--format html: {asked.names[0]} violates nothing; valid: text, json")
    if (played := file_of(PLAYBACK)) is not None:
        refuse(PLAYBACK, "folders", "release", "storages", "log")
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


def _of_bugs(asked: ReproduceOptions) -> int:
    """Drive known bugs on each library and storage, and print the matrix; raises BadInput."""
    from fencepost.cli.commands.reproduce_known import matrix

    refuse("known bugs", "name")
    if asked.form == "html":
        raise BadInput("--format html: is for one trace; valid: text, json")
    if not asked.folders:
        raise BadInput("--bookkeeper: missing; give the lib folder of a BookKeeper distribution")
    if asked.release is not None and len(asked.folders) > 1:
        raise BadInput(f"--release: not with {len(asked.folders)} LIBs; give one --bookkeeper with it")
    libraries = [with_rules(library(folder, asked.release)) for folder in asked.folders]
    return matrix(libraries, asked)


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
            if (transcript := file_of(TRANSCRIPT)) is not None:
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
