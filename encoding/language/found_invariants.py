"""Invariants that an engine found, beside those that a person writes."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.language.system import Invariant


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
