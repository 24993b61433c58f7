"""Options that mean nothing together: one of them is refused."""

from __future__ import annotations

import click
from click.core import ParameterSource

from fencepost.encoding.errors import BadInput


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
