"""The versions that a result depends on."""

from __future__ import annotations

import hashlib
import importlib
from functools import cache
from pathlib import Path


@cache
def version() -> str:
    """Return the version of Fencepost."""
    from importlib import metadata

    return metadata.version("fencepost")


@cache
def text_of(*packages: str) -> str:
    """Return a hash of the modules of these packages, such as `encoding.formulas`.

    The hash covers the names and the texts of Python and Java files.
    """
    found = hashlib.sha256()
    for name in packages:
        package = importlib.import_module(f"fencepost.{name}")
        folder = Path(package.__path__[0])
        for module in sorted(f for f in folder.rglob("*") if f.suffix in (".py", ".java")):
            found.update(f"{package.__name__} {module.relative_to(folder).as_posix()}\n".encode())
            found.update(module.read_bytes())
    return found.hexdigest()
