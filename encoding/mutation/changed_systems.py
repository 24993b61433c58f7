"""The actions of a system by unique names, the conjuncts of guards, and the exchange of one action."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fencepost.encoding.language.actions import Group, Schema
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import AllOf, Term


def flattened(guard: Term) -> tuple[Term, ...]:
    """Return the conjuncts of a guard, those of nested conjunctions included.

    Quantifiers and disjunctions are not opened.
    """
    if isinstance(guard, AllOf):
        return tuple(part for operand in guard.operands for part in flattened(operand))
    return (guard,)


def exchanged(item: Schema | Group, old: Schema, new: Schema) -> Schema | Group:
    """Return the actions with the new schema in place of the old one."""
    if isinstance(item, Group):
        return replace(item, members=tuple(exchanged(member, old, new) for member in item.members))
    return new if item is old else item


def named_actions(system: System) -> Mapping[str, Schema]:
    """Return the actions by unique names; those with the same name get their index sets."""
    times = Counter(schema.name for schema in system.schemas)
    named: dict[str, Schema] = {}
    for schema in system.schemas:
        name = schema.name
        if times[name] > 1:
            name += f" ({', '.join(_telling(schema, system.schemas))})"
        while name in named:
            name += "'"
        named[name] = schema
    return named


def _telling(schema: Schema, schemas: Sequence[Schema]) -> list[str]:
    """Return the index sets of an action that differ from those of an action with the same name."""
    others = [s for s in schemas if s.name == schema.name and s is not schema]
    return [
        parameter.sort.name
        for number, parameter in enumerate(schema.parameters)
        if any(
            o.parameters[number : number + 1] and o.parameters[number].sort != parameter.sort for o in others
        )
    ]
