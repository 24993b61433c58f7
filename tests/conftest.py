"""Settings shared by all tests.

No test may depend on answers that an earlier run cached, and the longest tests begin first.
"""

from __future__ import annotations

import functools
import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fencepost.cli import pytest_plugin
from support.answers import FOLDER
from support.commands import Command, said
from support.tiers import FILE, Recorder, read, sort_into_tiers

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

    from fencepost.sweeps.rows import Row


@pytest.fixture(scope="session")
def folder_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that only the workers of this run share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session", autouse=True)
def answers_of_this_run(folder_of_this_run: Path) -> Iterator[None]:
    """Keep the answers of `once`, and the compiled harness, in the folder of this run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FENCEPOST_CACHE", str(folder_of_this_run / "harness"))
        patch.setenv(FOLDER, str(folder_of_this_run / "answers"))
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_machine() -> Iterator[None]:
    """Suppress messages that depend on how long a command runs, and let `check` minimise to the end.

    A test compares all of stderr, also on a busy machine.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fencepost.cli.rendering.progress.PAUSE", math.inf)
        patch.setattr("fencepost.cli.rendering.progress.HELD", math.inf)
        patch.setattr("fencepost.cli.commands.check.PATIENCE", None)
        yield


@pytest.fixture
def fencepost(capsys: pytest.CaptureFixture[str]) -> Command:
    """Return a function that runs a command and returns exit code, stdout and stderr."""
    return functools.partial(said, capsys)


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the certificate `made`, a fixture of the test's own file; a test may change it."""
    return shutil.copytree(made, tmp_path / "copy")


@pytest.fixture(scope="session")
def rows_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """Return a row of every verdict for each case of two grids; planning the grids takes seconds."""
    from support.reports import fabricated

    return fabricated(tmp_path_factory.mktemp("rows"))


@pytest.fixture(scope="session")
def chromium_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """Yield one browser, for tests in the group `chromium`."""
    from support.browsing import chromium

    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh-goldens", action="store_true", help="write what the commands print now")
    parser.addoption(
        "--record-durations",
        action="store_true",
        help="write the CPU seconds of each case to tests/durations.json",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the project's plugin if it is not installed, and the recorder if it is asked for.

    Raises UsageError if several processes are to record.
    """
    if not config.pluginmanager.has_plugin("fencepost"):
        config.pluginmanager.register(pytest_plugin, "fencepost")
    if config.getoption("--record-durations"):
        if config.getoption("numprocesses", None):
            raise pytest.UsageError("--record-durations: one process counts the seconds of a case; add -n0")
        config.pluginmanager.register(Recorder(FILE), "recorder")


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Name the test files that have records but are gone.

    Their cases have no tier until they are recorded again.
    """
    files = sorted({case.split("::")[0] for case in read(FILE)})
    return [
        f"tests/durations.json: {file} is not there; rename its entry, or run make durations"
        for file in files
        if not (config.rootpath / file).exists()
    ]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put each case into its tier, and the longest first.

    Otherwise workers would wait at the end for a long case that began last.
    """
    sort_into_tiers(items, read(FILE))
