"""A grid of small instances, what a plain loop makes of it, and sweeps as real processes."""

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
from support.processes import hearing

COMMAND = [*hearing(), sys.executable, "-m", "fencepost.cli", "sweep"]

TINY = """
[[grid]]
protocols = "ledger-chain"

[[grid]]
protocols = "bookkeeper-unbounded"
properties = ["no-divergence", "same-value", "closed-ledger-at-wq"]
set = { values = 1, recovery_adds = "moving" }

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
"""Proved by rounds and by induction, vacuous, violated, holds: seconds each. One combination is invalid."""

BOUNDED = """
[[grid]]
protocols = "verified-log-01"
properties = "durability"
bounds = "1..12"
"""
"""Twelve more, a second each: together with `TINY` more than two waves on two cores."""

CONFLICTS = 500
"""A limit that some of `TINY` run into."""


def planned(folder: Path, text: str = TINY) -> tuple[Path, Plan]:
    """A grid of that text as a file, and its obligations."""
    file = folder / "grid.toml"
    file.write_text(text)
    return file, obligations(text)


@cache
def obligations(text: str) -> Plan:
    """What a grid of that text asks for, whatever its file is called."""
    return plan(tomllib.loads(text))


VARYING = ("seconds", "host")
"""The columns in which two runs of one sweep may differ."""


def looped(made: Plan, conflicts: int | None = None) -> dict[str, Row]:
    """The rows of those obligations by id, one after another, without Spark."""
    allowance = Allowance(conflicts=conflicts)
    rows = [row for task in together(made.cases) for row in solve_all(task, engine(), allowance)]
    return {row["id"]: comparable(row) for row in rows}


def comparable(row: Row) -> Row:
    """A row without what may differ from run to run."""
    return {name: value for name, value in row.items() if name not in VARYING}


@dataclass(frozen=True)
class Spark:
    """On what a sweep runs: a master, and the seed with which Python hashes text there."""

    master: str = "local[2]"
    seed: str = "1"


@contextmanager
def started(grid: Path, out: Path, *options: str, spark: Spark = Spark()) -> Iterator[subprocess.Popen[str]]:
    """`fencepost sweep run`, under way with a limit of `CONFLICTS`, as a shell starts it; in the end it is there no more."""
    command = [*COMMAND, "run", str(grid), str(out), "--master", spark.master, "-v"]
    with subprocess.Popen(
        [*command, "--conflicts-per-case", str(CONFLICTS), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONHASHSEED": spark.seed},
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def swept(grid: Path, out: Path, *options: str, spark: Spark = Spark()) -> tuple[int, str, str]:
    """The same, run to its end: exit code, stdout and stderr."""
    with started(grid, out, *options, spark=spark) as process:
        told, said = process.communicate(timeout=600)
    return process.returncode, told, said


def stored(out: Path) -> list[Row]:
    """The committed rows of a sweep, as far as two runs must agree."""
    return [comparable(row) for row in Store(out).rows()]


def agree(rows: list[Row], expected: dict[str, Row]) -> None:
    """None is there twice, none is missing, and each says what it should."""
    assert len(rows) == len({row["id"] for row in rows}), "a row is there twice"
    assert {row["id"]: row for row in rows} == expected
