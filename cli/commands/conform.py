"""`fencepost conform`: random executions of a model on the real BookKeeper, compared after each step."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from fencepost.cli.commands.follow import refusal_text
from fencepost.cli.exits import ExitCode
from fencepost.cli.options import shared
from fencepost.cli.options.completion import protocol_names
from fencepost.cli.options.grouped import CODE, SEARCH, argument, grouped_command, option, refuse
from fencepost.cli.options.numbers import COUNT, SEED
from fencepost.cli.process.handover import elapsed, timeout_option
from fencepost.cli.rendering.conformance import as_json, as_text
from fencepost.cli.rendering.output import ResultOptions, write_whole
from fencepost.cli.rendering.progress import StatusLine
from fencepost.encoding import keys as k
from fencepost.encoding.concrete.saved_traces import SUBJECT
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.state import amount
from fencepost.encoding.logs.following import Fit, Refusal
from fencepost.encoding.safe_text import one_line
from fencepost.protocols.bookkeeper.releases import NEWEST, listed
from fencepost.quorums.storages import DEFAULT, STORAGES
from fencepost.realcode.conformance import (
    Conformance,
    conform,
    defaults_of,
    drive,
    driven,
    grounds,
    none_fired,
)
from fencepost.realcode.free_runs import FreeRuns, free_ground, take
from fencepost.realcode.harness_session import NOT_THIS_RUN, HarnessFailed
from fencepost.realcode.library import Library, library, with_rules
from fencepost.realcode.reproduction import setting_of
from fencepost.realcode.run_files import RecordedRun, RunFile, read_run_file
from fencepost.realcode.runs import ConformanceRun, Ground
from fencepost.realcode.transcripts import today

RUNS = 100
TOLD = 50
"""Conformance runs between two lines of progress where stderr is no terminal."""


class ConformOptions(ResultOptions):
    """The options of `fencepost conform`."""

    protocol: str | None = argument("PROTOCOL", required=False, shell_complete=protocol_names)
    settings: shared.Settings = shared.settings
    folder: Path | None = option(
        "--bookkeeper LIB", "The lib folder of a BookKeeper distribution.", CODE, click.Path(path_type=Path)
    )
    release: str | None = shared.rules
    storage: str = option("--storage", "How bookies store entries.", CODE, STORAGES, default=DEFAULT)
    log: Path | None = shared.log
    runs: int = option("--runs N", "Number of conformance runs.", SEARCH, COUNT, default=RUNS)
    seed: int = option("--seed N", "Seed of the random choices.", SEARCH, SEED, default=1)
    free: bool = option("--free", "Let the code run by chance, and ask whether the model has each execution.")
    logs: Path | None = option(
        "--logs FOLDER",
        "Keep the logs of free runs there; without --bookkeeper, judge those that are there.",
        SEARCH,
        click.Path(path_type=Path),
    )
    timeout: float = timeout_option(default=None)


@grouped_command(example="fencepost conform bookkeeper --bookkeeper bookkeeper-server-4.17.4/lib --runs 100")
def command(asked: ConformOptions) -> int:
    """Compare random executions of the model PROTOCOL with the real BookKeeper in LIB, step by step.

    With --free the code runs by chance, and the model judges the log of each run: it must have an execution
    with these lines. Exits with 0 if code and model agree in all runs, 1 if they depart in one, 3 if there
    were fewer runs than asked for, because of the time or because the harness failed.
    """
    if asked.logs is not None and not asked.free:
        raise BadInput("--logs: is for --free; leave it out")
    given = dict(asked.settings)
    if (playback := shared.file_of(shared.PLAYBACK)) is not None:
        others = "protocol", "folder", "release", "runs", "seed", "storage", "settings", "log", "free"
        refuse(shared.PLAYBACK, *others)
        found = _checked_again(playback)
    elif asked.free:
        if asked.protocol is None:
            raise BadInput("PROTOCOL: missing; give a protocol, such as bookkeeper")
        judged = run_freely(asked, asked.protocol, given)
        asked.show(judged, _free_text, _free_json)
        fit = len(judged.named(Fit.EXECUTION))
        return _exit_code(bool(judged.named(Fit.NONE)), fit >= judged.asked)
    elif asked.protocol is None or asked.folder is None:
        what = "PROTOCOL" if asked.protocol is None else "--bookkeeper"
        raise BadInput(f"{what}: missing; give a protocol, such as bookkeeper, and --bookkeeper LIB")
    else:
        defaults_of(asked.protocol)  # the protocol is refused before the library
        lib = with_rules(library(asked.folder, asked.release))
        ground = grounds(asked.protocol, given, asked.storage, lib.release)
        setting_here = setting_of(lib, asked.storage)
        found = Conformance(setting_here, asked.protocol, asked.seed, asked.runs, fired=none_fired(ground))
        _collect_runs(found, ground, lib, asked)
    asked.show(found, as_text, as_json)
    return _exit_code(bool(found.found), found.runs >= found.asked)


def _collect_runs(found: Conformance, ground: Sequence[Ground], lib: Library, asked: ConformOptions) -> None:
    """Note the runs in `found`; after Ctrl-C, a time-out or a failure, those that were made count."""
    kept: list[RecordedRun] = []
    transcript = shared.file_of(shared.TRANSCRIPT)

    def keep(ground: Ground, run: ConformanceRun, lines: Sequence[tuple[str, str]]) -> None:
        if transcript is not None:
            kept.append(RecordedRun(ground, run, tuple(lines)))

    ends = time.monotonic() + asked.timeout - elapsed()
    with (
        StatusLine(f"BookKeeper {found.setting.release} starts") as status,
        driven(found, ground, lib, asked.log) as session,
    ):
        begun = time.monotonic()
        try:
            for so_far in conform(session, ground, found, lambda _: time.monotonic() < ends, keep):
                status.show(
                    f"{so_far.runs} of {so_far.asked} runs, {so_far.departed} depart", so_far.runs % TOLD == 0
                )
        except HarnessFailed as failure:
            found.failed = str(failure)
    found.seconds = time.monotonic() - begun
    if transcript is not None:
        file = RunFile(found.setting, today(), found.protocol, found.seed, tuple(kept), found.asked)
        write_whole(transcript, file.to_json_lines())


def _checked_again(path: Path) -> Conformance:
    file = read_run_file(path)
    found = Conformance(
        file.setting,
        file.protocol,
        file.seed,
        len(file.runs),
        fired=none_fired([taken.ground for taken in file.runs]),
    )
    for taken in file.runs:
        try:
            found.note(taken.ground, taken.run, *drive(taken.playback(), taken.ground, taken.run))
        except HarnessFailed as failure:
            found.failed = str(failure)
            break
        except NOT_THIS_RUN as error:
            raise BadInput(
                f"{path}: is no transcript of its runs ({one_line(str(error))}); give one of this version"
            ) from error
    return found


def _exit_code(departs: bool, is_whole: bool) -> ExitCode:
    if departs:
        return ExitCode.VIOLATED
    return ExitCode.SUCCESS if is_whole else ExitCode.UNDECIDED


DEPARTURE = k.keys(
    log=k.text("the name of the log"),
    contradiction=k.texts("a list of lines that contradict each other; empty if they were not searched for"),
    change=k.null(k.text("a change of one line with which there is an execution"), "if none was found"),
)
FREE_RUNS = k.document(
    "fencepost.free-runs/1",
    **SUBJECT,
    runs=k.whole("the logs that were judged"),
    fit=k.whole("the logs that are executions of the model"),
    departures=k.many(DEPARTURE, "a list of the logs that are none"),
    undecided=k.texts("a list of the logs whose search did not end"),
    failed=k.texts("a list: why the harness failed; empty if it did not"),
    seconds=k.seconds("seconds for the command"),
)
"""The keys of the result of free runs."""


def run_freely(asked: ConformOptions, protocol: str, settings: Mapping[str, Any]) -> FreeRuns:
    """Take free runs on LIB and judge their logs; without LIB, judge the logs that are in the folder.

    Raises BadInput.
    """
    if asked.folder is None:
        files = sorted(asked.logs.glob("*.jsonl")) if asked.logs is not None else []
        if not files:
            where = "--logs: missing" if asked.logs is None else f"{asked.logs}: has no .jsonl in it"
            raise BadInput(f"{where}; give --bookkeeper LIB, or a folder with logs of free runs")
        ground = free_ground(protocol, settings, asked.storage, listed(asked.release or NEWEST))
        found = FreeRuns(ground, len(files))
        for file in files:
            found.judge(file)
        return found
    ends = time.monotonic() + asked.timeout - elapsed()
    lib = with_rules(library(asked.folder, asked.release))
    found = FreeRuns(free_ground(protocol, settings, asked.storage, lib.release), asked.runs)
    setting = Conformance(setting_of(lib, asked.storage), protocol, asked.seed, asked.runs)
    with (
        tempfile.TemporaryDirectory() as temporary,
        StatusLine(f"BookKeeper {lib.release} starts") as status,
        driven(setting, [found.ground], lib, asked.log) as session,
    ):
        kept = asked.logs or Path(temporary)
        kept.mkdir(parents=True, exist_ok=True)
        for number in range(1, asked.runs + 1):
            if time.monotonic() > ends:
                break
            file = kept / f"{number:04}.jsonl"
            try:
                file.write_text(take(session, found.ground, asked.seed, number), encoding="utf-8")
            except HarnessFailed as failure:
                found.failed = str(failure)
                break
            found.judge(file)
            departed = len(found.named(Fit.NONE))
            status.show(f"{number} of {asked.runs} free runs, {departed} depart", False)
    return found


def _free_text(found: FreeRuns) -> Iterator[str]:
    fit, departures, undecided = map(found.named, (Fit.EXECUTION, Fit.NONE, Fit.UNDECIDED))
    yield (
        f"{amount(len(found.answers), 'free run')}: {len(fit)} are executions of the model, "
        f"{len(departures)} depart, {len(undecided)} undecided."
    )
    for name in departures:
        yield ""
        yield f"{name}: no execution of the model has these lines"
        answer = found.answers[name]
        reasons = refusal_text(answer) if answer.refusal is not None else ["fencepost follow shows why"]
        yield from (f"  {line}" for line in reasons)
    if undecided:
        yield f"undecided: {', '.join(undecided)}"
    if found.failed is not None:
        yield f"The harness failed, which says nothing about the code: {found.failed}"


def _free_json(found: FreeRuns) -> dict[str, Any]:
    """Return the result as a document."""
    departures = found.named(Fit.NONE)
    return k.from_record(
        FREE_RUNS,
        found,
        **found.ground.instance.subject.to_json(),
        runs=len(found.answers),
        fit=len(found.named(Fit.EXECUTION)),
        departures=[
            {"log": name, "contradiction": list(map(str, one.core)), "change": one.needed}
            for name in departures
            for one in [found.answers[name].refusal or Refusal()]
        ],
        undecided=found.named(Fit.UNDECIDED),
        failed=[] if found.failed is None else [found.failed],
        seconds=elapsed(),
    )
