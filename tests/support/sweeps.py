"""A grid of small instances, the rows that a plain loop makes of it, and sweeps as real processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fencepost.sweeps.engine_version import engine
from fencepost.sweeps.grid import Plan, plan
from fencepost.sweeps.rows import Row
from fencepost.sweeps.solve import Allowance, solve_all
from fencepost.sweeps.store import Store
from fencepost.sweeps.sweep_cases import together
from support.processes import signal_prefix

COMMAND = [*signal_prefix(), sys.executable, "-P", "-m", "fencepost.cli", "sweep"]

SHORT = """
[[grid]]
protocols = "ledger-chain"

[[grid]]
protocols = "bookkeeper-4.13"
properties = ["no-divergence", "valid-fragments"]
set = { bookies = 1, ensemble = 1, write_quorum = 1, ack_quorum = 1 }

[[grid]]
protocols = "bookkeeper-4.13"
properties = "no-divergence"
bounds = 24
set = { bookies = 2, ensemble = 2, write_quorum = 2, ack_quorum = "1..3" }
"""
"""Proved, vacuous, violated, holds: half a second each. One combination is invalid."""

TINY = (
    SHORT
    + """
[[grid]]
protocols = "bookkeeper-unbounded"
properties = ["no-divergence", "same-value", "closed-ledger-at-wq"]
set = { values = 1, recovery_adds = "moving" }
"""
)
"""Three more proofs, which take seconds."""

BOUNDED = """
[[grid]]
protocols = "verified-log-01"
properties = "durability"
bounds = "1..12"
"""
"""Twelve more cases of half a second each. With `TINY` they are more than two waves on two cores."""

FEW = SHORT + BOUNDED.replace("12", "5")
"""Cases of half a second each, in more than two waves on one core."""

CONFLICTS = 500
"""A limit that some of `TINY` run into."""


def planned(folder: Path, text: str = TINY) -> tuple[Path, Plan]:
    """Write a grid of that text to a file; return the file and its cases."""
    file = folder / "grid.toml"
    file.write_text(text)
    return file, cases_of(text)


@cache
def cases_of(text: str) -> Plan:
    """Return the cases of a grid of that text."""
    return plan(tomllib.loads(text))


VARYING = ("seconds", "host")
"""The columns in which two runs of one sweep may differ."""


def looped(made: Plan, conflicts: int | None = None) -> dict[str, Row]:
    """Return the rows of those cases by id, answered one after another, without Spark."""
    allowance = Allowance(conflicts=conflicts)
    rows = [row for task in together(made.cases) for row in solve_all(task, engine(), allowance)]
    return {row["id"]: comparable(row) for row in rows}


def comparable(row: Row) -> Row:
    """Return a row without the columns that may differ from run to run."""
    return {name: value for name, value in row.items() if name not in VARYING}


LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options with which Java starts in three fifths of the CPU seconds. No test asks how fast it computes."""


@dataclass(frozen=True)
class Spark:
    """The master of a Spark, and the seed with which Python hashes text there."""

    master: str = "local[2]"
    seed: str = "1"


@contextmanager
def started(
    grid: Path, out: Path | str, *options: str, spark: Spark = Spark(), cwd: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Start `fencepost sweep` as a shell does, with a limit of `CONFLICTS`; yield its process.

    The process has ended when the context is left.
    """
    command = [*COMMAND, str(grid), str(out), "--master", spark.master, "-v"]
    with subprocess.Popen(
        [*command, "--conflicts-per-case", str(CONFLICTS), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=os.environ | {"PYTHONHASHSEED": spark.seed, "SPARK_SUBMIT_OPTS": LIGHT},
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def swept(
    grid: Path, out: Path | str, *options: str, spark: Spark = Spark(), cwd: Path | None = None
) -> tuple[int, str, str]:
    """Run `fencepost sweep` to its end, in a folder; return its exit code, stdout and stderr."""
    with started(grid, out, *options, spark=spark, cwd=cwd) as process:
        stdout, stderr = process.communicate(timeout=600)
    return process.returncode, stdout, stderr


def stored(out: Path) -> list[Row]:
    """Return the committed rows of a sweep without the columns in which two runs may differ."""
    return [comparable(row) for row in Store(out).rows()]


def agree(rows: list[Row], expected: dict[str, Row]) -> None:
    """Check that no row is missing or there twice, and that each row has the expected values."""
    assert len(rows) == len({row["id"] for row in rows}), "a row is there twice"
    assert {row["id"]: row for row in rows} == expected
