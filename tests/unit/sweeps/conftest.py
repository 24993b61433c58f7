"""One Spark for all tests of sweeps that do not test the processes; they are in the group `spark`."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.sweeps import pipeline
from fencepost.sweeps.spark import session
from support.sweeps import CONFLICTS

Sweeper = Callable[..., int]
"""A function from a grid, a folder and options to an exit code."""


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield a session on two local cores; skip the test without Java or PySpark."""
    if shutil.which("java") is None or importlib.util.find_spec("pyspark") is None:
        pytest.skip("needs Java and the extra spark")
    with session("local[2]", tmp_path_factory.mktemp("spark") / "spark.log") as spark:
        yield spark


@pytest.fixture(scope="session")
def sweep_here(spark: Any) -> Sweeper:
    """Return `fencepost sweep run` in this process, on that session."""

    def sweep(grid: Path, out: Path, *options: str, conflicts: int = CONFLICTS) -> int:
        limit = ["--conflicts-per-case", str(conflicts)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pipeline, "session", lambda master, log: nullcontext(spark))
            return run(["sweep", "run", str(grid), str(out), *limit, *options])

    return sweep
