"""Obligations: what rows answer, each one property of one instance and how far to search."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from fencepost.encoding.engine.limits import Minimize

CODE = "code"
"""Who answers where random walks are taken on the real code: stands in the place of a solver."""


@dataclass(frozen=True)
class SweepCase:
    """One property of one instance, and how far to search: what a row answers.

    `settings` are all parameters and switches, defaults too, so that one instance is asked for in one way
    only. `weight` estimates how hard it is; it is no part of what is asked.
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
    """The digest of the ground system, if the protocol is not one that ships."""

    def identify(self, engine: str) -> str:
        """A hash of what is asked and of the engine that is to answer."""
        asked = [self.protocol, self.settings, self.property, self.solver, self.bound, self.rounds]
        own = [] if self.system is None else [self.system]
        text = json.dumps([engine, *asked, self.minimize, *own], separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:20]


def together(obligations: Iterable[SweepCase]) -> list[tuple[SweepCase, ...]]:
    """The obligations with those together that may share a proof, each group where its first one stands.

    They differ in their property alone. With a bound there is nothing to share: induction is about any number of steps.
    """
    found: dict[SweepCase, list[SweepCase]] = {}
    for one in obligations:
        shared = replace(one, property="") if one.bound is None else one
        found.setdefault(shared, []).append(one)
    return list(map(tuple, found.values()))
