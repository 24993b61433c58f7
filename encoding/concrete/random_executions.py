"""Random executions on plain values."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping

from fencepost.encoding.concrete.badly_defined import with_the_steps_before
from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State, Step
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.system import System


def random_execution(
    concrete: Concrete,
    chance: random.Random,
    losing: bool,
    budgets: Mapping[str, int] | None = None,
    late: Collection[GroundAction] = (),
    moving: bool = False,
) -> Iterator[tuple[list[GroundAction], State]]:
    """Yield the actions so far and the state, at each state of a random execution to a deadlock.

    With `losing`, each choice is true with a probability of one in eight. `budgets` has the largest number of
    faults by kind. Each of the `late` actions comes after all others with a probability of one half. If
    `moving`, no step is taken that changes nothing.
    """
    left = dict(budgets or {})
    choices = some_choices(concrete.system, chance, left) if losing else {}
    state = Beginnings(concrete).draw(chance, choices)
    preference = list(concrete.steps)
    chance.shuffle(preference)
    if late:
        preference.sort(key=lambda step: step.action in late and chance.random() < 1 / 2)
    path: list[GroundAction] = []
    yield path, state
    while True:
        with with_the_steps_before(path):
            following = _next_step(preference, state, chance, left, moving)
        if following is None:
            return
        action, state = following
        if (fault := action.schema.action.fault) in left:
            left[fault] -= 1
        path.append(action)
        yield path, state


def _next_step(
    preference: list[Step], state: State, chance: random.Random, left: Mapping[str, int], moving: bool
) -> tuple[GroundAction, State] | None:
    """Return the first action in order of preference that is enabled, and if `moving` changes something.

    With a probability of one in eight the order is random.
    """
    if chance.random() < 1 / 8:
        preference = chance.sample(preference, len(preference))
    for step in preference:
        if not step.possible(state) or left.get(step.action.schema.action.fault or "", 1) < 1:
            continue
        after = next(step.successors(state), None)
        if after is not None and not (moving and after == state):
            return step.action, after
    return None


def some_choices(
    system: System, chance: random.Random, budgets: Mapping[str, int] | None = None
) -> dict[int, bool]:
    """Return a value for each choice, true with a probability of one in eight, within the budgets."""
    chosen = {v.place: chance.random() < 0.125 for v in system.choices}
    for kind, most in (budgets or {}).items():
        true = [v.place for v in system.choices if v.family.fault == kind and chosen[v.place]]
        chosen |= dict.fromkeys(chance.sample(true, max(0, len(true) - most)), False)
    return chosen
