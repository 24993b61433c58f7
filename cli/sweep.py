"""`fencepost sweep`: a grid of instances checked on Spark, and what came out."""

from __future__ import annotations

import csv
import io
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.output import emit, output_option
from fencepost.cli.progress import StatusLine
from fencepost.encoding.state import show_all
from fencepost.sweeps.grid import Plan
from fencepost.sweeps.rows import COLUMNS, ERROR, Row
from fencepost.sweeps.summary import by, configuration, counts, finding, ordered, varying


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Check a grid of instances on Spark, and report what came out."""


@command.command("run")
@click.argument("grid", type=click.Path(), metavar="GRID.toml")
@click.option("--out", required=True, type=click.Path(), metavar="DIR", help="The folder for the rows.")
@click.option(
    "--master",
    default="local[*]",
    show_default=True,
    metavar="URL",
    help="Which Spark: local[N], or a cluster's master.",
)
@click.option(
    "--timeout-per-obligation",
    "timeout",
    type=click.FloatRange(0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="Time for one property of one instance.",
)
@click.option(
    "--memory", type=click.FloatRange(0, min_open=True), metavar="GIB", help="Memory for each solver process."
)
@click.option(
    "--conflicts-per-obligation",
    "conflicts",
    type=click.IntRange(1),
    metavar="N",
    help="Conflicts that the solvers of one property of one instance may spend: the same on every machine.",
)
@click.option("--resume", is_flag=True, help="Go on with what an earlier run left in DIR.")
@click.option("-v", "--verbose", is_flag=True, help="Say on stderr how far it is, terminal or not.")
def run_command(
    grid: str,
    out: str,
    master: str,
    timeout: float,
    memory: float | None,
    conflicts: int | None,
    resume: bool,
    verbose: bool,
) -> int:
    """Check every instance of GRID.toml, and write a row for each of its properties to DIR.

    Exits with 0 when every obligation has its row, whatever the verdicts (violations are rows); with 4 if one of
    them is an internal error. What is committed survives any end of this command; --resume goes on from there.
    """
    from fencepost.sweeps.grid import read_grid
    from fencepost.sweeps.pipeline import Sweep, run
    from fencepost.sweeps.solve import Allowance

    plan = read_grid(Path(grid))
    sweep = Sweep(plan, Path(out), master, Allowance(timeout, memory, conflicts), resume)
    progress = Progress(len(plan.obligations), verbose)
    try:
        with progress:
            rows = run(sweep, progress.hear, progress.see)
    except KeyboardInterrupt:
        progress.forget()
        emit(f"Interrupted: {progress.line()}. What is done stays; --resume goes on.", None)
        return int(ExitCode.INTERRUPTED)
    emit(_told(plan, rows, out), None)
    return int(ExitCode.INTERNAL if any(row["verdict"] == ERROR for row in rows) else ExitCode.AS_WISHED)


EVERY = 10.0
"""Seconds between two lines about waves under way, where there is no terminal on which one line can change."""


class Progress(StatusLine):
    """Says on stderr how far a sweep is: a status line on a terminal; with `verbose`, lines now and then elsewhere."""

    def __init__(self, total: int, verbose: bool) -> None:
        super().__init__("Spark starts")
        self._total, self._verbose = total, verbose
        self._begun: float | None = None
        self._before = 0
        self._committed: dict[str, str] = {}
        self._seen: dict[str, str] = {}
        self._told = 0.0

    def hear(self, rows: Sequence[Row]) -> None:
        """Count rows that were committed; the first call brings those of earlier runs."""
        self._committed |= {row["id"]: row["verdict"] for row in rows}
        if self._begun is None:
            self._begun, self._before = time.perf_counter(), len(self._committed)
            return
        self._show()

    def see(self, verdicts: Mapping[str, str]) -> None:
        """Count obligations that are answered, though their wave may be under way."""
        news = len(verdicts) > len(self._seen)
        self._seen = dict(verdicts)
        if self._status is not None or (news and time.perf_counter() > self._told + EVERY):
            self._show()

    def forget(self) -> None:
        """The run is over: what is answered and not committed is lost."""
        self._seen.clear()

    def _show(self) -> None:
        self._told = time.perf_counter()
        if self._status is not None:
            self._status.update(self.line())
        elif self._verbose:
            click.echo(self.line(), err=True)

    def line(self, seconds: float | None = None) -> str:
        """How far it is after so many seconds of this run, by default those until now."""
        if seconds is None:
            seconds = time.perf_counter() - (self._begun or time.perf_counter())
        verdicts = self._seen | self._committed
        counted, done = Counter(verdicts.values()), len(verdicts)
        said = [f"{done} of {self._total} done"]
        said += [f"{counted[verdict]} {verdict}" for verdict in ("violated", "undecided")]
        said += [f"{counted[ERROR]} {ERROR}"] if counted[ERROR] else []
        now = done - self._before
        if now and seconds:
            said.append(f"{now / seconds * 60:.1f} a minute")
            left = (self._total - done) * seconds / now
            said.append(f"about {left:.0f} s left" if left < 120 else f"about {left / 60:.0f} min left")
        return ", ".join(said)


def _told(plan: Plan, rows: Sequence[Row], out: str) -> str:
    lines = [f"{len(rows)} obligations: {_in_words(counts(rows))}"]
    if plan.invalid:
        lines.append(f"left out: {plan.invalid} combinations that break a rule of their protocol")
    if plan.inapplicable:
        lines.append(f"left out: {plan.inapplicable} properties that an instance does not have")
    if plan.repeated:
        lines.append(f"asked for more than once, and answered once: {plan.repeated}")
    return "\n".join([*lines, f"fencepost sweep report {out}"])


def _in_words(counted: dict[str, int]) -> str:
    return ", ".join(f"{number} {verdict}" for verdict, number in counted.items())


@command.command("report")
@click.argument("folder", type=click.Path(), metavar="DIR")
@click.option(
    "--format", "form", type=click.Choice(["text", "csv"]), default="text", show_default=True, help="Form."
)
@output_option
def report_command(folder: str, form: str, output: str | None) -> int:
    """Say what the rows in DIR come to: by property, by E/WQ/AQ, and each by itself."""
    from fencepost.sweeps.pipeline import require_arrow
    from fencepost.sweeps.store import Store

    require_arrow()
    store = Store(Path(folder))
    manifest, rows = store.manifest(), ordered(store.rows())
    emit(_csv(rows) if form == "csv" else _text(manifest, rows), output)
    return int(ExitCode.AS_WISHED)


def _text(manifest: dict[str, Any], rows: Sequence[Row]) -> str:
    asked = manifest["obligations"]
    parts = [f"engine {manifest['engine']}; {manifest['invalid']} invalid combinations left out"]
    if len(rows) < asked:
        parts.append(f"Not finished: {len(rows)} of {asked} obligations have their row; go on with --resume.")
    for protocol in dict.fromkeys(row["protocol"] for row in rows):
        of_one = [row for row in rows if row["protocol"] == protocol]
        parts.append(f"{protocol}: {_in_words(counts(of_one))}")
        parts.append(_tally("property", by("property", of_one)))
        sized = [{**row, "E/WQ/AQ": configuration(row)} for row in of_one]
        if all(row["E/WQ/AQ"] for row in sized):
            parts.append(_tally("E/WQ/AQ", by("E/WQ/AQ", sized)))
        parts.append(_each(of_one))
    return "\n\n".join(parts)


def _tally(title: str, counted: dict[str, dict[str, int]]) -> str:
    return _table([[title, "verdicts"], *([value, _in_words(found)] for value, found in counted.items())])


def _each(rows: Sequence[Row]) -> str:
    names = varying(rows)
    titles = [*names, "property", *_where_varied(rows), "found", "seconds"]
    lines = [
        [
            *(row["settings"][name] for name in names),
            row["property"],
            *(str(row[name] if row[name] is not None else "-") for name in _where_varied(rows)),
            finding(row),
            f"{row['seconds']:.1f}",
        ]
        for row in rows
    ]
    return _table([titles, *lines])


def _where_varied(rows: Sequence[Row]) -> list[str]:
    """Of solver, bound and rounds, those in which the rows differ."""
    return [name for name in ("solver", "bound", "most_rounds") if len({row[name] for row in rows}) > 1]


def _table(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _csv(rows: Sequence[Row]) -> str:
    """A line for each row: the settings that vary within a protocol, then every column but the trace."""
    protocols = dict.fromkeys(row["protocol"] for row in rows)
    settings = dict.fromkeys(
        name for protocol in protocols for name in varying([r for r in rows if r["protocol"] == protocol])
    )
    names = [c.name for c in COLUMNS if c.name != "trace"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*settings, *names])
    for row in rows:
        cells = [row["settings"].get(name, "") for name in settings]
        writer.writerow([*cells, *(_cell(row[name]) for name in names)])
    return text.getvalue().rstrip("\n")


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return show_all(value)
    return " ".join(value) if isinstance(value, list) else value
