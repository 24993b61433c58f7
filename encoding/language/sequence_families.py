"""Families of sequences: the variables that have the length and the items, and their initial values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, TypeAlias

from fencepost.encoding.errors import ModelError, refusal
from fencepost.encoding.language.bounded_sequences import Sequences, SequenceVariable
from fencepost.encoding.language.conditional_terms import Partial
from fencepost.encoding.language.declarations import OneOf, must_begin_in, taken_once
from fencepost.encoding.language.record_values import Kind, Records
from fencepost.encoding.language.sorts import Sort, Value, braced, integers, show
from fencepost.encoding.language.terms import Constant, Family, Read, Term, TermLike, all_of, any_of, lift
from fencepost.encoding.language.wholes import Whole

InitialSequence: TypeAlias = (
    "Iterable[Value | Mapping[str, Value]] | Callable[..., Iterable[Value | Mapping[str, Value]]] | None"
)
"""The items of a sequence at first, or a function from the index to them; None for the empty sequence."""


def _items(kind: Sequences, given: Any) -> tuple[Any, ...]:
    """Return the items of a sequence at first. Raises ModelError."""
    if isinstance(given, OneOf):
        raise ModelError("initial: a sequence begins with one value; write a tuple, such as (1, 2)")
    if isinstance(given, str):
        raise ModelError(f"initial={given!r} is a text; write a tuple, such as ({given!r},)")
    if isinstance(given, AbstractSet | Mapping):
        value = braced(sorted(given, key=show)) if isinstance(given, AbstractSet) else repr(given)
        raise ModelError(
            f"initial={value:.80} is a {type(given).__name__}, which has no order; write a tuple"
        )
    items = tuple(given)
    if len(items) > kind.most:
        raise ModelError(f"initial={items!r:.80}: write at most {kind.most} values of {kind.of.name}")
    for item in items:
        _must_be_item(item, kind.of)
    return items


def _must_be_item(item: Any, of: Kind) -> None:
    """Raise ModelError unless the value is one of the sort, or a table of the fields of the record."""
    fields = {"": of} if isinstance(of, Sort) else dict(of.fields)
    values = {"": item} if isinstance(of, Sort) else item
    if not isinstance(values, Mapping) or values.keys() != fields.keys():
        raise ModelError(f"initial: {item!r:.80} is no {of.name}; write a table with a value for each field")
    for name, sort in fields.items():
        must_begin_in(sort, values[name], name)


class SequenceFamily(Whole[Family]):
    """State variables whose values are sequences, one for each index."""

    def __init__(self, kind: Sequences, over: tuple[Sort, ...], initial: InitialSequence) -> None:
        """Declare the items, or each field of them, and the length for each index. Raises ModelError."""
        self.kind = kind
        names = kind.of.names if isinstance(kind.of, Records) else ()
        self.suffixes = (*(f"_{name}" for name in names), "_length") if names else ("", "_length")
        first = None if initial is None else taken_once(initial, over, partial(_items, kind))
        places = [*((sort, (*over, kind.positions)) for sort in kind.sorts), (integers(0, kind.most), over)]
        parts = enumerate(places)
        super().__init__(over, *(Family(of, at, self.initial(first, n), None) for n, (of, at) in parts))

    def form(self, index: tuple[Value, ...]) -> Term:
        """Return the condition that each item after the end has the first value of its sort."""
        length = self.families[-1][index]
        return all_of(
            *(
                any_of(length >= position, family[(*index, position)] == lift(family.domain.values[0]))
                for family in self.items
                for position in self.kind.positions
            )
        )

    def alone(self, part: Read, value: Term) -> Term:
        """Return the value for an item that is set by its position: the sequence must have the item."""
        length = self.families[-1]
        if part.family is length:
            raise refusal(
                f"{length.name}.set(…): the length of {self.name} follows from its items; "
                f"write append, truncate or set of {self.name}"
            )
        *index, position = part.index
        inside = position <= length[tuple(index)]
        first = Constant(part.type, part.family.domain.values[0])
        return Partial(part.type, inside, value, first, f"sets {self.name} beyond its length")

    @property
    def items(self) -> tuple[Family, ...]:
        """The families that have the items, or each field of them."""
        return self.families[:-1]

    def variable(self, index: tuple[TermLike, ...]) -> SequenceVariable:
        """Return the sequence at an index."""
        return SequenceVariable(self, self.kind, index)

    def text(self, index: tuple[Value, ...], value: Callable[[Family, tuple[Value, ...]], Value]) -> str:
        """Return the sequence at an index as people write it: `[1:a, 2:b]`."""
        number, of = value(self.families[-1], index), self.kind.of
        assert isinstance(number, int)

        def written(position: int) -> str:
            values = [value(family, (*index, position)) for family in self.items]
            return of.text(values) if isinstance(of, Records) else show(*values)

        return f"[{', '.join(f'{i}:{written(i)}' for i in range(1, number + 1))}]"

    def plain(self, text: str) -> tuple[Any, ...]:
        """Return the sequence that `text` wrote; a record in it is a dict."""
        of = self.kind.of
        read = of.plain if isinstance(of, Records) else {show(value): value for value in of}.__getitem__
        return tuple(read(word.partition(":")[2]) for word in text[1:-1].split(", ") if word)

    def field(self, value: Any, number: int, index: tuple[Value, ...]) -> Any:
        """Return the length, or the item at a position; after the end, the first value of its sort."""
        if number == len(self.kind.sorts):
            return len(value)
        position = index[-1]
        assert isinstance(position, int)
        if position > len(value):
            return self.kind.sorts[number].values[0]
        item = value[position - 1]
        return item[self.kind.of.names[number]] if isinstance(self.kind.of, Records) else item
