"""A conclusion: all that a command says and writes when it ends, as data, and its exit code.

A command that announces something while it goes on hands its conclusion so far to its supervisor first. If the command is
killed, the supervisor carries the newest one out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

import click

from fencepost.cli.process.handover import hand_over, say
from fencepost.cli.rendering.output import write_whole
from fencepost.encoding.safe_text import defused


@dataclass(frozen=True)
class Conclusion:
    """The exit code, the text for stdout, the lines for stderr, and the text of each file by its path."""

    code: int
    printed: str = ""
    told: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """The form in which it goes to the supervisor."""
        return json.dumps(asdict(self))

    @classmethod
    def of_json(cls, text: str) -> Self:
        """The conclusion of that form."""
        return cls(**json.loads(text))


def placed(text: str, output: str | None) -> tuple[str, dict[str, str]]:
    """Return the text for stdout and the files: one of them has the result, as `--output` says."""
    text = defused(text) + "\n"
    return (text, {}) if output is None else ("", {output: text})


def conclude(conclusion: Conclusion) -> int:
    """Carry it out and return the exit code; raises BadInput for a file that cannot be written."""
    hand_over(conclusion.to_json())
    for path, text in conclusion.files.items():
        write_whole(Path(path), text)
    if conclusion.told:
        click.echo(conclusion.told, err=True)
    if conclusion.printed:
        say(conclusion.printed)
    return conclusion.code


@contextmanager
def keeping(so_far: Callable[[], Conclusion]) -> Iterator[Callable[[], None]]:
    """Yield a call that hands over the conclusion so far, for what is about to announce something.

    If the command fails after that, the conclusion handed over last is carried out before the error is told.
    """
    newest: list[Conclusion] = []

    def announcing() -> None:
        newest[:] = [so_far()]
        hand_over(newest[0].to_json())

    try:
        yield announcing
    except (Exception, SystemExit):
        for conclusion in newest:
            conclude(conclusion)
        raise
