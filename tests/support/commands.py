"""Commands that a test runs in its own process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fencepost.cli.main import run

Command = Callable[..., tuple[int, str, str]]
"""A function that runs the command with these arguments; the fixture `fencepost` is one."""


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Run a command; return exit code, stdout and stderr."""
    code = run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err
