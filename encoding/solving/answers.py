"""What a solver says to a question: yes, with a model; no; or it gave up, and why. Only yes and no are answers.

A solver that ran out of time, memory or conflicts, or was interrupted, gave up. That refutes nothing, proves nothing,
is nobody's fault and is never kept: whoever asked goes on without an answer, or is undecided.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

Found_co = TypeVar("Found_co", covariant=True)


@dataclass(frozen=True)
class Yes(Generic[Found_co]):
    """What was asked about is possible: so."""

    model: Found_co


@dataclass(frozen=True)
class No:
    """It is not possible."""


@dataclass(frozen=True)
class GaveUp:
    """There is no answer. If only the conflicts are used up that the solver was given, it can be asked to go on."""

    why: str
    may_go_on: bool = False


Answer: TypeAlias = Yes[Found_co] | No | GaveUp

TIME_OUT = GaveUp("time-out")


class SolverGaveUpError(Exception):
    """There is no answer, and nothing to be done without one; becomes `undecided`. The message says who gave up, and why."""


class SpentError(SolverGaveUpError):
    """An end of a search because its conflicts are spent; becomes `undecided`."""


def answered(answer: Answer[Found_co], who: str) -> Yes[Found_co] | No:
    """The answer; raises SolverGaveUpError if there is none. `who` names the solver and what it was asked about."""
    if isinstance(answer, GaveUp):
        raise SolverGaveUpError(f"{who}: {answer.why}")
    return answer


class Deadline:
    """A point in time by which there must be an answer."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._end - time.monotonic())

    def passed(self) -> bool:
        """Whether none are left."""
        return self.left() <= 0.0
