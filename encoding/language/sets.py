"""Finite sets: subsets of a sort, as values of state variables, as arguments of actions, and as terms.

A set is known by the condition that a value is in it. A state variable is one Boolean for each value of the
sort. An argument of an action, and the variable of a quantifier, is one of all subsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, NoReturn, TypeAlias

from fencepost.encoding.errors import ModelError, refusal
from fencepost.encoding.language.author_errors import must_be
from fencepost.encoding.language.declarations import OneOf, must_begin_in, taken_once
from fencepost.encoding.language.definedness import is_partial, strict
from fencepost.encoding.language.quantifiers import argument, bind, count, everywhere, exists, forall
from fencepost.encoding.language.refused_operators import RefusesPython
from fencepost.encoding.language.sorts import (
    BOOL,
    Sort,
    Subsets,
    SubsetSort,
    Value,
    braced,
    table_of_subsets,
)
from fencepost.encoding.language.terms import (
    Family,
    In,
    Parameter,
    Read,
    Term,
    TermLike,
    Update,
    all_of,
    any_of,
    as_type,
    as_value,
    lift,
)
from fencepost.encoding.language.wholes import Whole

InitialSet: TypeAlias = OneOf | Iterable[Value] | Callable[..., OneOf | Iterable[Value]] | None
"""The members of a set at first, `anything`, or a function from the index to it; None for the empty set."""


class Subset(RefusesPython):
    """A set: `|`, `&` and `-` make others of it, `<=` and `==` compare it. `is_in` asks for a member."""

    def __init__(self, of: Sort, holds: Callable[[Term], Term]) -> None:
        """Take the sort, and the condition that a value of it is in the set."""
        self.of, self._holds = of, holds

    def __getitem__(self, member: TermLike) -> Term:
        """Return the condition that a value of the sort is in the set. Raises TypeError."""
        held = self._holds(as_value(member, self.of, "a member of a set"))
        return strict(held, forall(self.of, self._holds)) if is_partial(held) else held

    __iter__ = None

    def __contains__(self, _: object) -> bool:
        """Raise TypeError: Python would turn the term into a plain bool."""
        raise refusal("`in` is no term: write is_in(x, s.quorum) instead of x in s.quorum")

    def __or__(self, other: Subset) -> Subset:
        """Return the union."""
        return _joined(self, other, any_of)

    def __and__(self, other: Subset) -> Subset:
        """Return the intersection."""
        return _joined(self, other, all_of)

    def __sub__(self, other: Subset) -> Subset:
        """Return the difference: the members that the other set does not have."""
        return _joined(self, other, lambda own, others: all_of(own, ~others))

    def __le__(self, other: Subset) -> Term:
        """Return the term that says: the set is a subset of the other, or equal."""
        return _within(self, other)

    def __ge__(self, other: Subset) -> Term:
        """Return the term that says: the other set is a subset of this one, or equal."""
        return _within(other, self)

    def __eq__(self, other: Subset) -> Term:  # type: ignore[override]
        """Return the term that says: the two have the same members."""
        _must_fit(self, other)
        return forall(self.of, lambda member: self[member] == other[member])

    def __ne__(self, other: Subset) -> Term:  # type: ignore[override]
        """Return the term that says: the two differ in some member."""
        return ~(self == other)

    __hash__ = RefusesPython.__hash__


def _must_fit(one: Subset, other: object) -> None:
    if not isinstance(other, Subset):
        raise refusal(f"a set of {one.of.name} is needed here; write set_of(s.{one.of.name}, …)")
    if one.of != other.of:
        raise refusal(f"a set of {one.of.name} and a set of {other.of.name} cannot be joined or compared")


def _within(one: Subset, other: Subset) -> Term:
    # Not by `<=`: Python asks the operand of the subclass first, which would ask this one again.
    _must_fit(*((one, other) if isinstance(one, Subset) else (other, one)))
    return forall(one.of, lambda member: _both(one, other, member, lambda own, others: ~own | others))


def _joined(one: Subset, other: Subset, join: Callable[[Term, Term], Term]) -> Subset:
    _must_fit(one, other)
    return Subset(one.of, lambda member: _both(one, other, member, join))


def _both(one: Subset, other: Subset, member: Term, join: Callable[[Term, Term], Term]) -> Term:
    own, others = one[member], other[member]
    return strict(join(own, others), own, others)


def set_of(of: Sort, *members: TermLike) -> Subset:
    """Return the set of these values of a sort; without any, the empty set."""
    terms = [as_value(member, of, f"set_of({of.name}, …)") for member in members]
    return Subset(of, lambda member: is_one_of(member, terms))


def is_one_of(term: TermLike, values: Iterable[TermLike]) -> Term:
    """Return the term that says: `term` equals one of `values`.

    It stands for Python's `in`, which turns its result into a plain bool.
    """
    own, others = lift(term), list(map(lift, values))
    return strict(any_of(*(own == other for other in others)), own, *others)


def full(of: Sort) -> Subset:
    """Return the set of all values of a sort."""
    return Subset(of, lambda _: lift(True))


def those(of: Sort, condition: Callable[[Any], TermLike]) -> Subset:
    """Return the set of the values of a sort for which a condition holds."""
    return Subset(of, lambda member: as_type(condition(member), "bool"))


def is_in(member: TermLike, of: Subset) -> Term:
    """Return the term that says: the value is in the set. It stands for Python's `in`."""
    must_be("is_in(x, …): the set", of, Subset, "write a set, such as s.quorum")
    return of[member]


