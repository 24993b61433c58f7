"""Answers of a solver: yes with a model, no, or no answer with the reason.

A solver gives up if it runs out of time, memory or conflicts, or is interrupted. This refutes nothing and
proves nothing, and it is never cached. The caller continues without an answer, or its result is `undecided`.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

Found_co = TypeVar("Found_co", covariant=True)


@dataclass(frozen=True)
class Yes(Generic[Found_co]):
    """The answer that the formulas can hold together, with a model."""

    model: Found_co


@dataclass(frozen=True)
class No:
    """The answer that the formulas cannot hold together."""


@dataclass(frozen=True)
class GaveUp:
    """No answer, and why. A solver that only spent its conflicts may go on when it is asked again."""

    why: str
    may_go_on: bool = False


Answer: TypeAlias = Yes[Found_co] | No | GaveUp

TIME_OUT = GaveUp("time-out")


class SolverGaveUpError(Exception):
    """A solver gave up where an answer is necessary. The message says which solver and why.

    The result becomes `undecided`.
    """


class SpentError(SolverGaveUpError):
    """An end of a search because its conflicts are spent; becomes `undecided`."""


def answered(answer: Answer[Found_co], who: str) -> Yes[Found_co] | No:
    """Return the answer, or raise SolverGaveUpError. `who` names the solver and the question."""
    if isinstance(answer, GaveUp):
        raise SolverGaveUpError(f"{who}: {answer.why}")
    return answer


class Deadline:
    """A point in time at which a solver stops."""

    def __init__(self, seconds: float) -> None:
        """Set the deadline to so many seconds from now."""
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left, never negative."""
        return max(0.0, self._end - time.monotonic())

    def passed(self) -> bool:
        """Return whether no time is left."""
        return self.left() <= 0.0


class CpuDeadline(Deadline):
    """A number of CPU seconds of this process and of its children that have ended, after which solvers stop.

    Other work on the machine takes none of them.
    """

    def __init__(self, seconds: float) -> None:
        """Set the deadline to so many CPU seconds from now."""
        self._end = _cpu_seconds() + seconds

    def left(self) -> float:
        """Return the CPU seconds left, never negative."""
        return max(0.0, self._end - _cpu_seconds())


def _cpu_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
