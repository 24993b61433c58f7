"""The options of a command: their declaration, the help in parts, and those that mean nothing together."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, get_type_hints

import click
from click.core import ParameterSource

from fencepost.cli.options.old_names import new_option
from fencepost.encoding.errors import BadInput, did_you_mean

INSTANCE = "Instance"
CONFIGURATION = "Configuration"
PLACEMENT = "Client and racks"
SEARCH = "Search"
LIMITS = "Limits"
CODE = "Real code"
OUTPUT = "Output"
EXIT = "Exit code"
HELP = "Help"
LAST = (OUTPUT, EXIT, HELP)
"""The groups that end the help. The others stand in the order in which the command declares them."""

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

    def __init__(self, *arguments: Any, group: str, **rest: Any) -> None:
        """Make an option of that group; all else is as click has it."""
        super().__init__(*arguments, **rest)
        self.group = group


@dataclass(frozen=True)
class Declared:
    """A parameter of a command, as the class of its options declares it."""

    parameter: Callable[[str], click.Parameter]
    """Return the parameter of that name."""


PATHS = {"FILE", "FILE.py", "FILE.toml", "DIR", "LIB"}
"""The names of values that are paths, which shells complete."""


def option(form: str, help: str, group: str = SEARCH, type: Any = None, **rest: Any) -> Any:
    """Return an option, written as in the help: `-o, --output FILE`. It is a flag if it takes no value.

    A collection as its type has the values to choose from. The help shows the default, unless its text
    says it.
    """
    words = form.replace(",", "").split()
    names = [word for word in words if word.startswith("-")]
    values = words[len(names) :]
    rest |= {"metavar": values[0]} if values else {"is_flag": type is None}
    shown = "[default:" not in help
    if PATHS.intersection(values):
        type = type or click.Path()
    elif isinstance(type, Iterable):
        type = Choice([str(value) for value in type])

    def parameter(name: str) -> click.Parameter:
        return GroupedOption([*names, name], help=help, group=group, type=type, show_default=shown, **rest)

    return Declared(parameter)


def argument(form: str, **rest: Any) -> Any:
    """Return an argument, written as in the help."""
    return Declared(lambda name: click.Argument([name], metavar=form, **rest))


class Options:
    """The arguments and options of a command. A class declares them as attributes; an object has values."""

    def __init__(self, **values: Any) -> None:
        """Make the options with the values that the command line gives."""
        vars(self).update(values)

    def given(self, *names: str) -> dict[str, Any]:
        """Return the values of these options by name."""
        return {name: getattr(self, name) for name in names}

    @classmethod
    def parameters(cls) -> list[click.Parameter]:
        """Return the parameters in the order of their declarations, those of base classes first."""
        declared: dict[str, Declared] = {}
        for base in reversed(cls.__mro__):
            declared |= {name: one for name, one in vars(base).items() if isinstance(one, Declared)}
        return [one.parameter(name) for name, one in declared.items()]


class GroupedCommand(click.Command):
    """A command whose help has an example, and a heading for each group of options."""

    def __init__(self, *arguments: Any, example: str, **rest: Any) -> None:
        """Make a command with that example, a command line; all else is as click has it."""
        super().__init__(*arguments, **rest)
        self.example = example

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. The error about an option that has another name now says this name.

        Raises BadInput for an argument too many.
        """
        ctx.allow_extra_args = True
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if new := new_option(ctx.info_name, error.option_name):
                ctx.fail(new)
            raise
        if rest and not ctx.resilient_parsing:
            raise BadInput(f"{rest[0]}: {self._too_many(ctx, rest[0])}")
        return rest

    def _too_many(self, ctx: click.Context, argument: str) -> str:
        """Return the rule about arguments, and what would be valid in place of this one."""
        taken = [one for one in self.params if isinstance(one, click.Argument)]
        names = ", ".join(f"one {one.make_metavar(ctx)}" for one in taken)
        rule = f"{ctx.info_name} takes {f'no argument besides {names}' if taken else 'no argument'}"
        sizes = re.fullmatch(r"(\d+)[/,:x-](\d+)[/,:x-](\d+)", argument)
        if sizes and any(one.name == "ack_quorum" for one in self.params):
            return f"{rule}; give the sizes as -e {sizes[1]} -w {sizes[2]} -a {sizes[3]}"
        is_file = any(one.name == "files" for one in self.params) and os.path.exists(argument)
        return f"{rule}; {f'give the file as --from {argument}' if is_file else f'valid: {self.example}'}"

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
        for group in sorted(groups, key=lambda group: LAST.index(group) if group in LAST else -1):
            rows = [(f"{name:{width}}", text) for name, text in groups[group]]
            with formatter.section(group):
                formatter.write_dl(rows, col_max=NAMES)


def grouped_command(example: str) -> Callable[[Callable[[Any], int | None]], GroupedCommand]:
    """Return a decorator that makes a command of a function of its options; its docstring is the help."""

    def made(function: Callable[[Any], int | None]) -> GroupedCommand:
        options: type[Options] = get_type_hints(function)["asked"]
        return GroupedCommand(
            function.__name__,
            example=example,
            help=function.__doc__,
            params=options.parameters(),
            callback=lambda **values: function(options(**values)),
        )

    return made


def refuse(what: str, *names: str) -> None:
    """Raise BadInput if one of these parameters of the command was given; none means anything with `what`."""
    context = click.get_current_context()
    parameters = {parameter.name: parameter for parameter in context.command.params}
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise BadInput(f"{_as_written(parameters[name])}: not with {what}; leave it out")


def _as_written(parameter: click.Parameter) -> str:
    """Return an option or an argument as the help writes it."""
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return parameter.human_readable_name
