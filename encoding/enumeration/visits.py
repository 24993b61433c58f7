"""Breadth-first visits of all reachable states, each once, with the faults used so far.

A node is a state, and after it the number of faults of each kind that is limited and that actions make. So a
state that is entered again with fewer faults is another node, and is entered again. A loss is a choice, and
the state itself says which choices are decided. Executions with more faults than allowed are left out.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping

from fencepost.encoding.concrete.badly_defined import BadlyDefined, with_the_steps_before
from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.limits import counted_by_nodes
from fencepost.encoding.enumeration.orbits import Orbits
from fencepost.encoding.language.actions import GroundAction


class Visits:
    """The nodes visited so far, and the way to each of them.

    With `orbits`, one node stands for all that symmetries make of it.
    """

    def __init__(
        self, concrete: Concrete, budgets: Mapping[str, int] | None = None, orbits: Orbits | None = None
    ) -> None:
        """Start without a node. `budgets` has the largest number of faults by kind."""
        budgets, system = budgets or {}, concrete.system
        self.concrete, self.orbits = concrete, orbits
        self.beginnings = Beginnings(concrete)
        self.depth = 0
        """The steps to the nodes that are farthest away."""
        self.levels: list[int] = []
        """The number of nodes at 0, 1, 2 … steps, as far as all of them were visited."""
        self.total = 0
        """The number of nodes that the visited ones stand for."""
        self.goes_on = False
        """Whether some execution is longer than the visits were to go."""
        self._width = len(system.variables)
        kinds = counted_by_nodes(system, budgets)
        self._allowed = {self._width + i: budgets[kind] for i, kind in enumerate(kinds)}
        places = {kind: self._width + i for i, kind in enumerate(kinds)}
        self._counters = [places.get(step.action.schema.action.fault or "") for step in concrete.steps]
        """For each action, the place where a node counts its faults, or None."""
        self._losses = [
            (tuple(v.place for v in system.choices if v.family.fault == kind), most)
            for kind, most in budgets.items()
            if any(v.family.fault == kind for v in system.choices)
        ]
        self.fired = [0] * len(concrete.steps)
        """How often each action leads from a visited node, or from one that it stands for, to another."""
        self._seen: dict[State, None] = {}
        self._parents = array("I")
        """For each node the number of the one before it; an initial state has its own number."""

    def __len__(self) -> int:
        """Return the number of nodes visited."""
        return len(self._seen)

    @property
    def states(self) -> int:
        """The number of reachable states visited, with all that symmetries make of them."""
        if not self._allowed:
            return self.total
        found = {node[: self._width] for node in self._seen}
        return len(found) if self.orbits is None else sum(self.orbits.of(state)[1] for state in found)

    def nodes(self, steps: int | None = None) -> Iterator[tuple[State, int]]:
        """Yield each node when it is entered, with the number of nodes that it stands for.

        At most `steps` steps are taken. Raises ModelError for a badly defined action.
        """
        level, begun = list[tuple[State, int]](), 0
        for raw in self.first():
            node, size = (raw, 1) if self.orbits is None else self.orbits.of(raw)
            if node not in self._seen:
                level.append(self._enter(node, size, len(self._seen)))
                yield level[-1]
        try:
            while level:
                self.levels.append(len(level))
                if steps is not None and self.depth == steps:
                    self.goes_on = any(self._can_go_on(node) for node, _ in level)
                    return
                following: list[tuple[State, int]] = []
                for parent, (node, weight) in enumerate(level, begun):
                    for number, raw in self.after(node):
                        self.fired[number] += weight
                        if raw in self._seen:
                            continue
                        after, size = (raw, 1) if self.orbits is None else self.orbits.of(raw)
                        if after not in self._seen:
                            if not following:
                                self.depth += 1
                            following.append(self._enter(after, size, parent))
                            yield following[-1]
                begun += len(level)
                level = following
        except BadlyDefined:
            self._refuse(node)
            raise

    def path(self, node: State) -> tuple[list[GroundAction], State, tuple[int, ...]]:
        """Return the actions of a shortest execution to a visited node, its last node, and its beginning.

        With symmetries, the last node is one for which the given one stands.
        """
        nodes = list(self._seen)
        first, *later = (nodes[number] for number in self.way(nodes.index(node)))
        here, actions = first, list[GroundAction]()
        for wanted in later:
            slot, here = next(
                (slot, after) for slot, after in self.after(here) if self._representative(after) == wanted
            )
            actions.append(self.concrete.steps[slot].action)
        return actions, here, self.beginnings.of(first)

    def way(self, number: int) -> list[int]:
        """Return the numbers of the nodes on a shortest way to a node, with its own number."""
        way = [number]
        while (parent := self._parents[way[-1]]) != way[-1]:
            way.append(parent)
        return way[::-1]

    def losses(self, node: State) -> list[int]:
        """Return the positions of the choices that are true in a node."""
        return [i for i, v in enumerate(self.concrete.system.choices) if node[v.place] == 1]

    def first(self) -> Iterator[State]:
        """Yield the node of each initial state, without any fault so far."""
        for state in self.beginnings.states():
            yield self.concrete.state([*state, *(0 for _ in self._allowed)])

    def _enter(self, node: State, size: int, parent: int) -> tuple[State, int]:
        self._seen[node] = None
        self._parents.append(parent)
        self.total += size
        return node, size

    def _can_go_on(self, node: State) -> bool:
        """Return whether some action can happen."""
        return next(self.after(node), None) is not None

    def _refuse(self, node: State) -> None:
        """Raise ModelError with the steps to a node after which a step is badly defined."""
        actions, here, _ = self.path(node)
        with with_the_steps_before(actions):
            list(self.after(here))

    def after(self, node: State) -> Iterator[tuple[int, State]]:
        """Yield the number of each action that can happen, with each node after it."""
        for number, (step, counter) in enumerate(zip(self.concrete.steps, self._counters, strict=True)):
            if counter is not None and node[counter] >= self._allowed[counter]:
                continue
            for after in step.successors(node):
                if counter is not None:
                    after = self._with_a_fault(after, counter)
                if not self._losses or self.keeps_within(after):
                    yield number, after

    def _with_a_fault(self, node: State, counter: int) -> State:
        codes = list(node)
        codes[counter] += 1
        return self.concrete.state(codes)

    def keeps_within(self, node: State) -> bool:
        """Return whether no more messages are lost than allowed."""
        return all(sum(node[place] == 1 for place in places) <= most for places, most in self._losses)

    def _representative(self, node: State) -> State:
        return node if self.orbits is None else self.orbits.of(node)[0]
