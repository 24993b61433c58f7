"""The files beside this one that pages are made of."""

from __future__ import annotations

from importlib.resources import files
from string import Template


def part(name: str) -> str:
    """A file, as it is."""
    return files("fencepost.cli.rendering").joinpath(name).read_text(encoding="utf-8")


def filled(file: str, /, **parts: str) -> str:
    """A file with its places filled; parts are HTML."""
    return Template(part(file)).substitute(parts)
