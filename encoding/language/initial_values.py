"""Initial values of state variables: one value, or a choice of several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.sorts import Sort, Value


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
