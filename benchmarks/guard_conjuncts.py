"""The conjuncts of guards as `guards.py` studies them: systems with one left out, texts, and one for all.

A guard that is too weak allows an action that should not happen. So each conjunct should have a reason:
without it, a property is violated. Systems are not simplified, because constants may change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.language.actions import GroundAction, Schema
from fencepost.encoding.language.fold import Folding, constants
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.sorts import integers
from fencepost.encoding.language.state import StateSpace, choice
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import TRUE, Family, Quantified, Term, all_of, any_of
from fencepost.encoding.mutation.mutants import exchanged, flattened, named_actions


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
    return exchanged(system, schema, weakened)


def split(schema: Schema, conjunct: Conjunct) -> tuple[Term, Term]:
    """Return the guard without the conjunct, and the conjunct."""
    parts = flattened(schema.action.when)
    assert len(parts) == conjunct.of, f"{conjunct}: the guard has {len(parts)} conjuncts"
    left_out = conjunct.position - 1
    return all_of(*parts[:left_out], *parts[left_out + 1 :]), parts[left_out]


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
    other = replace(system, state=space)
    for name, schema in named_actions(system).items():
        parts = flattened(schema.action.when)
        places = [Conjunct(name, number, len(parts)) for number in range(1, len(parts) + 1)]
        optional = (
            any_of(part, left_out[numbers[place]]) if place in numbers else part
            for part, place in zip(parts, places, strict=True)
        )
        weaker = replace(schema, action=replace(schema.action, when=all_of(*optional)))
        other = exchanged(other, schema, weaker)
    return other


def needed(system: System, conjunct: Conjunct) -> Term:
    """Return the states in which only that conjunct prevents the action, for some arguments.

    If none is reachable, the rest of the guard implies the conjunct, and the system without it has the same
    executions. The term may read choices, as guards do.
    """
    schema = named_actions(system)[conjunct.action]
    rest, left_out = split(schema, conjunct)
    situation = all_of(rest, ~left_out)
    for parameter in schema.parameters:
        situation = Quantified("bool", "exists", parameter, situation)
    return situation


def oversteps(system: System, conjunct: Conjunct, concrete: Concrete, state: State) -> Iterator[GroundAction]:
    """Yield the actions of `without` that are possible in the state only without the conjunct."""
    schema = named_actions(system)[conjunct.action]
    rest, left_out = split(schema, conjunct)
    situation = all_of(rest, ~left_out)
    weaker = without(system, conjunct)
    for action, without_it in zip(system.ground_actions, weaker.ground_actions, strict=True):
        if action.schema is schema and concrete.evaluate(situation, action.environment, state):
            yield without_it
