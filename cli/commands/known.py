"""`fencepost known`: each known bug on the models, compared with what is expected."""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import click

from fencepost.advice.checked import at_sizes
from fencepost.advice.known import KNOWN, chosen, decide
from fencepost.advice.outside import explained
from fencepost.cli.exits import ExitCode
from fencepost.cli.options.completion import bug_names
from fencepost.cli.options.grouped import SEARCH, grouped_command, option
from fencepost.cli.options.refused import refuse
from fencepost.cli.options.search import jobs_option, memory_option, verbose_option
from fencepost.cli.options.settings import settings_of
from fencepost.cli.process.conclusion import Conclusion, conclude, hand_over, placed
from fencepost.cli.process.handover import elapsed, timeout_option
from fencepost.cli.rendering.check_documents import KNOWN_BUGS, RUN
from fencepost.cli.rendering.check_text import sentence, text_width
from fencepost.cli.rendering.columns import columns
from fencepost.cli.rendering.mend_text import difference_of_rules, require_mends, shown
from fencepost.cli.rendering.output import emit, form_option, output_option
from fencepost.cli.rendering.progress import CheckProgress, tell_spent
from fencepost.cli.rendering.verdict_text import verdict_line
from fencepost.cli.requests import seconds_from_now
from fencepost.encoding import keys as k
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Fewest, Outcome, Result, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import unmodelled
from fencepost.properties.expectations import Expectation, Run, as_expected


@grouped_command(example="fencepost known 2614 4701")
@click.argument("bugs", nargs=-1, metavar="[BUG]...", shell_complete=bug_names)
@option("--list", "only_list", is_flag=True, group=SEARCH, help="Describe the bugs and check none.")
@option("--mend", is_flag=True, group=SEARCH, help="Show how the mend changes the rules, and check it.")
@option("--repairs", is_flag=True, group=SEARCH, help="Show stronger guards that rule the bug out.")
@option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    group=SEARCH,
    help="Look for the bugs named on an instance of other sizes (repeatable), and show the counterexample.",
)
@jobs_option
@timeout_option(default=None)
@memory_option
@form_option
@output_option
@verbose_option
def command(
    bugs: tuple[str, ...],
    only_list: bool,
    mend: bool,
    repairs: bool,
    settings: tuple[str, ...],
    timeout: float,
    form: str,
    output: str | None,
    verbose: bool,
    **search: Any,
) -> int:
    """Check the known bugs named, or all of them, on small instances.

    Each bug must be found, and must be gone once the switch that mends it is changed. A public number that no
    model has, and a text from a log, are explained. `reproduce` drives the bugs on the real code. Exits with
    0 if all come out as expected, 1 if one does not, 3 if one is undecided.
    """
    told, bugs = explained(bugs, only_text=form == "text" and output is None)
    for text in told:
        click.echo(
            "\n".join(textwrap.wrap(text, text_width(), break_on_hyphens=False, subsequent_indent="  "))
        )
    if told and not bugs:
        return int(ExitCode.SUCCESS)
    if only_list:
        refuse("--list", *search, "mend", "repairs", "settings", "timeout", "form", "verbose")
        emit(_descriptions(chosen(KNOWN, bugs)), output)
        return int(ExitCode.SUCCESS)
    if mend:
        require_mends(chosen(KNOWN, bugs) if bugs else [], form)
    if repairs:
        refuse("--repairs", "mend")
        if not bugs:
            raise BadInput("--repairs: needs the name of a bug; fencepost known --list lists them")
    if settings and not bugs:
        raise BadInput("--set: needs the name of a bug; fencepost known --list lists them")
    if settings and mend:
        raise BadInput("--mend: shows the rules on the bug's own instance; leave --set out")
    given = dict(settings_of(settings))
    table = [at_sizes(known, given) if given else known for known in chosen(KNOWN, bugs)]
    limits = Limits(timeout=timeout, gone=elapsed(), **search)
    if repairs:
        from fencepost.cli.commands.known_repairs import repair

        return repair(table, limits, form, output, verbose)
    return check_known(table, limits, form, output, verbose, mend, bool(bugs), bool(given))


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


@dataclass(frozen=True)
class KnownReport:
    """The rows of all runs, also of those that were not reached."""

    rows: tuple[KnownRow, ...]
    interrupted: bool
    seconds: float
    spent: dict[str, float]
    """Seconds by part of the work."""

    def count(self, as_expected: bool | None) -> int:
        """Return the number of rows that came out so."""
        return sum(row.as_expected is as_expected for row in self.rows)


