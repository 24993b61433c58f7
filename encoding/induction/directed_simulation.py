"""Directed simulation: executions to witnesses of properties, or to states that violate an invariant.

A simulation passes through all actions in causal order again and again, and takes each action that is
enabled. It takes no failures. Each simulation leaves out a part of the actions,
chosen at random, and so reaches other states too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencepost.encoding.concrete.badly_defined import with_the_steps_before
from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.language.system import Invariant, Property, System

SIMULATIONS = 120
"""The most simulations to run. The first few reach nearly every state that simulations reach at all."""

PASSES = 4
"""Passes through all actions in one simulation."""

SHARES = (0.0, 0.1, 0.3, 0.5)
"""The share of the actions that is left out, simulation by simulation in turn."""


@dataclass(frozen=True)
class SimulatedTo:
    """An execution to the witness of property `name`, or to a state that violates invariant `name`.

    `actions` are numbers of ground actions of the system, `choices` positions of the choices that are true,
    `beginning` positions of initial values (`compiler.Beginning`).
    """

    name: str
    actions: tuple[int, ...]
    choices: tuple[int, ...]
    beginning: tuple[int, ...] = ()


def simulate(
    system: System, properties: Sequence[Property], invariants: Sequence[Invariant]
) -> Iterator[SimulatedTo]:
    """Yield the first execution to each witness, and the first one to a state that violates an invariant.

    Ends when every witness is reached, or after `SIMULATIONS` simulations. They depend on the arguments only.
    """
    concrete = Concrete(system)
    witnesses = {p.name: concrete.predicate(p.witness) for p in properties}
    failures = {i.name: concrete.predicate(~i.holds) for i in invariants}
    chance = random.Random(1)
    for number in range(SIMULATIONS):
        if not witnesses:
            return
        for found in _simulate_once(concrete, chance, *_setting(number), {**witnesses, **failures}):
            witnesses.pop(found.name, None)
            failures.pop(found.name, None)
            yield found


def falsified(system: System, invariants: Sequence[Invariant]) -> Iterator[SimulatedTo]:
    """Yield for each invariant the first execution to a state that violates it, if there is one."""
    concrete = Concrete(system)
    failures = {i.name: concrete.predicate(~i.holds) for i in invariants}
    chance = random.Random(1)
    for number in range(SIMULATIONS if failures else 0):
        for found in _simulate_once(concrete, chance, *_setting(number), failures):
            del failures[found.name]
            yield found


def _setting(number: int) -> tuple[float, bool]:
    """Return the share of actions that a simulation leaves out, and whether it loses messages."""
    return SHARES[number % len(SHARES)], number % (2 * len(SHARES)) >= len(SHARES)


def _simulate_once(
    concrete: Concrete,
    chance: random.Random,
    left_out: float,
    losing: bool,
    targets: Mapping[str, Callable[[State], bool]],
) -> Iterator[SimulatedTo]:
    """Yield each target at the first state of one simulation in which it is true."""
    system = concrete.system
    chosen = {v.place: losing and chance.random() < 1 / 8 for v in system.choices}
    lost = tuple(position for position, v in enumerate(system.choices) if chosen[v.place])
    taking = [(n, step) for n, step in enumerate(concrete.steps) if chance.random() >= left_out]
    beginnings, path, missing = Beginnings(concrete), list[int](), dict(targets)
    state = first = beginnings.draw(chance, chosen)

    def reached() -> Iterator[SimulatedTo]:
        for name in [name for name, holds in missing.items() if holds(state)]:
            del missing[name]
            yield SimulatedTo(name, tuple(path), lost, beginnings.of(first))

    yield from reached()
    with with_the_steps_before(concrete.steps[slot].action for slot in path):
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
