"""Sorts: the finite sets of values that variables hold and index sets go through, and sorts of any size."""

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
"""A plain value: a truth value, a small integer, the label of a bookie or client, or a member of an Enum."""


MOST_VALUES = 1000
"""Values of a sort, at most: far more than anybody's bookies, entries or fragments in an instance that is proved."""


@dataclass(frozen=True)
class Sort:
    """A non-empty set of values: the domain of a variable, or an index set to quantify over.

    `listed` are all its values, in order: all Booleans, all integers, or all labels (strings or members of one
    Enum). Integers of different sorts may be compared and added; labels only compared within their own sort, or
    within the sort they are `part_of`, as recoverers are clients. A sort that lists none is of any size.
    """

    name: str
    listed: tuple[Value, ...] | None
    part_of: str | None = None

    def __post_init__(self) -> None:
        if self.listed is None:
            return
        if len(self.listed) > MOST_VALUES:
            raise _too_large(self.name, len(self.listed))
        if not self.listed or len(set(self.listed)) != len(self.listed):
            raise ValueError(f"sort {self.name}: values {self.listed} must be distinct, and at least one")
        for value in self.listed:
            label = value.value if isinstance(value, Enum) else value
            if isinstance(label, str) and not is_name(label):
                raise ModelError(f"sort {self.name}: value {label!r}; write a word that is shown on one line")

    @property
    def counted(self) -> bool:
        """The values are listed; otherwise there may be any number of them."""
        return self.listed is not None

    @property
    def values(self) -> tuple[Value, ...]:
        """All values, in order. Raises TypeError for a sort of any size: what needs them is no reading of it."""
        if self.listed is None:
            raise TypeError(f"{self.name} is a sort of any size: nothing can go through its values")
        return self.listed

    @property
    def type(self) -> str:
        """`bool`, `int`, or the name of this sort of labels: what decides which terms may be compared."""
        if self.listed is None:
            return self.part_of or self.name
        first = self.listed[0]
        if isinstance(first, bool):
            return "bool"
        return "int" if isinstance(first, int) else self.part_of or self.name

    def __iter__(self) -> Iterator[Value]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)


BOOL = Sort("bool", (False, True))


def integers(low: int, high: int) -> Sort:
    """The integers from `low` to `high`, both included."""
    if high - low >= MOST_VALUES:
        raise _too_large(f"{low}..{high}", high - low + 1)
    return Sort(f"{low}..{high}", tuple(range(low, high + 1)))


def _too_large(name: str, count: int) -> ModelError:
    return ModelError(f"sort {name}: {count:,} values, and {MOST_VALUES:,} are the most; make it smaller")


def labels(name: str, prefix: str, count: int) -> Sort:
    """`count` interchangeable things: labels("bookie", "b", 3) is b1, b2, b3."""
    if count > MOST_VALUES:
        raise _too_large(name, count)
    return Sort(name, tuple(f"{prefix}{i}" for i in range(1, count + 1)))


def subsets(name: str, of: Sort, size: int) -> Sort:
    """The subsets of `size` values of a sort of labels: subsets("quorum", bookie, 2) has `b1 b3`.

    Raises ValueError if there are none.
    """
    if comb(len(of), size) > MOST_VALUES:
        raise _too_large(name, comb(len(of), size))
    chosen = (" ".join(map(str, values)) for values in itertools.combinations(of, size))
    return Sort(name, tuple(values or "nobody" for values in chosen))


def is_in(value: Value, subset: Value) -> bool:
    """Whether a value belongs to one of the `subsets` of its sort."""
    return str(value) in str(subset).split()


def of_any_size(name: str) -> Sort:
    """A sort of which nothing is known but that it is not empty: quantified over, never counted (`all_sizes`)."""
    return Sort(name, None)


def members(enum: type[Enum]) -> Sort:
    """The members of an Enum, in their order of definition."""
    if not (isinstance(enum, type) and issubclass(enum, Enum)):
        raise ModelError(f"members of {enum!r:.80}, which is no Enum; give the class itself")
    return Sort(enum.__name__, tuple(enum))


def no_sort(given: object) -> str:
    """What to write instead of something that is no sort where one is needed."""
    if isinstance(given, type) and issubclass(given, Enum):
        return f"{given.__name__} is an Enum, and a sort is needed here; write members({given.__name__})"
    return f"{given!r:.80} is no sort; write BOOL, integers(0, 3), labels(…), members(SomeEnum), or a sort of the state"


def type_of(value: Value) -> str:
    """The type of a plain value. A string fits any sort of labels and has the type `label`."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    return type(value).__name__ if isinstance(value, Enum) else "label"
