"""Bounded sequences, as values of state variables and as terms.

A state variable is a length, and an item for each position up to the bound. Items after the length have the
first value of their sort, so two sequences are equal if all their parts are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from fencepost.encoding.errors import ModelError, refusal
from fencepost.encoding.language.author_errors import must_be
from fencepost.encoding.language.conditional_terms import Partial, if_, implies, undefined
from fencepost.encoding.language.definedness import strict
from fencepost.encoding.language.patterns import is_within, sorts_of
from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.record_values import Kind, Record, Records, fieldwise, fitting, updates
from fencepost.encoding.language.refused_operators import RefusesPython
from fencepost.encoding.language.sorts import (
    Sort,
    explain_no_sort,
    integers,
    must_be_plain_words,
)
from fencepost.encoding.language.terms import (
    TRUE,
    ZERO,
    Constant,
    Family,
    Parameter,
    Read,
    Term,
    TermLike,
    Update,
    all_of,
    as_type,
    assigned,
    lift,
)
from fencepost.encoding.language.wholes import Whole

if TYPE_CHECKING:

    class Item(Term):
        """An item of a sequence for type checkers: a term, or a record, which has fields."""

        def __getattr__(self, name: str) -> Any:
            """Return a field."""

        def __eq__(self, other: TermLike | Record) -> Term:  # type: ignore[override]
            """Return the term that says: the two are equal."""


@dataclass(frozen=True)
class Sequences:
    """The type of the sequences of at most so many values of a sort, or records."""

    of: Kind
    most: int = 0

    def __post_init__(self) -> None:
        """Validate the sort and the bound. Raises ModelError."""
        for sort in self.sorts:
            if not isinstance(sort, Sort):
                raise ModelError(f"sequences: {explain_no_sort(sort)}")
            must_be_plain_words(sort, f"sequences({self.of.name})")
        if type(self.most) is not int or self.most < 1:
            raise ModelError(
                f"sequences({self.of.name}, most={self.most!r:.80}): "
                "the bound is a whole number of 1 or more; write most=3"
            )
        integers(0, self.most)

    @property
    def sorts(self) -> tuple[Sort, ...]:
        """The sort of an item, or those of its fields."""
        return tuple(sort for _, sort in self.of.fields) if isinstance(self.of, Records) else (self.of,)

    @property
    def positions(self) -> Sort:
        """The positions of items, from 1."""
        return integers(1, self.most)


sequences = Sequences
"""The name by which authors write the type."""


class Sequence(RefusesPython):
    """A sequence. `length`, `at`, `last` and `is_prefix` ask about it; `==` compares it."""

    def __init__(self, kind: Sequences, length: Term, item: Callable[[Term], Any], name: str) -> None:
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


def _filler(of: Kind) -> Any:
    return of.first() if isinstance(of, Records) else Constant(of.type, of.values[0])


def _select(position: Term, items: Iterable[tuple[int, Any]], filler: Any) -> Any:
    """Return the item whose number is the position, the filler if there is none."""
    possible = position.sort if isinstance(position, Parameter) else None
    for number, item in reversed([one for one in items if possible is None or one[0] in possible]):
        filler = fieldwise(partial(if_, position == number), item, filler)
    return filler


def sequence_of(of: Kind, *items: TermLike | Record) -> Sequence:
    """Return the sequence of these values of a sort, or records; without any, the empty one."""
    terms = [fitting(item, of, f"sequence_of({of.name}, …)") for item in items]
    parts = (term.terms.values() if isinstance(term, Record) else [term] for term in terms)
    number = strict(lift(len(terms)), *chain.from_iterable(parts))

    def item(position: Term) -> Any:
        return _select(position, enumerate(terms, 1), _filler(of))

    return Sequence(Sequences(of, max(len(terms), 1)), number, item, "the sequence")


def length(of: Sequence) -> Term:
    """Return the number of items of a sequence."""
    _must_be_one("length(…)", of)
    return of.length


def at(of: Sequence, position: TermLike) -> Item:
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


def last(of: Sequence) -> Item:
    """Return the last item. A step that reads it of the empty sequence is badly defined."""
    _must_be_one("last(…)", of)
    return _partial(of, of.length > 0, of.length, "at its end while it is empty")


def without(of: Sequence, position: TermLike) -> Sequence:
    """Return the sequence without its item at a position, from 1. Without such an item it is not defined."""
    _must_be_one("without(…)", of)
    term, kind = as_type(position, "int"), Sequences(of.kind.of, max(of.kind.most - 1, 1))
    reason = f"removes an item from {of.name} that it does not have"
    left = Partial("int", all_of(term >= 1, term <= of.length), of.length - 1, ZERO, reason)

    def item(i: Term) -> Any:
        if of.kind.most == 1:
            return _filler(kind.of)
        following = i + 1
        if isinstance(i, Constant) and isinstance(i.value, int):
            following = lift(i.value + 1)
        return fieldwise(partial(if_, i < term), of.item(i), of.item(following))

    return Sequence(kind, left, item, of.name)


def rest(of: Sequence) -> Sequence:
    """Return the sequence without its first item. Of the empty sequence it is not defined."""
    return without(of, 1)


def insert(of: Sequence, position: TermLike, item: TermLike | Record) -> Sequence:
    """Return the sequence with an item put in at a position, from 1 to one after the last item.

    At another position it is not defined. A state variable must have room for one item more.
    """
    _must_be_one("insert(…)", of)
    term, kind = as_type(position, "int"), Sequences(of.kind.of, of.kind.most + 1)
    new, filler = fitting(item, kind.of, f"insert({of.name}, …)"), _filler(kind.of)
    reason = f"puts an item into {of.name} at a position that it does not have"
    longer = Partial("int", all_of(term >= 1, term <= of.length + 1), of.length + 1, ZERO, reason)
    parts = new.terms.values() if isinstance(new, Record) else [new]
    old = [(number, of.item(lift(number))) for number in range(1, of.kind.most + 1)]

    def moved(i: Term) -> Any:
        after = _select(i, ((number + 1, own) for number, own in old), filler)
        return fieldwise(partial(if_, i < term), _select(i, old, filler), after)

    def put(i: Term) -> Any:
        return fieldwise(partial(if_, i == term), new, moved(i))

    return Sequence(kind, strict(longer, *parts), put, of.name)


def _partial(of: Sequence, inside: Term, position: Term, where: str) -> Item:
    filler, positions = _filler(of.kind.of), of.kind.positions
    if is_within(position, positions):
        found = of.item(position)
    else:
        numbers = range(1, of.kind.most + 1)
        found = _select(position, ((number, of.item(lift(number))) for number in numbers), filler)

    def defined(item: Term, otherwise: Term) -> Term:
        return Partial(item.type, inside, item, otherwise, f"reads {of.name} {where}")

    item: Item = fieldwise(defined, found, filler)
    return item


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

    def __init__(self, whole: Whole[Family], kind: Sequences, index: tuple[TermLike, ...]) -> None:
        """Take the variables that it is one of, which are of this type, and its index."""
        self.whole, self.given = whole, index
        super().__init__(kind, self._length, self.__getitem__, whole.name or "a sequence")

    def __getitem__(self, position: TermLike) -> Any:
        """Return the item at a position; after the end, the first value of its sort."""
        reads = [family[(*self.given, position)] for family in self.whole.families[:-1]]
        kind = self.kind.of
        return (
            Record(kind, dict(zip(kind.names, reads, strict=True))) if isinstance(kind, Records) else reads[0]
        )

    @property
    def _length(self) -> Read:
        return self.whole.families[-1][self.given]

    def append(self, item: TermLike | Record, when: TermLike = True) -> Any:
        """Return the updates that append an item, if `when` holds: one item of `then`.

        A step that appends to a full sequence is badly defined.
        """
        full = undefined(
            f"appends to {self.name}, which is full at {self.kind.most}",
            all_of(when, self.length == self.kind.most),
        )
        return (
            full,
            *updates(self[self.length + 1], item, when),
            assigned(self._length, self.length + 1, when),
        )

    def truncate(self, to: TermLike, when: TermLike = True) -> Any:
        """Return the updates that keep the first `to` items, if `when` holds: one item of `then`.

        A step that keeps more items than there are is badly defined.
        """
        kept = as_type(to, "int")
        more = undefined(
            f"truncates {self.name} to more items than it has",
            all_of(when, ~all_of(kept >= 0, kept <= self.length)),
        )
        filler = _filler(self.kind.of)
        return more, *self._made(kept, lambda i: fieldwise(partial(if_, i <= kept), self[i], filler), when)

    def set(self, value: Sequence, when: TermLike = True) -> Any:
        """Return the updates that make the variable this sequence, if `when` holds: one item of `then`."""
        _must_fit(self, value)

        def item(i: Term) -> Any:
            assert isinstance(i, Constant)
            return value.item(i) if i.value in value.kind.positions else _filler(self.kind.of)

        return self._made(value.length, item, when)

    def _made(self, length: Term, item: Callable[[Term], Any], when: TermLike) -> tuple[Update, ...]:
        items = (updates(self[i], item(lift(i)), when) for i in self.kind.positions)
        return (assigned(self._length, length, when), *chain.from_iterable(items))
