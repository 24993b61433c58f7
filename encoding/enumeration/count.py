"""The count of the reachable states: how many, how far away, and what happens in them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.enumeration.orbits import Orbits, symmetries_of
from fencepost.encoding.enumeration.process import PAUSE
from fencepost.encoding.enumeration.visits import Visits
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.induction.proof_obligations import Never
from fencepost.encoding.language.system import Property, System


@dataclass(frozen=True)
class StateCount:
    """The states visited so far, or all.

    - `states`: the number of states, with all that symmetries make of them.
    - `orbits`: the number of those visited up to symmetry; None if symmetry was not asked for.
    - `symmetries`: the number of symmetries, with the one that changes nothing.
    - `steps`: the steps to the states that are farthest away.
    - `is_complete`: whether these are all reachable states, and all their actions were counted.
    - `fired`: for each action, the number of pairs of a state and a state after it.
    - `witnesses`: for each property, the number of states in which its witness is true.
    """

    states: int
    orbits: int | None
    symmetries: int
    steps: int
    is_complete: bool
    fired: Mapping[str, int]
    witnesses: Mapping[str, int]


def count_states(
    system: System,
    properties: Sequence[Property],
    with_symmetry: bool,
    most: int | None,
) -> Iterator[StateCount]:
    """Yield counts of states, at most `most`; the last one is the result.

    Symmetries keep the witnesses of the properties, because their states are counted.
    """
    concrete, orbits, symmetries = Concrete(system), None, 1
    if with_symmetry:
        group = symmetries_of(concrete, Symbolic(system), list(map(Never, properties)))
        orbits, symmetries = Orbits(concrete, group, len(system.variables)), 1 + len(group)
    visits, last = Visits(concrete, orbits=orbits), time.perf_counter()
    is_witness = {prop.name: concrete.predicate(prop.witness) for prop in properties}
    witnesses = dict.fromkeys(is_witness, 0)

    def so_far(is_complete: bool) -> StateCount:
        fired = Counter({schema.name: 0 for schema in system.schemas})
        for step, number in zip(concrete.steps, visits.fired, strict=True):
            fired[step.action.schema.name] += number
        visited = None if orbits is None else len(visits)
        depth = visits.depth
        return StateCount(visits.total, visited, symmetries, depth, is_complete, dict(fired), dict(witnesses))

    yield so_far(False)
    for node, weight in visits.nodes():
        for name, holds in is_witness.items():
            if holds(node):
                witnesses[name] += weight
        if len(visits) == most:
            yield so_far(False)
            return
        if not len(visits) % 1000 and time.perf_counter() - last > PAUSE:
            last = time.perf_counter()
            yield so_far(False)
    yield so_far(True)
