"""Configurations, and the windows of their ensembles.

A position is an index into the ensemble, which is an ordered list. Positions start at 0, entries at 1. A
window is WQ consecutive positions, cyclically: the write set of some entry
(`RoundRobinDistributionSchedule`). If E > WQ, entries are striped over the windows in turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from fencepost.encoding.errors import BadInput

Positions: TypeAlias = tuple[int, ...]


LARGEST = 1000
"""The largest ensemble that is accepted. Real ensembles have a few bookies, because each serves every client.
"""


@dataclass(frozen=True, order=True)
class Configuration:
    """E/WQ/AQ: numbers of bookies with 1 <= AQ <= WQ <= E. Raises BadInput for anything else."""

    ensemble: int
    write_quorum: int
    ack_quorum: int

    def __post_init__(self) -> None:
        """Raise BadInput unless 1 <= AQ <= WQ <= E."""
        for name, value in (
            ("ensemble (E)", self.ensemble),
            ("write quorum (WQ)", self.write_quorum),
            ("ack quorum (AQ)", self.ack_quorum),
        ):
            if value < 1:
                raise BadInput(f"{name} is {value}: it must be at least 1")
            if value > LARGEST:
                raise BadInput(f"{name} is {value}: it must be at most {LARGEST:,}")
        if self.ack_quorum > self.write_quorum:
            raise BadInput(
                f"ack quorum {self.ack_quorum} exceeds write quorum {self.write_quorum}: AQ must be at most "
                "WQ"
            )
        if self.write_quorum > self.ensemble:
            raise BadInput(
                f"write quorum {self.write_quorum} exceeds ensemble {self.ensemble}: WQ must be at most E"
            )

    def __str__(self) -> str:
        """Return the configuration as E/WQ/AQ."""
        return f"{self.ensemble}/{self.write_quorum}/{self.ack_quorum}"

    @property
    def sizes(self) -> tuple[int, int, int]:
        """E, WQ and AQ, in the order of the formulas' arguments."""
        return self.ensemble, self.write_quorum, self.ack_quorum

    @property
    def positions(self) -> Positions:
        """The positions of the ensemble."""
        return tuple(range(self.ensemble))

    def window(self, start: int, length: int | None = None) -> Positions:
        """Return `length` consecutive positions from `start`, cyclically. The default length is WQ."""
        wanted = self.write_quorum if length is None else length
        return tuple((start + step) % self.ensemble for step in range(wanted))

    def windows(self) -> list[Positions]:
        """Return the E windows, one for each start. If E = WQ they are all the same set."""
        return [self.window(start) for start in self.positions]

    def write_set(self, entry: int) -> Positions:
        """Return the positions to which entry `entry` (from 1) of a fragment is written."""
        return self.window((entry - 1) % self.ensemble)


def configurations(up_to: int) -> Iterator[Configuration]:
    """Yield all E >= WQ >= AQ >= 1 with E up to `up_to`, smallest first: by E, then WQ, then AQ."""
    for ensemble in range(1, up_to + 1):
        for write_quorum in range(1, ensemble + 1):
            for ack_quorum in range(1, write_quorum + 1):
                yield Configuration(ensemble, write_quorum, ack_quorum)
