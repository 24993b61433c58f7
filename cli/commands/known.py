"""`fencepost known`: each known bug on the models, compared with what is expected."""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import click

from fencepost.advice.checked import at_sizes
from fencepost.advice.known import KNOWN, chosen, decide
from fencepost.advice.outside import explained
from fencepost.cli.exits import ExitCode
from fencepost.cli.options import shared
from fencepost.cli.options.completion import bug_names, release_names
from fencepost.cli.options.grouped import argument, grouped_command, option, refuse
from fencepost.cli.process.conclusion import Conclusion, conclude, hand_over, placed
from fencepost.cli.process.handover import elapsed, timeout_option
from fencepost.cli.rendering.check_documents import KNOWN_BUGS
from fencepost.cli.rendering.check_text import sentence, text_width
from fencepost.cli.rendering.columns import columns
from fencepost.cli.rendering.mend_text import difference_of_rules, require_mends, shown
from fencepost.cli.rendering.output import ResultOptions, emit
from fencepost.cli.rendering.progress import CheckProgress, tell_spent
from fencepost.cli.rendering.releases import (
    all_releases,
    all_releases_as_json,
    one_release,
    one_release_as_json,
)
from fencepost.cli.rendering.verdict_text import verdict_line
from fencepost.cli.requests import seconds_from_now
from fencepost.encoding import keys as k
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Fewest, Outcome, Result, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import unmodelled
from fencepost.properties.expectations import Expectation, Run, as_expected
from fencepost.protocols.bookkeeper.releases import listed


class KnownOptions(ResultOptions):
    """The options of `fencepost known`."""

    bugs: tuple[str, ...] = argument("[BUG]...", nargs=-1, shell_complete=bug_names)
    only_list: bool = option("--list", "List all bugs by release, or describe those named; check none.")
    release: str | None = option(
        "--release R", "List the bugs and the switches of this release.", shell_complete=release_names
    )
    mend: bool = option("--mend", "Show how the mend changes the rules, and check it.")
    repairs: bool = option("--repairs", "Show stronger guards that rule the bug out.")
    settings: shared.Settings = shared.settings_option(
        "Look for the bugs named on an instance of other sizes (repeatable), and show the counterexample."
    )
    jobs: int = shared.jobs
    timeout: float = timeout_option(default=None)
    memory: float | None = shared.memory
    verbose: bool = shared.verbose


@grouped_command(example="fencepost known 2614 4701")
def command(asked: KnownOptions) -> int:
    """Check the known bugs named, or all of them, on small instances.

    Each bug must be found, and must be gone once the switch that mends it is changed. A public number that no
    model has, and a text from a log, are explained. `reproduce` drives the bugs on the real code. Exits with
    0 if all come out as expected, 1 if one does not, 3 if one is undecided.

    With --list or --release nothing is checked. A release is known if its public source was read. Where a bug
    was driven on real bookies the outcome is shown. Losses that public sources name and that no model has
    follow, each with its condition and source.
    """
    told, bugs = explained(asked.bugs, only_text=asked.form == "text" and asked.output is None)
    for text in told:
        click.echo(
            "\n".join(textwrap.wrap(text, text_width(), break_on_hyphens=False, subsequent_indent="  "))
        )
    if told and not bugs:
        return ExitCode.SUCCESS
    unused = ("jobs", "memory", "mend", "repairs", "settings", "timeout", "verbose")
    if asked.release is not None:
        refuse("--release", *unused, "bugs", "only_list")
        asked.show(listed(asked.release), one_release, one_release_as_json)
        return ExitCode.SUCCESS
    if asked.only_list and not bugs:
        refuse("--list", *unused)
        asked.show(None, lambda _: all_releases(), lambda _: all_releases_as_json())
        return ExitCode.SUCCESS
    if asked.only_list:
        refuse("--list", *unused, "form")
        emit(_descriptions(chosen(KNOWN, bugs)), asked.output)
        return ExitCode.SUCCESS
    if asked.mend:
        require_mends(chosen(KNOWN, bugs) if bugs else [], asked.form)
    if asked.repairs:
        refuse("--repairs", "mend")
        if not bugs:
            raise BadInput("--repairs: needs the name of a bug; fencepost known --list lists them")
    if asked.settings and not bugs:
        raise BadInput("--set: needs the name of a bug; fencepost known --list lists them")
    if asked.settings and asked.mend:
        raise BadInput("--mend: shows the rules on the bug's own instance; leave --set out")
    given = dict(asked.settings)
    table = [at_sizes(known, given) if given else known for known in chosen(KNOWN, bugs)]
    limits = Limits(gone=elapsed(), **asked.given("timeout", "jobs", "memory"))
    if asked.repairs:
        from fencepost.cli.commands.known_repairs import repair

        return repair(table, limits, asked.form, asked.output, asked.verbose)
    return check_known(table, limits, asked)


