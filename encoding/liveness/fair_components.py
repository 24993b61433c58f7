"""Fair components of the graph of states: strongly connected parts in which an execution may stay fairly.

A property of liveness is violated if and only if some part of the states that owe it is strongly connected
and fair: each weakly fair set is taken in it or disabled somewhere in it, and each strongly fair set is taken
in it or enabled nowhere in it. An execution may stand still, so one state alone is strongly connected.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.engine.messages import FoundPath, Visited, Visiting
from fencepost.encoding.enumeration.process import PAUSE
from fencepost.encoding.errors import InternalError
from fencepost.encoding.language.system import Liveness, System
from fencepost.encoding.liveness.state_graph import StateGraph

_Node = TypeVar("_Node")

_Way = tuple[int, int, int]
"""A way in a component: its last node, the fair sets satisfied, and the strong ones that it met enabled."""

WORK = 1_000_000
"""The ways of the search for a shortest lasso, after which some lasso is taken."""


@dataclass(frozen=True)
class FoundLasso:
    """An execution that violates a property of liveness, to be replayed. Its loop has the last steps."""

    path: FoundPath
    begins: int
    is_shortest: bool = False


@dataclass(frozen=True)
class UnmetFairness:
    """The result that no reachable state has the witness of a property."""

    property: str


def search_lassos(
    system: System, properties: Sequence[Liveness], budgets: Mapping[str, int], most: int | None
) -> Iterator[Visiting | FoundLasso | UnmetFairness | Visited]:
    """Visit all states, and yield a fair lasso of each property that is violated; then all are decided.

    It ends without `Visited` if there are more than `most` states.
    """
    graph, last = StateGraph(Concrete(system), budgets), time.perf_counter()
    for _ in graph.nodes():
        if most is not None and len(graph) > most:
            return
        if not len(graph) % 1000 and time.perf_counter() - last > PAUSE:
            last = time.perf_counter()
            yield Visiting(len(graph), graph.depth)
    for prop in properties:
        lasso = FairLasso(graph, prop).find()
        if lasso is not None:
            yield lasso
        elif not any(map(graph.concrete.predicate(prop.witness), graph.by_number)):
            yield UnmetFairness(prop.name)
    yield Visited(graph.states, None, graph.depth)


class FairLasso:
    """The search for a fair lasso of a property among the nodes that owe it."""

    def __init__(self, graph: StateGraph, prop: Liveness) -> None:
        """Prepare the search."""
        self._graph, self._prop, self._enabled = graph, prop, graph.enabled
        fairness = graph.concrete.system.fairness
        self._strong = sum(fair.is_strong << bit for bit, fair in enumerate(fairness))
        self._all = (1 << len(fairness)) - 1
        self._left = WORK
        if prop.for_ever:  # it must be false in the loop, as a set that is never taken
            own, held = 1 << len(fairness), graph.concrete.predicate(prop.holds)
            self._all |= own
            pairs = zip(graph.enabled, graph.by_number, strict=True)
            self._enabled = [enabled | own * held(node) for enabled, node in pairs]
        self._steps: dict[int, int] = {}
        """For each node that owes the property the steps of a shortest way on which it does."""
        self._before: dict[int, int | None] = {}
        """The node before it that owes the property too; None if the property is owed since this node."""
        self._find_owing()

    def _find_owing(self) -> None:
        """Note the nodes that owe the property after some execution."""
        graph, prop = self._graph, self._prop
        is_owed, is_met = map(graph.concrete.predicate, (prop.witness & ~prop.met, prop.met))
        by_steps: dict[int, list[tuple[int, int | None]]] = {}
        for number, node in enumerate(graph.by_number):
            if is_owed(node) and not (prop.at_first and graph.depths[number]):
                by_steps.setdefault(graph.depths[number], []).append((number, None))
        while by_steps:
            steps = min(by_steps)
            for number, before in by_steps.pop(steps):
                if number in self._steps:
                    continue
                self._steps[number], self._before[number] = steps, before
                for target in graph.steps[number]:
                    if target not in self._steps and not is_met(graph.by_number[target]):
                        by_steps.setdefault(steps + 1, []).append((target, number))

    def find(self) -> FoundLasso | None:
        """Return a fair lasso, a shortest one if that is not too much work; None if there is none."""
        inside = {number: part for part in self._components() for number in part}
        best: tuple[int, tuple[int, ...]] | None = None
        fewest: int | None = None
        for start in sorted(inside, key=lambda number: (self._steps[number], number)):
            if fewest is not None and (self._left <= 0 or self._steps[start] >= fewest):
                break
            most = None if fewest is None else fewest - self._steps[start] - 1
            loop = self._loop(start, inside[start], most)
            if loop is not None:
                best, fewest = (start, loop), self._steps[start] + len(loop)
        if best is not None:
            return self._lasso(*best)
        if inside:
            raise InternalError(f"{self._prop.name}: a fair component has no fair loop")
        return None

    def _lasso(self, start: int, loop: Sequence[int]) -> FoundLasso:
        """Return the lasso with a shortest way to a node and a loop from there, to be replayed."""
        graph, (since, *later) = self._graph, _way(self._before, start)
        nodes = [*graph.way(since), *later, *loop]
        actions = tuple(graph.steps[number][target][0] for number, target in pairwise(nodes))
        choices = tuple(graph.losses(graph.by_number[nodes[-1]]))
        beginning = graph.beginnings.of(graph.by_number[nodes[0]])
        path = FoundPath(self._prop.name, actions, choices, beginning)
        return FoundLasso(path, len(actions) - len(loop), is_shortest=self._left > 0)

    def _components(self) -> Iterator[frozenset[int]]:
        """Yield the largest fair components among the nodes that owe the property."""
        waiting = [frozenset(self._steps)]
        while waiting:
            for part in strongly_connected(self._graph, waiting.pop()):
                taken, always, sometimes = self._fair_in(part)
                if always & ~taken & ~self._strong:
                    continue  # the same holds in each smaller part
                unfair = sometimes & ~taken & self._strong
                if not unfair:
                    yield part
                else:
                    waiting.append(frozenset(n for n in part if not self._enabled[n] & unfair))

    def _fair_in(self, part: frozenset[int]) -> tuple[int, int, int]:
        """Return the fair sets that are taken in a part, those enabled in all, and in some of its nodes."""
        taken, always, sometimes = 0, self._all, 0
        for number in part:
            always &= self._enabled[number]
            sometimes |= self._enabled[number]
            for target, (_, own) in self._graph.steps[number].items():
                if target in part:
                    taken |= own
        return taken, always, sometimes

    def _loop(self, start: int, part: frozenset[int], most: int | None) -> tuple[int, ...] | None:
        """Return the nodes of a shortest fair loop of at most so many steps, or None.

        If that is too much work, a way is kept as soon as it satisfies more sets than before, and no other.
        """
        enabled = self._enabled
        first = start, self._all & ~enabled[start] & ~self._strong, enabled[start] & self._strong
        before: dict[_Way, _Way | None] = {first: None}
        level, steps, kept = [first], 0, -1
        seen: set[_Way | int] = {first}
        while level:
            for way in level:
                if way[0] == start and (way[1] | (self._strong & ~way[2])) == self._all:
                    return tuple(n for n, _, _ in _way(before, way)[1:])
            if steps == most:
                return None
            following = []
            for way in level:
                for after in self._after(way, part):
                    key = after if self._left > 0 else after[0]
                    if key not in seen:
                        seen.add(key)
                        before.setdefault(after, way)
                        following.append(after)
            self._left -= len(following)
            if self._left <= 0 and following:
                best = max(following, key=lambda way: way[1].bit_count())
                if best[1] != kept:
                    following, seen, kept = [best], {best[0]}, best[1]
            level, steps = following, steps + 1
        return None

    def _after(self, way: _Way, part: frozenset[int]) -> Iterator[_Way]:
        """Yield the way with each further step in the component."""
        number, satisfied, met = way
        for target, (_, taken) in self._graph.steps[number].items():
            if target in part:
                disabled = self._all & ~self._enabled[target] & ~self._strong
                yield target, satisfied | taken | disabled, met | (self._enabled[target] & self._strong)


def _way(before: Mapping[_Node, _Node | None], end: _Node) -> list[_Node]:
    """Return the way to a node by the one before each, from the node that has none."""
    way = [end]
    while (earlier := before[way[-1]]) is not None:
        way.append(earlier)
    return way[::-1]


def strongly_connected(graph: StateGraph, nodes: Collection[int]) -> Iterator[frozenset[int]]:
    """Yield the strongly connected components of these nodes (Tarjan's algorithm without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in nodes:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        ahead = [(root, iter(graph.steps[root]))]
        while ahead:
            number, targets = ahead[-1]
            target = next((t for t in targets if t in nodes and (t not in index or t in on_stack)), None)
            if target is None:
                ahead.pop()
                if ahead:
                    low[ahead[-1][0]] = min(low[ahead[-1][0]], low[number])
                if low[number] == index[number]:
                    part = {number}
                    while (top := stack.pop()) != number:
                        part.add(top)
                    on_stack -= part
                    yield frozenset(part)
            elif target in index:
                low[number] = min(low[number], index[target])
            else:
                index[target] = low[target] = len(index)
                stack.append(target)
                on_stack.add(target)
                ahead.append((target, iter(graph.steps[target])))
