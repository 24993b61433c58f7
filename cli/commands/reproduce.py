"""`fencepost reproduce`: a saved counterexample or a script on the real BookKeeper."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click

from fencepost.cli.commands.trace import replays_in
from fencepost.cli.exits import ExitCode
from fencepost.cli.options.grouped import CODE, grouped_command, option
from fencepost.cli.options.realcode import (
    library_option,
    log_option,
    playback_option,
    release_option,
    storage_option,
    transcript_option,
)
from fencepost.cli.options.refused import refuse
from fencepost.cli.process.handover import timeout_option
from fencepost.cli.rendering.output import emit, form_option_of, output_option, write_whole
from fencepost.cli.rendering.progress import StatusLine
from fencepost.cli.rendering.reproduction import as_json, as_text, with_observations
from fencepost.encoding.errors import BadInput
from fencepost.encoding.forms import in_form
from fencepost.encoding.forms.counterexample import OF_PATH, Counterexample
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.safe_text import one_line
from fencepost.explore.scripts import script_in
from fencepost.quorums.storages import DEFAULT
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


@grouped_command(example="fencepost reproduce found/bookkeeper-4.13.no-divergence.json --bookkeeper LIB")
@click.argument("trace", type=click.Path())
@library_option
@release_option
@storage_option
@option(
    "--property",
    "name",
    metavar="NAME",
    group=CODE,
    help="The property of the trace, if the file has several.",
)
@playback_option("the answers")
@log_option
@timeout_option(told=False, default=None)
@form_option_of(("text", "json", "html"))
@output_option
@transcript_option
def command(
    trace: str,
    folder: Path | None,
    release: str | None,
    storage: str | None,
    name: str | None,
    transcript: str | None,
    playback: Path | None,
    log: Path | None,
    form: str,
    output: str | None,
) -> int:
    """Drive the real BookKeeper in LIB through the counterexample in TRACE, step by step.

    TRACE may be a script of your own. Real bookies and clients run in a temporary folder, and all of them
    are stopped at the end. Exits with 1 if the violation is reproduced, 0 if nothing is violated or the
    code refuses a step, 3 if model and code differ in another way or a step cannot be driven.
    """
    counterexample = _counterexample(Path(trace), name)
    if form == "html" and counterexample.prop is OF_PATH:
        raise BadInput(f"--format html: {trace} violates nothing; valid: text, json")
    if playback is not None:
        refuse("--playback", "folder", "release", "storage", "log", "transcript")
        run = _played(counterexample, playback)
    elif folder is None:
        raise BadInput(
            "--bookkeeper: missing; give the lib folder of a BookKeeper distribution, or --playback FILE"
        )
    else:
        run = _driven(
            counterexample, with_rules(library(folder, release)), storage or DEFAULT, transcript, log
        )
    emit(_written(run, counterexample, form), output)
    return int(EXITS[run.ending])


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


def _driven(
    counterexample: Counterexample, lib: Library, storage: str, transcript: str | None, log: Path | None
) -> Reproduction:
    with StatusLine(f"BookKeeper {lib.release} starts"), running(lib, log) as harness:
        recording, setting = Recording(harness), setting_of(lib, storage)
        run = Reproduction(counterexample.trace, setting, (), Ending.UNDRIVABLE, None, "the harness failed")
        try:
            run = _on_code(counterexample.trace, setting, recording)
        finally:
            if transcript is not None:
                file = recorded(counterexample.trace, run, recording.lines)
                write_whole(Path(transcript), file.to_json_lines())
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


def _written(run: Reproduction, counterexample: Counterexample, form: str) -> str:
    if form == "json":
        return json.dumps(as_json(run), indent=2)
    if form == "html":
        return in_form(with_observations(run, counterexample), "html").rstrip("\n")
    return as_text(run, counterexample)
