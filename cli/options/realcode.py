"""The options of the commands that drive the real BookKeeper."""

from __future__ import annotations

import os
from pathlib import Path

import click

from fencepost.cli.options.completion import release_names
from fencepost.cli.options.grouped import CODE, option
from fencepost.quorums.storages import DEFAULT, STORAGES

library_option = option(
    "--bookkeeper LIB", "The lib folder of a BookKeeper distribution.", CODE, click.Path(path_type=Path)
)
release_option = option(
    "--release R",
    "Compare with the rules of this release, for a LIB of another version.",
    CODE,
    shell_complete=release_names,
)
storage_option = option("--storage", "How bookies store entries.", CODE, STORAGES, default=DEFAULT)
log_option = option(
    "--log FILE", "Write BookKeeper's own log to this file.", CODE, click.Path(path_type=Path)
)

PLAYBACK, TRANSCRIPT = "FENCEPOST_PLAYBACK", "FENCEPOST_TRANSCRIPT"
"""The variables with the file of a run: to take its answers from, and to keep all lines asked and answered.

They are for tests, which have no BookKeeper."""


def file_of(variable: str) -> Path | None:
    """Return the file that a variable of the environment names, if it is set."""
    return Path(os.environ[variable]) if os.environ.get(variable) else None
