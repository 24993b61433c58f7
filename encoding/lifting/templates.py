"""Templates: quantified invariants as plain data, over names of families instead of one instance's state.

A template is a clause with variables: for all values of its variables that satisfy the guards, one of the
patterns is true. It can be read at any size of a protocol, because it names sorts by the families that have
them: the index set of `phase` at position 0, or the domain of `last`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from fencepost.encoding.engine.clauses import Relation
from fencepost.encoding.language.sorts import Sort, Value, show
from fencepost.encoding.language.terms import Family

DOMAIN = -1
"""The position that stands for the domain of a family, where an index position stands for an index set."""

OWN = -1
"""The number of the variable that a group binds."""


@dataclass(frozen=True, order=True)
class SortOf:
    """A sort, named by a family: its index set at `position`, or its domain."""

    family: str
    position: int = DOMAIN

    def within(self, families: Mapping[str, Family]) -> Sort:
        """Return the sort at the size of these families. Raises KeyError."""
        family = families[self.family]
        return family.domain if self.position == DOMAIN else family.over[self.position]


@dataclass(frozen=True)
class Hole:
    """An occurrence of the variable of that number, or of the group's variable (`OWN`)."""

    number: int


@dataclass(frozen=True)
class Fixed:
    """A value that is the same at every size."""

    value: Value


@dataclass(frozen=True)
class Largest:
    """The largest value of a sort of integers."""

    sort: SortOf


Part = Hole | Fixed | Largest
"""An index or a value in a template."""


class Comparison(StrEnum):
    """How a guard compares two values."""

    DIFFERENT = "!="
    BELOW = "<"
    AT_MOST = "<="
    EQUAL = "=="
    NEXT = "+ 1 =="

    def holds(self, left: Value, right: Value) -> bool:
        """Return whether the comparison is true of two values; the order is for integers only."""
        match self:
            case Comparison.DIFFERENT:
                return left != right
            case Comparison.EQUAL:
                return left == right
        assert isinstance(left, int) and isinstance(right, int)
        match self:
            case Comparison.BELOW:
                return left < right
            case Comparison.AT_MOST:
                return left <= right
        return left + 1 == right


@dataclass(frozen=True)
class ValueGuard:
    """A condition on the values of variables, such as `0 < e` or `c != d`."""

    left: Part
    comparison: Comparison
    right: Part


@dataclass(frozen=True)
class Pattern:
    """A statement about a state variable, with variables as indices and as the value."""

    family: str
    index: tuple[Part, ...]
    relation: Relation
    value: Part

    @property
    def denies(self) -> bool:
        """Whether the statement reads better as a premise, denied."""
        negative = self.relation in (Relation.IS_NOT, Relation.BELOW)
        return negative or (self.relation is Relation.IS and self.value == Fixed(False))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The indices and the value."""
        return (*self.index, self.value)


@dataclass(frozen=True)
class Count:
    """A number of values: `offset`, plus a parameter of the protocol or the size of the group's sort."""

    base: str
    offset: int

    def at(self, size: int, parameters: Mapping[str, int]) -> int:
        """Return the number at one size of the protocol. Raises KeyError for an unknown parameter."""
        return self.offset + (0 if not self.base else size if self.base == SIZE else parameters[self.base])


SIZE = "#"
"""The base of a count that follows the size of the group's sort."""

ONE = Count("", 1)


@dataclass(frozen=True)
class CountGroup:
    """The statement that `count` or more values, with these guards, make one of the patterns true."""

    sort: SortOf
    count: Count
    guards: tuple[ValueGuard, ...]
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True)
class Template:
    """A clause over variables. `bound` has the sort of each variable, in the order of their numbers."""

    bound: tuple[SortOf, ...]
    guards: tuple[ValueGuard, ...]
    patterns: tuple[Pattern, ...]
    groups: tuple[CountGroup, ...] = ()

    @property
    def weight(self) -> int:
        """A measure of length for people: literals, variables and guards."""
        inside = sum(len(g.patterns) + len(g.guards) + 1 for g in self.groups)
        return 2 * len(self.patterns) + 2 * inside + len(self.bound) + len(self.guards)


