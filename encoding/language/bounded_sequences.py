"""Bounded sequences, as values of state variables and as terms.

A state variable is a length, and an item for each position up to the bound. Items after the length have the
first value of their sort, so two sequences are equal if all their parts are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeAlias

from fencepost.encoding.errors import ModelError, refusal
from fencepost.encoding.language.author_errors import must_be
from fencepost.encoding.language.conditional_terms import Partial, if_, implies, undefined
from fencepost.encoding.language.initial_values import OneOf, taken_once
from fencepost.encoding.language.patterns import is_within, sorts_of
from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.refused_operators import RefusesPython
from fencepost.encoding.language.sorts import (
    Sort,
    Value,
    braced,
    explain_no_sort,
    integers,
    must_be_plain_words,
    show,
)
from fencepost.encoding.language.terms import (
    TRUE,
    Constant,
    Family,
    Read,
    Term,
    TermLike,
    Update,
    all_of,
    as_type,
    lift,
)
from fencepost.encoding.language.wholes import Whole

InitialSequence: TypeAlias = Iterable[Value] | Callable[..., Iterable[Value]] | None
"""The items of a sequence at first, or a function from the index to them; None for the empty sequence."""


@dataclass(frozen=True)
class Sequences:
    """The type of the sequences of at most so many values of a sort."""

    of: Sort
    most: int

    def __post_init__(self) -> None:
        """Validate the sort and the bound. Raises ModelError."""
        if not isinstance(self.of, Sort):
            raise ModelError(f"sequences: {explain_no_sort(self.of)}")
        must_be_plain_words(self.of, f"sequences({self.of.name})")
        if type(self.most) is not int or self.most < 1:
            raise ModelError(
                f"sequences({self.of.name}, most={self.most!r:.80}): "
                "the bound is a whole number of 1 or more; write most=3"
            )
        integers(0, self.most)

    @property
    def positions(self) -> Sort:
        """The positions of items, from 1."""
        return integers(1, self.most)


def sequences(of: Sort, most: int | None = None) -> Sequences:
    """Return the type of the sequences of at most `most` values of a sort. Raises ModelError."""
    if most is None:
        raise ModelError(
            f"sequences({of.name if isinstance(of, Sort) else '…'}): a sequence needs a bound; write most=3"
        )
    return Sequences(of, most)


class Sequence(RefusesPython):
    """A sequence. `length`, `at`, `last` and `is_prefix` ask about it; `==` compares it."""

    def __init__(self, kind: Sequences, length: Term, item: Callable[[Term], Term], name: str) -> None:
        """Take the length, the item at a position (the first value after the end), and words for it."""
        self.kind, self.length, self.item, self.name = kind, length, item, name

    __iter__ = None

    def __eq__(self, other: Sequence) -> Term:  # type: ignore[override]
        """Return the term that says: the two have the same length and the same items."""
        _must_fit(self, other)
        few = min(self.kind, other.kind, key=lambda kind: kind.most)
        return all_of(
            self.length == other.length, forall(few.positions, lambda i: self.item(i) == other.item(i))
        )

    def __ne__(self, other: Sequence) -> Term:  # type: ignore[override]
        """Return the term that says: the two differ in length or in an item."""
        return ~(self == other)

    __hash__ = RefusesPython.__hash__


def _must_fit(one: Sequence, other: object) -> None:
    if not isinstance(other, Sequence):
        raise refusal(
            f"a sequence of {one.kind.of.name} is needed here; write sequence_of({one.kind.of.name}, …)"
        )
    if one.kind.of != other.kind.of:
        raise refusal(
            f"a sequence of {one.kind.of.name} and one of {other.kind.of.name} cannot be compared or set"
        )


def _must_be_one(where: str, value: object) -> None:
    must_be(f"{where}: the sequence", value, Sequence, "write a sequence, such as s.log[n]")


def _filler(of: Sort) -> Term:
    return Constant(of.type, of.values[0])


def sequence_of(of: Sort, *items: TermLike) -> Sequence:
    """Return the sequence of these values of a sort; without any, the empty one."""
    terms = [as_type(item, of.type) for item in items]

    def item(position: Term) -> Term:
        found = _filler(of)
        for number, term in reversed(list(enumerate(terms, 1))):
            found = if_(position == number, term, found)
        return found

    return Sequence(Sequences(of, max(len(terms), 1)), lift(len(terms)), item, "the sequence")


def length(of: Sequence) -> Term:
    """Return the number of items of a sequence."""
    _must_be_one("length(…)", of)
    return of.length


def at(of: Sequence, position: TermLike) -> Term:
    """Return the item at a position, from 1. A step that reads beyond the length is badly defined."""
    _must_be_one("at(…)", of)
    term, positions = as_type(position, "int"), of.kind.positions
    if isinstance(term, Constant) and term.value not in positions:
        raise refusal(f"at({of.name}, {term.value}): positions are 1 to {of.kind.most}")
    least = all(
        sort is not None and sort.counted and isinstance(sort.values[0], int) and sort.values[0] >= 1
        for sort in sorts_of(term)
    )
    inside = all_of(TRUE if least else term >= 1, term <= of.length)
    return _partial(of, inside, term, "beyond its length")


def last(of: Sequence) -> Term:
    """Return the last item. A step that reads it of the empty sequence is badly defined."""
    _must_be_one("last(…)", of)
    return _partial(of, of.length > 0, of.length, "at its end while it is empty")


def _partial(of: Sequence, inside: Term, position: Term, where: str) -> Term:
    filler, positions = _filler(of.kind.of), of.kind.positions
    if is_within(position, positions):
        found = of.item(position)
    else:
        found = filler
        for number in reversed(positions.values):
            found = if_(position == number, of.item(lift(number)), found)
    return Partial(filler.type, inside, found, filler, f"reads {of.name} {where}")


def is_prefix(one: Sequence, other: Sequence) -> Term:
    """Return the term that says: the other sequence begins with this one."""
    _must_be_one("is_prefix(…)", one)
    _must_fit(one, other)
    few = min(one.kind, other.kind, key=lambda kind: kind.most)
    return all_of(
        one.length <= other.length,
        forall(few.positions, lambda i: implies(i <= one.length, one.item(i) == other.item(i))),
    )


class SequenceVariable(Sequence):
    """A state variable whose values are sequences."""

    def __init__(self, whole: SequenceFamily, index: tuple[TermLike, ...]) -> None:
        """Take the variables that it is one of, and its index."""
        items, lengths = whole.families
        super().__init__(
            whole.kind, lengths[index], lambda position: items[(*index, position)], whole.name or "a sequence"
        )
        self.whole, self.given = whole, index

    def __getitem__(self, position: TermLike) -> Read:
        """Return the item at a position; after the end, the first value of its sort."""
        return self._part(position)

    def _part(self, position: TermLike) -> Read:
        return self.whole.families[0][(*self.given, position)]

    @property
    def _length(self) -> Read:
        return self.whole.families[1][self.given]

    def append(self, item: TermLike, when: TermLike = True) -> Any:
        """Return the updates that append an item, if `when` holds: one item of `then`.

        A step that appends to a full sequence is badly defined.
        """
        full = undefined(
            f"appends to {self.name}, which is full at {self.kind.most}",
            all_of(when, self.length == self.kind.most),
        )
        return full, self._part(self.length + 1).set(item, when), self._length.set(self.length + 1, when)

    def truncate(self, to: TermLike, when: TermLike = True) -> Any:
        """Return the updates that keep the first `to` items, if `when` holds: one item of `then`.

        A step that keeps more items than there are is badly defined.
        """
        kept = as_type(to, "int")
        more = undefined(
            f"truncates {self.name} to more items than it has",
            all_of(when, ~all_of(kept >= 0, kept <= self.length)),
        )
        return more, *self._made(kept, lambda i: if_(i <= kept, self.item(i), _filler(self.kind.of)), when)

    def set(self, value: Sequence, when: TermLike = True) -> Any:
        """Return the updates that make the variable this sequence, if `when` holds: one item of `then`."""
        _must_fit(self, value)

        def item(i: Term) -> Term:
            assert isinstance(i, Constant)
            return value.item(i) if i.value in value.kind.positions else _filler(self.kind.of)

        return self._made(value.length, item, when)

    def _made(self, length: Term, item: Callable[[Term], Term], when: TermLike) -> tuple[Update, ...]:
        items = (self._part(i).set(item(lift(i)), when) for i in self.kind.positions)
        return (self._length.set(length, when), *items)


def _items(kind: Sequences, given: Any) -> tuple[Value, ...]:
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
    items: tuple[Value, ...] = tuple(given)
    if len(items) > kind.most or any(item not in kind.of for item in items):
        raise ModelError(f"initial={items!r:.80}: write at most {kind.most} values of {kind.of.name}")
    return items


class SequenceFamily(Whole[Family]):
    """State variables whose values are sequences, one for each index."""

    suffixes = ("", "_length")

    def __init__(self, kind: Sequences, over: tuple[Sort, ...], initial: InitialSequence) -> None:
        """Declare the items and the length for each index. Raises ModelError."""
        self.kind = kind

        first = taken_once(() if initial is None else initial, over, lambda given: _items(kind, given))

        def item(*index: Value) -> Value:
            items, position = first(*index[:-1]), index[-1]
            assert isinstance(position, int)
            return items[position - 1] if position <= len(items) else kind.of.values[0]

        empty = initial is None
        super().__init__(
            over,
            Family(kind.of, (*over, kind.positions), None if empty else item, None),
            Family(integers(0, kind.most), over, None if empty else lambda *index: len(first(*index)), None),
        )

    def variable(self, index: tuple[TermLike, ...]) -> SequenceVariable:
        """Return the sequence at an index."""
        return SequenceVariable(self, index)

    def text(self, index: tuple[Value, ...], value: Callable[[Family, tuple[Value, ...]], Value]) -> str:
        """Return the sequence at an index as people write it: `[1:a, 2:b]`."""
        items, lengths = self.families
        number = value(lengths, index)
        assert isinstance(number, int)
        words = (f"{i}:{show(value(items, (*index, i)))}" for i in range(1, number + 1))
        return f"[{', '.join(words)}]"

    def plain(self, text: str) -> tuple[Value, ...]:
        """Return the sequence that `text` wrote."""
        values = {show(value): value for value in self.kind.of}
        words = (word.partition(":")[2] for word in text[1:-1].split(", ") if word)
        return tuple(values[word] for word in words)

    def part(self, text: str, family: Family, index: tuple[Value, ...]) -> Value:
        """Return the length, or the item at a position, of the sequence that `text` wrote."""
        items = self.plain(text)
        if family is self.families[1]:
            return len(items)
        position = index[-1]
        assert isinstance(position, int)
        return items[position - 1] if position <= len(items) else self.kind.of.values[0]
