"""`fencepost sweep`: a grid of instances checked on Spark."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.options import shared
from fencepost.cli.options.grouped import LIMITS, OUTPUT, Options, argument, grouped_command, option
from fencepost.cli.options.numbers import LIMIT, SECONDS
from fencepost.cli.options.protocols import own_protocol
from fencepost.cli.process.handover import timeout_option
from fencepost.cli.rendering.output import emit
from fencepost.cli.rendering.progress import StatusLine
from fencepost.encoding.errors import BadInput
from fencepost.sweeps.grid import Plan
from fencepost.sweeps.rows import ERROR, Row
from fencepost.sweeps.summary import counts, left_out, verdict_counts


class SweepOptions(Options):
    """The options of `fencepost sweep`."""

    grid: str = argument("GRID.toml", type=click.Path())
    out: str = argument("DIR", type=click.Path())
    source: str | None = shared.source
    resume: bool = option("--resume", "Go on from what an earlier run left in DIR.")
    master: str = option(
        "--master URL", "Master of Spark: local[N], or that of a cluster.", default="local[*]"
    )
    per_case: float = option(
        "--timeout-per-case SECONDS", "Time for each case.  [default: 300]", LIMITS, SECONDS, default=300.0
    )
    conflicts: int | None = option(
        "--conflicts-per-case N", "Conflicts of the solvers for each case.", LIMITS, LIMIT
    )
    drop_declared: bool = shared.drop_declared
    memory: float | None = shared.memory
    timeout: float = timeout_option(default=None)
    certify: bool = option("--certify", "Keep a certificate of each proof in DIR/certificates.", OUTPUT)
    verbose: bool = shared.verbose


@grouped_command(example="fencepost sweep grids/bookkeeper-4.13-up-to-3.toml found/up-to-3")
def command(asked: SweepOptions) -> int:
    """Check every instance of GRID.toml, and write a row for each case to DIR.

    DIR is a folder, or an address such as s3://bucket/found. A case is one property of one instance. Rows
    are kept however this command ends; --resume goes on from there. Exits with 0 if each case has its row,
    whatever its verdict; 4 if a row is an internal error.
    """
    from fencepost.sweeps.grid import read_grid
    from fencepost.sweeps.object_store import is_address
    from fencepost.sweeps.pipeline import Sweep, run
    from fencepost.sweeps.solve import Allowance
    from fencepost.sweeps.store import Store

    own = own_protocol(Path(asked.source)) if asked.source is not None else None
    plan = read_grid(Path(asked.grid), own)
    plan = plan.without_declared() if asked.drop_declared else plan
    if asked.certify and is_address(asked.out):
        raise BadInput(
            f"--certify: writes folders, and {asked.out} is on an object store; give a folder as DIR"
        )
    folder = Store(Path(asked.out).absolute()).certificates if asked.certify else None
    where = Path(asked.source).absolute() if asked.source is not None else None
    allowance = Allowance(asked.per_case, asked.memory, asked.conflicts, folder, where)
    sweep = Sweep(
        plan, asked.out if is_address(asked.out) else Path(asked.out), asked.master, allowance, asked.resume
    )
    progress = SweepProgress(len(plan.cases), asked.verbose)
    try:
        with progress:
            rows = run(sweep, progress.hear, progress.see, progress.leave)
    except KeyboardInterrupt:
        progress.leave()
        return ExitCode.INTERRUPTED
    emit(_told(plan, rows, asked.out), None)
    return ExitCode.INTERNAL if any(row["verdict"] == ERROR for row in rows) else ExitCode.SUCCESS


class SweepProgress(StatusLine):
    """The progress of a sweep on stderr: a status line on a terminal, else lines with `verbose`."""

    def __init__(self, total: int, verbose: bool) -> None:
        """Make the progress of a sweep of `total` cases."""
        super().__init__("Spark starts")
        self._total, self._verbose = total, verbose
        self._begun: float | None = None
        self._before = 0
        self._committed: dict[str, str] = {}
        self._seen: dict[str, str] = {}
        self._left = False
        self._said = 0.0  # the first answer is told at once

    def hear(self, rows: Sequence[Row]) -> None:
        """Count committed rows; the first call has the rows of earlier runs."""
        self._committed |= {row["id"]: row["verdict"] for row in rows}
        if self._begun is None:
            self._begun, self._before = time.perf_counter(), len(self._committed)
            return
        self.show(self.line(), self._verbose)

    def see(self, verdicts: Mapping[str, str]) -> None:
        """Count cases that are answered, also those whose wave is not committed yet."""
        news = len(verdicts) > len(self._seen)
        self._seen = dict(verdicts)
        if self._status is not None or (news and self._verbose):
            self.show(self.line())

    def leave(self) -> None:
        """Print once how far an interrupted sweep came; answers that are not committed are lost."""
        if not self._left:
            self._left = True
            self._seen.clear()
            emit(f"Interrupted: {self.line()}. Answered cases are kept; --resume goes on.", None)

    def line(self, seconds: float | None = None) -> str:
        """Return the progress after so many seconds of this run, by default until now."""
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
    lines = [f"{len(rows)} cases: {verdict_counts(counts(rows))}"]
    if plan.invalid:
        lines.append(f"left out: {plan.invalid} combinations that break a rule of their protocol")
    if plan.inapplicable:
        lines.append(f"left out: {plan.inapplicable} properties that an instance does not have")
    if plan.repeated:
        lines.append(f"asked for more than once, and answered once: {plan.repeated}")
    lines += left_out({"protocol": case.protocol, "settings": dict(case.settings)} for case in plan.cases)
    return "\n".join([*lines, f"fencepost export {out}"])
