"""Sets and sequences as state variables: several variables that traces show as one value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, ClassVar

from fencepost.encoding.language.refused_operators import RefusesPython
from fencepost.encoding.language.sorts import Sort, Value

if TYPE_CHECKING:
    from fencepost.encoding.language.terms import Family


class Whole(RefusesPython, ABC):
    """A set or a sequence for each index, which several variables of the state make up together.

    Terms read its parts. Traces show it whole, as one value. The first of its `families` has its name.
    """

    name: str = ""
    suffixes: ClassVar[tuple[str, ...]] = ("",)
    """The names of its families, after its own."""

    def __init__(self, over: tuple[Sort, ...], *families: Family) -> None:
        """Take the index sets, and the families that have the parts."""
        self.over, self.families = over, families
        for family in families:
            object.__setattr__(family, "whole", self)

    def index(self, part: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return the index of the whole that has a part at this index."""
        return part[: len(self.over)]

    @abstractmethod
    def text(self, index: tuple[Value, ...], value: Callable[[Family, tuple[Value, ...]], Value]) -> str:
        """Return the whole at an index as people write it. `value` has the values of its parts."""

    @abstractmethod
    def plain(self, text: str) -> Collection[Value]:
        """Return the value that `text` wrote, as a frozenset or a tuple."""

    @abstractmethod
    def part(self, text: str, family: Family, index: tuple[Value, ...]) -> Value:
        """Return the value of a part of the whole that `text` wrote."""
