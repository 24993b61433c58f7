"""The argument PROTOCOL or FILE.py, and the protocol that it names."""

from __future__ import annotations

import click

from fencepost.cli.options.completion import protocol_names
from fencepost.cli.options.saved import own_protocol
from fencepost.encoding.language.protocol import Protocol

protocol_argument = click.argument("protocol", metavar="PROTOCOL|FILE.py", shell_complete=protocol_names)
optional_protocol_argument = click.argument(
    "protocol", required=False, metavar="[PROTOCOL|FILE.py]", shell_complete=protocol_names
)


def find_protocol(name: str) -> Protocol:
    """Return the protocol of that name, or the one in a Python file of that path; raises BadInput."""
    from fencepost.answers.requests import find_protocol as find

    return find(name, own_protocol)
