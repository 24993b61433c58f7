"""The options of the commands that drive the real BookKeeper."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from fencepost.cli.options.completion import release_names
from fencepost.cli.options.grouped import CODE, Choice, option
from fencepost.quorums.storages import STORAGES

library_option: Callable[[Any], Any] = option(
    "--bookkeeper",
    "folder",
    type=click.Path(path_type=Path),
    metavar="LIB",
    group=CODE,
    help="The lib folder of a BookKeeper distribution.",
)
release_option: Callable[[Any], Any] = option(
    "--release",
    metavar="R",
    shell_complete=release_names,
    group=CODE,
    help="Compare with the rules of this release, for a LIB of another version.",
)
storage_option: Callable[[Any], Any] = option(
    "--storage",
    type=Choice(list(STORAGES)),
    group=CODE,
    help="How bookies store entries.  [default: sorted]",
)
log_option: Callable[[Any], Any] = option(
    "--log",
    type=click.Path(path_type=Path),
    metavar="FILE",
    group=CODE,
    help="Write BookKeeper's own log to this file.",
)

PLAYBACK, TRANSCRIPT = "FENCEPOST_PLAYBACK", "FENCEPOST_TRANSCRIPT"
"""The variables with the file of a run: to take its answers from, and to keep all lines asked and answered.

They are for tests, which have no BookKeeper."""


def file_of(variable: str) -> Path | None:
    """Return the file that a variable of the environment names, if it is set."""
    return Path(os.environ[variable]) if os.environ.get(variable) else None
