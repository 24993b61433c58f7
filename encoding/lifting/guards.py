"""The weakest guards that keep a template true: a smallest hitting set.

Each assignment under which a state makes the unguarded template false has to be excluded by a guard. Guards
are taken from those that hold for the values of the clause that is lifted, so the clause stays covered.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fencepost.encoding.language.sorts import Sort, Value
from fencepost.encoding.lifting.meanings import Meanings
from fencepost.encoding.lifting.templates import Comparison, Fixed, Hole, Largest, SortOf, ValueGuard

COSTS = {
    Comparison.DIFFERENT: 2,
    Comparison.AT_MOST: 3,
    Comparison.BELOW: 3,
    Comparison.NEXT: 6,
    Comparison.EQUAL: 5,
}
"""What a guard between two variables costs. Weaker guards are cheaper."""

STEPS = 20_000
"""The most steps of one search for hitting sets."""


@dataclass(frozen=True)
class PricedGuard:
    """A guard with its cost."""

    guard: ValueGuard
    cost: int


def guards_of(
    values: Sequence[Value],
    sorts: Sequence[Sort],
    places: Sequence[SortOf],
    named: frozenset[Value],
    meanings: Meanings,
) -> list[PricedGuard]:
    """Return the guards that hold for these values of variables, with their costs.

    `named` has the labels that the protocol itself mentions. Two integers are compared only if they mean the
    same.
    """
    found = list(itertools.chain.from_iterable(map(_of_one, itertools.count(), values, sorts, places)))
    found += [
        PricedGuard(ValueGuard(Hole(number), comparison, Fixed(label)), 6 if label == value else 3)
        for number, (value, sort) in enumerate(zip(values, sorts, strict=True))
        for label in sort.values
        if label in named and isinstance(label, str)
        for comparison in [Comparison.EQUAL if label == value else Comparison.DIFFERENT]
    ]
    for left, right in itertools.combinations(range(len(values)), 2):
        if sorts[left].type != "int" or meanings.same(places[left], places[right]):
            found += _of_two(left, right, values, sorts)
    return found


def _of_one(number: int, value: Value, sort: Sort, place: SortOf) -> Iterator[PricedGuard]:
    """Yield the guards of one variable of integers."""
    if isinstance(value, bool) or not isinstance(value, int):
        return
    low, high = sort.values[0], sort.values[-1]
    assert isinstance(low, int) and isinstance(high, int)
    hole = Hole(number)
    for least in range(low + 1, value + 1):
        yield PricedGuard(ValueGuard(Fixed(least - 1), Comparison.BELOW, hole), 3 + 3 * (least - low - 1))
    yield PricedGuard(ValueGuard(hole, Comparison.EQUAL, Fixed(value)), 9 + abs(value - low))
    if value == high:
        yield PricedGuard(ValueGuard(hole, Comparison.EQUAL, Largest(place)), 12)
    else:
        yield PricedGuard(ValueGuard(hole, Comparison.BELOW, Largest(place)), 8)
    if value + 1 == high:
        yield PricedGuard(ValueGuard(hole, Comparison.NEXT, Largest(place)), 14)


def _of_two(left: int, right: int, values: Sequence[Value], sorts: Sequence[Sort]) -> Iterator[PricedGuard]:
    """Yield the guards between two variables that may be compared."""
    if sorts[left].type != sorts[right].type:
        return
    if len(sorts[right]) > len(sorts[left]):
        left, right = right, left  # an equality then keeps the variable of the smaller sort
    a, b, one, other = values[left], values[right], Hole(left), Hole(right)

    def priced(x: Hole, comparison: Comparison, y: Hole) -> PricedGuard:
        return PricedGuard(ValueGuard(x, comparison, y), COSTS[comparison])

    if a == b:
        yield priced(one, Comparison.EQUAL, other)
    else:
        yield priced(one, Comparison.DIFFERENT, other)
    if sorts[left].type == "int":
        assert isinstance(a, int) and isinstance(b, int)
        for x, y, p, q in ((a, b, one, other), (b, a, other, one)):
            if x < y:
                yield priced(p, Comparison.BELOW, q)
            if x <= y:
                yield priced(p, Comparison.AT_MOST, q)
            if x + 1 == y:
                yield priced(p, Comparison.NEXT, q)


def minimal(sets: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """Return the sets that have no other one as a part."""
    kept: list[frozenset[int]] = []
    for one in sorted(set(sets), key=len):
        if not any(other <= one for other in kept):
            kept.append(one)
    return kept


def hitting_sets(sets: Sequence[frozenset[int]], costs: Sequence[int], most: int) -> list[frozenset[int]]:
    """Return up to `most` of the cheapest sets of numbers that meet each of `sets`, no part left out.

    None if one of the sets is empty.
    """
    found: list[tuple[int, frozenset[int]]] = []
    steps = itertools.count()

    def search(chosen: frozenset[int], refused: frozenset[int], cost: int) -> None:
        bound = found[most - 1][0] if len(found) >= most else None
        if next(steps) > STEPS or (bound is not None and cost >= bound):
            return
        missing = [one - refused for one in sets if not one & chosen]
        if not missing:
            if not any(known <= chosen for _, known in found):
                found[:] = [(c, known) for c, known in found if not chosen <= known]
                found.append((cost, chosen))
                found.sort(key=lambda entry: entry[0])
            return
        tried = refused
        fewest: frozenset[int] = min(missing, key=len)
        for number in sorted(fewest, key=lambda n: costs[n]):
            search(chosen | {number}, tried, cost + costs[number])
            tried |= {number}

    search(frozenset(), frozenset(), 0)
    return [chosen for _, chosen in found[:most]]
