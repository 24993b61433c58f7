"""What every refusal is like: exit code 2, nothing on stdout, one line on stderr that can be shown as it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fencepost.cli.main import run

LONGEST = 2100
"""Characters of such a line, at most."""


@contextmanager
def slow_machine() -> Iterator[None]:
    """All that a command says after some time of going on, it says at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fencepost.cli.rendering.progress.PAUSE", 0.0)
        patch.setattr("fencepost.cli.rendering.progress.HELD", 0.0)
        yield


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The line with which a command is refused; fails if it is anything else, as on a machine that takes long."""
    capsys.readouterr()
    with slow_machine():
        code = run([str(argument) for argument in arguments])
    told = capsys.readouterr()
    assert code == 2, (code, told)
    assert told.out == ""
    line = told.err.removesuffix("\n")
    assert line.startswith("fencepost: ")
    assert line.isprintable(), line
    assert len(line) <= LONGEST, len(line)
    return line