def parts(template: Template) -> Iterator[Part]:
    """Yield every index, value and side of a guard in the template, in order."""
    for pattern in template.patterns:
        yield from pattern.parts
    for group in template.groups:
        for pattern in group.patterns:
            yield from pattern.parts
        for guard in group.guards:
            yield from (guard.left, guard.right)
    for guard in template.guards:
        yield from (guard.left, guard.right)


def tidy(template: Template) -> Template:
    """Return the template in a normal form, by which most equal templates are equal data.

    Variables that a guard makes equal to another or to a value are replaced by it. Patterns are sorted and
    variables are numbered in the order in which they occur. Variables that no pattern mentions are left out.
    """
    while (found := _replaceable(template)) is not None:
        template = _substituted(template, *found)
    ordered = replace(
        template,
        patterns=tuple(sorted(set(template.patterns), key=_shape)),
        groups=tuple(sorted(set(template.groups), key=lambda group: [_shape(p) for p in group.patterns])),
    )
    mentioned = [part.number for part in parts(replace(ordered, guards=())) if isinstance(part, Hole)]
    numbers = {old: new for new, old in enumerate(dict.fromkeys(n for n in mentioned if n != OWN))}
    kept = [g for g in ordered.guards if not _says_nothing(g, numbers)]
    renamed = _renamed(replace(ordered, guards=tuple(kept)), {old: Hole(new) for old, new in numbers.items()})
    return replace(
        renamed,
        bound=tuple(template.bound[old] for old in numbers),
        guards=tuple(sorted({_turned(guard) for guard in renamed.guards}, key=str)),
    )


def _turned(guard: ValueGuard) -> ValueGuard:
    """Return the guard with the variable of the lower number first, if it does not matter."""
    if guard.comparison is Comparison.DIFFERENT and str(guard.left) > str(guard.right):
        return replace(guard, left=guard.right, right=guard.left)
    return guard


def _says_nothing(guard: ValueGuard, numbers: Mapping[int, int]) -> bool:
    """Return whether a guard is about a variable that no pattern mentions, or is true of its plain values."""
    if isinstance(guard.left, Fixed) and isinstance(guard.right, Fixed):
        return guard.comparison.holds(guard.left.value, guard.right.value)
    return not all(part.number in numbers for part in holes((guard.left, guard.right)))


def holes(several: Sequence[Part]) -> list[Hole]:
    """Return the occurrences of the template's variables, without those of a group's own variable."""
    return [part for part in several if isinstance(part, Hole) and part.number != OWN]


def _shape(pattern: Pattern) -> tuple[str, ...]:
    kinds = (show(p.value) if isinstance(p, Fixed) else "" for p in pattern.parts)
    order = str(not pattern.denies), pattern.relation, pattern.family
    return (*order, *kinds, *(str(p) for p in pattern.parts))


def _replaceable(template: Template) -> tuple[int, Part, ValueGuard] | None:
    """Return a variable that a guard makes equal to something else, with that and the guard."""
    for guard in template.guards:
        if (
            guard.comparison is Comparison.EQUAL
            and isinstance(guard.left, Hole)
            and guard.left != guard.right
        ):
            return guard.left.number, guard.right, guard
    return None


def _substituted(template: Template, number: int, part: Part, guard: ValueGuard) -> Template:
    left = replace(template, guards=tuple(g for g in template.guards if g != guard))
    return _renamed(left, {number: part})


def _renamed(template: Template, new: Mapping[int, Part]) -> Template:
    def part(old: Part) -> Part:
        return new.get(old.number, old) if isinstance(old, Hole) else old

    def pattern(old: Pattern) -> Pattern:
        return replace(old, index=tuple(map(part, old.index)), value=part(old.value))

    def guards(old: Sequence[ValueGuard]) -> tuple[ValueGuard, ...]:
        return tuple(replace(g, left=part(g.left), right=part(g.right)) for g in old)

    return replace(
        template,
        guards=guards(template.guards),
        patterns=tuple(map(pattern, template.patterns)),
        groups=tuple(
            replace(g, guards=guards(g.guards), patterns=tuple(map(pattern, g.patterns)))
            for g in template.groups
        ),
    )
