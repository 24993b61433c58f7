"""Racks: bookies that are lost together, and how many of them one window can have."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from fencepost.encoding.documents import whole
from fencepost.encoding.errors import BadInput
from fencepost.quorums.stripes import Configuration


@dataclass(frozen=True)
class Racks:
    """The number of bookies in each rack of the cluster, or the rack of each position of the ensemble.

    If only sizes are given, the worst ensemble is assumed. A rack may be an availability zone, or any group
    that fails together.
    """

    sizes: tuple[int, ...]
    placement: tuple[str, ...] | None = None

    @property
    def largest(self) -> int:
        """The number of bookies in the largest rack."""
        return max(self.sizes)

    def most_in_a_window(self, configuration: Configuration, min_racks: int | None = None) -> int:
        """Return the most bookies of one rack in one window.

        If the placement is not given, it is the worst one with `min_racks` racks in a window.
        """
        if self.placement is not None:
            return max(
                max(Counter(self.placement[position] for position in window).values())
                for window in configuration.windows()
            )
        wq = configuration.write_quorum
        spread = 1 if min_racks is None else min(wq, min_racks)
        return min(self.largest, wq - spread + 1)

    def racks_per_window(self, configuration: Configuration) -> int | None:
        """Return the fewest racks that a window spans; None if the placement is not given."""
        if self.placement is None:
            return None
        return min(
            len({self.placement[position] for position in window}) for window in configuration.windows()
        )


def read_racks(text: str, ensemble: int) -> Racks:
    """Return racks from `2,1,1` (bookies in each) or `a,b,a` (rack of each position). Raises BadInput."""
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise BadInput(f"--racks {text!r}: an empty rack; give numbers of bookies (2,1,1) or names (a,b,a)")
    numbers = [whole(word) for word in words]
    sizes = tuple(number for number in numbers if number is not None)
    if len(sizes) == len(words):
        if min(sizes) < 1:
            raise BadInput(f"--racks {text!r}: a rack of {min(sizes)}; every rack has at least 1 bookie")
        return Racks(sizes)
    if sizes:
        names = ", ".join(word for word in words if whole(word) is None)
        raise BadInput(
            f"--racks {text!r}: numbers ({', '.join(map(str, sizes))}) and names ({names}) together; "
            "give numbers of bookies (2,1,1) or names (a,b,a)"
        )
    if len(words) != ensemble:
        raise BadInput(
            f"--racks {text!r}: {len(words)} names for an ensemble of {ensemble}; give the rack of each "
            "position"
        )
    return Racks(tuple(Counter(words).values()), tuple(words))
