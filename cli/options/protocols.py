"""The argument PROTOCOL or FILE.py, and the protocol that it names."""

from __future__ import annotations

from collections.abc import Sequence

import click

from fencepost.cli.options.completion import protocol_names
from fencepost.cli.options.grouped import Command
from fencepost.cli.options.saved import own_protocol
from fencepost.cli.options.settings import release_option, settings_of, settings_option
from fencepost.encoding.language.protocol import Instance, Protocol

protocol_argument = click.argument("protocol", metavar="PROTOCOL|FILE.py", shell_complete=protocol_names)
optional_protocol_argument = click.argument(
    "protocol", required=False, metavar="[PROTOCOL|FILE.py]", shell_complete=protocol_names
)


def instance_options(command: Command) -> Command:
    """Add the protocol to a command, and the options that choose one of its instances."""
    return protocol_argument(settings_option(release_option(command)))


def find_protocol(name: str) -> Protocol:
    """Return the protocol of that name, or the one in a Python file of that path; raises BadInput."""
    from fencepost.cli.requests import find_protocol as find

    return find(name, own_protocol)


def asked_instance(
    protocol: str, settings: Sequence[str], release: str | None, drop_declared: bool = False
) -> Instance:
    """Return the instance that the options of a command choose; raises BadInput and ModelError."""
    return find_protocol(protocol).instance(settings_of(settings), release, drop_declared)
