"""Turns: each of several runs gets a fair share of the time that is left."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fencepost.answers.requests import seconds_from_now
from fencepost.encoding.engine.limits import Limits

EACH = 300.0
"""The seconds of a run if there is no limit, as in `check`."""

SPENT = 0.9
"""The share of its time after which an undecided run was ended by its time, and did not give up."""


class Turns:
    """The runs that wait for a turn, by number. A slow run takes no time from the others.

    Iterating yields the number of a run and its seconds. A run whose share was too short has another turn in
    the end, if its share is then longer.
    """

    def __init__(self, runs: int, limits: Limits) -> None:
        """Begin with a turn for each run; the time of `limits` passes from now on."""
        self.number = 0
        self._limits, self._elapsed = limits, seconds_from_now()
        self._waiting, self._had = list(range(runs)), [0.0] * runs

    def __iter__(self) -> Iterator[tuple[int, float]]:
        """Yield the number of each run that has a turn, and its seconds."""
        while self._waiting:
            seconds, self.number = self._share(), self._waiting.pop(0)
            if seconds > self._had[self.number]:
                self._had[self.number] = seconds
                yield self.number, seconds

    def undecided(self, number: int, seconds: float) -> None:
        """Let a run wait again that was undecided after these seconds, if its time ended it."""
        if seconds >= SPENT * self._had[number]:
            self._waiting.append(number)

    def _share(self) -> float:
        left = self._limits.timeout - self._limits.gone - self._elapsed()
        share = left / len(self._waiting)
        return round(min(share, EACH) if self._limits.timeout == math.inf else share, 2)
