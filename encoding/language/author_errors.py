"""Mistakes of a protocol's author, found where they are made: each in a sentence that says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import prod
from typing import Any

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.language.terms import Term
from fencepost.encoding.safe_text import is_name, one_line

MOST_PLACES = 100_000
"""State variables of a system, and ground actions, at most: far more than any instance that is proved has."""

LONGEST_NAME = 100
"""Bytes of a name that becomes part of a file's name."""


def must_be(where: str, value: object, kind: type | tuple[type, ...], instead: str) -> None:
    """Raise ModelError unless the value is of that kind; `instead` says what to write."""
    if not isinstance(value, kind):
        raise ModelError(f"{where} is {_said(value)}; {instead}")


def listed(where: str, values: object, kind: type | tuple[type, ...], instead: str) -> None:
    """Raise ModelError unless the value is a list or tuple of that kind: one by itself has lost its comma."""
    must_be(where, values, (list, tuple), instead)
    assert isinstance(values, list | tuple)
    for value in values:
        must_be(f"{where}: one of them", value, kind, instead)


def term_of_state(where: str, value: object) -> None:
    """Raise ModelError for what is no truth about a state: a plain `False`, a comparison of plain values, `None`."""
    must_be(where, value, Term, "write a term over the state, such as ~s.lost or forall(s.entry, …)")
    assert isinstance(value, Term)
    if value.type != "bool":
        raise ModelError(
            f"{where} is a term of type {value.type}; compare it with something, such as s.phase == …"
        )


def file_name(where: str, name: object) -> None:
    """Raise ModelError for a name of which no file's name can be made."""
    fits = is_name(name) and isinstance(name, str) and re.fullmatch(r"[^\s./-][^/\\]*", name)
    if not fits or len(str(name).encode()) > LONGEST_NAME:
        raise ModelError(
            f"{where} is named {_said(name)}; give it a name of up to {LONGEST_NAME} letters, digits and dashes"
        )


def fits_in(where: str, over: Iterable[Sort], already: int = 0) -> int:
    """How many combinations of values the sorts have; raises ModelError if with those before they are too many.

    Over a sort of any size nothing is counted, and so nothing is built.
    """
    sorts = list(over)
    if not all(sort.counted for sort in sorts):
        return 0
    number = prod(map(len, sorts))
    if already + number > MOST_PLACES:
        sizes = " by ".join(f"{sort.name} ({len(sort)})" for sort in sorts)
        raise ModelError(
            f"{where}: {sizes} makes {already + number:,}, and {MOST_PLACES:,} are the most; make one of them smaller"
        )
    return number


def _said(value: Any) -> str:
    match value:
        case Term():
            return "a term"
        case str() | bool() | int() | None:
            return one_line(repr(value), 80)
    return f"a {type(value).__name__}"
