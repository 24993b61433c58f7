"""The evidence about one property."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.engine.events import ByActions, Replayed
from fencepost.encoding.engine.messages import Clean, Execution
from fencepost.encoding.language.system import Property


@dataclass
class PropertyEvidence:
    """The evidence about one property."""

    asked: Property
    violation: Replayed | None = None
    clean: Clean | None = None
    about_steps: Clean | None = None
    """The deepest result about steps alone. It stays true if a shorter violation is found."""
    at_least: int = 0
    """The steps that a violation takes at least, as an enumeration proves."""
    patience_is_over: bool = False
    witness: Execution | None = None
    by_actions: ByActions | None = None
    not_by_actions: str | None = None
    seen: bool = False
    never: bool = False

    @property
    def witnessed(self) -> bool:
        """Whether the property's witness was reached."""
        return self.seen or self.witness is not None

    @property
    def costs(self) -> tuple[int, ...] | None:
        """The costs of the cheapest violation found."""
        return None if self.violation is None else self.violation.costs

    @property
    def searched(self) -> int:
        """The deepest round in which no violation, or no cheaper one, is left to find."""
        if self.clean is None or not self._excludes_cheaper(self.clean):
            return 0
        return self.clean.rounds

    def _excludes_cheaper(self, clean: Clean) -> bool:
        """Return whether a search found that no violation costs less than the one known."""
        if clean.below is None or self.costs is None:
            return clean.below is None
        return clean.below >= self.costs

    def see(self, violation: Replayed) -> None:
        """Keep the violation if it is the first, or cheaper, or the same cost with a number of rounds."""
        known = self.violation
        more_is_known = known is not None and known.rounds is None and violation.costs == known.costs
        if known is None or violation.costs < known.costs or more_is_known:
            self.violation = violation
