"""The engine that a row was answered by: its version, its text and its solvers'."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata
from pathlib import Path

import fencepost.encoding
import fencepost.properties
import fencepost.protocols
import fencepost.quorums
import fencepost.sweeps
from fencepost.encoding.versions import version

PARTS = (
    fencepost.encoding,
    fencepost.quorums,
    fencepost.protocols,
    fencepost.properties,
    fencepost.sweeps,
)
"""Whatever a row may depend on: all but the command line."""


@cache
def engine() -> str:
    """The version of Fencepost and a hash of its modules and of its solvers' versions, such as `0.1.0+3f9c12ab07de`."""
    digest = hashlib.sha256()
    for package in ("z3-solver", "python-sat"):
        digest.update(f"{package} {metadata.version(package)}\n".encode())
    for part in PARTS:
        folder = Path(part.__path__[0])
        for module in sorted(folder.rglob("*.py")):
            digest.update(f"{part.__name__} {module.relative_to(folder).as_posix()}\n".encode())
            digest.update(module.read_bytes())
    return f"{version()}+{digest.hexdigest()[:12]}"
