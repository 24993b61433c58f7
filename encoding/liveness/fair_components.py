"""Fair components of the graph of states: strongly connected parts in which an execution may stay fairly.

A property of liveness is violated if and only if some part of the states that owe it is strongly connected
and fair: each weakly fair set is taken in it or disabled somewhere in it, and each strongly fair set is taken
in it or enabled nowhere in it. An execution may stand still, so one state alone is strongly connected.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from fencepost.encoding.concrete.steps import State
from fencepost.encoding.language.system import Liveness, System
from fencepost.encoding.liveness.state_graph import StateGraph

_Node = TypeVar("_Node")

WORK = 1_000_000
"""The states of the search for a shortest lasso, after which the shortest one found is taken."""


@dataclass(frozen=True)
class Path:
    """Nodes of a lasso: those of the prefix up to the first of the loop, and those of the loop after it."""

    prefix: tuple[int, ...]
    loop: tuple[int, ...]
    is_shortest: bool = False

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.prefix) - 1 + len(self.loop)


@dataclass
class Owing:
    """The nodes that owe a property, each with the steps of a shortest way on which it does."""

    steps: dict[int, int] = field(default_factory=dict)
    before: dict[int, int | None] = field(default_factory=dict)
    """The node before it that owes the property too; None if the property is owed since this node."""


def owing(graph: StateGraph, prop: Liveness, predicate: Callable[..., Callable[[State], bool]]) -> Owing:
    """Return the nodes that owe the property after some execution."""
    is_owed, is_met = predicate(prop.witness & ~prop.met), predicate(prop.met)
    first = [number for number, parent in enumerate(graph.parents) if number == parent]
    sources = [n for n in (first if prop.at_first else range(len(graph.nodes))) if is_owed(graph.nodes[n])]
    by_steps: dict[int, list[tuple[int, int | None]]] = {}
    for number in sources:
        by_steps.setdefault(graph.depth[number], []).append((number, None))
    found = Owing()
    while by_steps:
        steps = min(by_steps)
        for number, before in by_steps.pop(steps):
            if number in found.steps:
                continue
            found.steps[number], found.before[number] = steps, before
            for target in graph.steps[number]:
                if target not in found.steps and not is_met(graph.nodes[target]):
                    by_steps.setdefault(steps + 1, []).append((target, number))
    return found


class FairLasso:
    """The search for a fair lasso among nodes that owe a property."""

    def __init__(
        self, graph: StateGraph, system: System, owed: Owing, held: Callable[[State], bool] | None = None
    ) -> None:
        """Prepare the search. `held` must be false in a loop if it is given, as a set that is never taken."""
        self._graph, self._owed, self._enabled = graph, owed, graph.enabled
        bits = range(len(system.fairness))
        self._strong = sum(1 << bit for bit in bits if system.fairness[bit].is_strong)
        self._all = (1 << len(bits)) - 1
        self._left = WORK
        if held is not None:
            own = 1 << len(bits)
            self._all |= own
            pairs = zip(graph.enabled, graph.nodes, strict=True)
            self._enabled = [enabled | own * held(node) for enabled, node in pairs]

    def find(self) -> Path | None:
        """Return a fair lasso, a shortest one if that is not too much work; None if there is none."""
        owed = self._owed.steps
        inside = {number: part for part in self._components(owed.keys()) for number in part}
        best: Path | None = None
        for start in sorted(inside, key=lambda number: (owed[number], number)):
            if best is not None and owed[start] >= len(best):
                break
            most = None if best is None else len(best) - owed[start] - 1
            loop = self._shortest_loop(start, inside[start], most)
            if loop is not None:
                best = Path(self._prefix(start), loop)
            if self._left <= 0:
                if best is None:
                    best = Path(self._prefix(start), self._some_loop(start, inside[start]))
                return best
        return None if best is None else replace(best, is_shortest=True)

    def _prefix(self, number: int) -> tuple[int, ...]:
        """Return the nodes of a shortest way to a node that owes the property there."""
        way = _way(self._owed.before, number)
        while self._graph.parents[way[0]] != way[0]:
            way.insert(0, self._graph.parents[way[0]])
        return tuple(way)

    def _components(self, nodes: Collection[int]) -> Iterator[frozenset[int]]:
        """Yield the largest fair components among these nodes."""
        waiting = [frozenset(nodes)]
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

    def _shortest_loop(self, start: int, part: frozenset[int], most: int | None) -> tuple[int, ...] | None:
        """Return the nodes of a shortest fair loop of at most so many steps, or None.

        A state of the search has a node, the fair sets that are satisfied, and the strong ones met enabled.
        """
        enabled = self._enabled
        first = start, self._all & ~enabled[start] & ~self._strong, enabled[start] & self._strong
        before: dict[tuple[int, int, int], tuple[int, int, int] | None] = {first: None}
        level, steps = [first], 0
        while level and self._left > 0:
            for state in level:
                number, satisfied, met = state
                if number == start and (satisfied | (self._strong & ~met)) == self._all:
                    return tuple(n for n, _, _ in _way(before, state)[1:])
            if steps == most:
                return None
            following = []
            for state in level:
                number, satisfied, met = state
                for target, (_, taken) in self._graph.steps[number].items():
                    if target in part:
                        disabled = self._all & ~enabled[target] & ~self._strong
                        after = target, satisfied | taken | disabled, met | (enabled[target] & self._strong)
                        if after not in before:
                            before[after] = state
                            following.append(after)
            self._left -= len(following)
            level, steps = following, steps + 1
        return None

    def _some_loop(self, start: int, part: frozenset[int]) -> tuple[int, ...]:
        """Return the nodes of a fair loop in a fair component: to each set's step or node, and back."""
        loop: list[int] = []
        here = start
        for bit in (1 << i for i in range(self._all.bit_length())):
            node = next((n for n in part if not self._enabled[n] & bit), None)
            if node is not None and not self._strong & bit:
                loop += self._walk(here, node, part)
                here = node
                continue
            steps = ((n, t) for n in part for t, (_, own) in self._graph.steps[n].items() if own & bit)
            step = next((s for s in steps if s[1] in part), None)
            if step is not None:  # otherwise the strong set is enabled nowhere in the component
                loop += [*self._walk(here, step[0], part), step[1]]
                here = step[1]
        return (*loop, *self._walk(here, start, part))

    def _walk(self, start: int, end: int, part: frozenset[int]) -> tuple[int, ...]:
        """Return the nodes after `start` on a shortest way to `end` in a strongly connected part."""
        before: dict[int, int | None] = {start: None}
        ahead = [start]
        for number in ahead:
            if number == end:
                break
            for target in self._graph.steps[number]:
                if target in part and target not in before:
                    before[target] = number
                    ahead.append(target)
        return tuple(_way(before, end)[1:])


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
