"""A sweep whose rows are kept on S3, as moto's server has it: killed and resumed as on a local disk."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import sys
from pathlib import Path
from time import sleep

import pytest

from fencepost.cli.main import run
from fencepost.sweeps.object_store import ObjectStore
from support.processes import awaited, children, gone
from support.sweeps import CONFLICTS, Spark, agree, comparable, looped, planned, started, swept

SMALL = """
[[grid]]
protocols = "ledger-chain"
set = { append_compares = ["no", "yes"] }

[[grid]]
protocols = "verified-log-01"
properties = "durability"
bounds = "1..6"
"""
"""Cases of a second or less, in more than two waves on one core. One is violated."""

ONE = Spark("local[1]")


pytestmark = [
    pytest.mark.long,
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
    pytest.mark.skipif(
        shutil.which("java") is None or importlib.util.find_spec("pyspark") is None,
        reason="needs Java and the extra spark",
    ),
]


def test_a_sweep_killed_halfway_on_s3_is_resumed_and_has_the_rows_of_a_plain_loop(
    bucket: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid, made = planned(tmp_path, SMALL)
    address = f"{bucket}/found/it"

    def waves() -> list[str]:
        sleep(0.3)
        return ObjectStore(address).waves()

    with started(grid, address, spark=ONE) as process:
        awaited(waves, process)
        below = children(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)
    halfway = ObjectStore(address).rows()
    assert 0 < len(halfway) < len(made.cases), "killed too late or too early to show anything"
    assert gone(below), "Spark and solvers end with the driver"
    assert run(["export", address]) == 3
    assert "Not finished" in capsys.readouterr().out

    code, stdout, stderr = swept(grid, address, "--resume", spark=ONE)
    assert code == 0, stderr
    assert f"fencepost export {address}" in stdout
    rows = ObjectStore(address).rows()
    assert [row for row in rows if row["id"] in {one["id"] for one in halfway}] == halfway, "asked only once"
    agree([comparable(row) for row in rows], looped(made, CONFLICTS))
    assert run(["export", address]) == 0
    violated = next(row["id"] for row in rows if row["verdict"] == "violated")
    assert run(["export", address, "--row", violated, "-o", str(tmp_path / "trace.json")]) == 0
    assert run(["export", str(tmp_path / "trace.json")]) == 0
