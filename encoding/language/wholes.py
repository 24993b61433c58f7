"""Sets, sequences and records as state variables: several variables that traces show as one value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from fencepost.encoding.errors import refusal
from fencepost.encoding.language.refused_operators import NeedsIndex
from fencepost.encoding.language.sorts import Sort, Value

Part = TypeVar("Part")
"""The families that have the parts; the module of terms has the class."""


class Composite(ABC, Generic[Part]):
    """A value for each index that several variables of the state make up together.

    Canonical form is an invariant of the language: each meaning of the value has one form in the state, so
    two values are equal if all their parts are. No update breaks it. The concrete reading checks each step.
    """

    name: str = ""
    over: tuple[Sort, ...]
    families: tuple[Part, ...]

    def compose(self, *families: Part) -> None:
        """Take the families that have the parts."""
        self.families = families
        for family in families:
            object.__setattr__(family, "composite", self)

    def index(self, part: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return the index of the value that has a part at this index."""
        return part[: len(self.over)]

    def form(self, index: tuple[Value, ...]) -> Any:
        """Return the condition of canonical form at an index; None if each form has a meaning of its own."""
        return None

    def alone(self, part: Any, value: Any) -> Any:
        """Return the value that an update of a part alone sets. Raises TypeError if it is not set alone."""
        return value


class Whole(NeedsIndex, Composite[Part]):
    """A set, a sequence or a record for each index. Traces show it whole, as one value."""

    name: str = ""
    suffixes: tuple[str, ...] = ("",)
    """The names of its families, after its own."""

    def __init__(self, over: tuple[Sort, ...], *families: Part) -> None:
        """Take the index sets, and the families that have the parts."""
        self.over = over
        self.compose(*families)
        for family in families:
            object.__setattr__(family, "whole", self)

    def __getitem__(self, index: Any) -> Any:
        """Return the value at an index. With one index more it is one of its parts."""
        given = index if isinstance(index, tuple) else (index,)
        if len(given) == len(self.over) + 1:
            return self.variable(given[:-1])[given[-1]]
        if len(given) != len(self.over):
            raise refusal(f"{self.name} has {len(self.over)} indices, not {len(given)}")
        return self.variable(given)

    @abstractmethod
    def variable(self, index: tuple[Any, ...]) -> Any:
        """Return the value at an index, which is complete."""

    @abstractmethod
    def text(self, index: tuple[Value, ...], value: Callable[[Part, tuple[Value, ...]], Value]) -> str:
        """Return the whole at an index as people write it. `value` has the values of its parts."""

    @abstractmethod
    def plain(self, text: str) -> Any:
        """Return the value that `text` wrote, as a frozenset, a tuple or a dict."""

    @abstractmethod
    def field(self, value: Any, number: int, index: tuple[Value, ...]) -> Any:
        """Return the part of a value that the family of a number has at an index."""

    def part(self, text: str, family: Part, index: tuple[Value, ...]) -> Value:
        """Return the value of a part of the whole that `text` wrote."""
        found: Value = self.field(self.plain(text), self.families.index(family), index)
        return found

    def initial(self, first: Callable[..., Any] | None, number: int) -> Callable[..., Any] | None:
        """Return `initial=` of the family of a number, of the value at first as a function of the index."""
        if first is None:
            return None
        return lambda *index: self.field(first(*self.index(index)), number, index)
