"""Help of the commands: an example that can be parsed, grouped options, two lines of help at most."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from fencepost.cli.main import COMMANDS, cli, run
from fencepost.cli.options.grouped import GroupedCommand, GroupedOption

WIDTH = 80


def commands() -> Iterator[tuple[tuple[str, ...], GroupedCommand]]:
    """Yield each command with the words that call it."""
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert isinstance(command, GroupedCommand)
        yield (name,), command


EVERY = dict(commands())


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_the_example_of_a_command_is_one_of_it(words: tuple[str, ...]) -> None:
    """Planted: an option that does not exist."""
    program, *arguments = shlex.split(EVERY[words].example)
    assert (program, tuple(arguments[: len(words)])) == ("fencepost", words)
    parent = click.Context(cli, **cli.context_settings)  # a command keeps the help option that it made first
    EVERY[words].make_context(words[-1], arguments[len(words) :], parent)
    with pytest.raises(click.NoSuchOption):
        EVERY[words].make_context(words[-1], [*arguments[len(words) :], "--planted"], parent)


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_the_help_of_an_option_takes_two_lines_at_most(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    assert run([*words, "--help"]) == 0
    shown = capsys.readouterr().out.split("\nExample:\n")[1]
    assert all(len(line) < WIDTH for line in shown.split("\n")[1:])
    lines = 0
    for line in shown.split("\n"):
        if option := re.match(r"  (-.*?)(  +\S.*)?$", line):
            lines = 1 if option.group(2) else 0
        else:
            lines = lines + 1 if line.startswith("   ") else 0
        assert lines <= 2, line


def test_an_option_of_one_name_means_one_thing() -> None:
    """An option has the same forms in every command, and takes a value in all of them or in none."""
    meanings: dict[str, set[tuple[object, ...]]] = {}
    for command in EVERY.values():
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert isinstance(parameter, GroupedOption)
                about = (tuple(parameter.opts), parameter.metavar, parameter.is_flag)
                for name in parameter.opts:
                    meanings.setdefault(name, set()).add(about)
    assert {name: found for name, found in meanings.items() if len(found) > 1} == {}
    assert len(meanings) > 50
