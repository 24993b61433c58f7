"""A conclusion: all that a command prints and writes when it ends, as data, and its exit code.

Before a command announces a violation, it hands its conclusion so far to its supervisor. If the command is
killed, the newest conclusion is carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from fencepost.cli.exits import ExitCode
from fencepost.cli.process.handover import report, say, supervised_by
from fencepost.cli.rendering.output import Result, renamed_into_place, whole_text, write_whole
from fencepost.encoding.errors import BadInput


@dataclass(frozen=True)
class Conclusion:
    """The exit code, the text for stdout, the lines for stderr, and the text of each file by its path."""

    code: int
    printed: str = ""
    told: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def placed(result: Result, output: str | None) -> tuple[str, dict[str, str]]:
    """Return the text for stdout and the files: one of them has the result, as `--output` says."""
    text = whole_text(result)
    return (text, {}) if output is None else ("", {output: text})


def hand_over(conclusion: Conclusion | None) -> None:
    """Hand a conclusion over instead of the one before. It is carried out if the command is killed."""
    report(conclusion=None if conclusion is None else asdict(conclusion))


def conclude(conclusion: Conclusion) -> int:
    """Carry a conclusion out and return its exit code.

    Raises BadInput at the end if a file cannot be written.
    """
    hand_over(conclusion)
    unwritten: BadInput | None = None
    for path, text in conclusion.files.items():
        try:
            write_whole(Path(path), text)
        except BadInput as error:
            unwritten = unwritten or error
    if conclusion.told:
        click.echo(conclusion.told, err=True)
    hand_over(Conclusion(conclusion.code))  # nothing is printed twice
    if conclusion.printed:
        say(conclusion.printed)
    hand_over(None)
    if unwritten is not None:
        raise unwritten
    return conclusion.code


def conclude_for_another(known: Mapping[str, Any], begun: float) -> int:
    """Carry out the conclusion of a process that was killed, and return the exit code.

    The supervisor of the command, which began at that time, does so.

    A text that is meant for a pipe or a device is printed, because nobody may read it there.
    """
    supervised_by(None, begun)
    conclusion = Conclusion(**known)
    files = {path: text for path, text in conclusion.files.items() if renamed_into_place(Path(path))}
    others = "".join(text for path, text in conclusion.files.items() if path not in files)
    try:
        return conclude(replace(conclusion, printed=conclusion.printed + others, files=files))
    except BadInput as error:
        click.echo(f"fencepost: {error}", err=True)
        return int(ExitCode.BAD_INPUT)


@contextmanager
def keeping(so_far: Callable[[], Conclusion]) -> Iterator[Callable[[], None]]:
    """Yield a call that hands over the conclusion so far.

    The command calls it when it is about to announce a violation. If the command fails after that, the
    conclusion handed over last is carried out before the error is told.
    """
    newest: list[Conclusion] = []

    def announcing() -> None:
        newest[:] = [so_far()]
        hand_over(newest[0])

    try:
        yield announcing
    except (Exception, SystemExit):
        for conclusion in newest:
            conclude(conclusion)
        raise