def size(of: Subset) -> Term:
    """Return the number of the members of a set."""
    return count(of.of, lambda member: of[member])


def majority(quorum: Subset, of: Subset | Sort) -> Term:
    """Return the term that says: `quorum` is a subset of `of` with more than half of its members."""
    whole = full(of) if isinstance(of, Sort) else of
    return (quorum <= whole) & (size(quorum) * 2 > size(whole))


def overlap(one: Subset, other: Subset) -> Term:
    """Return the term that says: the two sets have a member in common."""
    _must_fit(one, other)
    return exists(one.of, lambda member: _both(one, other, member, all_of))


class SetVariable(Subset):
    """A state variable whose values are sets."""

    def __init__(self, whole: SetFamily, index: tuple[TermLike, ...]) -> None:
        """Take the variables that it is one of, and its index."""
        super().__init__(whole.of, lambda member: whole.families[0][(*index, member)])
        self.whole, self.given = whole, index

    def _part(self, member: TermLike) -> Read:
        return self.whole.families[0][(*self.given, member)]

    def set(self, value: Subset, when: TermLike = True) -> Any:
        """Return the updates that make the variable this set, if `when` holds: one item of `then`."""
        _must_fit(self, value)
        return tuple(everywhere(self.of, lambda member: self._part(member).set(value[member], when)))

    def add(self, member: TermLike, when: TermLike = True) -> Update:
        """Return the update that adds a value to the set."""
        return self._part(member).set(True, when)

    def remove(self, member: TermLike, when: TermLike = True) -> Update:
        """Return the update that takes a value from the set."""
        return self._part(member).set(False, when)


class SetFamily(Whole[Family]):
    """State variables whose values are sets, one for each index."""

    def __init__(self, kind: Subsets, over: tuple[Sort, ...], initial: InitialSet) -> None:
        """Declare one Boolean for each index and each value of the sort."""
        self.of = kind.of
        first = None if initial is None else taken_once(initial, over, partial(_members, kind.of))
        super().__init__(over, Family(BOOL, (*over, kind.of), self.initial(first, 0), None))

    def variable(self, index: tuple[TermLike, ...]) -> SetVariable:
        """Return the set at an index."""
        return SetVariable(self, index)

    def text(self, index: tuple[Value, ...], value: Callable[[Family, tuple[Value, ...]], Value]) -> str:
        """Return the set at an index as people write it."""
        return braced(member for member in self.of if value(self.families[0], (*index, member)))

    def plain(self, text: str) -> frozenset[Value]:
        """Return the set that `text` wrote."""
        words = text[1:-1].split(", ")
        return frozenset(member for member in self.of if braced([member])[1:-1] in words)

    def field(self, value: Any, number: int, index: tuple[Value, ...]) -> Any:
        """Return whether a set has a value, which is the last index; `anything` is left as it is."""
        return value if isinstance(value, OneOf) else index[-1] in value


def _members(of: Sort, given: OneOf | Iterable[Value]) -> OneOf | tuple[Value, ...]:
    """Return the members of a set at first. Raises ModelError."""
    if isinstance(given, OneOf):
        if given.values:
            raise ModelError(
                "initial=one_of(…) names no sets; write initial=anything, and which sets in `beginning`"
            )
        return given
    if isinstance(given, str):
        raise ModelError(f"initial={given!r} is a text; write a set, such as {{{given!r}}}")
    if isinstance(given, Mapping):
        raise ModelError(f"initial={given!r:.80} is a table; write the set of the members alone")
    members = tuple(given)
    for member in members:
        must_begin_in(of, member)
    return members


@argument.register
def _(sort: Subset, name: str | None = None) -> NoReturn:
    """Raise TypeError: the values of a set are not known while the text is built."""
    raise refusal(
        "a set of the state is no sort: write exists(s.node, lambda n: is_in(n, s.quorum) & …), "
        "or forall(s.node, lambda n: implies(is_in(n, s.quorum), …))"
    )


@argument.register
def _(kind: Subsets, name: str | None = None) -> tuple[Parameter, Subset]:
    """Return a new parameter over all subsets, and the set that it stands for."""
    table: SubsetSort = table_of_subsets(kind.of)
    parameter = bind(table, name)
    return parameter, Subset(kind.of, lambda member: In("bool", member, parameter, table))