@dataclass(frozen=True)
class KnownRow:
    """One run of the table and its result."""

    run: Run
    result: Result
    reached: bool

    @property
    def as_expected(self) -> bool | None:
        """Whether the result is the one expected; None if undecided."""
        return as_expected(self.run, self.result)


EACH = 300.0
"""The seconds of a run if there is no limit, as in `check`."""


@dataclass
class KnownReport:
    """The runs of the command, and the results of those that were reached so far."""

    runs: Sequence[Run]
    limits: Limits
    reached: dict[int, Result] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    """Seconds by part of the work."""
    now: int = 0
    """The number of the run that is under way."""
    interrupted: bool = False
    reason: str = "not reached"
    """The reason why the other runs were not reached."""
    elapsed: Callable[[], float] = field(default_factory=seconds_from_now)

    @property
    def seconds(self) -> float:
        """The seconds so far."""
        return self.elapsed()

    @property
    def rows(self) -> list[KnownRow]:
        """A row for each run, also of those that were not reached."""
        none = Result("", Verdict.UNDECIDED, seconds=0.0, solver=self.limits.solver, reason=self.reason)
        return [
            KnownRow(
                run, self.reached.get(n) or replace(none, property=run.known.property), n in self.reached
            )
            for n, run in enumerate(self.runs)
        ]

    def count(self, as_expected: bool | None) -> int:
        """Return the number of rows that came out so."""
        return sum(row.as_expected is as_expected for row in self.rows)

    def share(self) -> float:
        """Return the seconds of the run that begins now; without a time limit those of a `check`."""
        left = self.limits.timeout - self.limits.gone - self.elapsed()
        return EACH if left == math.inf else max(0.0, round(left / (len(self.runs) - self.now), 2))

    def take(self, outcome: Outcome) -> None:
        """Keep the outcome of the run that is over."""
        self.reached[self.now] = outcome.decisive
        self.interrupted = outcome.interrupted
        for part, took in outcome.spent.items():
            self.spent[part] = self.spent.get(part, 0.0) + took


def check_known(bugs: Sequence[Expectation], limits: Limits, asked: KnownOptions) -> int:
    """Check the bugs and print the report, which describes those that were named.

    With `--mend` it says how the rules differ. With `--mend` or `--set` it has the counterexamples.
    """

    def conclusion(report: KnownReport) -> Conclusion:
        text = _json(report) if asked.form == "json" else _text(report, bugs, asked)
        printed, files = placed(text, asked.output)
        return Conclusion(int(_exit_code(report)), printed, files=files)

    def hand(report: KnownReport) -> None:
        cut_short = conclusion(replace(report, interrupted=True))
        hand_over(replace(cut_short, code=int(_exit_code(report))))

    report = KnownReport([run for known in bugs for run in known.runs()], limits)
    with CheckProgress(asked.verbose) as progress:
        _check_runs(report, progress, hand)
    code = conclude(conclusion(report))
    if asked.verbose:
        tell_spent(report.spent)
    return code


def _check_runs(report: KnownReport, progress: CheckProgress, hand: Callable[[KnownReport], None]) -> None:
    """Check the runs one after another, each with a fair share of the time that is left.

    The report so far goes to `hand` after each run, and before a violation is announced.
    """

    def announcing() -> None:
        assert progress.under_way is not None
        hand(replace(report, reached={**report.reached, report.now: progress.under_way().decisive}))

    progress.announcing = announcing
    try:
        for number, run in enumerate(report.runs):
            report.now = number
            if not (seconds := report.share()):
                break
            progress.begin(f"{number + 1} of {len(report.runs)}: {_title(run)}")
            report.take(decide(run, replace(report.limits, timeout=seconds, gone=0.0), progress.hear))
            hand(report)
            if report.interrupted:
                break
    except KeyboardInterrupt:
        report.interrupted = True
    within = f"not reached within {report.limits.timeout:g} s"
    report.reason = "not reached before Ctrl-C" if report.interrupted else within


