"""The engine that answered a row: its version, its modules and its solvers."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import metadata

from fencepost.encoding.versions import text_of, version

PARTS = ("encoding", "quorums", "protocols", "properties", "realcode", "sweeps")
"""The folders that a row may depend on: all but the command line and the explorer."""


@cache
def engine() -> str:
    """Return the version of Fencepost with a hash of its modules and solvers: `1.0.0+3f9c12ab07de`."""
    solvers = "\n".join(f"{name} {metadata.version(name)}" for name in ("z3-solver", "python-sat"))
    digest = hashlib.sha256(f"{solvers}\n{text_of(*PARTS)}".encode())
    return f"{version()}+{digest.hexdigest()[:12]}"
