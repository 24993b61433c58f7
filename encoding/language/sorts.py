"""Sorts: finite sets of values, as domains of variables and as index sets, and sorts of any size."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from math import comb
from typing import TypeAlias

from fencepost.encoding.errors import ModelError
from fencepost.encoding.safe_text import is_name

Value: TypeAlias = bool | int | str | Enum
"""A plain value: a Boolean, a small integer, a label such as a bookie's, or a member of an Enum."""


MOST_VALUES = 1000
"""Largest number of values of a sort: far more than any proved instance has bookies, entries or fragments."""


@dataclass(frozen=True)
class Sort:
    """A non-empty set of values: the domain of a variable, or an index set for quantifiers.

    `listed` has all values in order: all Booleans, all integers, or all labels (strings or members of one
    Enum). It is None for a sort of any size. Integers of different sorts may be compared and added. Labels
    may be compared within their own sort, and within the sort they are `part_of`, as recoverers are clients.
    """

    name: str
    listed: tuple[Value, ...] | None
    part_of: str | None = None

    def __post_init__(self) -> None:
        """Validate the values. Raises ModelError and ValueError."""
        if self.listed is None:
            return
        if len(self.listed) > MOST_VALUES:
            raise _too_large(self.name, len(self.listed))
        if not self.listed or len(set(self.listed)) != len(self.listed):
            raise ValueError(f"sort {self.name}: values {self.listed} must be distinct, and at least one")
        for value in self.listed:
            label = value.value if isinstance(value, Enum) else value
            if isinstance(label, str) and not is_name(label):
                raise ModelError(f"sort {self.name}: value {label!r}; write a word of printable characters")

    @property
    def counted(self) -> bool:
        """Whether the values are listed. A sort that is not counted may have any number of values."""
        return self.listed is not None

    @property
    def values(self) -> tuple[Value, ...]:
        """All values in order. Raises TypeError for a sort of any size."""
        if self.listed is None:
            raise TypeError(f"{self.name} is a sort of any size: its values cannot be listed")
        return self.listed

    @property
    def type(self) -> str:
        """`bool`, `int`, or the name of the sort of labels. Only terms of one type may be compared."""
        if self.listed is None:
            return self.part_of or self.name
        first = self.listed[0]
        if isinstance(first, bool):
            return "bool"
        return "int" if isinstance(first, int) else self.part_of or self.name

    def __iter__(self) -> Iterator[Value]:
        """Return an iterator over the values, in order."""
        return iter(self.values)

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self.values)


BOOL = Sort("bool", (False, True))


def integers(low: int, high: int) -> Sort:
    """Return the sort of the integers from `low` to `high`, both included."""
    if high - low >= MOST_VALUES:
        raise _too_large(f"{low}..{high}", high - low + 1)
    return Sort(f"{low}..{high}", tuple(range(low, high + 1)))


def _too_large(name: str, count: int) -> ModelError:
    return ModelError(
        f"sort {name}: {count:,} values, and at most {MOST_VALUES:,} are allowed; make it smaller"
    )


def labels(name: str, prefix: str, count: int) -> Sort:
    """Return a sort of `count` interchangeable labels: those of ("bookie", "b", 3) are b1, b2, b3."""
    if count > MOST_VALUES:
        raise _too_large(name, count)
    return Sort(name, tuple(f"{prefix}{i}" for i in range(1, count + 1)))


def subsets(name: str, of: Sort, size: int) -> Sort:
    """Return the sort of the subsets of `size` labels of a sort, with values such as `b1 b3`.

    Raises ValueError if there are none.
    """
    if comb(len(of), size) > MOST_VALUES:
        raise _too_large(name, comb(len(of), size))
    chosen = (" ".join(map(str, values)) for values in itertools.combinations(of, size))
    return Sort(name, tuple(values or "nobody" for values in chosen))


def is_in(value: Value, subset: Value) -> bool:
    """Return whether a value is in a subset, one of the `subsets` of its sort."""
    return str(value) in str(subset).split()


def of_any_size(name: str) -> Sort:
    """Return a non-empty sort of unknown size. It is quantified over and never counted (`all_sizes`)."""
    return Sort(name, None)


def members(enum: type[Enum]) -> Sort:
    """Return the sort of the members of an Enum, in the order of their definition."""
    if not (isinstance(enum, type) and issubclass(enum, Enum)):
        raise ModelError(f"members of {enum!r:.80}, which is not an Enum; give the class itself")
    return Sort(enum.__name__, tuple(enum))


def explain_no_sort(given: object) -> str:
    """Return the message for a value that is not a sort but stands where one is needed."""
    if isinstance(given, type) and issubclass(given, Enum):
        return f"{given.__name__} is an Enum, and a sort is needed here; write members({given.__name__})"
    return (
        f"{given!r:.80} is not a sort; write BOOL, integers(0, 3), labels(…), members(SomeEnum), "
        "or a sort of the state"
    )


def type_of(value: Value) -> str:
    """Return the type of a plain value. A string has the type `label`, which fits any sort of labels."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    return type(value).__name__ if isinstance(value, Enum) else "label"
