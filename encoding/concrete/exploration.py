"""Exploration of all states, and random executions, without a solver."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State, Step
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.system import System


@dataclass(frozen=True)
class Visit:
    """A state reached for the first time, in breadth-first order."""

    state: State
    steps: int
    parent: State | None
    action: GroundAction | None


def explore(system: System) -> Iterator[Visit]:
    """Yield every reachable state once, in breadth-first order.

    A choice stays undecided in a state until an action depends on it. The search ends only if the system is
    finite.
    """
    concrete = Concrete(system)
    seen, level, steps = set[State](), list[State](), 0
    for first in Beginnings(concrete).states():
        seen.add(first)
        level.append(first)
        yield Visit(first, 0, None, None)
    while level:
        following = []
        steps += 1
        for state in level:
            for step in concrete.steps:
                for after in step.successors(state):
                    if after not in seen:
                        seen.add(after)
                        following.append(after)
                        yield Visit(after, steps, state, step.action)
        level = following


def random_execution(
    concrete: Concrete, chance: random.Random, losing: bool
) -> Iterator[tuple[list[GroundAction], State]]:
    """Yield the actions so far and the state, at each state of a random execution to a deadlock.

    With `losing`, each choice is true with a probability of one in eight.
    """
    choices = some_choices(concrete.system, chance) if losing else {}
    state = Beginnings(concrete).draw(chance, choices)
    preference = list(concrete.steps)
    chance.shuffle(preference)
    path: list[GroundAction] = []
    yield path, state
    while (following := _next_step(preference, state, chance)) is not None:
        action, state = following
        path.append(action)
        yield path, state


def _next_step(
    preference: list[Step], state: State, chance: random.Random
) -> tuple[GroundAction, State] | None:
    """Return the first enabled action in order of preference, or None.

    With a probability of one in eight the order is random.
    """
    if chance.random() < 1 / 8:
        preference = chance.sample(preference, len(preference))
    for step in preference:
        after = next(step.successors(state), None)
        if after is not None:
            return step.action, after
    return None


def some_choices(system: System, chance: random.Random) -> dict[int, bool]:
    """Return a value for each choice, true with a probability of one in eight."""
    return {v.place: chance.random() < 0.125 for v in system.choices}
