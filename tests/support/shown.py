"""Commands in a page that stand after a prompt, with what the page shows below them."""

from __future__ import annotations

import re
from collections.abc import Sequence

SHOWN = re.compile(r"^    \$ (.*)\n((?:    (?!\$ ).*\n|\n(?=    (?!\$ )))*)", re.MULTILINE)
"""A command after a prompt, and what stands below it."""


def words(text: str) -> str:
    """The text with one space between words, and without seconds."""
    return " ".join(re.sub(r"\[[\d.]+ s\]", "", text).split())


def shows(shown: str, said: str) -> bool:
    """Each line that is shown is said, one after the other; lines may lie between them, and whatever `…` stands for."""
    return follow(list(filter(None, map(words, shown.replace("…", "\n").split("\n")))), words(said))


def follow(parts: Sequence[str], whole: str) -> bool:
    """The parts are in the text, each after the one before."""
    place = 0
    for part in parts:
        place = whole.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True
