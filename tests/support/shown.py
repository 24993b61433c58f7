"""Commands in a page that stand after a prompt, with the output that the page shows below them."""

from __future__ import annotations

import re
from collections.abc import Sequence

SHOWN = re.compile(r"^    \$ (.*)\n((?:    (?!\$ ).*\n|\n(?=    (?!\$ )))*)", re.MULTILINE)
"""A command after a prompt, and the lines below it."""


def words(text: str) -> str:
    """Return the text with one space between words, and without seconds."""
    return " ".join(re.sub(r"\[[\d.]+ s\]", "", text).split())


def shows(shown: str, output: str) -> bool:
    """Return whether the output has each shown line, in order.

    Other lines may stand between them, and `…` stands for any text.
    """
    return follow(list(filter(None, map(words, shown.replace("…", "\n").split("\n")))), words(output))


def follow(parts: Sequence[str], whole: str) -> bool:
    """Return whether the parts are in the text, each after the one before."""
    place = 0
    for part in parts:
        place = whole.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True
