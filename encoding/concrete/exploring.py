"""Without a solver: walking through states at random, and visiting all of them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencepost.encoding.concrete.compiling import Concrete, State, Step
from fencepost.encoding.concrete.replaying import Replayer
from fencepost.encoding.language.system import GroundAction, Property, System
from fencepost.encoding.language.traces import Subject, Trace


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


@dataclass(frozen=True)
class Walks:
    """What random walks came upon. They prove nothing."""

    traces: Mapping[str, Trace]
    witnessed: frozenset[str]
    walks: int
    steps: int
    longest: int


def walk(
    system: System,
    subject: Subject,
    properties: Sequence[Property],
    walks: int,
    seed: int,
    longest: int = 1000,
    keep_on: Callable[[], bool] = lambda: True,
) -> Walks:
    """Take `walks` random walks from the initial state, each to a state without successors (or `longest` steps).

    Faults that are choices are made at first, in every other walk, each with one chance in eight. In every walk the
    actions have a random order of preference, which one step in eight ignores: so some walks
    starve a client or delay a message for long, which even chances hardly ever do.
    Reports the shortest violation of each property that was met, replayed, and the witnesses met. Walks
    until `keep_on()` says no.
    """
    concrete, replayer = Concrete(system), Replayer(system, subject)
    chance = random.Random(seed)
    violated = {p.name: concrete.predicate(~p.holds) for p in properties}
    witness = {p.name: concrete.predicate(p.witness) for p in properties}
    paths: dict[str, tuple[list[GroundAction], State]] = {}
    witnessed: set[str] = set()
    taken = done = furthest = 0
    for _ in range(walks):
        if not keep_on():
            break
        wandering = wander(concrete, chance, losing=done % 2 == 1)
        done += 1
        for path, state in itertools.islice(wandering, longest + 1):
            witnessed.update(
                name for name, holds in witness.items() if name not in witnessed and holds(state)
            )
            for name, holds in violated.items():
                if (name not in paths or len(path) < len(paths[name][0])) and holds(state):
                    paths[name] = (list(path), state)
        taken, furthest = taken + len(path), max(furthest, len(path))
    by_name = {p.name: p for p in properties}
    traces = {
        name: replayer.spare_faults(by_name[name], actions, _true_choices(system, state))
        for name, (actions, state) in paths.items()
    }
    return Walks(traces, frozenset(witnessed), done, taken, furthest)


def wander(
    concrete: Concrete, chance: random.Random, losing: bool
) -> Iterator[tuple[list[GroundAction], State]]:
    """A random walk to a state without successors: the actions up to each state on the way, and that state."""
    state = concrete.initial(_some_choices(concrete.system, chance) if losing else {})
    preference = list(concrete.steps)
    chance.shuffle(preference)
    path: list[GroundAction] = []
    yield path, state
    while (following := _random_step(preference, state, chance)) is not None:
        action, state = following
        path.append(action)
        yield path, state


def _random_step(
    preference: list[Step], state: State, chance: random.Random
) -> tuple[GroundAction, State] | None:
    """The first action enabled in order of preference, now and then in another order; None if there is none."""
    if chance.random() < 0.125:
        preference = chance.sample(preference, len(preference))
    for step in preference:
        after = next(step.successors(state), None)
        if after is not None:
            return step.action, after
    return None


def _some_choices(system: System, chance: random.Random) -> dict[int, bool]:
    return {v.place: chance.random() < 0.125 for v in system.choices}


def _true_choices(system: System, state: State) -> list[str]:
    return [v.name for v in system.choices if state[v.place] == 1]
