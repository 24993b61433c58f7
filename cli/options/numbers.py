"""Numbers on the command line: plain decimal digits, within bounds that are said, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable

import click

from fencepost.encoding.documents import whole


def integer_from(least: int, most: int = 10**9) -> Callable[[str | int], int]:
    """Reads a whole number from `least` to `most`: not what `int` takes besides, as `1_0` or digits of other scripts."""

    def integer(value: str | int) -> int:
        number = value if isinstance(value, int) else whole(value)
        if number is None or not least <= number <= most:
            raise click.BadParameter(f"{value}: must be a whole number from {least:,} to {most:,}")
        return number

    return integer


def amount_up_to(most: float) -> Callable[[str | float], float]:
    """Reads a number above 0 and no larger than `most`, such as `0.5` or `300`: not `nan`, `inf` or `1e400`."""

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
"""Up to four months."""
GIB = amount_up_to(1e6)

ROUNDS = integer_from(1, 1000)
"""Far more than any proof needs; certificates have the same bound."""
STEPS = integer_from(0, 100_000)
PORT = integer_from(0, 65_535)
COUNT = integer_from(1, 100_000)
LIMIT = integer_from(1)
SIZE = integer_from(-(10**9))
"""Of what the calculator is asked about, which has bounds of its own."""
SEED = integer_from(-(10**18) + 1, 10**18 - 1)
