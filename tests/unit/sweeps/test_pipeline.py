"""Sweeps on Spark as processes: the rows are those of a plain loop, even if a process is killed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from fencepost.cli.main import run
from fencepost.sweeps import pipeline
from fencepost.sweeps.grid import Plan
from fencepost.sweeps.rows import Row
from support.processes import awaited, busy_executors, busy_workers, children, command, gone, kill_one
from support.sweeps import (
    BOUNDED,
    CONFLICTS,
    FEW,
    TINY,
    Spark,
    agree,
    cases_of,
    looped,
    planned,
    started,
    stored,
    swept,
)

CLUSTER = Spark("local-cluster[2,1,1024]", seed="3")
"""Two executors, each a Java process with Python workers. Text hashes otherwise than on `local[2]`."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
    pytest.mark.skipif(
        shutil.which("java") is None or importlib.util.find_spec("pyspark") is None,
        reason="needs Java and the extra spark",
    ),
]


@pytest.fixture(scope="session")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planned(tmp_path_factory.mktemp("grid"), TINY + BOUNDED)[0]


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    """Return the rows that a plain loop makes of the grid."""
    rows = looped(planned(tmp_path_factory.mktemp("loop"), TINY + BOUNDED)[1], CONFLICTS)
    reasons = Counter(row["reason"] for row in rows.values())
    assert reasons[f"{CONFLICTS} conflicts spent"] >= 3, reasons
    return rows


def test_rows_are_those_of_a_plain_loop(undisturbed: Path) -> None:
    """A long test compares all rows of the larger grid."""
    cases = tuple(case for case in cases_of(FEW).cases if case.protocol == "verified-log-01")
    rows = [row for row in stored(undisturbed) if row["protocol"] == "verified-log-01"]
    agree(rows, looped(Plan(cases, 0, 0, 0), CONFLICTS))


def test_nothing_in_the_folder_of_a_sweep_is_imported(undisturbed: Path) -> None:
    """Planted: no PYTHONSAFEPATH."""
    assert (undisturbed.parent / "pyspark.py").exists()
    assert not (undisturbed.parent / "ran").exists()


@pytest.mark.long
def test_two_cores_give_the_rows_of_a_plain_loop(
    grid: Path, tmp_path: Path, expected: dict[str, Row]
) -> None:
    code, stdout, stderr = swept(grid, tmp_path / "out")
    assert (code, "22 cases: " in stdout) == (0, True), stderr
    agree(stored(tmp_path / "out"), expected)


def test_rows_lie_in_waves_by_protocol(undisturbed: Path) -> None:
    waves = sorted(path.name for path in (undisturbed / "rows").iterdir())
    assert waves == [f"wave={number:04}" for number in range(1, 4)], "9 tasks, 4 to a wave"
    protocols = {path.parent.name for path in (undisturbed / "rows").rglob("*.parquet")}
    assert protocols == {f"protocol={n}" for n in ("bookkeeper-4.13", "ledger-chain", "verified-log-01")}


def test_a_finished_sweep_resumed_asks_for_nothing(
    undisturbed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def starts(master: str, log: Path) -> object:
        raise AssertionError("Spark starts, and nothing is to be asked")

    monkeypatch.setattr(pipeline, "session", starts)
    before = sorted((undisturbed / "rows").rglob("*"))
    grid, limit = str(undisturbed.parent / "grid.toml"), ["--conflicts-per-case", str(CONFLICTS)]
    assert run(["sweep", grid, str(undisturbed), *limit, "--resume"]) == 0
    assert "13 cases: " in capsys.readouterr().out
    assert sorted((undisturbed / "rows").rglob("*")) == before


@pytest.mark.long
def test_an_interrupted_sweep_ends_at_once_with_what_is_committed(
    grid: Path, tmp_path: Path, expected: dict[str, Row]
) -> None:
    """Ctrl-C goes to all processes in the foreground, as from a terminal.

    Two waves are under way, one waits, and Spark has reported a verdict.
    """
    out = tmp_path / "out"
    with started(grid, out) as process:
        assert process.stderr is not None
        assert "done" in process.stderr.readline()
        awaited(lambda: busy_workers(process.pid), process)
        below, begun = children(process.pid), time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        stdout, stderr = process.communicate(timeout=600)
        took = time.monotonic() - begun
    rows = stored(out)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert stdout.startswith(f"Interrupted: {len(rows)} of 22 done, ")
    assert len(rows) < len(expected)
    assert all(row == expected[row["id"]] for row in rows)
    assert gone(below), "nobody is left"
    assert took < 60, "on an idle machine it is two seconds"


@pytest.mark.long
def test_a_java_that_is_killed_ends_the_sweep_in_one_line_and_it_can_be_resumed(
    grid: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with started(grid, out) as process:
        awaited(lambda: busy_workers(process.pid), process)
        below = kill_one(lambda: [p for p in children(process.pid) if b"bin/java" in command(p)], process)
        stderr = process.communicate(timeout=600)[1]
    assert process.returncode == 4
    assert "internal error: Spark gave up (" in stderr
    assert "--resume goes on" in stderr
    assert "Traceback" not in stderr
    assert gone(below), "Python workers and their cases end with it"
    assert (out / "sweep.json").exists()


def test_a_spark_that_does_not_start_leaves_nothing_behind(grid: Path, tmp_path: Path) -> None:
    code, stdout, stderr = swept(grid, tmp_path / "out", spark=Spark("spork"))
    assert (code, stdout, stderr.count("\n")) == (2, "", 1), stderr
    assert "--master spork: Spark does not start (Master must either be yarn or start with spark" in stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_one_core_gives_the_same_rows_in_a_folder_of_any_name(
    grid: Path, tmp_path: Path, expected: dict[str, Row]
) -> None:
    out = tmp_path / "every [1] {2} * ? ä %20"
    code, _, stderr = swept(grid, out, spark=Spark("local[1]", seed="2"))
    assert code == 0, stderr
    agree(stored(out), expected)


# Several processes: a driver, and executors that are Java processes of their own.


@pytest.mark.long
def test_executors_give_the_same_rows_though_one_is_killed_and_a_python_worker_too(
    grid: Path, tmp_path: Path, expected: dict[str, Row]
) -> None:
    out = tmp_path / "out"
    with started(grid, out, spark=CLUSTER) as process:
        below = kill_one(lambda: busy_executors(process.pid), process)
        assert below
        assert gone(below), "its Python workers and their cases end with it"
        assert gone(kill_one(lambda: busy_workers(process.pid), process))
        stderr = process.communicate(timeout=600)[1]
    assert process.returncode == 0, stderr
    agree(stored(out), expected)


@pytest.mark.long
def test_a_driver_with_executors_killed_halfway_is_resumed(
    grid: Path, tmp_path: Path, expected: dict[str, Row]
) -> None:
    out = tmp_path / "out"
    with started(grid, out, spark=CLUSTER) as process:
        awaited(lambda: list(out.glob("rows/wave=*")), process)
        below = children(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=600)
    halfway = stored(out)
    assert 0 < len(halfway) < len(expected), "killed too late or too early to show anything"
    assert gone(below), "executors, Python workers and solvers end with the driver"
    code, _, stderr = swept(grid, out, "--resume", spark=CLUSTER)
    assert code == 0, stderr
    agree(stored(out), expected)
