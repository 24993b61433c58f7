"""Findings about mutants: whether a property notices one, and why none does."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fencepost.encoding.engine.verdicts import Verdict


class MutantOutcome(StrEnum):
    """The result for a mutant."""

    NOTICED = "noticed"
    EQUIVALENT = "equivalent"
    UNNOTICED = "not noticed"
    UNDECIDED = "undecided"


class Why(StrEnum):
    """Why nothing notices a mutant."""

    UNREAD = "no property reads what it changes"
    SAME_READ = "equal up to variables that no property reads"
    IDLE = "it makes no difference at this size"
    PROGRESS = "progress only"
    DIFFERS = "a reachable state differs, and no property cares"


@dataclass(frozen=True)
class Notice:
    """A property that notices a mutant: it is violated, or it becomes vacuous.

    `steps` are those of the replayed counterexample.
    """

    property: str
    verdict: Verdict
    steps: int | None = None


@dataclass(frozen=True)
class MutantFinding:
    """The finding about a mutant.

    `noticed_by` has the properties. It is empty if the engine refuses the changed system; `reason` then says
    why. Other outcomes have a reason too. `why` and `shown` explain a mutant that nothing notices.
    """

    outcome: MutantOutcome
    reason: str | None = None
    noticed_by: tuple[Notice, ...] = ()
    why: Why | None = None
    shown: tuple[str, ...] = ()
