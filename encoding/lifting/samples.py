"""Simulated states of one size, kept as bit masks, and the truth of templates in all of them at once.

Bit i of a mask is for the i-th state. A statement about a variable is one mask, so a clause over thousands
of states takes a few operations on integers.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.random_executions import some_choices
from fencepost.encoding.concrete.simulation import moves
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.clauses import Relation
from fencepost.encoding.enumeration.visits import Visits
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.system import System
from fencepost.encoding.lifting.templates import (
    OWN,
    CountGroup,
    Fixed,
    Hole,
    Largest,
    Part,
    Pattern,
    Template,
    ValueGuard,
    holes,
)

STATES = 3000
"""The number of states of one size."""

ASSIGNMENTS = 200_000
"""The most assignments of a template's variables that are looked at, at one size."""

Assignment = tuple[Value, ...]
"""A value for each variable of a template."""


@dataclass
class Samples:
    """States of one size. `parameters` are the numbers of the instance, by name."""

    system: System
    parameters: Mapping[str, int]
    count: int = 0
    complete: bool = False
    """Whether these are all reachable states."""
    _masks: list[list[int]] = field(default_factory=list)
    """For each place, a mask for each position of its domain."""

    def __post_init__(self) -> None:
        """Make the masks, empty at first."""
        self.families = {family.name: family for family in self.system.state.families}
        self._masks = [[0] * (len(v.domain) + 1) for v in self.system.variables]
        self._place = {(v.family.name, v.index): v.place for v in self.system.variables}
        self._seen: set[State] = set()
        self._positions: dict[tuple[str, Relation, Value], frozenset[int]] = {}
        self._statements: dict[tuple[int, frozenset[int]], int] = {}

    def add(self, states: Iterable[State]) -> None:
        """Add states that are not yet in."""
        fresh = [state for state in dict.fromkeys(states) if state not in self._seen]
        self._seen.update(fresh)
        self._statements.clear()
        for place, masks in enumerate(self._masks):
            grown = [bytearray((len(fresh) + 7) // 8) for _ in masks]
            for number, state in enumerate(fresh):
                grown[state[place]][number // 8] |= 1 << number % 8
            for position, more in enumerate(grown):
                masks[position] |= int.from_bytes(more, "little") << self.count
        self.count += len(fresh)

    @property
    def all(self) -> int:
        """The mask of all states."""
        return (1 << self.count) - 1

    def ground(
        self, pattern: Pattern, values: Sequence[Value], own: Value | None = None
    ) -> tuple[int, frozenset[int]]:
        """Return the place of a pattern and the positions of the values that make it true, at this size.

        Raises KeyError for an index that does not exist.
        """
        place = self._place[pattern.family, tuple(self.value(part, values, own) for part in pattern.index)]
        wanted = self.value(pattern.value, values, own)
        known = self._positions.get((pattern.family, pattern.relation, wanted))
        if known is None:
            domain = self.families[pattern.family].domain.values
            known = frozenset(
                p for p, value in enumerate(domain) if _compare(pattern.relation, value, wanted)
            )
            self._positions[pattern.family, pattern.relation, wanted] = known
        return place, known

    def statement(self, pattern: Pattern, values: Sequence[Value], own: Value | None = None) -> int:
        """Return the mask of a pattern. Raises KeyError for an index that does not exist."""
        place, positions = self.ground(pattern, values, own)
        known = self._statements.get((place, positions))
        if known is None:
            known = 0
            for position in positions:
                known |= self._masks[place][position]
            self._statements[place, positions] = known
        return known

    def value(self, part: Part, values: Sequence[Value], own: Value | None = None) -> Value:
        """Return the value of a part."""
        match part:
            case Fixed(value=value):
                return value
            case Largest(sort=sort):
                return sort.within(self.families).values[-1]
            case Hole(number=number):
                found = own if number == OWN else values[number]
                assert found is not None
                return found

    def allows(self, guards: Iterable[ValueGuard], values: Sequence[Value], own: Value | None = None) -> bool:
        """Return whether all guards hold of these values."""
        return all(
            g.comparison.holds(self.value(g.left, values, own), self.value(g.right, values, own))
            for g in guards
        )

    def group(self, group: CountGroup, values: Sequence[Value]) -> int:
        """Return the mask of a group: at least so many of its values make one of its patterns true."""
        sort = group.sort.within(self.families)
        reached = [self.all] + [0] * max(0, group.count.at(len(sort), self.parameters))
        for own in sort:
            if self.allows(group.guards, values, own):
                mask = 0
                for pattern in group.patterns:
                    mask |= self.statement(pattern, values, own)
                for number in range(len(reached) - 1, 0, -1):
                    reached[number] |= reached[number - 1] & mask
        return reached[-1]

    def failures(self, template: Template) -> Iterator[Assignment]:
        """Yield the assignments, guards obeyed, under which some state makes the template false.

        Raises KeyError if the template reads an index that this size lacks.
        """
        sorts = [sort.within(self.families).values for sort in template.bound]
        last = [max((p.number for p in holes(pattern.parts)), default=-1) for pattern in template.patterns]
        when: list[list[Pattern]] = [[] for _ in range(len(sorts) + 1)]
        for pattern, number in zip(template.patterns, last, strict=True):
            when[number + 1].append(pattern)
        guards: list[list[ValueGuard]] = [[] for _ in range(len(sorts) + 1)]
        for guard in template.guards:
            numbers = [part.number for part in holes((guard.left, guard.right))]
            guards[max(numbers, default=-1) + 1].append(guard)
        wanted = self.all

        def below(values: Assignment, mask: int) -> Iterator[Assignment]:
            depth = len(values)
            if not self.allows(guards[depth], values):
                return
            for pattern in when[depth]:
                mask |= self.statement(pattern, values)
            if mask == wanted:
                return
            if depth < len(sorts):
                for value in sorts[depth]:
                    yield from below((*values, value), mask)
                return
            for group in template.groups:
                mask |= self.group(group, values)
            if mask != wanted:
                yield values

        yield from islice(below((), 0), ASSIGNMENTS)

    def true(self, template: Template) -> bool:
        """Return whether no state makes the template false; False if this size cannot read it."""
        try:
            return next(self.failures(template), None) is None
        except KeyError:
            return False


def _compare(relation: Relation, value: Value, wanted: Value) -> bool:
    match relation:
        case Relation.IS:
            return value == wanted
        case Relation.IS_NOT:
            return value != wanted
    assert isinstance(value, int) and isinstance(wanted, int)
    return value >= wanted if relation is Relation.AT_LEAST else value < wanted


def sampled(system: System, parameters: Mapping[str, int], seconds: float, states: int = STATES) -> Samples:
    """Return states of the system: all of them if there are at most `states`, or simulated ones."""
    samples = Samples(system, parameters)
    until = time.perf_counter() + seconds
    first = list(islice(_until((node for node, _ in Visits(Concrete(system)).nodes()), until), states + 1))
    samples.complete = len(first) <= states and time.perf_counter() < until
    samples.add(first[:states] if samples.complete else first[: states // 3])
    if not samples.complete:
        samples.add(islice(_until(simulated(system), time.perf_counter() + seconds), states))
    return samples


def _until(states: Iterator[State], end: float) -> Iterator[State]:
    for state in states:
        yield state
        if time.perf_counter() > end:
            return


def simulated(system: System) -> Iterator[State]:
    """Yield states of simulations without end. They begin at first, or in a state that one has reached."""
    concrete, chance = Concrete(system), random.Random(1)
    beginnings = Beginnings(concrete)
    reached: list[State] = []
    while True:
        if reached and chance.random() < 0.5:
            state = chance.choice(reached)
        else:
            losing = chance.random() < 0.5
            state = beginnings.draw(chance, some_choices(system, chance) if losing else {})
        for _, after in moves(concrete, state, chance):
            reached.append(after)
            yield after
