"""The files of which pages are made."""

from __future__ import annotations

from importlib.resources import files
from string import Template


def part(name: str) -> str:
    """Return the text of a file beside this one."""
    return files("fencepost.cli.rendering").joinpath(name).read_text(encoding="utf-8")


def filled(file: str, /, **parts: str) -> str:
    """Return the text of a template with these parts, which are HTML."""
    return Template(part(file)).substitute(parts)
