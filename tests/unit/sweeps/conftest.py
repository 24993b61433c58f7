"""One Spark for all tests of sweeps that do not test the processes; they are in the group `spark`."""

from __future__ import annotations

import importlib.util
import shutil
import uuid
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
    """Return `fencepost sweep` in this process, on that session."""

    def sweep(grid: Path, out: Path, *options: str, conflicts: int = CONFLICTS) -> int:
        limit = ["--conflicts-per-case", str(conflicts)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pipeline, "session", lambda master, log: nullcontext(spark))
            return run(["sweep", str(grid), str(out), *limit, *options])

    return sweep


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the address of an empty bucket on a server of this process; commands find it by environment."""
    s3fs = pytest.importorskip("s3fs", reason="needs the extra s3")
    server = pytest.importorskip("moto.server", reason="needs moto and flask")
    simulated = server.ThreadedMotoServer(port=0, verbose=False)
    simulated.start()
    try:
        _, port = simulated.get_host_and_port()
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "none",
            "AWS_SECRET_ACCESS_KEY": "none",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        name = f"sweeps-{uuid.uuid4().hex}"  # servers of one process share their buckets
        s3fs.S3FileSystem().mkdir(name)
        yield f"s3://{name}"
    finally:
        simulated.stop()
