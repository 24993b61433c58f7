"""Claims about sets of bookies, each tried on every set of positions of one configuration.

The sets are those of the definitions, and no solver takes part. A set is a number whose bit p says whether
position p is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TypeAlias

from fencepost.quorums.stripes import Configuration, Positions

Bits: TypeAlias = int
"""A set of positions."""

HEARD, LOST = ("heard", "silent"), ("up", "lost")
"""Two ways to split an ensemble: by answers, and by losses."""


@dataclass(frozen=True)
class SetClaim:
    """A claim about a split of some positions in two parts.

    `fails` takes the second part, such as the silent bookies, and `sentence` says what is then wrong.
    """

    sentence: str
    fails: Callable[[Bits], bool]
    among: Positions
    parts: tuple[str, str] = HEARD

    def counterexample(self) -> dict[str, tuple[str, ...]] | None:
        """Return both parts of the smallest split for which the claim fails; None if there is none."""
        for second in every_set(self.among):
            if self.fails(second):
                inside = [position for position in self.among if second >> position & 1]
                outside = [position for position in self.among if not second >> position & 1]
                return dict(zip(self.parts, (bookies(outside), bookies(inside)), strict=True))
        return None


@cache
def every_set(among: Positions) -> tuple[Bits, ...]:
    """Return all sets of these positions, those with fewer members first."""
    return tuple(bits(chosen) for size in range(len(among) + 1) for chosen in combinations(among, size))


def bits(positions: Iterable[int]) -> Bits:
    """Return a set of positions."""
    return sum(1 << position for position in set(positions))


def bookies(positions: Iterable[int]) -> tuple[str, ...]:
    """Return the names of the bookies at these positions. The bookie at position 0 is b1."""
    return tuple(f"b{position + 1}" for position in sorted(positions))


def fewer_than(count: int, places: Iterable[Positions]) -> Callable[[Bits], bool]:
    """Return the test whether a set has fewer than `count` members in each of these places."""
    masks = [bits(place) for place in places]
    return lambda members: all((members & mask).bit_count() < count for mask in masks)


def every_window_covered(configuration: Configuration) -> Callable[[Bits], bool]:
    """Return the test whether every window has fewer than AQ of the silent or lost bookies."""
    return fewer_than(configuration.ack_quorum, configuration.windows())
