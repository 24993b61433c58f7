"""Directed walks: to situations that a proof must show to be reachable, and to states in which a candidate for a fact is false.

A walk passes through all actions in causal order again and again and takes whatever is enabled, which is how things go if
nothing goes wrong; what goes wrong is that some actions, other ones in every walk, are left out.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencepost.encoding.concrete.compiler import Concrete, State
from fencepost.encoding.language.system import Invariant, Property, System

WALKS = 120
"""Walks to take before giving up: the first few reach nearly everything that walks reach."""

PASSES = 4
"""Passes through all actions in one walk."""

SHARES = (0.0, 0.1, 0.3, 0.5)
"""How many of the actions are left out, walk by walk in turn."""


@dataclass(frozen=True)
class SimulatedTo:
    """The witness of the property of that name, or a state in which the fact is false, is at the end of this walk.

    `actions` are numbers of ground actions of the system, `choices` positions of the choices that are true.
    """

    name: str
    actions: tuple[int, ...]
    choices: tuple[int, ...]


def walk(
    send: Callable[[object], None],
    system: System,
    properties: Sequence[Property],
    facts: Sequence[Invariant],
) -> list[Iterator[SimulatedTo]]:
    """What a walking process runs."""
    return [walks(system, properties, facts)]


def walks(
    system: System, properties: Sequence[Property], facts: Sequence[Invariant]
) -> Iterator[SimulatedTo]:
    """Walk until every witness is reached, or for `WALKS` walks; always the same ones."""
    concrete = Concrete(system)
    targets = {p.name: concrete.predicate(p.witness) for p in properties}
    candidates = {f.name: concrete.predicate(~f.holds) for f in facts}
    chance = random.Random(1)
    for number in range(WALKS):
        if not targets:
            return
        for found in _one_walk(concrete, chance, *_manner(number), {**targets, **candidates}):
            targets.pop(found.name, None)
            candidates.pop(found.name, None)
            yield found


def falsified(system: System, facts: Sequence[Invariant]) -> Iterator[SimulatedTo]:
    """The same walks, as long as there are facts that are false on none: for each that is false on one, the first."""
    concrete = Concrete(system)
    wanted = {f.name: concrete.predicate(~f.holds) for f in facts}
    chance = random.Random(1)
    for number in range(WALKS if wanted else 0):
        for found in _one_walk(concrete, chance, *_manner(number), wanted):
            del wanted[found.name]
            yield found


def _manner(number: int) -> tuple[float, bool]:
    """How many of the actions are left out of the walk of that number, and whether messages are lost."""
    return SHARES[number % len(SHARES)], number % (2 * len(SHARES)) >= len(SHARES)


def _one_walk(
    concrete: Concrete,
    chance: random.Random,
    left_out: float,
    losing: bool,
    wanted: Mapping[str, Callable[[State], bool]],
) -> Iterator[SimulatedTo]:
    """Each of the situations wanted that a walk comes upon, once."""
    system = concrete.system
    chosen = {v.place: losing and chance.random() < 1 / 8 for v in system.choices}
    lost = tuple(position for position, v in enumerate(system.choices) if chosen[v.place])
    taking = [(n, step) for n, step in enumerate(concrete.steps) if chance.random() >= left_out]
    state, path, missing = concrete.initial(chosen), list[int](), dict(wanted)

    def reached() -> Iterator[SimulatedTo]:
        for name in [name for name, holds in missing.items() if holds(state)]:
            del missing[name]
            yield SimulatedTo(name, tuple(path), lost)

    yield from reached()
    for _ in range(PASSES):
        before = len(path)
        for number, step in taking:
            after = next(step.successors(state), None)
            if after is not None and after != state:
                state = after
                path.append(number)
                yield from reached()
        if len(path) == before:
            return
