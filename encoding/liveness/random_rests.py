"""The process that looks for states of rest, in which a property is owed, by random executions.

Each execution keeps to an order of preference of the actions, as in probabilistic concurrency testing
(Burckhardt and others, ASPLOS 2010). It finds violations without a solver and proves nothing.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from fencepost.encoding.concrete.lassos import owed_since, replay_lasso
from fencepost.encoding.concrete.random_executions import random_execution
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer, needed
from fencepost.encoding.concrete.simulation import true_choices
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.messages import FoundPath
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.system import Liveness, System
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.liveness.fair_components import FoundLasso

STEPS = 100_000
"""The steps of all random executions together."""

LONGEST = 500
"""The steps after which an execution is left that has not come to rest."""


def search_rests(
    system: System, properties: Sequence[Liveness], budgets: Mapping[str, int], subject: Subject
) -> Iterator[FoundLasso]:
    """Yield for each property the shortest execution found to a rest that owes it, if there is one.

    They depend on the arguments only.
    """
    replayer, chance = Replayer(system, subject), random.Random(1)
    fair = {action for one in system.fairness for action in one.actions}
    steps = [replayer.concrete.step(action) for action in system.ground_actions if action in fair]
    late = frozenset(system.ground_actions) - fair
    holds = {prop.name: replayer.concrete.predicate(prop.holds) for prop in properties}
    found: dict[str, tuple[list[GroundAction], list[State]]] = {}

    def rests(state: State) -> bool:
        return all(after == state for step in steps for after in step.successors(state))

    taken = number = 0
    while taken < STEPS:
        states: list[State] = []
        for path, state in random_execution(
            replayer.concrete, chance, number % 2 == 1, budgets, late, moving=True
        ):
            states.append(state)
            owing = [prop for prop in properties if not holds[prop.name](state)]
            for prop in owing if owing and rests(state) else ():
                is_shorter = prop.name not in found or len(path) < len(found[prop.name][0])
                if is_shorter and owed_since(replayer, prop, states, len(path)) is not None:
                    found[prop.name] = list(path), list(states)
            if len(path) == LONGEST:
                break
        taken, number = taken + len(states), number + 1
    for prop in properties:
        if prop.name in found:
            yield _spared(replayer, prop, *found[prop.name])


def _spared(
    replayer: Replayer, prop: Liveness, actions: Sequence[GroundAction], states: Sequence[State]
) -> FoundLasso:
    """Return the execution without the losses and actions that its rest can do without, one by one."""
    system, beginning = replayer.system, replayer.beginnings.of(states[0])
    lost: Sequence[str] = true_choices(system, states[0])

    def owes(actions: Sequence[GroundAction], lost: Sequence[str]) -> bool:
        with suppress(NotAnExecution):
            replay_lasso(replayer, prop, actions, lost, beginning, len(actions))
            return True
        return False

    lost = needed(lost, lambda fewer: owes(actions, fewer))
    actions = needed(actions, lambda fewer: owes(fewer, lost))
    numbers = tuple(map(system.ground_actions.index, actions))
    positions = tuple(i for i, v in enumerate(system.choices) if v.name in lost)
    return FoundLasso(FoundPath(prop.name, numbers, positions, beginning), len(actions))
