"""Clauses about states, as IC3 finds them: each says that one of a few statements about variables is true.

They are plain data, so that a worker can send them and a certificate can hold them. As invariants of the
system they are proved, exported and certified like those that a person has written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

from fencepost.encoding.language.carried_invariants import FoundInvariant, carrying
from fencepost.encoding.language.sorts import Value, show
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.system import Invariant, System
from fencepost.encoding.language.terms import Constant, Read, Term, all_of, any_of, as_type, lift


class Relation(StrEnum):
    """How a statement compares a variable with a value."""

    IS = "="
    IS_NOT = "≠"
    AT_LEAST = "≥"
    BELOW = "<"


@dataclass(frozen=True, order=True)
class Literal:
    """A statement about one state variable or choice: `acked[b1, 2] = yes`, `last ≥ 2`.

    `place` is the variable's place in the system, `position` the position of the value in its domain.
    `AT_LEAST` and `BELOW` are for domains of integers.
    """

    place: int
    relation: Relation
    position: int

    def variable(self, system: System) -> Variable:
        """Return the variable that the statement is about."""
        return system.variables[self.place]

    def value(self, system: System) -> Value:
        """Return the value that the variable is compared with."""
        return self.variable(system).domain.values[self.position]

    def positive(self, system: System) -> Literal:
        """Return the same statement. Of two values, it names the one that the variable has."""
        if self.relation is Relation.IS_NOT and len(self.variable(system).domain) == 2:
            return replace(self, relation=Relation.IS, position=1 - self.position)
        return self

    def text(self, system: System) -> str:
        """Return the statement as people read it."""
        said = self.positive(system)
        return f"{said.variable(system).name} {said.relation.value} {show(said.value(system))}"

    def holds(self, system: System) -> Term:
        """Return the statement as a term."""
        variable, value = self.variable(system), self.value(system)
        read = variable.family[tuple(map(lift, variable.index))]
        return compared(read, self.relation, as_type(value, read.type))


def compared(read: Read, relation: Relation, value: Term) -> Term:
    """Return the term that compares a variable with a value of its type."""
    match relation:
        case Relation.IS:
            return _equals(read, value)
        case Relation.IS_NOT:
            return ~_equals(read, value)
        case Relation.AT_LEAST:
            return read >= value
        case Relation.BELOW:
            return read < value
        case other:
            assert_never(other)


def _equals(read: Read, value: Term) -> Term:
    if isinstance(value, Constant) and isinstance(value.value, bool):
        return read if value.value else ~read
    return read == value


Clause = tuple[Literal, ...]
"""A clause: one of its statements is true."""


def clause_text(system: System, clause: Clause) -> str:
    """Return the clause as people read it."""
    return " or ".join(literal.text(system) for literal in clause)


def found_name(number: int) -> str:
    """Return the name of the clause of that number, from 1. No name of a claim in a protocol has a slash."""
    return f"found/{number}"


def invariants_of(system: System, clauses: Sequence[Clause]) -> tuple[FoundInvariant, ...]:
    """Return the clauses as invariants of the system, named `found/1`, `found/2` and so on."""
    return tuple(
        FoundInvariant(
            found_name(number),
            clause_text(system, clause),
            any_of(*(literal.holds(system) for literal in clause)),
        )
        for number, clause in enumerate(clauses, 1)
    )


def as_one(system: System, clauses: Sequence[Clause]) -> tuple[FoundInvariant, ...]:
    """Return one invariant that says all clauses, or none without clauses.

    One invariant may have the symmetry of the system where no single clause has it.
    """
    each = invariants_of(system, clauses)
    said = "; ".join(invariant.meaning for invariant in each)
    return (FoundInvariant("found/all", said, all_of(*(one.holds for one in each))),) if each else ()


def with_found(system: System, clauses: Sequence[Clause]) -> System:
    """Return the system with the clauses declared as further invariants."""
    declared: tuple[Invariant, ...] = system.invariants
    return carrying(system, (*declared, *invariants_of(system, clauses)))


def without_declared(system: System) -> System:
    """Return the system without its declared invariants."""
    return carrying(system, ())
