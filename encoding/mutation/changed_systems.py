"""Systems with one conjunct of a guard left out, and the names of actions and conjuncts.

A guard that is too weak allows an action that should not happen. So each conjunct should have a reason:
without it, a property is violated. Systems are not simplified, because constants may change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fencepost.encoding.language.actions import Group, Schema
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import AllOf, Term, all_of


@dataclass(frozen=True)
class Conjunct:
    """A conjunct of a guard by its position, the same in every instance whose guard has as many."""

    action: str
    """The action, with an index set if others have its name: `handle add (writer)`."""
    position: int
    """The position, from 1."""
    of: int
    """The number of conjuncts of the guard."""

    def __str__(self) -> str:
        """Return the action and the position."""
        return f"{self.action}, {self.position} of {self.of}"


def flattened(guard: Term) -> tuple[Term, ...]:
    """Return the conjuncts of a guard, those of nested conjunctions included.

    Quantifiers and disjunctions are not opened.
    """
    if isinstance(guard, AllOf):
        return tuple(part for operand in guard.operands for part in flattened(operand))
    return (guard,)


def conjuncts(system: System) -> dict[Conjunct, Term]:
    """Return every conjunct of every guard, in the order of the actions."""
    found: dict[Conjunct, Term] = {}
    for name, schema in named_actions(system).items():
        parts = flattened(schema.action.when)
        found |= {Conjunct(name, number, len(parts)): part for number, part in enumerate(parts, 1)}
    return found


def without(system: System, conjunct: Conjunct) -> System:
    """Return the system with that conjunct left out of its guard."""
    schema = named_actions(system)[conjunct.action]
    rest, _ = split(schema, conjunct)
    weakened = replace(schema, action=replace(schema.action, when=rest))
    return replace(system, actions=tuple(exchanged(a, schema, weakened) for a in system.actions))


def split(schema: Schema, conjunct: Conjunct) -> tuple[Term, Term]:
    """Return the guard without the conjunct, and the conjunct."""
    parts = flattened(schema.action.when)
    assert len(parts) == conjunct.of, f"{conjunct}: the guard has {len(parts)} conjuncts"
    left_out = conjunct.position - 1
    return all_of(*parts[:left_out], *parts[left_out + 1 :]), parts[left_out]


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
