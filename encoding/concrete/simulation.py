"""Random simulation on plain values. It finds violations without a solver and proves nothing.

Simulations that all begin in the initial state rarely reach states that need many unlikely steps. So some
begin in a state that an earlier one has reached: one of the situations that differ in the variables that a
property reads. Situations chosen least often come first. Source: Go-Explore (Ecoffet and others, Nature 590,
2021), which does this for games.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.encoding.concrete.badly_defined import with_the_steps_before
from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.random_executions import some_choices
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.patterns import families_read
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.traces import Subject, Trace

INITIAL = 0.6
"""The share of simulations that begin in an initial state."""

CANDIDATES = 4
"""The number of situations that are drawn. The one chosen least often is used."""

PASSES = 4
"""The number of passes through all actions in one simulation."""

LEFT_OUT = (0.0, 0.1, 0.3, 0.5)
"""Shares of actions that a simulation leaves out, or takes only from a later pass on. It draws one share."""

SHUFFLED = 0.25
"""The share of simulations with passes in random order. Any of several conflicting actions may come first."""

Path = tuple[GroundAction, ...]


@dataclass(frozen=True)
class Simulation:
    """The results of random simulations."""

    traces: Mapping[str, Trace]
    """The shortest violation found of each property, replayed."""
    violating: Mapping[str, int]
    """The number of simulations that violated each property."""
    witnessing: Mapping[str, int]
    """The number of simulations that reached the witness of each property."""
    count: int
    """The number of simulations."""
    steps: int
    """The number of steps of all simulations."""
    longest: int
    """The number of steps of the longest execution."""


@dataclass
class _Situation:
    """A state that differs from the others in what a property reads, with the shortest path to it."""

    state: State
    path: Path
    first: State
    """The initial state in which the path begins."""
    begun: int = 0
    """The number of simulations that began here."""


@dataclass
class _Situations:
    """The situations of one property."""

    places: Sequence[int]
    found: dict[tuple[int, ...], _Situation] = field(default_factory=dict)
    names: list[tuple[int, ...]] = field(default_factory=list)

    def note(self, state: State, path: Sequence[GroundAction], first: State) -> None:
        """Keep the state if its situation is new, or if the path is not longer than the known one.

        Of equally short paths the last one is kept. The first one may lead nowhere, for example because
        messages are lost on it, and every simulation from this situation would then begin there.
        """
        name = tuple(state[place] for place in self.places)
        known = self.found.get(name)
        if known is None:
            self.found[name] = _Situation(state, tuple(path), first)
            self.names.append(name)
        elif len(path) <= len(known.path):
            known.state, known.path, known.first = state, tuple(path), first

    def choose(self, chance: random.Random) -> _Situation:
        """Return a situation, with preference for those chosen less often."""
        drawn = [self.found[name] for name in chance.choices(self.names, k=CANDIDATES)]
        chosen = min(drawn, key=lambda situation: situation.begun)
        chosen.begun += 1
        return chosen


def simulate(
    system: System,
    subject: Subject,
    properties: Sequence[Property],
    count: int,
    seed: int,
    longest: int = 1000,
    first: bool = False,
    keep_on: Callable[[], bool] = lambda: True,
    visit: Callable[[Sequence[GroundAction], State, State], None] = lambda path, first, state: None,
) -> Simulation:
    """Run `count` random simulations, each of `PASSES` passes through all actions, or of `longest` steps.

    Every other simulation from an initial state makes each choice true with a probability of one in eight.
    The call ends early if `keep_on()` is false, and with `first` as soon as every property is violated.
    `visit` is called with the path to each state, the state in which it begins, and the state itself.
    """
    concrete, replayer = Concrete(system), Replayer(system, subject)
    beginnings = Beginnings(concrete)
    chance = random.Random(seed)
    violated = {p.name: concrete.predicate(~p.holds) for p in properties}
    witness = {p.name: concrete.predicate(p.witness) for p in properties}
    situations = [_Situations(_places_read(system, prop)) for prop in properties]
    shortest: dict[str, tuple[Path, State, State]] = {}
    violating, witnessing = Counter[str](), Counter[str]()
    taken = done = furthest = 0
    for number in range(count if properties else 0):
        if not keep_on() or (first and len(shortest) == len(properties)):
            break
        origin, state, begun = _begin(beginnings, system, situations[number % len(properties)], chance)
        path, met = list(begun), set[str]()
        seen = set[str]()
        for action, after in _with_steps(moves(concrete, state, chance), path):
            if action is not None:
                path.append(action)
            visit(path, origin, after)
            seen.update(name for name, holds in witness.items() if name not in seen and holds(after))
            bad = [name for name, holds in violated.items() if holds(after)]
            met.update(bad)
            for name in bad:
                if name not in shortest or len(path) < len(shortest[name][0]):
                    shortest[name] = tuple(path), origin, after
            if not bad:
                for known in situations:
                    known.note(after, path, origin)
            if len(path) >= longest:
                break
        done += 1
        violating.update(met)
        witnessing.update(seen)
        taken, furthest = taken + len(path) - len(begun), max(furthest, len(path))
    by_name = {p.name: p for p in properties}
    traces = {
        name: replayer.spare_faults(
            by_name[name], actions, true_choices(system, state), beginnings.of(origin)
        )
        for name, (actions, origin, state) in shortest.items()
    }
    return Simulation(traces, violating, witnessing, done, taken, furthest)


def _places_read(system: System, prop: Property) -> list[int]:
    """Return the places of the variables that the property and its witness read."""
    read = families_read(prop.holds, prop.witness)
    return [v.place for v in system.variables if v.family in read]


def _begin(
    beginnings: Beginnings, system: System, situations: _Situations, chance: random.Random
) -> tuple[State, State, Path]:
    """Return the state in which a simulation begins, with the initial state and the path that lead to it."""
    if not situations.names or chance.random() < INITIAL:
        losing = chance.random() < 0.5
        first = beginnings.draw(chance, some_choices(system, chance) if losing else {})
        return first, first, ()
    chosen = situations.choose(chance)
    return chosen.first, chosen.state, chosen.path


Move = tuple[GroundAction | None, State]
"""An action with the state after it, or no action with the state in which a simulation begins."""


def moves(concrete: Concrete, state: State, chance: random.Random) -> Iterator[Move]:
    """Yield the moves of a simulation from a state: passes through all actions in causal order.

    Without faults and delays, an execution follows this order. Some actions are left out, or taken only from
    a later pass on, like the receipt of a message that is delayed. Some simulations use a random order.
    """
    yield None, state
    left_out = chance.choice(LEFT_OUT)
    steps = list(concrete.steps)
    if chance.random() < SHUFFLED:
        chance.shuffle(steps)
    taken_from = [chance.randint(1, PASSES) if chance.random() < left_out else 0 for _ in steps]
    for number in range(PASSES):
        for step, earliest in zip(steps, taken_from, strict=True):
            if earliest <= number and step.possible(state):
                after = next(step.successors(state), None)
                if after is not None and after != state:
                    state = after
                    yield step.action, state


def _with_steps(found: Iterator[Move], path: Sequence[GroundAction]) -> Iterator[Move]:
    """Yield the moves. If one is badly defined, the line that says so names the path to it."""
    with with_the_steps_before(path):
        yield from found


def true_choices(system: System, state: State) -> list[str]:
    """Return the names of the choices that are true in a state."""
    return [v.name for v in system.choices if state[v.place] == 1]
