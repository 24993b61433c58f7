"""Random walks on plain values, which come upon violations without a solver, and prove nothing.

Walks that all begin at first hardly ever get to where many unlikely things have happened. So some begin where an earlier
one has been: at one of the situations that differ in what a property reads, the seldom chosen ones first.
(As Go-Explore does, Ecoffet and others, Nature 590, 2021; there it is games.)
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.encoding.concrete.compiler import Concrete, State
from fencepost.encoding.concrete.exploration import some_choices
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.language.patterns import families_read
from fencepost.encoding.language.system import GroundAction, Property, System
from fencepost.encoding.language.traces import Subject, Trace

AT_FIRST = 0.6
"""The share of walks that begin at the initial state."""
CANDIDATES = 4
"""So many situations are drawn, of which the one chosen least often is where a walk begins."""
PASSES = 4
"""Passes through all actions in one walk."""
LEFT_OUT = (0.0, 0.1, 0.3, 0.5)
"""How many of the actions a walk leaves out, or does not take before a later pass: one of these shares."""
SHUFFLED = 0.25
"""The share of walks whose passes are in a random order: of things that exclude one another, any may come first."""

Path = tuple[GroundAction, ...]


@dataclass(frozen=True)
class Simulation:
    """What random walks came upon."""

    traces: Mapping[str, Trace]
    """By property, the shortest violation that was met, replayed."""
    violating: Mapping[str, int]
    """By property, how many walks came upon a violation."""
    witnessing: Mapping[str, int]
    """By property, how many came upon its witness."""
    walks: int
    steps: int
    longest: int


@dataclass
class _Situation:
    """A state that differs from the others in what a property reads, and the shortest way there."""

    state: State
    path: Path
    begun: int = 0
    """How many walks have begun there."""


@dataclass
class _Map:
    """The situations of one property."""

    places: Sequence[int]
    found: dict[tuple[int, ...], _Situation] = field(default_factory=dict)
    names: list[tuple[int, ...]] = field(default_factory=list)

    def note(self, state: State, path: Sequence[GroundAction]) -> None:
        """Keep the state if it is a new situation, or an old one on no longer way: of the shortest ways the last one.

        Were it the first one, a seed whose first one led nowhere, with messages lost, would begin there ever after.
        """
        name = tuple(state[place] for place in self.places)
        known = self.found.get(name)
        if known is None:
            self.found[name] = _Situation(state, tuple(path))
            self.names.append(name)
        elif len(path) <= len(known.path):
            known.state, known.path = state, tuple(path)

    def choose(self, chance: random.Random) -> _Situation:
        """One of them, a seldom chosen one rather than an often chosen one."""
        drawn = [self.found[name] for name in chance.choices(self.names, k=CANDIDATES)]
        chosen = min(drawn, key=lambda situation: situation.begun)
        chosen.begun += 1
        return chosen


def walk(
    system: System,
    subject: Subject,
    properties: Sequence[Property],
    walks: int,
    seed: int,
    longest: int = 1000,
    first: bool = False,
    keep_on: Callable[[], bool] = lambda: True,
) -> Simulation:
    """Take `walks` random walks, each of `PASSES` passes through all actions, or of `longest` steps in all.

    Faults that are choices are made at first, in every other walk that begins there, each with one chance in eight.
    Reports the shortest violation of each property that was met, replayed, and how often violations and witnesses were
    met. Ends early if `keep_on()` says no, and with `first` once every property is violated.
    """
    concrete, replayer = Concrete(system), Replayer(system, subject)
    chance = random.Random(seed)
    violated = {p.name: concrete.predicate(~p.holds) for p in properties}
    witness = {p.name: concrete.predicate(p.witness) for p in properties}
    maps = [_Map(_places(system, prop)) for prop in properties]
    shortest: dict[str, tuple[Path, State]] = {}
    violating, witnessing = Counter[str](), Counter[str]()
    taken = done = furthest = 0
    for number in range(walks if maps else 0):
        if not keep_on() or (first and len(shortest) == len(maps)):
            break
        state, begun = _begin(concrete, maps[number % len(maps)], chance)
        path, met = list(begun), set[str]()
        seen = set[str]()
        for action, after in _moves(concrete, state, chance):
            if action is not None:
                path.append(action)
            seen.update(name for name, holds in witness.items() if name not in seen and holds(after))
            bad = [name for name, holds in violated.items() if holds(after)]
            met.update(bad)
            for name in bad:
                if name not in shortest or len(path) < len(shortest[name][0]):
                    shortest[name] = tuple(path), after
            if not bad:
                for situations in maps:
                    situations.note(after, path)
            if len(path) >= longest:
                break
        done += 1
        violating.update(met)
        witnessing.update(seen)
        taken, furthest = taken + len(path) - len(begun), max(furthest, len(path))
    by_name = {p.name: p for p in properties}
    traces = {
        name: replayer.spare_faults(by_name[name], actions, _true_choices(system, state))
        for name, (actions, state) in shortest.items()
    }
    return Simulation(traces, violating, witnessing, done, taken, furthest)


def _places(system: System, prop: Property) -> list[int]:
    """Where a state has what the property and its witness read."""
    read = families_read(prop.holds, prop.witness)
    return [v.place for v in system.variables if v.family in read]


def _begin(concrete: Concrete, situations: _Map, chance: random.Random) -> tuple[State, Path]:
    """Where a walk begins, and how that was come to."""
    if not situations.names or chance.random() < AT_FIRST:
        losing = chance.random() < 0.5
        return concrete.initial(some_choices(concrete.system, chance) if losing else {}), ()
    chosen = situations.choose(chance)
    return chosen.state, chosen.path


Move = tuple[GroundAction | None, State]
"""An action and the state after it; no action, and the state that a walk begins in."""


def _moves(concrete: Concrete, state: State, chance: random.Random) -> Iterator[Move]:
    """A walk on from a state: passes through all actions in causal order, as things go if nothing goes wrong.

    What goes wrong is that some actions are not taken before a later pass, or never, like the receipt of a message that
    is delayed for long; and some walks pass through them in a random order.
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


def _true_choices(system: System, state: State) -> list[str]:
    return [v.name for v in system.choices if state[v.place] == 1]
