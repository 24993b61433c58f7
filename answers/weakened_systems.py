"""Systems with one conjunct of a guard left out, or with one update skipped.

A guard that is too weak allows an action that should not happen. So each conjunct should have a reason:
without it, a property is violated. The same goes for each update. This module makes the changed systems;
`weakening` finds out the consequences. Systems are not simplified, because constants may change.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.language.actions import GroundAction, Group, Schema
from fencepost.encoding.language.conditional_terms import UNDEFINED
from fencepost.encoding.language.fold import Folding, constants
from fencepost.encoding.language.patterns import same
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.sorts import integers
from fencepost.encoding.language.state import StateSpace, choice
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    AllOf,
    Family,
    Quantified,
    Term,
    Update,
    all_of,
    any_of,
)


@dataclass(frozen=True)
class Conjunct:
    """A conjunct of a guard, by its position.

    It is the same conjunct in every instance whose guard has as many.
    """

    action: str
    """The action, with an index set if others have its name: `handle add (writer)`."""
    position: int
    """The position, from 1."""
    of: int
    """The number of conjuncts of the guard."""

    def __str__(self) -> str:
        """Return the action and the position."""
        return f"{self.action}, {self.position} of {self.of}"


@dataclass(frozen=True)
class SkippedUpdate:
    """An update of an action, by its position."""

    action: str
    """The action, with an index set if others have its name."""
    position: int
    """The position, from 1."""
    of: int
    """The number of updates of the action."""

    def __str__(self) -> str:
        """Return the action and the position."""
        return f"{self.action}, update {self.position} of {self.of}"


Mutant = Conjunct | SkippedUpdate
"""A change of a system: the conjunct is left out, or the update is skipped."""


def mutants(system: System) -> dict[Mutant, str]:
    """Return each conjunct and each update of a system with its text, in the order of the actions."""
    found: dict[Mutant, str] = {}
    parts = {conjunct: line(term) for conjunct, term in conjuncts(system).items()}
    for name, schema in named_actions(system).items():
        found |= {conjunct: text for conjunct, text in parts.items() if conjunct.action == name}
        updates = schema.action.then
        found |= {
            SkippedUpdate(name, n, len(updates)): _update(u)
            for n, u in enumerate(updates, 1)
            if u.target.family is not UNDEFINED
        }
    return found


def _update(update: Update) -> str:
    """Return an update as text that fits in a line: `stored[bookie] := yes if sent[bookie]`."""
    condition = "" if same(update.when, TRUE) else f" if {line(update.when, 60)}"
    return f"{line(update.target, 60)} := {line(update.value, 60)}{condition}"


def is_idle(system: System, mutant: Mutant) -> bool:
    """Return whether constants alone say that the change has no effect.

    The conjunct is always true, the update never applies, or the action never happens.
    """
    folding, action = Folding(constants(system)), named_actions(system)[mutant.action].action
    if folding.term(action.when) is FALSE:
        return isinstance(mutant, SkippedUpdate)
    if isinstance(mutant, SkippedUpdate):
        return folding.term(action.then[mutant.position - 1].when) is FALSE
    return folding.term(flattened(action.when)[mutant.position - 1]) is TRUE


def changed(system: System, mutant: Mutant) -> System:
    """Return the system with that change."""
    if isinstance(mutant, Conjunct):
        return without(system, mutant)
    schema = named_actions(system)[mutant.action]
    updates = schema.action.then
    assert len(updates) == mutant.of, f"{mutant}: the action has {len(updates)} updates"
    left = (*updates[: mutant.position - 1], *updates[mutant.position :])
    skipping = replace(schema, action=replace(schema.action, then=left))
    return replace(system, actions=tuple(_exchanged(a, schema, skipping) for a in system.actions))


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


def described(systems: Iterable[System]) -> dict[Conjunct, str]:
    """Return every conjunct that matters in one of these systems, as text that fits in a line.

    Order and text are those of the system with the most conjuncts, of several the last one.
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
    """Return the conjuncts that are not always true because of constants.

    Conjuncts of a layer that is not used are always true.
    """
    folding = Folding(constants(system))
    return {c: term for c, term in conjuncts(system).items() if folding.term(term) is not TRUE}


def without(system: System, conjunct: Conjunct) -> System:
    """Return the system with that conjunct left out of its guard."""
    schema = named_actions(system)[conjunct.action]
    rest, _ = _split(schema, conjunct)
    weakened = replace(schema, action=replace(schema.action, when=rest))
    return replace(system, actions=tuple(_exchanged(a, schema, weakened) for a in system.actions))


class _Relaxed(StateSpace):
    """The state of a system, and choices of left-out conjuncts."""

    def __init__(self, system: System, left_out: Family) -> None:
        for family in system.state.families:
            setattr(self, family.name, family)
        self.left_out = left_out


def relaxed(system: System, chosen: Sequence[Conjunct]) -> System:
    """Return one system for all choices of left-out conjuncts, which are fixed at the beginning.

    The choices are the last ones, in the order given. If exactly one is true, the executions are those of
    `without`, with the same ground actions in the same order.
    """
    left_out = choice(integers(1, len(chosen)), fault="left out")
    space = _Relaxed(system, left_out)
    numbers = {conjunct: number for number, conjunct in enumerate(chosen, 1)}
    actions = system.actions
    for name, schema in named_actions(system).items():
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
    """Return the states in which only that conjunct prevents the action, for some arguments.

    If none is reachable, the rest of the guard implies the conjunct, and the system without it has the same
    executions. The term may read choices, as guards do.
    """
    schema = named_actions(system)[conjunct.action]
    rest, left_out = _split(schema, conjunct)
    situation = all_of(rest, ~left_out)
    for parameter in schema.parameters:
        situation = Quantified("bool", "exists", parameter, situation)
    return situation


def oversteps(system: System, conjunct: Conjunct, concrete: Concrete, state: State) -> Iterator[GroundAction]:
    """Yield the actions of `without` that are possible in the state only without the conjunct."""
    schema = named_actions(system)[conjunct.action]
    rest, left_out = _split(schema, conjunct)
    situation = all_of(rest, ~left_out)
    weaker = without(system, conjunct)
    for action, without_it in zip(system.ground_actions, weaker.ground_actions, strict=True):
        if action.schema is schema and concrete.evaluate(situation, action.environment, state):
            yield without_it


def _split(schema: Schema, conjunct: Conjunct) -> tuple[Term, Term]:
    """Return the guard without the conjunct, and the conjunct."""
    parts = flattened(schema.action.when)
    assert len(parts) == conjunct.of, f"{conjunct}: the guard has {len(parts)} conjuncts"
    left_out = conjunct.position - 1
    return all_of(*parts[:left_out], *parts[left_out + 1 :]), parts[left_out]


def _exchanged(item: Schema | Group, old: Schema, new: Schema) -> Schema | Group:
    if isinstance(item, Group):
        return replace(item, members=tuple(_exchanged(member, old, new) for member in item.members))
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
