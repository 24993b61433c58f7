"""The wheel has each file that ships, and its commands work without a clone."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from support.distribution import ROOT, Command, differences, failure, tracked


def test_a_file_that_is_lost_or_added_is_named() -> None:
    """Planted: a wheel that lacks the page of a trace, and one that has a file of nobody."""
    wanted = tracked()
    page = "fencepost/encoding/forms/page.html"
    assert differences(wanted, wanted) == []
    assert differences(wanted - {page}, wanted) == [f"{page}: not in the wheel"]
    assert differences(wanted | {"fencepost/stray.py"}, wanted) == [
        "fencepost/stray.py: in the wheel, but git does not track it"
    ]


@pytest.mark.parametrize(("code", "printed", "red"), [(0, "1", False), (0, "2", True), (1, "1", True)])
def test_a_command_that_does_something_else_is_named(
    code: int, printed: str, red: bool, tmp_path: Path
) -> None:
    command = Command(("python", "-c", "print(1)"), code, printed)
    assert (failure(command, Path(sys.executable).parent, tmp_path) is not None) is red


@pytest.mark.long
def test_a_wheel_from_the_clone_has_each_file(tmp_path: Path) -> None:
    copy = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(copy)], check=True)
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path), str(copy)]
    subprocess.run(words, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert differences(zipfile.ZipFile(wheel).namelist(), tracked()) == []
