"""The common form of every refusal.

Exit code 2, nothing on stdout, and one line on stderr that can be shown as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fencepost.cli.main import run

LONGEST = 2100
"""The largest number of characters of such a line."""


@contextmanager
def slow_machine() -> Iterator[None]:
    """Print at once the messages that a command prints after some time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fencepost.cli.rendering.progress.PAUSE", 0.0)
        patch.setattr("fencepost.cli.rendering.progress.HELD", 0.0)
        yield


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Return the line that refuses a command; fail on any other outcome, as on a slow machine."""
    capsys.readouterr()
    with slow_machine():
        code = run([str(argument) for argument in arguments])
    output = capsys.readouterr()
    assert code == 2, (code, output)
    assert output.out == ""
    line = output.err.removesuffix("\n")
    assert line.startswith("fencepost: ")
    assert line.isprintable(), line
    assert len(line) <= LONGEST, len(line)
    return line
