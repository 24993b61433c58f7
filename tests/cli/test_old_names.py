"""Names of commands and options that are gone: one line says the new one, and the new one exists."""

from __future__ import annotations

import click
import pytest

from fencepost.cli.main import cli, run
from fencepost.cli.options.old_names import COMMANDS, OPTIONS

OF_FOLDERS = "export DIR --format html"
"""An old form of a sweep, which is refused once its folder is read."""


def _unknown(new: str) -> list[str]:
    """Return the words of a new name that are no command, or no option of it."""
    found = []
    for words in (call.split() for call in new.split("` or `fencepost ")):
        context = click.Context(cli)
        command = cli.get_command(context, words[0])
        options = [] if command is None else [name for one in command.params for name in one.opts]
        found += [words[0]] if command is None else []
        found += [word for word in words if word.startswith("-") and word != "-" and word not in options]
    return found


@pytest.mark.parametrize("old", [*COMMANDS, *(name for name in OPTIONS if name != OF_FOLDERS)])
def test_an_old_name_is_answered_with_the_new_one(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    new = (COMMANDS | OPTIONS)[old]
    assert run(old.split()) == 2
    assert capsys.readouterr().err.endswith(f"is now `fencepost {new}`\n")


@pytest.mark.parametrize("new", dict.fromkeys([*COMMANDS.values(), *OPTIONS.values()]))
def test_a_new_name_exists(new: str) -> None:
    """Planted below: a command and an option that do not exist."""
    assert _unknown(new) == []


def test_a_new_name_that_does_not_exist_is_noticed() -> None:
    assert _unknown("trace FILE") == ["trace"]
    assert _unknown("known --lists` or `fencepost check --bound K") == ["--lists"]