def check_known(
    asked: Sequence[Expectation],
    limits: Limits,
    form: str,
    output: str | None,
    verbose: bool,
    mend: bool = False,
    named: bool = False,
    shows: bool = False,
) -> int:
    """Check the bugs and print the report, which describes those that were named.

    With `mend` it says how the rules differ. With `mend` or `shows` it has the counterexamples.
    """

    def conclusion(report: KnownReport) -> Conclusion:
        text = _json(report) if form == "json" else _text(report, asked if named else (), mend, shows)
        printed, files = placed(text, output)
        return Conclusion(int(_exit_code(report)), printed, files=files)

    def hand(report: KnownReport) -> None:
        cut_short = conclusion(replace(report, interrupted=True))
        hand_over(replace(cut_short, code=int(_exit_code(report))))

    runs = [run for known in asked for run in known.runs()]
    with CheckProgress(verbose) as progress:
        report = _run(runs, limits, progress, hand)
    code = conclude(conclusion(report))
    if verbose:
        tell_spent(report.spent)
    return code


EACH = 300.0
"""The seconds of a run if there is no limit, as in `check`."""


@dataclass
class KnownRuns:
    """The runs of the command, with the rows of those that were reached."""

    runs: Sequence[Run]
    limits: Limits
    rows: dict[int, KnownRow] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    now: int = 0
    """The number of the run that is under way."""
    interrupted: bool = False
    elapsed: Callable[[], float] = field(default_factory=seconds_from_now)

    def report(self, reason: str = "not reached", under_way: Mapping[int, KnownRow] = {}) -> KnownReport:
        """Return the report so far; `reason` says why the other rows were not reached."""
        known, solver = {**self.rows, **under_way}, self.limits.solver
        found = [known.get(n) or _not_reached(run, solver, reason) for n, run in enumerate(self.runs)]
        return KnownReport(tuple(found), self.interrupted, self.elapsed(), self.spent)

    def share(self) -> float:
        """Return the seconds of the run that begins now; without a time limit those of a `check`."""
        left = self.limits.timeout - self.limits.gone - self.elapsed()
        return EACH if left == math.inf else max(0.0, round(left / (len(self.runs) - self.now), 2))

    def take(self, outcome: Outcome) -> None:
        """Keep the outcome of the run that is over."""
        self.rows[self.now] = KnownRow(self.runs[self.now], outcome.decisive, reached=True)
        self.interrupted = outcome.interrupted
        for part, took in outcome.spent.items():
            self.spent[part] = self.spent.get(part, 0.0) + took


def _run(
    runs: Sequence[Run], limits: Limits, progress: CheckProgress, hand: Callable[[KnownReport], None]
) -> KnownReport:
    """Check the runs one after another, each with a fair share of the time that is left.

    The report so far goes to `hand` after each run, and before a violation is announced.
    """
    made = KnownRuns(runs, limits)

    def announcing() -> None:
        assert progress.under_way is not None
        result = progress.under_way().decisive
        hand(made.report(under_way={made.now: KnownRow(runs[made.now], result, reached=True)}))

    progress.announcing = announcing
    try:
        for made.now, run in enumerate(runs):
            if not (seconds := made.share()):
                break
            progress.begin(f"{made.now + 1} of {len(runs)}: {_title(run)}")
            outcome = decide(run, replace(limits, timeout=seconds, gone=0.0), progress.hear)
            made.take(outcome)
            hand(made.report())
            if made.interrupted:
                break
    except KeyboardInterrupt:
        made.interrupted = True
    within = f"not reached within {limits.timeout:g} s"
    return made.report("not reached before Ctrl-C" if made.interrupted else within)


def _not_reached(run: Run, solver: str, reason: str) -> KnownRow:
    result = Result(run.known.property, Verdict.UNDECIDED, seconds=0.0, solver=solver, reason=reason)
    return KnownRow(run, result, reached=False)


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


def _text(report: KnownReport, described: Sequence[Expectation], mend: bool, shows: bool) -> str:
    parts = [_descriptions(described)] if described else []
    if mend:
        parts += [difference_of_rules(known) for known in described]
    if mend or shows:
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


def _steps(row: KnownRow) -> str:
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
    "steps": _steps,
    "seconds": lambda row: f"{row.result.seconds:.1f}",
    "": lambda row: "DIFFERS" if row.as_expected is False else "",
}
NUMBERS = ("steps", "seconds")
"""The columns that are aligned to the right."""


# JSON.


def _json(report: KnownReport) -> dict[str, object]:
    results = [_object(row) for row in report.rows]
    return k.from_record(KNOWN_BUGS, report, unmodelled=_unmodelled(report), results=results)


def _object(row: KnownRow) -> dict[str, object]:
    known, run, result = row.run.known, row.run, row.result
    return k.from_record(
        RUN,
        known,
        bug=known.name,
        sentence=known.wrong,
        value=run.value,
        with_bug=run.with_bug,
        expected=run,
        found=result,
        as_expected=row.as_expected,
        seconds=result.seconds,
    )
