"""Help in parts: an example for each command, and its options under headings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import click

from fencepost.cli.options.old_names import new_option
from fencepost.encoding.errors import did_you_mean

Command = TypeVar("Command", bound=Callable[..., Any])

INSTANCE = "Instance"
CONFIGURATION = "Configuration"
PLACEMENT = "Client and racks"
SEARCH = "Search"
LIMITS = "Limits"
CODE = "Real code"
OUTPUT = "Output"
EXIT = "Exit code"
HELP = "Help"

NAMES = 26
"""Columns for the names of options. A longer name has a line of its own."""


class Choice(click.Choice[str]):
    """One of some values; of a value that is none of them the error names one that is like it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the value; raises BadParameter if it is none of these."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            if ctx and param and (new := new_option(ctx.info_name, f"{param.opts[0]} {value}")):
                ctx.fail(new)
            near = did_you_mean(str(value), self.choices)
            raise click.BadParameter(error.message.removesuffix(".") + near, ctx, param) from error


class GroupedOption(click.Option):
    """An option that stands under a heading in the help of its command."""

    def __init__(self, *arguments: Any, group: str = OUTPUT, **rest: Any) -> None:
        """Make an option of that group; all else is as click has it."""
        super().__init__(*arguments, **rest)
        self.group = group


class GroupedCommand(click.Command):
    """A command whose help has an example, and a heading for each group of options."""

    def __init__(self, *arguments: Any, example: str, **rest: Any) -> None:
        """Make a command with that example, a command line; all else is as click has it."""
        super().__init__(*arguments, **rest)
        self.example = example

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; the error about an option that has another name now says this name."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if new := new_option(ctx.info_name, error.option_name):
                ctx.fail(new)
            raise

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the example, then the groups in the order in which the command declares them."""
        with formatter.section("Example"):
            formatter.write(f"{'':{formatter.current_indent}}{self.example}\n")
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)):
                groups.setdefault(getattr(parameter, "group", HELP), []).append(record)
        names = [name for records in groups.values() for name, _ in records]
        width = max(len(name) for name in names if len(name) <= NAMES)
        for group, records in groups.items():
            with formatter.section(group):
                formatter.write_dl([(f"{name:{width}}", text) for name, text in records], col_max=NAMES)


option = partial(click.option, cls=GroupedOption)
grouped_command = partial(click.command, cls=GroupedCommand)
