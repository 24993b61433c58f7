"""The versions that a result depends on."""

from __future__ import annotations


def version() -> str:
    """The version of Fencepost."""
    from importlib import metadata

    return metadata.version("fencepost")
