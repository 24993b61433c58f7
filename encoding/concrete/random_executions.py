"""Random executions on plain values."""

from __future__ import annotations

import random
from collections.abc import Iterator

from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State, Step
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.system import System


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
