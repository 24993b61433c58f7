"""The invariants that a system carries: those that an engine found, and others in place of its own."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass

from fencepost.encoding.language.system import Invariant, System


@dataclass(frozen=True)
class FoundInvariant(Invariant):
    """An invariant that an engine found. It may read choices, which a written invariant may not.

    A choice has the same value in every state of an execution, so an invariant may say how the states depend
    on it. Only induction over one action takes such an invariant. Its name has a slash, so that it is the
    name of no written claim.
    """

    def __post_init__(self) -> None:
        """Check that the name has a slash. Raises ValueError."""
        if "/" not in self.name:
            raise ValueError(f"{self.name}: the name of a found invariant has a slash")


def carrying(system: System, invariants: Iterable[Invariant]) -> System:
    """Return the same system with these invariants in place of its own.

    It keeps its ground actions and its initial state. The names must be distinct: they are not compared
    again.
    """
    other = copy(system)
    object.__setattr__(other, "invariants", tuple(invariants))
    return other
