"""Declarations of state variables: their domain, their index sets and their initial values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.initial_values import InitialAt, OneOf
from fencepost.encoding.language.refused_operators import NeedsIndex
from fencepost.encoding.language.sorts import Sort, Value, explain_no_sort
from fencepost.encoding.language.wholes import Composite, Whole


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
