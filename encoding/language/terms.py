"""Terms: the expressions of guards, updates and properties.

A term is data: a small immutable tree. It evaluates nothing itself. `concrete` evaluates it on plain values,
`formulas` translates it to formulas. Python's `if`, `and` and `or` cannot be used on a term, because they
would decide too early. `&`, `|`, `~`, `if_` and the quantifiers are parts of the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

from fencepost.encoding.errors import refusal
from fencepost.encoding.language.declarations import Declaration
from fencepost.encoding.language.origins import Authored, Origin, Written, here
from fencepost.encoding.language.refused_operators import RefusesPython
from fencepost.encoding.language.sorts import Sort, SubsetSort, Value, explain_outside, show, type_of

TermLike: TypeAlias = "Term | bool | int | str | Enum"
"""A term, or a plain value that becomes a constant."""


@dataclass(frozen=True, eq=False, repr=False)
class Term(Written, RefusesPython):
    """A node of the tree. Its `type` is `bool`, `int` or the name of a sort of labels."""

    type: str

    parts: ClassVar[tuple[str, ...]]
    """The fields that have the terms directly below: one term each, or several in the only field."""

    @cached_property
    def free(self) -> tuple[Parameter, ...]:
        """The parameters in the term that nothing in it binds."""
        found = dict.fromkeys(p for child in children(self) for p in child.free)
        if isinstance(self, Quantified | AtLeast):
            found.pop(self.bound, None)
        return (self,) if isinstance(self, Parameter) else tuple(found)

    def __and__(self, other: TermLike) -> Term:
        """Return the conjunction."""
        return all_of(self, lift(other))

    def __rand__(self, other: TermLike) -> Term:
        """Return the conjunction."""
        return all_of(lift(other), self)

    def __or__(self, other: TermLike) -> Term:
        """Return the disjunction."""
        return any_of(self, lift(other))

    def __ror__(self, other: TermLike) -> Term:
        """Return the disjunction."""
        return any_of(lift(other), self)

    def __invert__(self) -> Term:
        """Return the negation."""
        as_type(self, "bool")
        return self.operand if isinstance(self, Not) else Not("bool", self)

    def __eq__(self, other: TermLike) -> Term:  # type: ignore[override]
        """Return the term that says the two are equal."""
        right = lift(other)
        if isinstance(self, AllOf | AnyOf) and right.type != "bool":
            raise refusal(f"{_BINDS}, not s.a & s.b == x")
        if self.type == "label":
            return Equal("bool", as_type(self, right.type), right)
        return Equal("bool", self, as_type(right, self.type))

    def __ne__(self, other: TermLike) -> Term:  # type: ignore[override]
        """Return the term that says the two differ."""
        return ~(self == other)

    def __lt__(self, other: TermLike) -> Term:
        """Return the term for `<`."""
        return Less("bool", as_type(self, "int"), as_type(other, "int"))

    def __gt__(self, other: TermLike) -> Term:
        """Return the term for `>`."""
        return lift(other) < self

    def __le__(self, other: TermLike) -> Term:
        """Return the term for `<=`."""
        return ~(lift(other) < self)

    def __ge__(self, other: TermLike) -> Term:
        """Return the term for `>=`."""
        return ~(self < other)

    def __add__(self, other: TermLike) -> Term:
        """Return the sum."""
        return Plus("int", as_type(self, "int"), as_type(other, "int"), 1)

    def __sub__(self, other: TermLike) -> Term:
        """Return the difference."""
        return Plus("int", as_type(self, "int"), as_type(other, "int"), -1)

    def __rsub__(self, other: TermLike) -> Term:
        """Return the difference."""
        return lift(other) - self

    def __mul__(self, factor: int) -> Term:
        """Return the multiple by a plain integer, which no state changes."""
        if type(factor) is not int:
            raise refusal("a term is multiplied by a plain integer only, such as count(…) * 2")
        return Plus("int", ZERO, as_type(self, "int"), factor)

    __radd__ = __add__
    __rmul__ = __mul__
    __hash__ = RefusesPython.__hash__


class Leaf(Term):
    """A term without terms below it."""

    parts: ClassVar = ()


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Leaf):
    """A plain value, and the sort that it was checked against, if its place has one."""

    value: Value
    of: Sort | None = field(default=None, compare=False)


@dataclass(frozen=True, eq=False, repr=False)
class Parameter(Leaf):
    """A name for a value of `sort`: an action's argument, or the variable of a quantifier."""

    symbol: str
    sort: Sort


