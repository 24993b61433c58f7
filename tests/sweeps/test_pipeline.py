"""Sweeps on Spark: the rows are those of a plain loop, none is lost, none is there twice, whoever is killed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from fencepost.sweeps.rows import Row
from fencepost.sweeps.store import Store
from fencepost.sweeps.tables import read_summary
from support.processes import children, gone
from support.reports import recounted
from support.sweeps import BOUNDED, TINY, looped, planned, started, stored, swept

Found = TypeVar("Found")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
    pytest.mark.skipif(
        shutil.which("java") is None or importlib.util.find_spec("pyspark") is None,
        reason="needs Java and the extra spark",
    ),
]


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planned(tmp_path_factory.mktemp("grid"), TINY + BOUNDED)[0]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    """What a plain loop makes of the grid."""
    return looped(planned(tmp_path_factory.mktemp("loop"), TINY + BOUNDED)[1])


@pytest.fixture(scope="module")
def undisturbed(grid: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sweep") / "out"
    code, told, said = swept(grid, out)
    assert (code, "26 obligations: " in told) == (0, True), said
    assert "left out: 1 combinations that break a rule" in told
    assert "26 of 26 done, 1 violated, 0 undecided, " in said
    assert "WARN" not in said
    return out


def awaited(look: Callable[[], list[Found]], process: subprocess.Popen[str]) -> list[Found]:
    """What a look finds at last: it must be there before the process ends."""
    while not (found := look()):
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    return found


def agree(rows: list[Row], expected: dict[str, Row]) -> None:
    assert len(rows) == len({row["id"] for row in rows}), "a row is there twice"
    assert {row["id"]: row for row in rows} == expected


def test_the_rows_are_those_of_a_plain_loop(undisturbed: Path, expected: dict[str, Row]) -> None:
    agree(stored(undisturbed), expected)


def test_rows_lie_in_waves_by_protocol(undisturbed: Path) -> None:
    waves = sorted(path.name for path in (undisturbed / "rows").iterdir())
    assert waves == [f"wave={number:04}" for number in range(1, 5)], "26 obligations, 8 to a wave"
    protocols = {path.parent.name for path in (undisturbed / "rows").rglob("*.parquet")}
    assert protocols == {f"protocol={n}" for n in ("bookkeeper-4.13", "ledger-chain", "verified-log-01")}


def test_the_tables_are_what_a_recount_finds(undisturbed: Path) -> None:
    rows, tables = Store(undisturbed).rows(), read_summary(Store(undisturbed))
    assert tables is not None
    for name, lines in recounted(rows).items():
        assert tables[name] == [pytest.approx(line) for line in lines], name


def test_tables_that_were_not_committed_are_made_when_resumed(undisturbed: Path, grid: Path) -> None:
    before = read_summary(Store(undisturbed))
    shutil.rmtree(Store(undisturbed).summary)
    assert swept(grid, undisturbed, "--resume")[0] == 0
    assert read_summary(Store(undisturbed)) == before


def test_a_finished_sweep_resumed_asks_for_nothing(undisturbed: Path, grid: Path) -> None:
    before = sorted((undisturbed / "rows").rglob("*"))
    code, told, _ = swept(grid, undisturbed, "--resume")
    assert (code, "26 obligations: " in told) == (0, True)
    assert sorted((undisturbed / "rows").rglob("*")) == before


def test_a_driver_killed_halfway_is_resumed(grid: Path, tmp_path: Path, expected: dict[str, Row]) -> None:
    out = tmp_path / "out"
    with started(grid, out) as process:
        awaited(lambda: list(out.glob("rows/wave=*")), process)
        below = children(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
    halfway = stored(out)
    assert read_summary(Store(out)) is None
    assert 0 < len(halfway) < len(expected), "killed too late or too early to show anything"
    assert len(below) > 2
    assert gone(below), "Java, the Python workers and the solvers end with the driver"
    code, _, said = swept(grid, out, "--resume")
    assert code == 0, said
    agree(stored(out), expected)
    assert not [row for row in halfway if row not in stored(out)]


def busy_worker(driver: int) -> list[int]:
    """A Python worker of Spark's that is about an obligation: daemon, worker, obligation, solver."""
    found = []
    for pid in children(driver):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            parent = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
            above = Path(f"/proc/{parent}/cmdline").read_bytes()
            grand = int(Path(f"/proc/{parent}/stat").read_text().rsplit(")", 1)[1].split()[1])
            top = Path(f"/proc/{grand}/cmdline").read_bytes()
        except OSError:
            continue
        if b"pyspark" in command and b"pyspark" in above and b"java" in top and children(pid):
            found.append(pid)
    return found


def test_a_python_worker_that_is_killed_loses_nothing(
    grid: Path, tmp_path: Path, expected: dict[str, Row]
) -> None:
    out = tmp_path / "out"
    with started(grid, out) as process:
        for _ in range(2):
            victim = awaited(lambda: busy_worker(process.pid), process)[0]
            below = children(victim)
            os.kill(victim, signal.SIGKILL)
            assert gone(below), "its obligation and its solvers end with it"
        said = process.communicate(timeout=600)[1]
    assert process.returncode == 0, said
    agree(stored(out), expected)
