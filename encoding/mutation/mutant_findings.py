"""Findings about mutants: whether a property notices one, and why none does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


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
class MutantFinding:
    """The finding about a mutant.

    `noticed_by` has the violated properties, with the steps of the replayed counterexample, and those that
    become vacuous. It is empty if the engine refuses the changed system; `reason` then says why. Other
    outcomes have a reason too. `why` and `shown` explain a mutant that nothing notices.
    """

    outcome: MutantOutcome
    reason: str | None = None
    noticed_by: Mapping[str, int | None] = field(default_factory=dict)
    why: Why | None = None
    shown: tuple[str, ...] = ()
