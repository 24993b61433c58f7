"""Shared by all tests: no test may depend on answers cached by an earlier run."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from fencepost.cli import pytest_plugin


@pytest.fixture(scope="session", autouse=True)
def cache_of_this_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What commutes is asked once in a run: a key is a hash of all that the answer depends on."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # that of the run, which the workers share
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FENCEPOST_CACHE", str(folder / "commutation"))
        yield


def pytest_configure(config: pytest.Config) -> None:
    """Our own plugin, where the working tree is not installed."""
    if not config.pluginmanager.has_plugin("fencepost"):
        config.pluginmanager.register(pytest_plugin, "fencepost")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh-goldens", action="store_true", help="write what the commands print now")
