"""Sorts: finite sets of values, as domains of variables and as index sets, and sorts of any size."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from math import comb
from typing import TypeAlias

from fencepost.encoding.errors import ModelError, refusal
from fencepost.encoding.language.refused_operators import NeedsIndex, RefusesPython
from fencepost.encoding.safe_text import is_name, one_line

Value: TypeAlias = bool | int | str | Enum
"""A plain value: a Boolean, a small integer, a label such as a bookie's, or a member of an Enum."""


MOST_VALUES = 1000
"""Largest number of values of a sort: far more than any proved instance has bookies, entries or fragments."""

MOST_PLACES = 100_000
"""Largest number of state variables, and of ground actions: far more than any proved instance has."""


_EQUALITIES = (object.__eq__, int.__eq__, str.__eq__)
"""The comparisons that tell the members of an Enum apart, or those of an IntEnum or a StrEnum."""


def show(value: object) -> str:
    """Return a plain value as text for people and JSON."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


@dataclass(frozen=True, eq=False)
class Sort:
    """A non-empty set of values: the domain of a variable, or an index set for quantifiers.

    `listed` has all values in order: all Booleans, all integers, or all labels (strings or members of one
    Enum). It is None for a sort of any size. Integers of different sorts may be compared and added. Labels
    may be compared within their own sort, and within the sort they are `part_of`, as recoverers are clients.

    Python calls some values of different types equal, such as 1 and True. Sorts tell them apart.
    """

    name: str
    listed: tuple[Value, ...] | None
    part_of: str | None = None
    nobody: str | None = None
    """The label that stands for no value of the sort it is part of (`optional`)."""

    def __post_init__(self) -> None:
        """Validate the values. Raises ModelError and ValueError."""
        if not is_name(self.name):
            raise ModelError(f"sort {self.name!r:.80}: give it a name of printable characters")
        if self.listed is None:
            return
        if not isinstance(self.listed, tuple):
            raise ModelError(f"sort {self.name}: {self.listed!r:.80} is not a tuple; write tuple(…)")
        if len(self.listed) > MOST_VALUES:
            raise _too_large(self.name, len(self.listed))
        kinds = {type(value): value for value in self.listed}
        for kind, value in kinds.items():
            if not (kind in (bool, int, str) or issubclass(kind, Enum)):
                raise ModelError(f"sort {self.name}: value {value!r:.80}; {_VALUES}")
            if kind.__eq__ not in _EQUALITIES:
                raise ModelError(
                    f"sort {self.name}: the class {kind.__name__} has an __eq__ of its own; remove it"
                )
        if len(kinds) > 1:
            raise ModelError(
                f"sort {self.name}: {' and '.join(f'{v!r:.40}' for v in kinds.values())} are of two types; "
                "give all values one type"
            )
        if not self.listed or len(set(self.listed)) != len(self.listed):
            raise ValueError(f"sort {self.name}: values {self.listed} must be distinct, and at least one")
        shown: dict[str, Value] = {}
        for value in self.listed:
            other = shown.setdefault(show(value), value)
            if other is not value:
                raise ModelError(
                    f"sort {self.name}: {other} and {value} are both written {show(value)}; "
                    "give each value its own text"
                )
            label = value.value if isinstance(value, Enum) else value
            if isinstance(label, str) and not is_name(label):
                raise ModelError(f"sort {self.name}: value {label!r}; write a word of printable characters")
        if isinstance(self.listed[0], str | Enum) and self.type in ("bool", "int", "label"):
            raise ModelError(f"sort {self.type}: a type of the language has that name; rename the sort")

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        return self.name, self.part_of, self.nobody, self.listed, self.listed and type(self.listed[0])

    def __eq__(self, other: object) -> bool:
        """Return whether the other is a sort of this name with the same values, of the same type."""
        return self._identity == other._identity if isinstance(other, Sort) else NotImplemented

    def __hash__(self) -> int:
        """Return a hash of the name and the values."""
        return hash(self._identity)

    @cached_property
    def _members(self) -> frozenset[Value]:
        return frozenset(self.values)

    def __contains__(self, value: object) -> bool:
        """Return whether a plain value is in the sort. Raises TypeError for a term."""
        if isinstance(value, RefusesPython):
            raise refusal(f"a term is not looked up in a sort; write is_one_of(x, {self.name})")
        return value in self._members and type(value) is type(self.values[0])

    @property
    def counted(self) -> bool:
        """Whether the values are listed. A sort that is not counted may have any number of values."""
        return self.listed is not None

    @property
    def values(self) -> tuple[Value, ...]:
        """All values in order. Raises TypeError for a sort of any size."""
        if self.listed is None:
            raise refusal(f"{self.name} is a sort of any size: its values cannot be listed")
        return self.listed

    @property
    def type(self) -> str:
        """`bool`, `int`, or the name of the sort of labels. Only terms of one type may be compared."""
        if self.listed is None:
            return self.part_of or self.name
        kind = type_of(self.listed[0])
        return kind if kind in ("bool", "int") else self.part_of or self.name

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


def optional(sort: Sort, nobody: str = "none") -> Sort:
    """Return the sort of the labels of `sort` and of one that stands for none of them, which comes first.

    For example, a vote is for a server or for nobody: `self.vote = family(optional(self.server), …)`.
    """
    if not all(isinstance(value, str) for value in sort) or nobody in sort:
        raise ModelError(f"optional({sort.name}, {nobody!r}): labels are needed, and another one for none")
    return Sort(f"{sort.name} or {nobody}", (nobody, *sort.values), part_of=sort.type, nobody=nobody)


def of_any_size(name: str) -> Sort:
    """Return a non-empty sort of unknown size. It is quantified over and never counted (`all_sizes`)."""
    return Sort(name, None)


def members(enum: type[Enum]) -> Sort:
    """Return the sort of the members of an Enum, in the order of their definition. Raises ModelError."""
    if not (isinstance(enum, type) and issubclass(enum, Enum)):
        raise ModelError(f"members of {enum!r:.80}, which is not an Enum; give the class itself")
    for name, member in enum.__members__.items():
        if name != member.name:
            raise ModelError(
                f"members of {enum.__name__}: {name} is another name of {member.name}; "
                "give each member its own value"
            )
    return Sort(enum.__name__, tuple(enum))


def explain_no_sort(given: object) -> str:
    """Return the message for a value that is not a sort but stands where one is needed."""
    if isinstance(given, type) and issubclass(given, Enum):
        return f"{given.__name__} is an Enum, and a sort is needed here; write members({given.__name__})"
    return (
        f"{given!r:.80} is not a sort; write BOOL, integers(0, 3), labels(…), members(SomeEnum), "
        "or a sort of the state"
    )


def explain_outside(value: Value, sorts: Sequence[Sort]) -> str:
    """Return words about a value that none of these sorts has: how to write it, and the valid ones."""
    known = [own for sort in sorts for own in sort]
    for own in known:
        if isinstance(own, Enum) and type(value) is str and value in (show(own), own.name):
            return f"; {value!r} is a string; write {type(own).__name__}.{own.name}"
    return f"{_exists_from(value, sorts)}; valid: {one_line(', '.join(map(show, known)), 60)}"


def _exists_from(value: Value, sorts: Sequence[Sort]) -> str:
    """Return the size from which a sort of numbered labels has this one, in words; empty if none will."""
    for sort in sorts:
        last, number = sort.values[-1], str(len(sort))
        if isinstance(value, str) and isinstance(last, str) and last.endswith(number):
            prefix = last.removesuffix(number)
            own = value.removeprefix(prefix)
            if prefix + own == value and own.isdecimal():
                return f" here (it exists when there are {own} of {sort.name})"
    return ""


def type_of(value: Value) -> str:
    """Return the type of a plain value. A string has the type `label`, which fits any sort of labels.

    A member of an Enum has the type of its Enum, also if Python takes it for an integer or a string. Raises
    TypeError for a value of any other kind.
    """
    if isinstance(value, Enum):
        return type(value).__name__
    for kind, name in ((bool, "bool"), (int, "int"), (str, "label")):
        if type(value) is kind:
            if kind is str and not str(value).isprintable():
                raise refusal(f"{value!r:.80} is no label: write a word of printable characters")
            return name
    if isinstance(value, NeedsIndex):
        raise value.needs_index("used")
    nobody = '; for nobody, optional(…) has the label "none"' if value is None else ""
    raise refusal(f"{value!r:.80} is a {type(value).__name__}; {_VALUES}{nobody}")


_VALUES = "a value is a bool, an int, a label (a string) or a member of an Enum"


_MARKS = ",:{}[]"
"""The characters with which sets and sequences are written."""


def must_be_plain_words(sort: Sort, where: str, marks: str = _MARKS) -> None:
    """Raise ModelError if a value of the sort has a character with which the whole is written."""
    for value in sort.listed or ():
        label = value.value if isinstance(value, Enum) else value
        if isinstance(label, str) and set(marks) & set(label):
            raise ModelError(f"{where}: the value {label!r} has one of {' '.join(marks)}; rename it")


@dataclass(frozen=True)
class Subsets:
    """The type of the subsets of a sort."""

    of: Sort

    def __post_init__(self) -> None:
        """Validate the sort. Raises ModelError."""
        if not isinstance(self.of, Sort):
            raise ModelError(f"subsets: {explain_no_sort(self.of)}")
        must_be_plain_words(self.of, f"subsets({self.of.name})")


subsets = Subsets
"""The name by which authors write the type: of a state variable, an argument, or a quantifier."""


def braced(values: Iterable[Value]) -> str:
    """Return a set as people write it: `{b1, b3}`."""
    return f"{{{', '.join(map(show, values))}}}"


@dataclass(frozen=True, eq=False)
class SubsetSort(Sort):
    """The subsets of a sort, the smallest first, or those of one size. A value names one: `{b1, b3}`."""

    of: Sort = BOOL
    size: int | None = None

    @cached_property
    def parts(self) -> dict[Value, frozenset[Value]]:
        """The members of each value."""
        return dict(zip(self.values, map(frozenset, _subsets(self.of, self.size)), strict=True))

    def named(self, members: frozenset[Value]) -> Value:
        """Return the value that has these members; an empty text if there is none."""
        return self._names.get(members, "")

    @cached_property
    def _names(self) -> dict[frozenset[Value], Value]:
        return {part: value for value, part in self.parts.items()}


def table_of_subsets(of: Sort) -> SubsetSort:
    """Return the sort of all subsets of a sort. Raises ModelError if they are too many."""
    name = f"subsets of {of.name}"
    if 2 ** len(of) > MOST_VALUES:
        raise _too_large(name, 2 ** len(of))
    return SubsetSort(name, tuple(map(braced, _subsets(of))), of=of)


def subsets_of_size(
    name: str, of: Sort, size: int, written: Callable[[Iterable[Value]], str] = braced
) -> SubsetSort:
    """Return the sort of the subsets of `size` values of a sort. Raises ModelError if they are too many."""
    if comb(len(of), size) > MOST_VALUES:
        raise _too_large(name, comb(len(of), size))
    return SubsetSort(name, tuple(map(written, _subsets(of, size))), of=of, size=size)


def _subsets(of: Sort, size: int | None = None) -> Iterator[tuple[Value, ...]]:
    sizes = range(len(of) + 1) if size is None else [size]
    return itertools.chain.from_iterable(itertools.combinations(of, some) for some in sizes)
