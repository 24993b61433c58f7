"""The places in an author's text at which terms, updates and messages were written, recorded on request."""

from __future__ import annotations

import itertools
import linecache
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import ClassVar

LANGUAGE = str(Path(__file__).parent)
_recorded = [False]


@dataclass(frozen=True)
class Origin:
    """An expression of an author: its file, line and text, and the calls that lead to it from the handler.

    All that one expression makes, in a loop too, has one origin.
    """

    file: str
    line: int
    text: str
    way: tuple[tuple[str, int, int], ...]


@contextmanager
def origins_recorded() -> Iterator[None]:
    """Record the origins of all terms and updates that are made in this context."""
    before, _recorded[0] = _recorded[0], True
    try:
        yield
    finally:
        _recorded[0] = before


@dataclass(frozen=True, eq=False)
class Making:
    """An action, an update or a message, and the line of an author that made it."""

    made: Authored
    file: str
    line: int


_makings: list[dict[int, Making]] = []
"""The makings by their numbers, in each of the blocks that note them, the innermost last."""
_numbers = itertools.count(1)


@contextmanager
def makings_noted() -> Iterator[dict[int, Making]]:
    """Note each action, update and message that is made in this context."""
    _makings.append({})
    try:
        yield _makings[-1]
    finally:
        _makings.pop()


def elsewhere(numbers: Iterable[int | None]) -> None:
    """Leave out of the notes what another system of the author's has."""
    if _makings:
        for number in filter(None, numbers):
            _makings[-1].pop(number, None)


class Authored:
    """An action, an update or a message, with the number of its making; None if makings are not noted.

    A changed copy has the same number.
    """

    making: int | None

    def __post_init__(self) -> None:
        """Note the making, unless this is a copy."""
        if not _makings or self.making is not None:
            return
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith((LANGUAGE, "<string>")):
            frame = frame.f_back
        if frame is not None:
            number = next(_numbers)
            object.__setattr__(self, "making", number)
            _makings[-1][number] = Making(self, frame.f_code.co_filename, frame.f_lineno)


class Written:
    """A thing with the origin of its text, None if origins are not recorded."""

    origin: ClassVar[Origin | None]

    def __post_init__(self) -> None:
        """Note the origin."""
        object.__setattr__(self, "origin", here())


def here() -> Origin | None:
    """Return the origin of what is made now; None if origins are not recorded."""
    if not _recorded[0]:
        return None
    frame, places = sys._getframe(1), list[tuple[str, int, int, str]]()
    while frame.f_back is not None:
        code = frame.f_code
        if not code.co_filename.startswith((LANGUAGE, "<")):
            places.append(_place(code, code.co_filename, frame.f_lasti))
        elif code.co_name in ("each", "built_once"):
            break
        frame = frame.f_back
    if not places:
        return None
    file, line, _, text = places[0]
    return Origin(file, line, text, tuple(place[:3] for place in places))


@cache
def _place(code: CodeType, file: str, last: int) -> tuple[str, int, int, str]:
    """Return the file, line and column of the expression that an instruction belongs to, with its text.

    Code of two files may be equal, so the file is an argument of its own.
    """
    first, end, start, stop = next(islice(code.co_positions(), last // 2, None))
    if first is None or end is None:
        return file, code.co_firstlineno, 0, ""
    lines = [line.encode() for line in linecache.getlines(file)[first - 1 : end]]
    if lines:
        lines[-1], lines[0] = lines[-1][:stop], lines[0][start:] if len(lines) > 1 else lines[0][start:stop]
    return file, first, start or 0, " ".join(b"".join(lines).decode(errors="replace").split())