class Family(Declaration):
    """State variables of one kind, one for each index: `stored[bookie, entry]`."""

    def __getitem__(self, index: TermLike | tuple[TermLike, ...]) -> Read:
        """Return the term that reads the variable at this index. Raises TypeError."""
        given = index if isinstance(index, tuple) else (index,)
        if len(given) != len(self.over):
            raise refusal(f"{self.name} has {len(self.over)} indices, not {len(given)}")
        pairs = zip(given, self.over, strict=True)
        return Read(self.domain.type, self, tuple(as_value(i, sort, self.name) for i, sort in pairs))


@dataclass(frozen=True, eq=False, repr=False)
class Read(Term):
    """The value of a state variable or a choice at an index."""

    family: Family
    index: tuple[Term, ...]
    parts: ClassVar = ("index",)

    def set(self, value: TermLike, when: TermLike = True) -> Update:
        """Return the update that sets the variable to `value` if `when` holds before the action.

        Raises TypeError for a constant outside the domain, and for a part that is not set alone.
        """
        made = assigned(self, value, when)
        of = self.family.composite
        return made if of is None else replace(made, value=of.alone(self, made.value))


@dataclass(frozen=True, eq=False, repr=False)
class Not(Term):
    """A negation."""

    operand: Term
    parts: ClassVar = ("operand",)


@dataclass(frozen=True, eq=False, repr=False)
class Joined(Term):
    """A conjunction or a disjunction."""

    operands: tuple[Term, ...]
    parts: ClassVar = ("operands",)


class AllOf(Joined):
    """A conjunction."""


class AnyOf(Joined):
    """A disjunction."""


@dataclass(frozen=True, eq=False, repr=False)
class Pair(Term):
    """A comparison or a sum of two terms of one type."""

    left: Term
    right: Term
    parts: ClassVar = ("left", "right")


class Equal(Pair):
    """An equality."""


class Less(Pair):
    """The comparison `left < right` of integers."""


@dataclass(frozen=True, eq=False, repr=False)
class Plus(Pair):
    """The integer `left + sign * right`. The sign is 1 or -1, or the factor of a multiple."""

    sign: int


@dataclass(frozen=True, eq=False, repr=False)
class If(Term):
    """The value of `then` if `condition` holds, of `otherwise` if not."""

    condition: Term
    then: Term
    otherwise: Term
    parts: ClassVar = ("condition", "then", "otherwise")
    otherwise_counts: ClassVar[bool] = True
    """Whether a reading may take `otherwise` for the value."""


class Binder(Term):
    """A term over all values of a parameter, which it binds."""

    parts: ClassVar = ("body",)


@dataclass(frozen=True, eq=False, repr=False)
class Quantified(Binder):
    """The `forall`, `exists`, `maximum` or `count` of `body` over all values of `bound`."""

    quantifier: str
    bound: Parameter
    body: Term


@dataclass(frozen=True, eq=False, repr=False)
class AtLeast(Binder):
    """The condition that `body` holds for at least `count` values of `bound`."""

    count: int
    bound: Parameter
    body: Term


@dataclass(frozen=True, eq=False, repr=False)
class In(Term):
    """The condition that `member` is in `chosen`, a value of the sort of all subsets of its sort."""

    member: Term
    chosen: Term
    sort: SubsetSort
    parts: ClassVar = ("member", "chosen")


@dataclass(frozen=True)
class Update(Authored):
    """An update of `target` to `value` if `when` holds, for all values of `over`.

    Both are evaluated in the state before the action.
    """

    target: Read
    value: Term
    when: Term
    over: tuple[Parameter, ...] = ()
    origin: Origin | None = field(default_factory=here, compare=False, repr=False)
    making: int | None = field(default=None, compare=False, repr=False)


