"""`fencepost conform --free`: BookKeeper runs by chance, and the model judges the log of each run."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.cli.exits import ExitCode
from fencepost.cli.process.handover import elapsed
from fencepost.cli.rendering.progress import StatusLine
from fencepost.encoding import keys as k
from fencepost.encoding.concrete.saved_traces import SUBJECT
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.state import amount
from fencepost.encoding.logs.following import Fit, LogAnswer
from fencepost.protocols.bookkeeper.releases import NEWEST, listed
from fencepost.realcode.conformance import Conformance, driven
from fencepost.realcode.free_runs import FreeRuns, free_ground, take
from fencepost.realcode.harness_session import HarnessFailed
from fencepost.realcode.library import library, with_rules
from fencepost.realcode.reproduction import setting_of

if TYPE_CHECKING:
    from fencepost.cli.commands.conform import ConformOptions

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


@dataclass
class JudgedRuns:
    """Free runs with their judgements, and why the harness failed, if it did."""

    found: FreeRuns
    asked: int
    """The number of runs asked for."""
    failed: str | None = None

    @property
    def exit_code(self) -> ExitCode:
        """1 if a log is no execution of the model, 3 if there are fewer answers than asked for."""
        if self.found.named(Fit.NONE):
            return ExitCode.VIOLATED
        enough = len(self.found.named(Fit.EXECUTION)) >= self.asked
        return ExitCode.SUCCESS if enough else ExitCode.UNDECIDED


def run_freely(asked: ConformOptions, protocol: str, settings: Mapping[str, Any]) -> JudgedRuns:
    """Take free runs on LIB and judge their logs; without LIB, judge the logs that are in the folder.

    Raises BadInput.
    """
    ends = time.monotonic() + asked.timeout - elapsed()
    if asked.folder is None:
        files = sorted(asked.logs.glob("*.jsonl")) if asked.logs is not None else []
        if not files:
            where = "--logs: missing" if asked.logs is None else f"{asked.logs}: has no .jsonl in it"
            raise BadInput(f"{where}; give --bookkeeper LIB, or a folder with logs of free runs")
        found = FreeRuns(free_ground(protocol, settings, asked.storage, listed(asked.release or NEWEST)))
        for file in files:
            found.judge(file)
        return JudgedRuns(found, len(files))
    lib = with_rules(library(asked.folder, asked.release))
    ground = free_ground(protocol, settings, asked.storage, lib.release)
    found = FreeRuns(ground)
    setting = Conformance(setting_of(lib, asked.storage), protocol, asked.seed, asked.runs)
    with (
        tempfile.TemporaryDirectory() as temporary,
        StatusLine(f"BookKeeper {lib.release} starts") as status,
        driven(setting, [ground], lib, asked.log) as session,
    ):
        kept = asked.logs or Path(temporary)
        kept.mkdir(parents=True, exist_ok=True)
        for number in range(1, asked.runs + 1):
            if time.monotonic() > ends:
                break
            file = kept / f"{number:04}.jsonl"
            try:
                file.write_text(take(session, ground, asked.seed, number), encoding="utf-8")
            except HarnessFailed as failure:
                return JudgedRuns(found, asked.runs, str(failure))
            found.judge(file)
            departed = len(found.named(Fit.NONE))
            status.show(f"{number} of {asked.runs} free runs, {departed} depart", False)
    return JudgedRuns(found, asked.runs)


def text_of_free_runs(judged: JudgedRuns) -> str:
    """Return the result as lines."""
    return "\n".join(_lines(judged.found, judged.failed))


def _lines(found: FreeRuns, failed: str | None) -> Iterator[str]:
    runs, fit, undecided = len(found.answers), found.named(Fit.EXECUTION), found.named(Fit.UNDECIDED)
    departures = found.named(Fit.NONE)
    yield (
        f"{amount(runs, 'free run')}: {len(fit)} are executions of the model, {len(departures)} depart, "
        f"{len(undecided)} undecided."
    )
    for name in departures:
        yield ""
        yield f"{name}: no execution of the model has these lines"
        yield from _reasons(found.answers[name])
    if undecided:
        yield f"undecided: {', '.join(undecided)}"
    if failed is not None:
        yield f"The harness failed, which says nothing about the code: {failed}"


def _reasons(answer: LogAnswer) -> Iterator[str]:
    if (refusal := answer.refusal) is None:
        yield "  (fencepost follow shows the lines that contradict each other)"
        return
    yield "  these lines contradict each other:"
    yield from (f"    {event}" for event in refusal.core)
    if refusal.needed is not None:
        yield f"  {refusal.needed}"


def json_of_free_runs(judged: JudgedRuns) -> dict[str, Any]:
    """Return the result as a document."""
    found, failed = judged.found, judged.failed
    refusals = {name: found.answers[name].refusal for name in found.named(Fit.NONE)}
    return k.from_record(
        FREE_RUNS,
        found,
        **found.ground.instance.subject.to_json(),
        runs=len(found.answers),
        fit=len(found.named(Fit.EXECUTION)),
        departures=[
            {
                "log": name,
                "contradiction": [] if refusal is None else [str(event) for event in refusal.core],
                "change": None if refusal is None else refusal.needed,
            }
            for name, refusal in refusals.items()
        ],
        undecided=found.named(Fit.UNDECIDED),
        failed=[] if failed is None else [failed],
        seconds=elapsed(),
    )
