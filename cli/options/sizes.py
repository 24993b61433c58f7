"""The sizes of a configuration, also by the names that `pulsar-admin` gives them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fencepost.cli.options.grouped import CONFIGURATION, option
from fencepost.cli.options.numbers import SIZE

ensemble_option = option(
    "-e",
    "--ensemble",
    "--bookkeeper-ensemble",
    type=SIZE,
    metavar="E",
    group=CONFIGURATION,
    help="Bookies in an ensemble.",
)
write_quorum_option = option(
    "-w",
    "--write-quorum",
    "--bookkeeper-write-quorum",
    type=SIZE,
    metavar="WQ",
    group=CONFIGURATION,
    help="Bookies that an entry is sent to.",
)
ack_quorum_option = option(
    "-a",
    "--ack-quorum",
    "--bookkeeper-ack-quorum",
    type=SIZE,
    metavar="AQ",
    group=CONFIGURATION,
    help="Acks that complete an add.",
)
bookies_option = option(
    "-n", "--bookies", type=SIZE, metavar="N", group=CONFIGURATION, help="Writable bookies."
)


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
