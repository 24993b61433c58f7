"""Initial values of state variables: one value, or a choice of several."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias, TypeVar

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.sorts import MOST_PLACES, Sort, Value, show


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
