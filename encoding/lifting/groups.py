"""Statements that a clause makes of several values of one sort, as `exists` or `at least n`.

`x[b1] or x[b2]` with two bookies may mean that some bookie has x. With three bookies it says that at least
two of the three have x once all renamings of it hold. At other sizes these differ, so each is a template of
its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.lifting.templates import (
    ONE,
    OWN,
    SIZE,
    Comparison,
    Count,
    CountGroup,
    Hole,
    Part,
    Pattern,
    Template,
    ValueGuard,
)


def grouped(template: Template, sorts: Sequence[Sort], numbers: Mapping[str, int]) -> Iterator[Template]:
    """Yield the template with the statements about alike variables joined in one group, in several ways.

    `numbers` are the parameters of the size that the clause is from. A count may follow one of them.
    """
    for alike in _alike(template, sorts):
        patterns = tuple(
            dict.fromkeys(_own(p, alike[0]) for p in template.patterns if _mentions(p, alike[0]))
        )
        others = [n for n, sort in enumerate(sorts) if sort == sorts[alike[0]] and n not in alike]
        left = tuple(p for p in template.patterns if not any(_mentions(p, n) for n in alike))
        for guards in _apart(others):
            free = len(sorts[alike[0]]) - len(guards)
            if free < len(alike):
                continue
            for count in _counts(free - len(alike) + 1, len(sorts[alike[0]]), numbers):
                group = CountGroup(template.bound[alike[0]], count, guards, patterns)
                yield replace(template, patterns=left, groups=(*template.groups, group))


def _alike(template: Template, sorts: Sequence[Sort]) -> Iterator[tuple[int, ...]]:
    """Yield the sets of variables of one sort about which the template says the same."""
    shapes: dict[object, list[int]] = {}
    for number, sort in enumerate(sorts):
        own = frozenset(_own(p, number) for p in template.patterns if _mentions(p, number))
        shapes.setdefault((sort, own), []).append(number)
    for (sort, _), numbers in shapes.items():  # type: ignore[misc]
        together = any(sum(_mentions(p, n) for n in numbers) > 1 for p in template.patterns)
        labels = type(sort.values[0]) is str
        if labels and not together and (len(numbers) > 1 or len(sort) <= 2):
            yield tuple(numbers)


def _apart(others: Sequence[int]) -> Iterator[tuple[ValueGuard, ...]]:
    """Yield the guards of a group: none, or that its values differ from the other variables of the sort."""
    yield ()
    if others:
        yield tuple(ValueGuard(Hole(OWN), Comparison.DIFFERENT, Hole(number)) for number in others)


def _counts(count: int, size: int, numbers: Mapping[str, int]) -> Iterator[Count]:
    """Yield the ways to say how many: as a constant, by the size of the sort, or by a parameter."""
    if count == 1:
        yield ONE
    else:
        yield Count("", count)
        yield Count(SIZE, count - size)
        for name, number in numbers.items():
            if abs(count - number) <= 1:
                yield Count(name, count - number)


def _mentions(pattern: Pattern, number: int) -> bool:
    return Hole(number) in pattern.parts


def _own(pattern: Pattern, number: int) -> Pattern:
    """Return the pattern with the group's own variable in place of that one."""

    def part(old: Part) -> Part:
        return Hole(OWN) if old == Hole(number) else old

    return replace(pattern, index=tuple(map(part, pattern.index)), value=part(pattern.value))
