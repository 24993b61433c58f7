"""Without a solver: walking through states at random, and visiting all of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from fencepost.encoding.concrete.compiler import Concrete, State, Step
from fencepost.encoding.language.system import GroundAction, System


@dataclass(frozen=True)
class Visit:
    """A state reached for the first time, in breadth-first order."""

    state: State
    steps: int
    parent: State | None
    action: GroundAction | None


def explore(system: System) -> Iterator[Visit]:
    """Every reachable state once, those in fewest steps first.

    Choices stay undecided in a state until an action has depended on them. Ends only if the system is finite.
    """
    concrete = Concrete(system)
    first = concrete.initial()
    seen = {first}
    yield Visit(first, 0, None, None)
    level, steps = [first], 0
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


def wander(
    concrete: Concrete, chance: random.Random, losing: bool
) -> Iterator[tuple[list[GroundAction], State]]:
    """A random walk to a state without successors: the actions up to each state on the way, and that state."""
    state = concrete.initial(some_choices(concrete.system, chance) if losing else {})
    preference = list(concrete.steps)
    chance.shuffle(preference)
    path: list[GroundAction] = []
    yield path, state
    while (following := _next(preference, state, chance)) is not None:
        action, state = following
        path.append(action)
        yield path, state


def _next(preference: list[Step], state: State, chance: random.Random) -> tuple[GroundAction, State] | None:
    """The first action enabled in order of preference, one time in eight in another order; None if there is none."""
    if chance.random() < 1 / 8:
        preference = chance.sample(preference, len(preference))
    for step in preference:
        after = next(step.successors(state), None)
        if after is not None:
            return step.action, after
    return None


def some_choices(system: System, chance: random.Random) -> dict[int, bool]:
    """Each choice made up front, with one chance in eight that it is true."""
    return {v.place: chance.random() < 0.125 for v in system.choices}
