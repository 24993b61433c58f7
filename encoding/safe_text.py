"""Texts of others on a terminal, in a page, in a file: one line where one is meant, and nothing that acts.

Names come from files and from protocols that others have written. A control character among them could clear the screen
or forge a line with a verdict; one that turns the direction of writing could make it read as another word.
"""

from __future__ import annotations

import re

WIDTH = 2000
"""Characters of a message, at most: the lists of what would be valid fit in."""

WORD = 200
"""Characters of one word in a message, at most."""

_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""What a terminal or a page obeys instead of showing it, and halves of characters, which cannot be written at all."""


def defused(text: str) -> str:
    """The text with what would act written out, as `\\x1b`; tabs and line ends stay."""
    return _ACTING.sub(lambda found: _written_out(found[0]), text)


def one_line(text: str, width: int = WIDTH) -> str:
    """The text on one line of at most `width` characters: long words are cut, and so is the middle of a long line."""
    line = "".join(c if c.isprintable() else _written_out(c) for c in text.strip())
    line = re.sub(rf"\S{{{WORD + 1},}}", lambda word: f"{word[0][: WORD // 2]}…", line)
    if len(line) <= width:
        return line
    kept = width - 3
    return f"{line[: kept * 3 // 4]} … {line[-(kept // 4) :]}"


def is_name(text: object) -> bool:
    """The text can stand on one line as it is: it is not empty, and every character of it is shown."""
    return isinstance(text, str) and bool(text.strip()) and text.isprintable()


def _written_out(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
