"""Shared by all tests: no test may depend on answers cached by an earlier run."""

from __future__ import annotations

import os

import pytest

os.environ["FENCEPOST_CACHE"] = ""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--refresh-goldens", action="store_true", help="write what the commands print now")
