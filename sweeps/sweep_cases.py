"""The cases of a sweep: each is one property of one instance with the limits of the search."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from fencepost.encoding.engine.limits import Minimize

ADVICE = "advice"
"""The name in place of a solver for questions that prove a condition of `advise`."""


@dataclass(frozen=True)
class SweepCase:
    """One property of one instance with the limits of the search: the question that a row answers.

    `settings` has all parameters and switches, with defaults, so that an instance is named in one way only.
    `weight` estimates how hard the case is and does not identify it.
    """

    protocol: str
    settings: tuple[tuple[str, str], ...]
    property: str
    solver: str = "cadical"
    bound: int | None = None
    rounds: int | None = None
    minimize: Minimize = Minimize.STEPS
    weight: int = 0
    system: str | None = None
    """The digest of the ground system, if the protocol does not ship."""
    drop_declared: bool = False
    """Whether the invariants that the protocol declares are hidden."""

    def identify(self, engine: str) -> str:
        """Return a hash of the case and of the engine that answers it."""
        asked = [self.protocol, self.settings, self.property, self.solver, self.bound, self.rounds]
        text = json.dumps(
            [engine, *asked, self.minimize, self.system, self.drop_declared], separators=(",", ":")
        )
        return hashlib.sha256(text.encode()).hexdigest()[:20]


def together(cases: Iterable[SweepCase]) -> list[tuple[SweepCase, ...]]:
    """Return the cases, with those that may share a proof together at the place of their first one.

    They differ in their property alone. Cases with a bound share no proof, because induction covers any
    number of steps.
    """
    found: dict[SweepCase, list[SweepCase]] = {}
    for one in cases:
        shared = replace(one, property="") if one.bound is None else one
        found.setdefault(shared, []).append(one)
    return list(map(tuple, found.values()))
