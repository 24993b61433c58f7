"""Numbers on the command line: plain decimal digits within bounds that the error names."""

from __future__ import annotations

import re
from collections.abc import Callable

import click

from fencepost.encoding.documents import whole


def integer_from(least: int, most: int = 10**9) -> Callable[[str | int], int]:
    """Return a reader of whole numbers from `least` to `most`, written in plain decimal digits."""

    def integer(value: str | int) -> int:
        number = value if isinstance(value, int) else whole(value)
        if number is None or not least <= number <= most:
            raise click.BadParameter(f"{value}: must be a whole number from {least:,} to {most:,}")
        return number

    return integer


def amount_up_to(most: float) -> Callable[[str | float], float]:
    """Return a reader of numbers above 0 and up to `most`, such as `0.5` or `300`, but not `1e3`."""

    def amount(value: str | float) -> float:
        written = str(value)
        number = (
            float(written) if re.fullmatch(r"[0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18}", written) else None
        )
        if number is None or not 0 < number <= most:
            raise click.BadParameter(f"{value}: must be a number above 0, up to {most:,.0f}")
        return number

    return amount


SECONDS = amount_up_to(1e7)
"""Seconds up to four months."""
GIB = amount_up_to(1e6)

ROUNDS = integer_from(1, 1000)
"""More rounds than any proof needs; certificates have the same bound."""
STEPS = integer_from(0, 100_000)
PORT = integer_from(0, 65_535)
COUNT = integer_from(1, 100_000)
LIMIT = integer_from(1)
SIZE = integer_from(-(10**9))
"""A size for the calculator, which checks its own bounds."""
SEED = integer_from(-(10**18) + 1, 10**18 - 1)
