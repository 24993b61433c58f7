"""The process that decides properties of liveness on the graph of all reachable states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.messages import FoundPath, Visited, Visiting
from fencepost.encoding.language.system import Liveness, System
from fencepost.encoding.liveness.fair_components import FairLasso, Path, owing
from fencepost.encoding.liveness.state_graph import StateGraph, explore


@dataclass(frozen=True)
class FoundLasso:
    """An execution that violates a property of liveness, to be replayed. Its loop has the last steps."""

    path: FoundPath
    begins: int
    is_shortest: bool


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
    concrete, graph = Concrete(system), StateGraph()
    yield from explore(system, concrete, budgets, most, graph)
    if len(graph.steps) < len(graph.nodes):
        return
    for prop in properties:
        is_met = concrete.predicate(prop.witness)
        held = concrete.predicate(prop.holds) if prop.for_ever else None
        path = FairLasso(graph, system, owing(graph, prop, concrete.predicate), held).find()
        if path is not None:
            yield _lasso(concrete, graph, prop, path)
        elif not any(map(is_met, graph.nodes)):
            yield UnmetFairness(prop.name)
    yield Visited(len({node[: len(system.variables)] for node in graph.nodes}), None, graph.depth[-1])


def _lasso(concrete: Concrete, graph: StateGraph, prop: Liveness, path: Path) -> FoundLasso:
    """Return the lasso as numbers of actions, with the choices and the beginning."""
    nodes = (*path.prefix, *path.loop)
    pairs = pairwise(nodes)
    actions = tuple(graph.steps[number][target][0] for number, target in pairs)
    last: State = graph.nodes[nodes[-1]]
    choices = tuple(i for i, v in enumerate(concrete.system.choices) if last[v.place] == 1)
    beginning = Beginnings(concrete).of(graph.nodes[nodes[0]])
    return FoundLasso(
        FoundPath(prop.name, actions, choices, beginning), len(path.prefix) - 1, path.is_shortest
    )
