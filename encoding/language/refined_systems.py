"""Refinement between files: each step of a system is a step of another one, or changes nothing there.

A mapping gives the state of the other system in each state of this one. It is read as updates that set the
variables of the other system, so a condition over the other system becomes one over this system. The step of
this system must then be what an action of the other does with some arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import Schema, unjudged
from fencepost.encoding.language.author_errors import must_be
from fencepost.encoding.language.conditional_terms import UNDEFINED
from fencepost.encoding.language.definedness import total
from fencepost.encoding.language.patterns import is_within
from fencepost.encoding.language.quantifiers import bind
from fencepost.encoding.language.sets import is_one_of
from fencepost.encoding.language.state import Broken, StateSpace
from fencepost.encoding.language.step_properties import StepProperty, value_after
from fencepost.encoding.language.structure import replaced
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import (
    TRUE,
    Family,
    Parameter,
    Quantified,
    Read,
    Term,
    Update,
    all_of,
    any_of,
    lift,
)
from fencepost.encoding.language.traces import shown_family


def refines(
    name: str,
    meaning: str,
    other: System,
    mapping: Mapping[str, Any],
    witness: Term = TRUE,
    witness_meaning: str = "the witness",
) -> StepProperty:
    """Return the property: each execution is one of the other system, whose state the mapping gives.

    `mapping` has for each variable of the other system, by its name, a term over the state of this system, or
    a function from its index to such a term. Raises ModelError.
    """
    must_be(f"{name}: other=", other, System, "give the system of the other file, such as build(parameters)")
    must_be(f"{name}: mapping=", mapping, Mapping, 'write a table of terms: {"closed": s.closed}')
    there = _Mapped(name, other, mapping)
    return StepProperty(
        name,
        meaning,
        TRUE,
        witness,
        witness_meaning,
        of_step=there.is_step,
        at_first=total(there.is_initial),
        there=there.values,
    )


@dataclass(frozen=True)
class _Mapped:
    """Another system, read in the states of this one."""

    name: str
    other: System
    mapping: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Raise ModelError unless each variable of the other system is mapped, and nothing else."""
        known = dict.fromkeys(map(shown_family, self._families))
        for name in [*known, *self.mapping]:
            if (name in known) is not (name in self.mapping):
                said = (
                    "is not mapped"
                    if name in known
                    else "is mapped, and the other system has no such variable"
                )
                raise ModelError(f"{self.name}: {name} {said}; map each of these: {', '.join(known)}")

    @cached_property
    def _families(self) -> tuple[Family, ...]:
        return tuple(f for f in self.other.state.families if not isinstance(f, Broken))

    @cached_property
    def _updates(self) -> tuple[Update, ...]:
        """The mapping, as updates of the variables of the other system."""
        wholes = dict.fromkeys(f if f.whole is None else f.whole for f in self._families)
        return tuple(update for whole in wholes for update in self._set(whole))

    def _set(self, variable: Any) -> Iterator[Update]:
        index = tuple(map(bind, variable.over))
        given = self.mapping[variable.name]
        try:
            made = variable[index].set(given(*index) if callable(given) else given)
        except TypeError as error:
            raise ModelError(f"{self.name}: mapping= of {variable.name}: {error}") from error
        yield from (replace(u, over=index) for u in ([made] if isinstance(made, Update) else made))

    def _here(self, term: Term) -> Term:
        """Return a term over the other system as one over this system."""
        return replaced(term, {}, lambda read: value_after(read, self._updates))

    @cached_property
    def _parts(self) -> list[tuple[tuple[Parameter, ...], Read, Term]]:
        """For each family of the other system an open index, the variable there, and its value here."""
        found = (
            (index, family[index]) for family in self._families for index in [tuple(map(bind, family.over))]
        )
        return [(index, read, self._here(read)) for index, read in found]

    @property
    def values(self) -> Mapping[str, Term]:
        """The value here of each variable of the other system, by its name."""
        return {
            v.name: self._here(v.family[v.index]) for v in self.other.variables if v.family in self._families
        }

    @property
    def is_initial(self) -> Term:
        """The condition that the state is an initial state of the other system."""
        parts = (
            any_of(self._here(v.family[v.index]) == value for value in v.family.firsts(v.index))
            for v in self.other.variables
            if not v.is_choice and v.family in self._families
        )
        beginning = TRUE if self.other.beginning is None else self._here(self.other.beginning)
        return all_of(*parts, beginning)

    def is_step(self, before: StateSpace, after: StateSpace) -> Term:
        """Return the condition that the other system does the step, or changes nothing."""
        following = dict(zip(before.families, after.families, strict=False))

        def then(term: Term) -> Term:
            return replaced(term, {}, lambda read: replace(read, family=following[read.family]))

        parts = [(index, read, here, then(here)) for index, read, here in self._parts]
        unchanged = {read.family: _for_all(index, now == here) for index, read, here, now in parts}
        inside = (
            _for_all(index, is_one_of(now, read.family.domain))
            for index, read, here, now in parts
            if read.type != "bool" and not is_within(here, read.family.domain)
        )

        def taken(schema: Schema) -> Term:
            fresh: dict[Parameter, Term] = {p: bind(p.sort) for p in schema.parameters}
            action = schema.action
            undefined = (u.when for u in action.then if u.target.family is UNDEFINED)
            changed = {u.target.family for u in action.then}
            ends = (
                _for_all(index, now == self._here(value_after(read, action.then)))
                if read.family in changed
                else unchanged[read.family]
                for index, read, _, now in parts
            )
            happens = (self._here(term) for term in (lift(action.when), *(~when for when in undefined)))
            found = replaced(all_of(*happens, *ends), fresh)
            for own in fresh.values():
                assert isinstance(own, Parameter)
                found = Quantified("bool", "exists", own, found)
            return total(found)

        steps = map(taken, map(unjudged, self.other.schemas))
        return all_of(*map(total, inside), any_of(total(all_of(unchanged.values())), *steps))


def _for_all(index: Iterable[Parameter], body: Term) -> Term:
    for parameter in index:
        body = Quantified("bool", "forall", parameter, body)
    return body