def assigned(target: Read, value: TermLike, when: TermLike) -> Update:
    """Return the update of a variable, also of a part that is not set alone."""
    of = target.family
    return Update(target, as_value(value, of.domain, f"{of.name}.set(…)"), as_type(when, "bool"))


def lift(value: TermLike) -> Term:
    """Return the term itself, or a plain value as a constant."""
    return value if isinstance(value, Term) else Constant(type_of(value), value)


_BINDS = "& and | bind tighter than ==: write (s.a == x) & (s.b == y)"


TRUE, FALSE, ZERO = lift(True), lift(False), lift(0)


def all_of(*terms: TermLike | Iterable[TermLike]) -> Term:
    """Return the conjunction of any number of terms, or of a list of them; true if there are none."""
    return _flat(AllOf, terms, True)


def any_of(*terms: TermLike | Iterable[TermLike]) -> Term:
    """Return the disjunction of any number of terms, or of a list of them; false if there are none."""
    return _flat(AnyOf, terms, False)


def _flat(node: type[AllOf | AnyOf], given: tuple[Any, ...], neutral: bool) -> Term:
    """Join the terms; a list of them stands alone, because beside a term it is more often a slip."""
    is_list = len(given) == 1 and isinstance(given[0], Iterable) and not isinstance(given[0], str)
    operands: list[Term] = []
    for term in map(lift, given[0] if is_list else given):
        if term.type != "bool":
            raise refusal(f"& and | join Boolean terms, and one side is of type {term.type}; {_BINDS}")
        if isinstance(term, node):
            operands.extend(term.operands)
        elif not (isinstance(term, Constant) and term.value is neutral):
            operands.append(term)
    if len(operands) < 2:
        return operands[0] if operands else TRUE if neutral else FALSE
    return node("bool", tuple(operands))


def as_type(value: TermLike, wanted: str) -> Term:
    """Return the value as a term of that type; a plain label takes it. Raises TypeError for another type."""
    term = lift(value)
    if term.type == wanted:
        return term
    if isinstance(term, Constant) and term.type == "label" and wanted not in ("bool", "int"):
        return Constant(wanted, term.value)
    name = term.family.name if isinstance(term, Read) else "it"
    if isinstance(term, Constant):
        name = repr(term.value)
    raise refusal(f"a term of type {wanted} is needed here, and {name} is of type {term.type}")


def as_value(value: TermLike, sort: Sort, place: str) -> Term:
    """Return the value as a term of a sort. Raises TypeError for one of another type or outside the sort."""
    term = as_type(value, sort.type)
    if isinstance(term, Constant) and not sort.counted:
        raise refusal(f"{place}: {show(term.value)} is not in {sort.name}, which may have any size")
    for own in branches(term):
        if sort.counted and own.value not in sort:
            raise refusal(
                f"{place}: {show(own.value)} is not in {sort.name}{explain_outside(own.value, [sort])}"
            )
    return replace(term, of=sort) if isinstance(term, Constant) and sort.type != "bool" else term


def branches(term: Term) -> Iterator[Constant]:
    """Yield the term if it is a constant, and the constants among the branches of a conditional term."""
    if isinstance(term, Constant):
        yield term
    elif isinstance(term, If):
        yield from branches(term.then)
        if term.otherwise_counts:
            yield from branches(term.otherwise)


Node: TypeAlias = (
    Constant | Parameter | Read | Not | AllOf | AnyOf | Equal | Less | Plus | If | Quantified | AtLeast | In
)
"""The kinds of terms."""


def node(term: Term) -> Node:
    """Return the term as one of its kinds, for a `match`: mypy reports a kind that it lacks."""
    assert isinstance(term, Node), f"{type(term).__name__} is no kind of term"
    return term


def children(term: Term) -> tuple[Term, ...]:
    """Return the terms directly below a term."""
    found = tuple(getattr(term, name) for name in node(term).parts)
    return found[0] if isinstance(term, Read | Joined) else found
