"""`fencepost sweep`: a grid of instances checked on Spark, and what came out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.options.numbers import GIB, LIMIT, SECONDS
from fencepost.cli.options.saved import own_protocol, source_option
from fencepost.cli.process.handover import outer_timeout_option
from fencepost.cli.rendering.output import emit, form_option_of, output_option
from fencepost.cli.rendering.progress import StatusLine
from fencepost.cli.rendering.words import in_words
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import unmodelled
from fencepost.sweeps.grid import Plan
from fencepost.sweeps.rows import ERROR, Row
from fencepost.sweeps.summary import counts, ordered

if TYPE_CHECKING:
    from fencepost.sweeps.store import Store


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Check a grid of instances on Spark, and report what came out."""


@command.command("run")
@click.argument("grid", type=click.Path(), metavar="GRID.toml")
@source_option
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
    type=SECONDS,
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="Time for one property of one instance.",
)
@click.option("--memory", type=GIB, metavar="GIB", help="Memory for each solver process.")
@click.option(
    "--conflicts-per-obligation",
    "conflicts",
    type=LIMIT,
    metavar="N",
    help="Conflicts that the solvers of one property of one instance may spend: the same on every machine.",
)
@click.option("--certificates", is_flag=True, help="Keep a certificate of each proof in DIR/certificates.")
@click.option(
    "--bookkeeper",
    "folders",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="LIB",
    help="The lib folder of a release that the grid walks on; once for each.",
)
@click.option("--resume", is_flag=True, help="Go on with what an earlier run left in DIR.")
@click.option("-v", "--verbose", is_flag=True, help="Say on stderr how far it is, terminal or not.")
def run_command(
    grid: str,
    source: str | None,
    out: str,
    master: str,
    timeout: float,
    memory: float | None,
    conflicts: int | None,
    certificates: bool,
    folders: tuple[Path, ...],
    resume: bool,
    verbose: bool,
) -> int:
    """Check every instance of GRID.toml, and write a row for each of its properties to DIR.

    Exits with 0 when every obligation has its row, whatever the verdicts (violations are rows); with 4 if one of
    them is an internal error. What is committed survives any end of this command; --resume goes on from there.
    Where the grid names releases of BookKeeper, random walks are taken on their code: give their jars with --bookkeeper.
    A grid names protocols that ship, or with --protocol the one in that file: say it again with --resume.
    """
    from fencepost.sweeps.conformance_cases import libraries, releases
    from fencepost.sweeps.grid import read_grid
    from fencepost.sweeps.pipeline import Sweep, run
    from fencepost.sweeps.solve import Allowance
    from fencepost.sweeps.store import Store

    own = own_protocol(source) if source is not None else None
    plan = read_grid(Path(grid), own)
    walked_on = releases(plan.cases)
    of_solvers = {
        "--memory": memory,
        "--conflicts-per-obligation": conflicts,
        "--certificates": certificates,
    }
    for option, given in of_solvers.items():
        if walked_on and given:
            raise BadInput(
                f"{option}: is about solvers, and the grid walks on BookKeeper's code; take two grids"
            )
    folder = Store(Path(out).absolute()).certificates if certificates else None
    where = Path(source).absolute() if source is not None else None
    allowance = Allowance(timeout, memory, conflicts, folder, where, libraries(folders, walked_on))
    sweep = Sweep(plan, Path(out), master, allowance, resume)
    progress = SweepProgress(len(plan.cases), verbose)
    try:
        with progress:
            rows = run(sweep, progress.hear, progress.see, progress.leave)
    except KeyboardInterrupt:
        progress.leave()
        return int(ExitCode.INTERRUPTED)
    emit(_told(plan, rows, out), None)
    return int(ExitCode.INTERNAL if any(row["verdict"] == ERROR for row in rows) else ExitCode.AS_WISHED)


EVERY = 10.0
"""Seconds between two lines about waves under way, where there is no terminal on which one line can change."""


class SweepProgress(StatusLine):
    """Says on stderr how far a sweep is: a status line on a terminal; with `verbose`, lines now and then elsewhere."""

    def __init__(self, total: int, verbose: bool) -> None:
        super().__init__("Spark starts")
        self._total, self._verbose = total, verbose
        self._begun: float | None = None
        self._before = 0
        self._committed: dict[str, str] = {}
        self._seen: dict[str, str] = {}
        self._told = 0.0
        self._left = False

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

    def leave(self) -> None:
        """Say, once, how far it came that was interrupted: what is answered and not committed is lost."""
        if not self._left:
            self._left = True
            self._seen.clear()
            emit(f"Interrupted: {self.line()}. What is done stays; --resume goes on.", None)

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
    lines = [f"{len(rows)} obligations: {in_words(counts(rows))}"]
    if plan.invalid:
        lines.append(f"left out: {plan.invalid} combinations that break a rule of their protocol")
    if plan.inapplicable:
        lines.append(f"left out: {plan.inapplicable} properties that an instance does not have")
    if plan.repeated:
        lines.append(f"asked for more than once, and answered once: {plan.repeated}")
    lines += unmodelled(dict.fromkeys(row["protocol"] for row in rows))
    return "\n".join([*lines, f"fencepost sweep report {out}"])


@command.command("report")
@click.argument("folder", type=click.Path(), metavar="DIR")
@form_option_of(("text", "csv", "markdown", "html"))
@output_option
@outer_timeout_option
def report_command(folder: str, form: str, output: str | None) -> int:
    """Say what the rows in DIR come to: by property, by E/WQ/AQ, and each by itself.

    Exits with 3 if some obligations have no row: what is said is then of the others. The page (html) is one file that loads nothing; each of its cells leads to its counterexample or certificate.
    """
    from fencepost.cli.rendering.sweep_forms import FORMS
    from fencepost.cli.rendering.sweep_matrices import SweepReport
    from fencepost.sweeps.tables import read_summary

    store = _store(folder)
    rows = store.rows()
    missing = store.missing(rows)
    summary = None if missing else read_summary(store)
    report = SweepReport(Path(folder), store.manifest(), ordered(rows), summary)
    emit(FORMS[form](report), output)
    if missing:
        click.echo(report.unfinished, err=True)
    return int(ExitCode.UNDECIDED if missing else ExitCode.AS_WISHED)


@command.command("trace")
@click.argument("folder", type=click.Path(), metavar="DIR")
@click.argument("name", metavar="ID")
@output_option
@outer_timeout_option
def trace_command(folder: str, name: str, output: str | None) -> int:
    """Give the counterexample of the row ID in DIR, as `fencepost trace` reads it."""
    found = {row["id"]: row["trace"] for row in _store(folder).rows()}
    if found.get(name) is None:
        why = "its row has no counterexample" if name in found else "no such row"
        raise BadInput(f"{name}: {why} in {folder}; fencepost sweep report {folder} names them")
    emit(found[name], output)
    return int(ExitCode.AS_WISHED)


def _store(folder: str) -> Store:
    from fencepost.sweeps.spark import require_arrow
    from fencepost.sweeps.store import Store

    require_arrow()
    store = Store(Path(folder))
    store.manifest()
    return store
