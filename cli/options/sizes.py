"""The sizes of a configuration, also by the names that `pulsar-admin` gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fencepost.cli.options.grouped import CONFIGURATION, Command, option
from fencepost.cli.options.numbers import SIZE

SIZES = (
    (("-e", "--ensemble", "--bookkeeper-ensemble"), "E", "Bookies in an ensemble."),
    (("-w", "--write-quorum", "--bookkeeper-write-quorum"), "WQ", "Bookies that an entry is sent to."),
    (("-a", "--ack-quorum", "--bookkeeper-ack-quorum"), "AQ", "Acks that complete an add."),
    (("-n", "--bookies"), "N", "Writable bookies."),
)
"""The sizes: the names of the option, its sign, and its help."""


def sizes_options(command: Command) -> Command:
    """Add the options of the sizes to a command, in this order."""
    for names, sign, meaning in reversed(SIZES):
        size_option = option(*names, type=SIZE, metavar=sign, group=CONFIGURATION, help=meaning)
        command = size_option(command)
    return command


def files_option(what: str) -> Callable[[Any], Any]:
    """Return the option `--from`, which reads the configuration from files of these kinds."""
    return option(
        "--from",
        "files",
        multiple=True,
        metavar="FILE",
        group=CONFIGURATION,
        help=f"Read {what} (repeatable). Options win.",
    )
