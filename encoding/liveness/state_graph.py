"""The graph of the reachable states, with the steps that change something and what is fair in each of them.

A choice, such as a loss, is decided in a node as soon as the guard of a fair action would read it. So each
fair action is enabled in a node, or it is not. Symmetries are not used: fairness tells alike actions apart.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import UNDECIDED, State, decided
from fencepost.encoding.engine.messages import Visiting
from fencepost.encoding.enumeration.visits import Visits
from fencepost.encoding.language.system import System

PAUSE = 0.5
"""Seconds between two reports of progress."""


@dataclass
class StateGraph:
    """The nodes by number, in the order of their distance from the initial states.

    Sets of fair actions are bits of a number, in the order of `System.fairness`.
    """

    nodes: list[State] = field(default_factory=list)
    steps: list[dict[int, tuple[int, int]]] = field(default_factory=list)
    """For each node those after it, each with an action that leads there, and all fair sets that do."""
    enabled: list[int] = field(default_factory=list)
    """For each node the fair sets with an action that would change something."""
    depth: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    """For each node the one before it on a shortest way; an initial node has its own number."""


def explore(
    system: System, concrete: Concrete, budgets: Mapping[str, int], most: int | None, graph: StateGraph
) -> Iterator[Visiting]:
    """Fill the graph, and yield its size now and then. It is left incomplete after `most` nodes."""
    visits = Visits(concrete, budgets)
    numbers: dict[State, int] = {}
    fair_of = [0] * len(concrete.steps)
    for bit, fair in enumerate(system.fairness):
        for slot, step in enumerate(concrete.steps):
            fair_of[slot] |= (step.action in fair.actions) << bit
    readers = [step for step, own in zip(concrete.steps, fair_of, strict=True) if own and step.choices]
    state_places = [v.place for v in system.variables if not v.is_choice]

    def settled(node: State) -> Iterator[State]:
        """Yield the node with each value of the choices that the guards of fair actions read in it."""
        read = (place for step in readers if step.possible(node) for place in step.choices)
        open_choices = sorted({place for place in read if node[place] == UNDECIDED})
        yield from (after for after in decided(node, open_choices) if visits.keeps_within(after))

    def enter(raw: State, parent: int | None) -> Iterator[int]:
        for node in settled(raw):
            if node not in numbers:
                number = numbers[node] = len(graph.nodes)
                graph.nodes.append(node)
                graph.depth.append(0 if parent is None else graph.depth[parent] + 1)
                graph.parents.append(number if parent is None else parent)
            yield numbers[node]

    for first in Beginnings(concrete).states():
        list(enter(visits.uncounted(first), None))
    last, number = time.perf_counter(), 0
    while number < len(graph.nodes):
        if most is not None and len(graph.nodes) > most:
            return
        node = graph.nodes[number]
        found: dict[int, tuple[int, int]] = {}
        enabled = 0
        for slot, after in visits.after(node):
            if all(after[place] == node[place] for place in state_places):
                continue
            enabled |= fair_of[slot]
            for target in enter(after, number):
                action, taken = found.get(target, (slot, 0))
                found[target] = action, taken | fair_of[slot]
        graph.steps.append(found)
        graph.enabled.append(enabled)
        number += 1
        if not number % 1000 and time.perf_counter() - last > PAUSE:
            last = time.perf_counter()
            yield Visiting(len(graph.nodes), graph.depth[-1])
