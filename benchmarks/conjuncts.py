"""Guards with one conjunct left out.

A guard that is weaker than it need be lets something happen that should not. So each conjunct ought to be
there for a reason: leave it out, and a property is violated. This module makes the systems with one left
out; `guards` finds out what becomes of them. Systems are as written, not folded: what never changes may change
once a guard is weaker.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fencepost.encoding.concrete.compiler import Concrete, State
from fencepost.encoding.language.fold import Folding, constants
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.sorts import integers
from fencepost.encoding.language.state import StateSpace, choice
from fencepost.encoding.language.system import GroundAction, Group, Schema, System
from fencepost.encoding.language.terms import TRUE, AllOf, Quantified, Term, all_of, any_of


@dataclass(frozen=True)
class Conjunct:
    """A conjunct of a guard, by its place: the same one in every instance whose guard has as many."""

    action: str
    """The action, told from others of its name by an index set: `handle add (writer)`."""
    position: int
    """From 1."""
    of: int
    """How many conjuncts the guard has."""

    def __str__(self) -> str:
        return f"{self.action}, {self.position} of {self.of}"


def flattened(guard: Term) -> tuple[Term, ...]:
    """The conjuncts of a guard, those of conjunctions in it too; not what quantifiers or disjunctions hold."""
    if isinstance(guard, AllOf):
        return tuple(part for operand in guard.operands for part in flattened(operand))
    return (guard,)


def conjuncts(system: System) -> dict[Conjunct, Term]:
    """Every conjunct of every guard, in the order of the actions."""
    found: dict[Conjunct, Term] = {}
    for name, schema in _named(system).items():
        parts = flattened(schema.action.when)
        found |= {Conjunct(name, number, len(parts)): part for number, part in enumerate(parts, 1)}
    return found


def described(systems: Iterable[System]) -> dict[Conjunct, str]:
    """Every conjunct of these systems that is there for one of them, as text that fits in a line.

    Order and text are those of the system with the most conjuncts, of several the last.
    """
    texts: dict[Conjunct, str] = {}
    for terms in sorted(map(_at_work, systems), key=len):
        other = {conjunct: text for conjunct, text in texts.items() if conjunct not in terms}
        texts = {conjunct: line(term) for conjunct, term in terms.items()} | other
    return texts


def fingerprint(texts: Mapping[Conjunct, str]) -> str:
    """Return a short hash of conjuncts and their texts: it changes if a guard changes."""
    lines = sorted(f"{conjunct}: {text}" for conjunct, text in texts.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def _at_work(system: System) -> dict[Conjunct, Term]:
    """The conjuncts that are not true for ever because of facts that never change, such as those of a layer not used."""
    folding = Folding(constants(system))
    return {c: term for c, term in conjuncts(system).items() if folding.term(term) is not TRUE}


def without(system: System, conjunct: Conjunct) -> System:
    """The system with that conjunct left out of its guard; all else is as it was."""
    schema = _named(system)[conjunct.action]
    rest, _ = _split(schema, conjunct)
    weakened = replace(schema, action=replace(schema.action, when=rest))
    return replace(system, actions=tuple(_exchanged(a, schema, weakened) for a in system.actions))


def relaxed(system: System, chosen: Sequence[Conjunct]) -> System:
    """All the systems that leave out some of these conjuncts, in one: choices made up front say which.

    The choices are the last ones, in the order given. If just one is true, the executions are those of
    `without`, with the same ground actions in the same order.
    """
    space = StateSpace()
    for family in dict.fromkeys(variable.family for variable in system.variables):
        setattr(space, family.name, family)
    left_out = choice(integers(1, len(chosen)), fault="left out")
    space.left_out = left_out
    numbers = {conjunct: number for number, conjunct in enumerate(chosen, 1)}
    actions = system.actions
    for name, schema in _named(system).items():
        parts = flattened(schema.action.when)
        places = [Conjunct(name, number, len(parts)) for number in range(1, len(parts) + 1)]
        optional = (
            any_of(part, left_out[numbers[place]]) if place in numbers else part
            for part, place in zip(parts, places, strict=True)
        )
        weaker = replace(schema, action=replace(schema.action, when=all_of(*optional)))
        actions = tuple(_exchanged(item, schema, weaker) for item in actions)
    return replace(system, state=space, actions=actions)


def needed(system: System, conjunct: Conjunct) -> Term:
    """A state in which only that conjunct keeps the action, for some arguments, from happening.

    If none is reachable, the rest of the guard implies the conjunct, and the system without it has the same
    executions. The term may read choices, as guards do.
    """
    schema = _named(system)[conjunct.action]
    rest, left_out = _split(schema, conjunct)
    situation = all_of(rest, ~left_out)
    for parameter in schema.parameters:
        situation = Quantified("bool", "exists", parameter, situation)
    return situation


def oversteps(system: System, conjunct: Conjunct, concrete: Concrete, state: State) -> Iterator[GroundAction]:
    """What happens in that state if the conjunct is left out, and does not with it: actions of `without`."""
    schema = _named(system)[conjunct.action]
    rest, left_out = _split(schema, conjunct)
    situation = all_of(rest, ~left_out)
    weaker = without(system, conjunct)
    for action, without_it in zip(system.ground_actions, weaker.ground_actions, strict=True):
        if action.schema is schema and concrete.evaluate(situation, action.environment, state):
            yield without_it


def _split(schema: Schema, conjunct: Conjunct) -> tuple[Term, Term]:
    """The guard without the conjunct, and the conjunct."""
    parts = flattened(schema.action.when)
    assert len(parts) == conjunct.of, f"{conjunct}: the guard has {len(parts)} conjuncts"
    left_out = conjunct.position - 1
    return all_of(*parts[:left_out], *parts[left_out + 1 :]), parts[left_out]


def _exchanged(item: Schema | Group, old: Schema, new: Schema) -> Schema | Group:
    if isinstance(item, Group):
        return replace(item, members=tuple(_exchanged(member, old, new) for member in item.members))
    return new if item is old else item


def _named(system: System) -> Mapping[str, Schema]:
    """The actions by names of their own: those that share a name are told apart by their index sets."""
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
    """The index sets of an action that differ from those of another action of its name."""
    others = [s for s in schemas if s.name == schema.name and s is not schema]
    return [
        parameter.sort.name
        for number, parameter in enumerate(schema.parameters)
        if any(
            o.parameters[number : number + 1] and o.parameters[number].sort != parameter.sort for o in others
        )
    ]
