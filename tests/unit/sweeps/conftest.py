"""The sweep on Spark of this run, and a bucket of S3 on a server of this process."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.sweeps import FEW, Spark, planned, swept


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a sweep of `FEW`, the one on Spark in `make test`; the grid is beside it.

    Spark starts its workers as `python -m pyspark.daemon` in the folder of the command, which has a file of
    that name.
    """
    folder = tmp_path_factory.mktemp("sweep")
    grid = planned(folder, FEW)[0]
    (folder / "pyspark.py").write_text("open('ran', 'w')\n", encoding="utf-8")
    code, stdout, stderr = swept(Path(grid.name), "out", spark=Spark("local[1]"), cwd=folder)
    assert (code, "13 cases: " in stdout) == (0, True), stderr
    assert "left out: 1 combinations that break a rule" in stdout
    assert re.search(r"13 of 13 done, 1 violated, \d+ undecided, ", stderr)
    assert "WARN" not in stderr
    return folder / "out"


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
