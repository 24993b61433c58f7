"""One size of a protocol, as the search for invariants of every size sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from fencepost.encoding.language.carried_invariants import FoundInvariant, carrying
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.lifting.judge import Judge
from fencepost.encoding.lifting.samples import Samples, sampled
from fencepost.encoding.lifting.sentences import invariant
from fencepost.encoding.lifting.sizes import Size
from fencepost.encoding.lifting.templates import Template

SAMPLING = 5.0
"""The most seconds in which the states of one size are simulated."""


@dataclass
class AtSize:
    """One size: its system, its samples, and the properties that are to be proved.

    With `dropped`, declared invariants are hidden.
    """

    size: Size
    properties: tuple[str, ...]
    dropped: bool
    solver: str
    violated: set[str] = field(default_factory=set)

    @cached_property
    def system(self) -> System:
        """The system, without its declared invariants if they are hidden."""
        return carrying(self.size.system, ()) if self.dropped else self.size.system

    @property
    def claims(self) -> list[Property]:
        """The properties that are to be proved, as far as none of them is known to be violated."""
        return [p for p in self.size.instance.properties(*self.properties) if p.name not in self.violated]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the properties."""
        return tuple(prop.name for prop in self.claims)

    @cached_property
    def samples(self) -> Samples:
        """Simulated states."""
        return sampled(self.system, self.size.numbers, SAMPLING)

    def readable(self, templates: Mapping[str, Template]) -> dict[str, FoundInvariant]:
        """Return the templates that this size can have, as invariants by name."""
        found = {}
        for name, template in templates.items():
            try:
                found[name] = invariant(name, template, self.system, self.size.numbers)
            except KeyError:
                continue
        return found

    def judge(self, templates: Mapping[str, Template]) -> Judge:
        """Return the proof obligations of the properties, the declared invariants and the templates."""
        own = self.readable(templates)
        return Judge(self.system, self.claims, [*self.system.invariants, *own.values()], self.solver)

    @property
    def declared(self) -> tuple[str, ...]:
        """The names of the declared invariants that are not hidden."""
        return tuple(invariant.name for invariant in self.system.invariants)

    def proved(self, templates: Mapping[str, Template]) -> list[Invariant]:
        """Return the declared invariants and the templates that induction proves without the properties."""
        own = self.readable(templates)
        judge = Judge(self.system, (), [*self.system.invariants, *own.values()], self.solver)
        judged = judge.judge([*(i.name for i in self.system.invariants), *own])
        claims = [*self.system.invariants, *own.values()]
        return [claim for claim in claims if claim.name in judged.left] if judged.proves(()) else []
