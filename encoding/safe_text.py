"""Text from outside, made safe to show on a terminal, in a page or in a file.

Names come from files and protocols that other people write. A control character in a name could clear the
screen or forge a line with a verdict. A character that changes the writing direction could make a name look
like another word.
"""

from __future__ import annotations

import re

WIDTH = 2000
"""Largest number of characters of a message. A list of valid values fits in."""

WORD = 200
"""Largest number of characters of one word in a message."""

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Characters that a terminal or a page obeys instead of showing, and surrogates, which cannot be written."""


def defused(text: str) -> str:
    r"""Return the text with control characters escaped, as `\x1b`. Tabs and line ends stay."""
    return _CONTROL.sub(lambda found: _escaped(found[0]), text)


def one_line(text: str, width: int = WIDTH) -> str:
    """Return the text on one line of at most `width` characters.

    Long words are cut. A line that is still too long loses its middle.
    """
    line = "".join(c if c.isprintable() else _escaped(c) for c in text.strip())
    line = re.sub(rf"\S{{{WORD + 1},}}", lambda word: f"{word[0][: WORD // 2]}…", line)
    if len(line) <= width:
        return line
    kept = width - 3
    return f"{line[: kept * 3 // 4]} … {line[-(kept // 4) :]}"


def is_name(text: object) -> bool:
    """Return whether the text fits on one line as it is: not empty, and every character printable."""
    return isinstance(text, str) and bool(text.strip()) and text.isprintable()


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
