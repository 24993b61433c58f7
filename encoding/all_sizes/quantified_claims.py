"""What a solver must show of a system over sorts of any size: its invariant is inductive, and its properties follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import z3

from fencepost.encoding.all_sizes.unbounded import Unbounded
from fencepost.encoding.language.system import Schema, System
from fencepost.encoding.language.terms import Family, Read, Term, children


@dataclass(frozen=True)
class QuantifiedClaim:
    """A sentence that follows from what is assumed; all are z3 formulas without free variables but constants."""

    name: str
    sentence: str
    assume: tuple[Any, ...]
    claim: Any


def claims(system: System) -> list[QuantifiedClaim]:
    """Every claim of a proof by induction over one step, in reading order.

    The invariant holds at first; every action keeps each conjunct as long as all hold before; no action sets a
    variable twice; each property follows from the invariant. A conjunct of which an action sets nothing is not asked.
    """
    reading = Unbounded(system.state)
    known = [*(reading.holds(a.holds, reading.before) for a in system.axioms), *reading.well_formed()]
    invariant = [reading.holds(i.holds, reading.before) for i in system.invariants]
    assumed = (*known, *invariant)
    return [
        *_at_first(system, reading, known),
        *(c for schema in system.schemas for c in _kept(system, reading, schema, assumed)),
        *(
            QuantifiedClaim(p.name, f"So: {p.meaning}", assumed, reading.holds(p.holds, reading.before))
            for p in system.properties
        ),
    ]


def _at_first(system: System, reading: Unbounded, known: list[Any]) -> Iterator[QuantifiedClaim]:
    first = [reading.holds(a.holds, reading.before) for a in system.at_first]
    assumed = (*known, *reading.initial(), *first)
    for invariant in system.invariants:
        yield QuantifiedClaim(
            f"{invariant.name}.at-first",
            f"At first: {invariant.meaning}",
            assumed,
            reading.holds(invariant.holds, reading.before),
        )


def _kept(
    system: System, reading: Unbounded, schema: Schema, assumed: tuple[Any, ...]
) -> Iterator[QuantifiedClaim]:
    environment = reading.things(schema.parameters)
    step = schema.name.replace(" ", "-")
    before = (*assumed, reading.holds(schema.action.when, reading.before, environment))
    clashes = reading.clashes(schema, environment)
    if clashes:
        yield QuantifiedClaim(
            f"{step}.once", f"`{schema.name}` sets nothing twice.", before, z3.Not(z3.Or(*clashes))
        )
    after = reading.after(schema, environment)
    written = {update.target.family for update in schema.action.then}
    for invariant in system.invariants:
        if written & set(read(invariant.holds)):
            yield QuantifiedClaim(
                f"{invariant.name}.{step}",
                f"Still after `{schema.name}`: {invariant.meaning}",
                before,
                reading.holds(invariant.holds, after),
            )


def read(term: Term) -> Iterator[Family]:
    """The families that a term reads."""
    if isinstance(term, Read):
        yield term.family
    for child in children(term):
        yield from read(child)
