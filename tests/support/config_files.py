"""The reading of one configuration file by itself."""

from __future__ import annotations

from pathlib import Path

from fencepost.quorums.files.sources import Source, runs_alone, source_of
from fencepost.quorums.files.walk import read_config


def read_source(path: Path) -> Source:
    """Return what a file says by itself. Raises BadInput, in one line."""
    file = read_config(path)
    return source_of(path, file, runs_alone([file]), frozenset())
