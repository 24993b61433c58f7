"""A full disk is one line and exit code 2 in every part of a command: no internal error, and no verdict."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from fencepost.cli.main import run
from fencepost.encoding.errors import BadInput, InternalError
from fencepost.sweeps import spark
from support.sweeps import planned


def full(*_: object, **__: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device", "sweep.json")


def test_a_folder_on_a_full_disk_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    grid, _ = planned(tmp_path)
    monkeypatch.setattr(Path, "write_text", full)
    assert run(["sweep", str(grid), str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert error == (
        "fencepost: sweep.json: cannot be written (No space left on device); make room, or write elsewhere\n"
    )


@pytest.mark.parametrize(
    ("message", "becomes"),
    [("java.io.IOException: No space left on device", BadInput), ("oh", InternalError)],
)
def test_spark_on_a_full_disk_is_no_mistake_of_ours(
    message: str, becomes: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "spark_errors", lambda: (ConnectionError,))
    with pytest.raises(becomes, match=r"Committed rows are kept"), spark.halfway(tmp_path / "spark.log"):
        raise ConnectionError(message)
