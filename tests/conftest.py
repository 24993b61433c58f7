"""Shared by all tests: no test may depend on answers cached by an earlier run, and the longest tests begin first."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fencepost.cli import pytest_plugin
from support.answers import FOLDER
from support.tiers import LISTS, STALE, cases, name, stale

if TYPE_CHECKING:
    from selenium.webdriver import Chrome


@pytest.fixture(scope="session")
def folder_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the workers of this run share, and no other run."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session", autouse=True)
def answers_of_this_run(folder_of_this_run: Path) -> Iterator[None]:
    """What commutes, and what a question came to, is asked once in a run: names say all that the answer depends on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FENCEPOST_CACHE", str(folder_of_this_run / "commutation"))
        patch.setenv(FOLDER, str(folder_of_this_run / "answers"))
        yield


@pytest.fixture(scope="session", autouse=True)
def quick_machine() -> Iterator[None]:
    """Nothing is said for the reason that a command has gone on for long: a test compares all of stderr on a busy machine too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fencepost.cli.rendering.progress.PAUSE", math.inf)
        patch.setattr("fencepost.cli.rendering.progress.HELD", math.inf)
        yield


@pytest.fixture(scope="session")
def chromium_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """One browser, for tests in the group `chromium`."""
    from support.browsing import chromium

    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def pytest_configure(config: pytest.Config) -> None:
    """Our own plugin, where the working tree is not installed."""
    if not config.pluginmanager.has_plugin("fencepost"):
        config.pluginmanager.register(pytest_plugin, "fencepost")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Cases that are listed as slow or long are marked; the longest first, so that at the end no worker waits for one that began last."""
    by_name = {name(item.nodeid): item for item in items}
    for mark, file in LISTS.items():
        listed = cases(file.read_text(encoding="utf-8"))
        if config.args_source is pytest.Config.ArgsSource.TESTPATHS:
            config.stash.setdefault(STALE, {})[file.name] = stale(listed, by_name)
        for case in set(listed) & by_name.keys():
            by_name[case].add_marker(mark)
    items.sort(key=lambda item: item.get_closest_marker("long") is None)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh-goldens", action="store_true", help="write what the commands print now")
