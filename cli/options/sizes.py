"""The sizes of a configuration, also by the names that `pulsar-admin` gives them."""

from __future__ import annotations

from typing import Any

from fencepost.cli.options.grouped import CONFIGURATION, Options, option
from fencepost.cli.options.numbers import SIZE


class SizesOptions(Options):
    """The options of a command about a configuration."""

    ensemble: int | None = option(
        "-e, --ensemble, --bookkeeper-ensemble E", "Bookies in an ensemble.", CONFIGURATION, SIZE
    )
    write_quorum: int | None = option(
        "-w, --write-quorum, --bookkeeper-write-quorum WQ",
        "Bookies that an entry is sent to.",
        CONFIGURATION,
        SIZE,
    )
    ack_quorum: int | None = option(
        "-a, --ack-quorum, --bookkeeper-ack-quorum AQ", "Acks that complete an add.", CONFIGURATION, SIZE
    )
    bookies: int | None = option("-n, --bookies N", "Writable bookies.", CONFIGURATION, SIZE)


def files_option(what: str) -> Any:
    """Return the option `--from`, which reads the configuration from files of these kinds."""
    return option("--from FILE", f"Read {what} (repeatable). Options win.", CONFIGURATION, multiple=True)
