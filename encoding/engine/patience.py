"""The time in which counterexamples are made smaller."""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.encoding.engine.limits import Patience


class Waiting:
    """For each violated property, the time at which the search for shorter counterexamples may end.

    It reads no clock: times are values that the caller read, in seconds. `begun` is the start of the check.
    """

    def __init__(self, patience: Patience | None, begun: float) -> None:
        """Start without violations. Without `patience` no search ends."""
        self._patience, self._begun = patience, begun
        self._until: dict[str, float] = {}

    def over(self, violated: Iterable[str], now: float) -> list[str]:
        """Return those of the violated properties whose time has passed.

        The time of a property counts from the first call that names it. A shorter counterexample does not
        start it again.
        """
        if self._patience is None:
            return []
        names = list(violated)
        for name in names:
            self._until.setdefault(name, now + self._patience.after(now - self._begun))
        return [name for name in names if now >= self._until[name]]
