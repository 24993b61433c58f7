"""Declarations of state variables: their domain, their index sets and their initial values."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias, TypeVar

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.refused_operators import NeedsIndex
from fencepost.encoding.language.sorts import MOST_PLACES, Sort, Value, explain_no_sort, explain_outside, show
from fencepost.encoding.language.wholes import Composite, Whole


@dataclass(frozen=True)
class OneOf:
    """The values that a state variable may have in an initial state; without values, its whole domain."""

    values: tuple[Value, ...]

    def within(self, domain: Sort) -> tuple[Value, ...]:
        """Return the values for a variable of this domain."""
        return self.values or domain.values


anything = OneOf(())
"""Any value of the domain: `initial=anything`."""

Initial: TypeAlias = Value | OneOf
"""One initial value, or several."""

InitialAt: TypeAlias = Initial | Callable[..., Initial] | None
"""The argument `initial=`: the same for all indices, or a function of the index. None is the first value."""


def one_of(*values: Value) -> OneOf:
    """Return an initial value that may be any of these: `initial=one_of(1, 2)`. Raises ModelError."""
    if not values:
        raise ModelError("one_of() names no value; name the initial values, or write initial=anything")
    return OneOf(values)


Taken = TypeVar("Taken")


def taken_once(initial: Any, over: tuple[Sort, ...], take: Callable[[Any], Taken]) -> Callable[..., Taken]:
    """Return `initial=`, read by `take`, as a function of the index.

    A function is called once for each index, at the declaration: later it may give other values. Indices of
    sorts of any size, and too many indices, are not listed. Raises ModelError for a function that returns
    None, and what `take` raises.
    """

    def at(*index: Value) -> Taken:
        given = initial(*index) if callable(initial) else initial
        if given is None:
            where = f" for {', '.join(map(show, index))}" if index else ""
            raise ModelError(f"initial= is a function that returns None{where}; return an initial value")
        return take(given)

    if not callable(initial):
        value = at()
        return lambda *_: value
    if not all(sort.counted for sort in over) or prod(map(len, over)) > MOST_PLACES:
        return at
    table = {index: at(*index) for index in itertools.product(*over)}
    return lambda *index: table[index]


def must_begin_in(sort: Sort, value: Any, name: str = "") -> None:
    """Raise ModelError unless the sort has the initial value, of the field of that name if there is one."""
    if sort.counted and value not in sort:
        given = f"{name}={value!r:.80}" if name else f"{value!r:.80}"
        raise ModelError(f"initial: {given} is not in {sort.name}{explain_outside(value, [sort])}")


@dataclass(frozen=True, eq=False, repr=False)
class Declaration(NeedsIndex):
    """The declaration of state variables of one kind, one for each index.

    `domain` has the values that each may hold. `initial` is the initial value, several of them (`OneOf`), or
    a function of the index values; without it, the first value of the domain. A family with `fault` is a
    choice: its initial value is free, it never changes, and it costs one fault of that name if it is true.
    """

    domain: Sort
    over: tuple[Sort, ...]
    initial: InitialAt
    fault: str | None
    name: str = field(default="", init=False)
    whole: Whole[Any] | None = field(default=None, init=False)
    """The composite, if traces show it as one value."""
    composite: Composite[Any] | None = field(default=None, init=False)
    """The set, sequence, record, channel or queue that the variables are parts of."""

    def __post_init__(self) -> None:
        """Raise ModelError if the domain or an index set is not a sort."""
        for sort in (self.domain, *self.over):
            if not isinstance(sort, Sort):
                raise ModelError(explain_no_sort(sort))

    __iter__ = None
    __hash__ = object.__hash__

    def firsts(self, index: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return the values that the variable at `index` may have in an initial state."""
        given = self.initial(*index) if callable(self.initial) else self.initial
        if isinstance(given, OneOf):
            return given.within(self.domain)
        return (self.domain.values[0] if given is None else given,)

    def first(self, index: tuple[Value, ...]) -> Value:
        """Return the initial value of the variable at `index`, which has only one."""
        (value,) = self.firsts(index)
        return value
