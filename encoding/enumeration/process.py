"""The process that visits the reachable states, and what it says."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.limits import counted_by_nodes
from fencepost.encoding.engine.messages import FirstVisited, FoundPath, Visited, Visiting
from fencepost.encoding.enumeration.in_formulas import confirm
from fencepost.encoding.enumeration.orbits import Orbits, symmetries_of
from fencepost.encoding.enumeration.outlook import expected_nodes
from fencepost.encoding.enumeration.visits import Visits
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.formulas.traps import check_traps
from fencepost.encoding.induction.proof_obligations import Never, Statement
from fencepost.encoding.language.system import Property, System

PLAIN = 5_000
"""The number of nodes that are visited without symmetry. Most small instances have no more."""

TASK = "enumeration"
"""The name of this process, and of its task in progress."""

PAUSE = 0.5
"""Seconds between two reports of progress."""


@dataclass(frozen=True)
class Extent:
    """How far an enumeration goes, as the work for so many nodes without symmetry.

    - `first`: it ends after so many, unless an end is in sight.
    - `most`: an end is in sight if no more than that are expected.
    """

    first: int
    most: int


def enumerate_states(
    system: System,
    properties: Sequence[Property],
    budgets: Mapping[str, int],
    bound: int | None = None,
    extent: Extent | None = None,
) -> Iterator[Visiting | FoundPath | FirstVisited | Visited]:
    """Visit the states within `bound` steps, and yield what is found.

    It ends without `Visited` once each property is violated, or at the end of its `extent`. `budgets` has
    the largest number of faults by kind.
    """
    yield from _Enumeration(system, properties, budgets).run(bound, extent)


def _ends_within(most: int, visits: Visits, spent: int, each: int) -> bool:
    """Return whether no more work than `most` is expected in all. Each node is the work of `each`."""
    expected = expected_nodes(visits.levels, (most - spent) // each)
    return expected is not None and spent + each * max(expected, len(visits)) < most


class _Enumeration:
    """The nodes of a system, and the claims that are not decided by those visited so far."""

    def __init__(self, system: System, properties: Sequence[Property], budgets: Mapping[str, int]) -> None:
        self._system, self._budgets = system, budgets
        if any(prop.traps for prop in properties):
            check_traps(self._symbolic, properties)
        self._claims: list[Statement] = [*properties, *map(Never, properties)]
        self._concrete = Concrete(system)
        self._holds = {claim.name: self._concrete.predicate(claim.holds) for claim in self._claims}
        self._open = {prop.name for prop in properties}
        """The properties that are not violated so far."""

    def run(
        self, bound: int | None, extent: Extent | None
    ) -> Iterator[Visiting | FoundPath | FirstVisited | Visited]:
        """Visit some nodes without symmetry, then, if there is any, all of them with it."""
        mark = None if extent is None else extent.first
        visits, last = Visits(self._concrete, self._budgets), time.perf_counter()
        yield Visiting(0, 0)
        nodes, spent, each, with_symmetry = visits.nodes(bound), 0, 1, False
        while True:
            for node, _ in nodes:
                for claim in self._claims:
                    if claim.name in self._holds and not self._holds[claim.name](node):
                        yield self._found(claim, visits, node)
                if not self._open:
                    return
                if extent is not None and mark is not None and spent + each * len(visits) >= mark:
                    if not _ends_within(extent.most, visits, spent, each):
                        return
                    mark += extent.first
                if len(visits) == PLAIN and not with_symmetry:
                    break
                if not len(visits) % 1000 and time.perf_counter() - last > PAUSE:
                    last = time.perf_counter()
                    yield Visiting(len(visits), visits.depth)
            else:
                orbits = len(visits) if visits.orbits is not None else None
                yield Visited(visits.states, orbits, visits.depth, visits.goes_on)
                return
            yield FirstVisited()
            with_symmetry, symmetric = True, self._with_symmetry()
            if symmetric is not None:
                spent = len(visits)
                visits, nodes = symmetric, symmetric.nodes(bound)
                each = symmetric.orbits.work if symmetric.orbits is not None else 1

    @cached_property
    def _symbolic(self) -> Symbolic:
        return Symbolic(self._system)

    def _with_symmetry(self) -> Visits | None:
        """Return visits that use the symmetries of the system and its claims, or None without any."""
        group = symmetries_of(self._concrete, self._symbolic, self._claims)
        if not group:
            return None
        width = len(self._system.variables) + len(counted_by_nodes(self._system, self._budgets))
        return Visits(self._concrete, self._budgets, Orbits(self._concrete, group, width))

    def _found(self, claim: Statement, visits: Visits, node: State) -> FoundPath:
        """Return the path to a node in which a claim is false. Formulas have to confirm a violation."""
        del self._holds[claim.name]
        actions, reached, beginning = visits.path(node)
        choices = visits.losses(reached)
        if claim.name in self._open:
            self._open.remove(claim.name)
            self._holds.pop(f"never/{claim.name}", None)
            confirm(self._symbolic, ~claim.holds, actions, choices, beginning)
        order = {action: number for number, action in enumerate(self._system.ground_actions)}
        numbers = tuple(order[action] for action in actions)
        return FoundPath(claim.name, numbers, tuple(choices), beginning)
