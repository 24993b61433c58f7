"""The boot sequence of BP-46: what each step, order and omission is worth (the table in `expected/boot.toml`).

Tests and docs/no-journal.md read it.
"""

from __future__ import annotations

from itertools import groupby

from fencepost.properties.expectations import TABLES, Expectation, read

Way = tuple[Expectation, ...]
"""One way to boot: what each property comes to."""

BOOT: tuple[Way, ...] = tuple(
    tuple(way) for _, way in groupby(read(TABLES / "boot.toml"), lambda row: row.line)
)
"""The first one is BP-46 as it was proposed."""

INSTANCE = BOOT[0][0].settings
"""Two bookies, 2/2/2, one entry, one recoverer."""


def what(way: Way) -> str:
    """A way to boot, in words."""
    return way[0].name.removesuffix(f", {way[0].property}")


def differences(way: Way) -> dict[str, int | str]:
    """What has to be set on the proposal's instance."""
    return {name: value for name, value in way[0].settings.items() if INSTANCE.get(name) != value}