def _exit_code(report: KnownReport) -> ExitCode:
    if report.interrupted:
        return ExitCode.INTERRUPTED
    if report.count(False):
        return ExitCode.VIOLATED
    return ExitCode.UNDECIDED if report.count(None) else ExitCode.SUCCESS


# Text.


def _descriptions(bugs: Sequence[Expectation]) -> str:
    """Return the name of each bug, what goes wrong, and the source."""
    return "\n\n".join(f"{bug.name}: {bug.wrong}.\n  {bug.source}" for bug in bugs)


def _text(report: KnownReport, bugs: Sequence[Expectation], asked: KnownOptions) -> str:
    parts = [_descriptions(bugs)] if asked.bugs else []
    if asked.mend:
        parts += [difference_of_rules(known) for known in bugs]
    if asked.mend or asked.settings:
        parts += [shown(_title(row.run), row.result) for row in report.rows if row.reached]
    parts.append("\n".join(_table(report.rows)))
    if remarks := _remarks(report.rows):
        parts.append("\n".join(remarks))
    if report.interrupted:
        parts.append("Interrupted: this is what was known by then.")
    parts += [sentence(line) for line in _unmodelled(report)]
    return "\n\n".join([*parts, _summary(report)])


def _unmodelled(report: KnownReport) -> list[str]:
    """Return one line for each thing that the models of these bugs leave out."""
    return unmodelled((row.run.known.protocol, row.run.settings) for row in report.rows)


def _table(rows: Sequence[KnownRow]) -> list[str]:
    """Return the heading and a line for each row, with numbers to the right."""
    cells = [list(COLUMNS), *([cell(row) for cell in COLUMNS.values()] for row in rows)]
    return columns(cells, [number for number, name in enumerate(COLUMNS) if name in NUMBERS])


def _remarks(rows: Sequence[KnownRow]) -> list[str]:
    """Return the results that are not as expected, and the command that shows each difference."""
    lines = []
    for row in rows:
        if row.reached and not row.as_expected:
            lines.append(f"{_title(row.run)}, {verdict_line(row.result)}")
        if row.as_expected is False:
            lines.append(f"    {shlex.join(_command(row.run))}")
    if left_over := [row for row in rows if not row.reached]:
        lines.append(f"{len(left_over)} {left_over[0].result.reason}")
    return lines


def _command(run: Run) -> list[str]:
    settings = [f"--set={name}={value}" for name, value in run.settings.items()]
    release = [f"--release={run.known.release}"] if run.known.release else []
    asked = [run.known.protocol, *release, *(f"--property={p}" for p in run.known.property.split("+"))]
    return ["fencepost", "check", *asked, *settings]


def _summary(report: KnownReport) -> str:
    differing, undecided = report.count(False), report.count(None)
    counts = [f"{report.count(True)} of {len(report.rows)} as expected"]
    counts += [f"{differing} not"] if differing else []
    counts += [f"{undecided} undecided"] if undecided else []
    return f"{', '.join(counts)}  [{report.seconds:.1f} s]"


def _title(run: Run) -> str:
    return f"{run.known.name} with {_switch(run)}" if run.known.switch else run.known.name


def _switch(run: Run) -> str:
    return f"{run.known.switch}={run.value}" if run.known.switch else "-"


def _expected(run: Run) -> str:
    return f"{run.verdict.value} in {run.steps}" if run.steps is not None else run.verdict.value


def _steps_of_trace(row: KnownRow) -> str:
    """Return the steps of the trace, with ≤ if a shorter trace may exist."""
    if row.result.steps is None:
        return "-"
    return f"{'' if row.result.fewest is Fewest.OF_ALL else '≤'}{row.result.steps}"


COLUMNS: dict[str, Callable[[KnownRow], str]] = {
    "bug": lambda row: row.run.known.name if row.run.with_bug else "",
    "protocol": lambda row: row.run.known.protocol if row.run.with_bug else "",
    "with": lambda row: _switch(row.run),
    "expected": lambda row: _expected(row.run),
    "found": lambda row: row.result.verdict.value,
    "steps": _steps_of_trace,
    "seconds": lambda row: f"{row.result.seconds:.1f}",
    "": lambda row: "DIFFERS" if row.as_expected is False else "",
}
NUMBERS = ("steps", "seconds")
"""The columns that are aligned to the right."""


def _json(report: KnownReport) -> dict[str, object]:
    return k.from_record(KNOWN_BUGS, report, unmodelled=_unmodelled(report), results=report.rows)
