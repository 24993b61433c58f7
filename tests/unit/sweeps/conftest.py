"""A bucket of S3 on a server of this process."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest


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
