"""The actions of a system by unique names, conjuncts of guards, and an action exchanged for another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from fencepost.encoding.language.actions import Action, Schema, changed
from fencepost.encoding.language.conditional_terms import UNDEFINED
from fencepost.encoding.language.patterns import families_read
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import AllOf, Family, Term


def flattened(guard: Term) -> tuple[Term, ...]:
    """Return the conjuncts of a guard, those of nested conjunctions included.

    Quantifiers and disjunctions are not opened.
    """
    if isinstance(guard, AllOf):
        return tuple(part for operand in guard.operands for part in flattened(operand))
    return (guard,)


def exchanged(system: System, old: Schema, new: Schema) -> System:
    """Return the system with the new action in place of the old one."""
    actions = (changed(item, lambda schema: new if schema is old else schema) for item in system.actions)
    return replace(system, actions=tuple(actions))


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
    others = [s.parameters for s in schemas if s.name == schema.name]
    return [
        parameter.sort.name
        for number, parameter in enumerate(schema.parameters)
        if any(number < len(other) and other[number].sort != parameter.sort for other in others)
    ]


def unread(read: Collection[Family], old: Action, new: Action, systems: Sequence[System]) -> str | None:
    """Return the words that what is `read` depends on nothing that an action changes; None if it may."""
    same = {id(update) for update in old.then} & {id(update) for update in new.then}
    differing = [u for u in (*old.then, *new.then) if new.when is not old.when or id(u) not in same]
    families = {u.target.family for u in differing} - {UNDEFINED}
    schemas, found, more = [s for system in systems for s in system.schemas], set[Family](), {*read}
    while more != found:
        found = more
        writing = ((s.action.when, u) for s in schemas for u in s.action.then if u.target.family in found)
        terms = (term for when, u in writing for term in (when, *u.target.index, u.value, u.when))
        more = found | families_read(*terms)
    if families & found:
        return None
    return f"no property depends on {', '.join(sorted(f.name for f in families))}"
