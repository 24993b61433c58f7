"""Checks that find mistakes of a protocol's author early. Each message says what to write instead."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.patterns import families_read
from fencepost.encoding.language.sorts import MOST_PLACES, Sort
from fencepost.encoding.language.terms import Term
from fencepost.encoding.safe_text import is_name, one_line

LONGEST_NAME = 100
"""Largest number of bytes of a name that becomes part of a file's name."""


def must_be(where: str, value: object, kind: type | tuple[type, ...], instead: str) -> None:
    """Raise ModelError unless the value is of that kind; `instead` says what to write."""
    if not isinstance(value, kind):
        raise ModelError(f"{where} is {_described(value)}; {instead}")


def must_be_line(where: str, value: object, instead: str = "write a text of one line") -> None:
    """Raise ModelError unless the value is a text of printable characters: others could forge a line."""
    must_be(where, value, str, instead)
    if not str(value).isprintable():
        raise ModelError(f"{where} is {_described(value)}; {instead}")


def must_be_list(where: str, values: object, kind: type | tuple[type, ...], instead: str) -> None:
    """Raise ModelError unless the value is a list or tuple of that kind.

    A value without its list is the usual mistake: a tuple of one has lost its comma.
    """
    must_be(where, values, (list, tuple), instead)
    assert isinstance(values, list | tuple)
    for value in values:
        must_be(f"{where}: one item", value, kind, instead)


def must_be_number(where: str, value: object) -> None:
    """Raise ModelError unless the value is a whole number of at least 1. `True` is none."""
    if type(value) is not int or value < 1:
        raise ModelError(f"{where} is {_described(value)}; write a whole number of 1 or more, such as 4")


def must_be_table(where: str, value: object, kind: type | tuple[type, ...], instead: str) -> None:
    """Raise ModelError unless the value is a mapping from texts to values of that kind."""
    must_be(where, value, Mapping, instead)
    assert isinstance(value, Mapping)
    for name, item in value.items():
        must_be_line(f"{where}: one name", name, instead)
        must_be(f"{where}: {name}", item, kind, instead)


def must_be_call(where: str, value: object, instead: str) -> None:
    """Raise ModelError unless the value can be called."""
    if not callable(value):
        raise ModelError(f"{where} is {_described(value)}; {instead}")


def check_claim(kind: str, name: object, **conditions: object) -> None:
    """Raise ModelError unless the name fits a file's name and the conditions are Boolean terms."""
    must_be_file_name(kind, name)
    for field, condition in conditions.items():
        must_be_condition(f"{name}: {field}=", condition)


def must_be_condition(where: str, value: object) -> None:
    """Raise ModelError unless the value is a Boolean term. A plain `False` or `None` is not a term."""
    must_be(where, value, Term, "write a term over the state, such as ~s.lost or forall(s.entry, …)")
    assert isinstance(value, Term)
    if value.type != "bool":
        raise ModelError(
            f"{where} is a term of type {value.type}; compare it with something, such as s.phase == …"
        )


def must_be_of_state(where: str, condition: object) -> None:
    """Raise ModelError unless the condition is a Boolean term that reads no choice."""
    must_be_condition(where, condition)
    assert isinstance(condition, Term)
    for family in sorted(families_read(condition), key=lambda family: family.name):
        if family.fault is not None:
            raise ModelError(
                f"{where} reads {family.name}, which is a choice; it may read only state variables"
            )


def must_be_file_name(where: str, name: object) -> None:
    """Raise ModelError unless the name can become part of a file's name."""
    fits = is_name(name) and isinstance(name, str) and re.fullmatch(r"[^\s./-][^/\\]*", name)
    if not fits or len(str(name).encode()) > LONGEST_NAME:
        raise ModelError(
            f"{where} is named {_described(name)}; "
            f"give it a name of up to {LONGEST_NAME} letters, digits and dashes"
        )


def count_combinations(where: str, over: Iterable[Sort], already: int = 0) -> int:
    """Return the number of combinations of values of these sorts, or 0 if a sort has any size.

    Raises ModelError if this number and `already` together exceed `MOST_PLACES`.
    """
    sorts = list(over)
    if not all(sort.counted for sort in sorts):
        return 0
    number = prod(map(len, sorts))
    if already + number > MOST_PLACES:
        sizes = " by ".join(f"{sort.name} ({len(sort)})" for sort in sorts)
        raise ModelError(
            f"{where}: {sizes} makes {already + number:,}, and at most {MOST_PLACES:,} are allowed; "
            "make one of them smaller"
        )
    return number


def _described(value: Any) -> str:
    match value:
        case Term():
            return "a term"
        case str() | bool() | int() | None:
            return one_line(repr(value), 80)
    return f"a {type(value).__name__}"
