"""Orbits of states: one state stands for all that the symmetries of a system make of it.

A symmetry renames values, such as replicas. It must keep the initial state, and turn each action into an
action and each claim into itself (`ic3/symmetry.py` asks a solver). Then it turns each execution into an
execution. A choice that is not decided yet needs one more condition: the renamed action depends on the
renamed choices. So both are decided at the same step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import UNDECIDED, State
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.ic3.symmetry import Renamed, candidates, keeps_steps
from fencepost.encoding.induction.proof_obligations import Statement

MOST_IMAGES = 720
"""The largest group of symmetries that is used: that of six nodes."""


@dataclass(frozen=True)
class Symmetry:
    """For each place, the place whose value it gets, and what becomes of each position in the domain."""

    sources: tuple[int, ...]
    tables: tuple[tuple[int, ...], ...]

    def after(self, first: Symmetry) -> Symmetry:
        """Return the symmetry that does the `first` one and then this one."""
        tables = zip(self.tables, self.sources, strict=True)
        return Symmetry(
            tuple(first.sources[source] for source in self.sources),
            tuple(tuple(table[code] for code in first.tables[source]) for table, source in tables),
        )

    def function(self, concrete: Concrete, width: int) -> Callable[[State], State]:
        """Return the symmetry as a function of nodes of that width: what follows the state stays."""
        places = range(len(self.sources), width)
        get = itemgetter(*self.sources, *places)
        moved = [
            (place, table)
            for place, table in enumerate(self.tables)
            if any(code != becomes for code, becomes in enumerate(table))
        ]

        def image(node: State) -> State:
            if not moved:
                return concrete.state(get(node))
            codes = list(get(node))
            for place, table in moved:
                codes[place] = table[codes[place]]
            return concrete.state(codes)

        return image


class Orbits:
    """The orbits of nodes under a group of symmetries."""

    def __init__(self, concrete: Concrete, group: Sequence[Symmetry], width: int) -> None:
        """Take a group without the identity. A node has `width` numbers; what follows its state stays."""
        self._images = [symmetry.function(concrete, width) for symmetry in group]

    @property
    def work(self) -> int:
        """The work for one node, in nodes without symmetry: ten images take as long as one of them."""
        return 1 + len(self._images) // 10

    def of(self, node: State) -> tuple[State, int]:
        """Return the node that stands for the orbit of this one, the least, and the size of the orbit."""
        orbit = {node, *(image(node) for image in self._images)}
        return min(orbit), len(orbit)


def symmetries_of(concrete: Concrete, symbolic: Symbolic, claims: Sequence[Statement]) -> list[Symmetry]:
    """Return a group of symmetries of the system and of each claim, without the identity."""
    one = _identity(concrete)
    group = {one}
    for renamed in candidates(symbolic):
        found = _symmetry(one, renamed)
        if found in group or not _keeps_choices(concrete, symbolic, renamed):
            continue
        if keeps_steps(symbolic, renamed, claims):
            larger = _generated_group([*group, found])
            group = group if larger is None else larger
    return sorted(group - {one}, key=lambda symmetry: (symmetry.sources, symmetry.tables))


def _identity(concrete: Concrete) -> Symmetry:
    variables = concrete.system.variables
    counts = (UNDECIDED + 1 if v.is_choice else len(v.domain) for v in variables)
    return Symmetry(tuple(v.place for v in variables), tuple(tuple(range(count)) for count in counts))


def _symmetry(one: Symmetry, renamed: Renamed) -> Symmetry:
    """Return what the renaming does to states. Variables that never change stay."""
    sources, tables = list(one.sources), list(one.tables)
    for v in renamed.variables:
        image = renamed.images[v.place]
        sources[image.place] = v.place
        becomes = [image.domain.values.index(renamed.value(value, v.domain)) for value in v.domain]
        tables[image.place] = tuple([*becomes, UNDECIDED] if v.is_choice else becomes)
    return Symmetry(tuple(sources), tuple(tables))


def _keeps_choices(concrete: Concrete, symbolic: Symbolic, renamed: Renamed) -> bool:
    """Return whether each renamed action depends on the renamed choices."""
    steps = [concrete.step(action) for action in symbolic.actions]
    return all(
        slot is not None
        and {renamed.images[place].place for place in step.choices} == set(steps[slot].choices)
        for step, slot in zip(steps, renamed.slots, strict=True)
    )


def _generated_group(symmetries: Iterable[Symmetry]) -> set[Symmetry] | None:
    """Return the group that the symmetries generate, or None if it has too many."""
    generators = list(symmetries)
    found, waiting = set(generators), list(generators)
    while waiting:
        symmetry = waiting.pop()
        for generator in generators:
            product = generator.after(symmetry)
            if product not in found:
                if len(found) >= MOST_IMAGES:
                    return None
                found.add(product)
                waiting.append(product)
    return found
