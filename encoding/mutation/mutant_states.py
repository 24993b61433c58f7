"""The reachable states of mutants, on plain values. Successors are computed once and shared by all mutants.

A mutant changes one action, so in each state only the steps of this action are computed for it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.random_executions import some_choices
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.simulation import moves
from fencepost.encoding.concrete.steps import UNDECIDED, State, decided
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.system import System
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.mutation.changed_systems import named_actions

Successors = tuple[tuple[int, State], ...]
SIMULATIONS = 40
"""The simulations that look for a step of a mutant that the unchanged system does not take."""


class Graph:
    """States of the unchanged system with their successors, by the number of the ground action."""

    def __init__(
        self, system: System, known: dict[State, Successors], states: frozenset[State] | None
    ) -> None:
        """Take the successors that are known, and all reachable states, if these are known."""
        self.system, self.known, self.states = system, known, states

    @cached_property
    def concrete(self) -> Concrete:
        """The concrete reading of the unchanged system."""
        return Concrete(self.system)

    def after(self, state: State) -> Successors:
        """Return the successors of a state, reachable or not. Raises ModelError."""
        found = self.known.get(state)
        if found is None:
            steps = enumerate(self.concrete.steps)
            found = tuple((n, s) for n, one in steps if one.possible(state) for s in one.successors(state))
            self.known[state] = found
        return found

    def slots(self, action: str) -> dict[int, GroundAction]:
        """Return the ground actions of that name by their number."""
        schema = named_actions(self.system)[action]
        return {n: a for n, a in enumerate(self.system.ground_actions) if a.schema is schema}


def states_within(system: System, most: int) -> Iterator[tuple[dict[State, Successors], bool]]:
    """Yield the states with their successors, and whether these are all: fewer than `most`."""
    graph = Graph(system, {}, None)
    waiting = list(Beginnings(graph.concrete).states())
    one = {state: state for state in waiting}
    for state in waiting:
        before = len(one)
        graph.known[state] = tuple((n, one.setdefault(after, after)) for n, after in graph.after(state))
        if len(one) >= most:
            break
        waiting.extend(list(one)[before:])
    yield graph.known, len(one) < most


@dataclass(frozen=True)
class Difference:
    """A step that only one of two systems takes in a state that both reach, and an execution to it."""

    path: Sequence[GroundAction]
    action: GroundAction
    before: State | None
    """The state after it without the change; None if it cannot happen there."""
    after: State | None

    def lines(self, system: System) -> tuple[str, ...]:
        """Return the execution, and the two states side by side."""
        steps = [f"{n}  {action.name}" for n, action in enumerate((*self.path, self.action), 1)]
        before, after = self.before, self.after
        if before is None or after is None:
            when = "without" if before is None else "with"
            return (*steps, f"the last step cannot happen {when} the change")
        for v in system.variables:
            if before[v.place] != after[v.place]:
                old, new = (
                    "open" if s[v.place] == UNDECIDED and v.is_choice else show(v.domain.values[s[v.place]])
                    for s in (before, after)
                )
                steps.append(f"{v.name}: {old} without the change, {new} with it")
        return tuple(steps)


class MutantStates:
    """The reachable states of a mutant, breadth first.

    `violated` has the steps of a replayed counterexample by property, `unreached` the exercised properties
    whose witness is not reached. `new` is the first step to a state that the unchanged system does not reach,
    `other` the first step that it does not take in that state, or that the mutant does not take.
    """

    def __init__(self, graph: Graph, system: System, action: str, subject: Subject) -> None:
        """Visit nothing yet. `action` is the changed one."""
        self._graph, self._replayer = graph, Replayer(system, subject)
        actions = system.ground_actions
        self._old = graph.slots(action)
        self._steps = {n: self._replayer.concrete.step(actions[n]) for n in self._old}
        self._received = {n for n in self._old if actions[n].schema.action.received is not None}
        self.parents: dict[State, tuple[State, int] | None] = {}
        self.violated: dict[str, int] = {}
        self.unreached: dict[str, Callable[[State], bool]] = {}
        self.new: Difference | None = None
        self.other: Difference | None = None
        self.is_over = False

    def visit(self, clean: Sequence[str], exercised: Sequence[str], most: int) -> None:
        """Visit states until each property is violated, or `most` are entered. Raises ModelError."""
        concrete, actions = self._graph.concrete, self._replayer.system.ground_actions
        claims = {prop.name: prop for prop in self._replayer.system.properties}
        holds = {name: concrete.predicate(claims[name].holds) for name in clean}
        self.unreached = {name: concrete.predicate(claims[name].witness) for name in exercised}
        self.parents = dict.fromkeys(Beginnings(concrete).states())
        waiting = list(self.parents)
        for state in waiting:
            for name in [name for name in holds if not holds[name](state)]:
                trace = self._replayer.replay(claims[name], *self._way(state))
                self.violated[name] = len(trace.steps)
                del holds[name]
            for name in [name for name, reached in self.unreached.items() if reached(state)]:
                del self.unreached[name]
            if not holds or len(self.parents) >= most:
                self.is_over = not holds
                return
            for number, after in self._after(state):
                if after not in self.parents:
                    self.parents[after] = state, number
                    waiting.append(after)
                    known = self._graph.states
                    if self.new is None and known is not None and after not in known:
                        old = dict(self._graph.after(state)).get(number)
                        self.new = Difference(self._path(state), actions[number], old, after)
        self.is_over = True

    def _after(self, state: State) -> list[tuple[int, State]]:
        old = self._graph.after(state)
        enabled = ((n, step) for n, step in self._steps.items() if step.possible(state))
        new = [(n, after) for n, step in enabled for after in step.successors(state)]
        before = [pair for pair in old if pair[0] in self._steps]
        if self.other is None or self._received:
            for number in dict.fromkeys(n for n, _ in (*new, *before)):
                one, two = ([s for n, s in pairs if n == number] for pairs in (before, new))
                if set(one) != set(two):
                    self._differs(state, number, next(iter(one), None), next(iter(two), None))
        return [*(pair for pair in old if pair[0] not in self._steps), *new]

    def _differs(self, state: State, number: int, before: State | None, after: State | None) -> None:
        """Note the first step that differs. One that only the mutant takes must receive what was sent.

        So must a second one: an update that is skipped may be the one that marks a message as received.
        """
        action = self._replayer.system.ground_actions[number]
        if self.other is None:
            self.other = Difference(self._path(state), action, before, after)
        if number not in self._received:
            return
        if before is None:
            self._received.discard(number)
            self._receives(state, number, 1)
        elif after is not None and self._is_again(number, after) and not self._was_again(number, before):
            self._received.discard(number)
            self._receives(state, number, 2)

    def _is_again(self, number: int, state: State) -> bool:
        return next(self._steps[number].successors(state), None) is not None

    def _was_again(self, number: int, state: State) -> bool:
        return any(n == number for n, _ in self._graph.after(state))

    def _receives(self, state: State, number: int, times: int) -> None:
        """Take the step so many times in a row. Raises ModelError for a message that is not under way."""
        action = self._replayer.system.ground_actions[number]
        for chosen in decided(state, [p for p in self._steps[number].choices if state[p] == UNDECIDED]):
            if next(self._steps[number].successors(chosen), None) is not None:
                actions, names, beginning = self._way(state, chosen)
                with suppress(NotAnExecution):
                    self._replayer.record("receipts", [*actions, *times * [action]], names, beginning)
                return

    def _path(self, state: State) -> list[GroundAction]:
        actions, found = self._replayer.system.ground_actions, list[GroundAction]()
        while (parent := self.parents[state]) is not None:
            found.append(actions[parent[1]])
            state = parent[0]
        return found[::-1]

    def _way(
        self, state: State, chosen: State | None = None
    ) -> tuple[list[GroundAction], list[str], tuple[int, ...]]:
        """Return the actions to a state, the names of the choices that are true in it, and its beginning."""
        first = state
        while (parent := self.parents[first]) is not None:
            first = parent[0]
        concrete = self._graph.concrete
        names = [v.name for v in concrete.system.choices if (chosen or state)[v.place] == 1]
        return self._path(state), names, Beginnings(concrete).of(first)


def simulated_difference(graph: Graph, system: System, action: str) -> Difference | None:
    """Return a step that only one of the systems takes, found by simulations of the mutant; None if none."""
    concrete, chance = Concrete(system), random.Random(1)
    pairs = [
        (graph.concrete.step(one), concrete.step(system.ground_actions[n]))
        for n, one in graph.slots(action).items()
    ]
    for number in range(SIMULATIONS):
        losing = (
            some_choices(system, chance) if number % 2 else dict.fromkeys(some_choices(system, chance), False)
        )
        path: list[GroundAction] = []
        for moved, state in moves(concrete, Beginnings(concrete).draw(chance, losing), chance):
            for before, after in pairs:
                one, two = next(before.successors(state), None), next(after.successors(state), None)
                if one != two:
                    return Difference([*path, moved] if moved else path, after.action, one, two)
            if moved is not None:
                path.append(moved)
    return None
