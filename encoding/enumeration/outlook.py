"""The outlook of a breadth-first enumeration: how many states there will be, by the sizes of its levels."""

from __future__ import annotations

from collections.abc import Sequence

SPAN = 3
"""The number of levels over which the change of the growth is taken. One level alone varies too much."""


def expected_nodes(levels: Sequence[int], most: int) -> int | None:
    """Return the number of nodes to expect, or None if it is more than `most` or no end is in sight.

    `levels` has the number of nodes at 0, 1, 2 … steps, complete levels only. Each level is the one before
    it times a growth. The growth becomes smaller by a constant factor, or it stays: the mean factor of the
    last levels, or that of the very last one if it is nearer to 1.
    """
    if len(levels) < SPAN + 2:
        return None
    growth, last, before = (levels[-1 - i] / levels[-2 - i] for i in (0, 1, SPAN))
    factor = max((growth / before) ** (1 / SPAN), growth / last)
    total, size = float(sum(levels)), float(levels[-1])
    while size >= 1 and total <= most:
        growth *= min(factor, 1)
        size *= growth
        total += size
    return round(total) if total <= most else None
