"""The instance that a saved file is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from fencepost.cli.check import find_protocol
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import Protocol

source_option = click.option(
    "--protocol",
    "source",
    metavar="FILE.py",
    help="Where the protocol is, if it is one of your own.",
)


def saved_instance(source: str | None, name: str, settings: Mapping[str, object]) -> tuple[Protocol, Any]:
    """The protocol of that name, or the one in the file `source`, and its parameters with these settings."""
    protocol = _protocol(source, name)
    return protocol, protocol.parameters(settings.items())


def _protocol(source: str | None, name: str) -> Protocol:
    """Raises BadInput with a hint if it is not one that ships."""
    try:
        return find_protocol(source or name)
    except BadInput as error:
        hint = "" if source else "; for one of your own say --protocol FILE.py"
        raise BadInput(f"{error}{hint}") from error
