"""Arguments of the public functions, read as the command line reads its options."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import click

from fencepost.encoding.errors import BadInput

Number = TypeVar("Number", int, float)


def number(name: str, value: object, read: Callable[[str], Number]) -> Number:
    """Return a number that an option's type of `cli/options/numbers.py` reads. Raises BadInput."""
    try:
        return read(str(value))
    except click.BadParameter as error:
        raise BadInput(f"{name}={error.message}") from error


def texts(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return the texts; a single one stands for itself."""
    return (given,) if isinstance(given, str) else tuple(given)
