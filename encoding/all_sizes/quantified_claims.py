"""Claims of a proof over sorts of any size: the invariants are inductive and imply the properties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import z3

from fencepost.encoding.all_sizes.unbounded import Unbounded
from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.patterns import families_read
from fencepost.encoding.language.system import System


@dataclass(frozen=True)
class QuantifiedClaim:
    """A claim that must follow from its assumptions: z3 formulas without free variables."""

    name: str
    sentence: str
    assume: tuple[Any, ...]
    claim: Any


def claims(system: System) -> list[QuantifiedClaim]:
    """Return every claim of a proof by induction over one action, in reading order.

    Each invariant holds in the initial states. Every action keeps each invariant, if all hold before it. No
    action sets a variable twice. Each property follows from the invariants. If an action sets nothing that an
    invariant reads, there is no claim about the two.
    """
    reading = Unbounded(system.state)
    known = [*(reading.holds(a.holds, reading.before) for a in system.axioms), *reading.well_formed()]
    invariant = [reading.holds(i.holds, reading.before) for i in system.invariants]
    assumed = (*known, *invariant)
    return [
        *_at_first(system, reading, known),
        *(c for schema in system.schemas for c in _kept(system, reading, schema, assumed)),
        *(
            QuantifiedClaim(p.name, f"Property: {p.meaning}", assumed, reading.holds(p.holds, reading.before))
            for p in system.properties
        ),
    ]


def _at_first(system: System, reading: Unbounded, known: list[Any]) -> Iterator[QuantifiedClaim]:
    first = [reading.holds(a.holds, reading.before) for a in system.at_first]
    if system.beginning is not None:
        first.append(reading.holds(system.beginning, reading.before))
    assumed = (*known, *reading.initial(), *first)
    for invariant in system.invariants:
        yield QuantifiedClaim(
            f"{invariant.name}.at-first",
            f"Initially: {invariant.meaning}",
            assumed,
            reading.holds(invariant.holds, reading.before),
        )


def _kept(
    system: System, reading: Unbounded, schema: Schema, assumed: tuple[Any, ...]
) -> Iterator[QuantifiedClaim]:
    environment = reading.constants(schema.parameters)
    step = schema.name.replace(" ", "-")
    before = (*assumed, reading.holds(schema.action.when, reading.before, environment))
    clashes = reading.clashes(schema, environment)
    if clashes:
        yield QuantifiedClaim(
            f"{step}.once", f"`{schema.name}` sets no variable twice.", before, z3.Not(z3.Or(*clashes))
        )
    after = reading.after(schema, environment)
    written = {update.target.family for update in schema.action.then}
    for invariant in system.invariants:
        if written & families_read(invariant.holds):
            yield QuantifiedClaim(
                f"{invariant.name}.{step}",
                f"After `{schema.name}`: {invariant.meaning}",
                before,
                reading.holds(invariant.holds, after),
            )
