"""The outlook of a breadth-first enumeration: how many states there will be, by the sizes of its levels."""

from __future__ import annotations

from collections.abc import Sequence

SPAN = 3
"""The number of levels over which the change of the growth is taken. One level alone varies too much."""


def expected_nodes(levels: Sequence[int], most: int) -> int | None:
    """Return the number of nodes to expect, or None if it is more than `most` or no end is in sight.

    `levels` has the number of nodes at 0, 1, 2 … steps, complete levels only. Each level is the one before
    it times a growth. The growth becomes smaller by a constant factor, that of the last levels, or it stays.
    """
    if len(levels) < SPAN + 2:
        return None
    growth, before = levels[-1] / levels[-2], levels[-1 - SPAN] / levels[-2 - SPAN]
    factor = (growth / before) ** (1 / SPAN)
    total, size = float(sum(levels)), float(levels[-1])
    while size >= 1 and total <= most:
        growth *= min(factor, 1)
        size *= growth
        total += size
    return round(total) if total <= most else None
