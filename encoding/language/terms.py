"""Terms: what guards, updates and properties are made of.

A term is data, a small immutable tree. It evaluates nothing itself: each reading (plain values in
`concrete`, formulas in `formulas`) walks the same tree. Python's `if`, `and` and `or` cannot be used on a
term, because they would decide something before a reading does; `&`, `|`, `~`, `if_` and the quantifiers
are part of the tree instead.

    exists(entry, lambda e: (e < last) & stored[bookie, e])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import NoReturn, TypeAlias, assert_never, cast

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.sorts import Sort, Value, no_sort, type_of

TermLike: TypeAlias = "Term | bool | int | str | Enum"
"""Where a term is expected, a plain value may stand and becomes a constant."""


@dataclass(frozen=True, eq=False)
class Term:
    """A node of a tree. `type` is `bool`, `int` or the name of a sort of labels."""

    type: str

    @cached_property
    def free(self) -> tuple[Parameter, ...]:
        """The parameters in it that nothing in it binds."""
        found = dict.fromkeys(p for child in children(self) for p in child.free)
        if isinstance(self, Quantified | AtLeast):
            found.pop(self.bound, None)
        return (self,) if isinstance(self, Parameter) else tuple(found)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "a term has no truth value: use & | ~, if_, forall or exists instead of and, or, not, if"
        )

    def __and__(self, other: TermLike) -> Term:
        return all_of(self, other)

    def __rand__(self, other: TermLike) -> Term:
        return all_of(other, self)

    def __or__(self, other: TermLike) -> Term:
        return any_of(self, other)

    def __ror__(self, other: TermLike) -> Term:
        return any_of(other, self)

    def __invert__(self) -> Term:
        as_type(self, "bool")
        return self.operand if isinstance(self, Not) else Not("bool", self)

    def __eq__(self, other: TermLike) -> Term:  # type: ignore[override]
        right = lift(other)
        if isinstance(self, AllOf | AnyOf) and right.type != "bool":
            raise TypeError(f"{_BINDS}, not s.a & s.b == x")
        if self.type == "label":
            return Equal("bool", as_type(self, right.type), right)
        return Equal("bool", self, as_type(right, self.type))

    def __ne__(self, other: TermLike) -> Term:  # type: ignore[override]
        return ~(self == other)

    def __lt__(self, other: TermLike) -> Term:
        return Less("bool", as_type(self, "int"), as_type(other, "int"))

    def __gt__(self, other: TermLike) -> Term:
        return lift(other) < self

    def __le__(self, other: TermLike) -> Term:
        return ~(lift(other) < self)

    def __ge__(self, other: TermLike) -> Term:
        return ~(self < other)

    def __add__(self, other: TermLike) -> Term:
        return Plus("int", as_type(self, "int"), as_type(other, "int"), 1)

    def __sub__(self, other: TermLike) -> Term:
        return Plus("int", as_type(self, "int"), as_type(other, "int"), -1)

    __hash__ = object.__hash__


@dataclass(frozen=True, eq=False)
class Constant(Term):
    """A plain value."""

    value: Value


@dataclass(frozen=True, eq=False)
class Parameter(Term):
    """A name that stands for a value of `sort`: an action's argument, or what a quantifier binds."""

    name: str
    sort: Sort


@dataclass(eq=False)
class Family:
    """Variables of one kind, one for each index: `stored[bookie, entry]`.

    `domain` is what each may hold, `initial` what it holds at first (a value, or a function of the index
    values; the domain's first value if left out). A family with `fault` is a choice: it never changes,
    is free at first, and costs one fault of that name when it is true.
    """

    domain: Sort
    over: tuple[Sort, ...]
    initial: Value | Callable[..., Value] | None
    fault: str | None
    name: str = field(default="", init=False)

    def __post_init__(self) -> None:
        for sort in (self.domain, *self.over):
            if not isinstance(sort, Sort):
                raise ModelError(no_sort(sort))

    def __getitem__(self, index: TermLike | tuple[TermLike, ...]) -> Read:
        given = index if isinstance(index, tuple) else (index,)
        if len(given) != len(self.over):
            raise TypeError(f"{self.name} has {len(self.over)} indices, not {len(given)}")
        terms = tuple(as_type(i, sort.type) for i, sort in zip(given, self.over, strict=True))
        for term, sort in zip(terms, self.over, strict=True):
            if isinstance(term, Constant) and not (sort.counted and term.value in sort.values):
                raise TypeError(f"{self.name}: {term.value} is not in {sort.name}")
        return Read(self.domain.type, self, terms)

    def initially(self, index: tuple[Value, ...]) -> Value:
        """The value at `index` before anything happened."""
        if callable(self.initial):
            return self.initial(*index)
        return self.domain.values[0] if self.initial is None else self.initial


@dataclass(frozen=True, eq=False)
class Read(Term):
    """A state variable, or a choice made up front, at an index."""

    family: Family
    index: tuple[Term, ...]

    def set(self, value: TermLike, when: TermLike = True) -> Update:
        """The update that gives this variable `value` if `when` holds before the action; else it stays."""
        return Update(self, as_type(value, self.type), as_type(when, "bool"))


@dataclass(frozen=True, eq=False)
class Not(Term):
    operand: Term


@dataclass(frozen=True, eq=False)
class AllOf(Term):
    """Conjunction."""

    operands: tuple[Term, ...]


@dataclass(frozen=True, eq=False)
class AnyOf(Term):
    """Disjunction."""

    operands: tuple[Term, ...]


@dataclass(frozen=True, eq=False)
class Equal(Term):
    left: Term
    right: Term


@dataclass(frozen=True, eq=False)
class Less(Term):
    left: Term
    right: Term


@dataclass(frozen=True, eq=False)
class Plus(Term):
    """left + sign * right."""

    left: Term
    right: Term
    sign: int


@dataclass(frozen=True, eq=False)
class If(Term):
    condition: Term
    then: Term
    otherwise: Term


@dataclass(frozen=True, eq=False)
class Quantified(Term):
    """`forall`, `exists` or `maximum` of `body` as `bound` ranges over its sort."""

    quantifier: str
    bound: Parameter
    body: Term


@dataclass(frozen=True, eq=False)
class AtLeast(Term):
    """At least `count` values of `bound` make `body` true."""

    count: int
    bound: Parameter
    body: Term


@dataclass(frozen=True)
class Update:
    """`target` becomes `value` if `when`, both read in the state before the action; so for all values of `over`."""

    target: Read
    value: Term
    when: Term
    over: tuple[Parameter, ...] = ()


def lift(value: TermLike) -> Term:
    """The term itself, or a plain value as a constant."""
    return value if isinstance(value, Term) else Constant(type_of(value), value)


_BINDS = "& and | bind tighter than ==: write (s.a == x) & (s.b == y)"

TRUE, FALSE = lift(True), lift(False)


def all_of(*terms: TermLike) -> Term:
    """Conjunction of any number of terms; true if there are none."""
    return _flat(AllOf, terms, TRUE)


def any_of(*terms: TermLike) -> Term:
    """Disjunction of any number of terms; false if there are none."""
    return _flat(AnyOf, terms, FALSE)


def _flat(node: type[AllOf | AnyOf], terms: tuple[TermLike, ...], neutral: Term) -> Term:
    operands: list[Term] = []
    for term in map(lift, terms):
        if term.type != "bool":
            raise TypeError(f"& and | join truths, and one side is of type {term.type}; {_BINDS}")
        if isinstance(term, node):
            operands.extend(term.operands)
        elif not (isinstance(term, Constant) and term.value is _plain(neutral)):
            operands.append(term)
    if len(operands) < 2:
        return operands[0] if operands else neutral
    return node("bool", tuple(operands))


def _plain(constant: Term) -> Value:
    assert isinstance(constant, Constant)
    return constant.value


def implies(condition: TermLike, conclusion: TermLike) -> Term:
    """If `condition` then `conclusion`."""
    return any_of(~lift(condition), conclusion)


def if_(condition: TermLike, then: TermLike, otherwise: TermLike) -> Term:
    """`then` where `condition` holds, else `otherwise`; both of one type."""
    kind = next((t.type for t in map(lift, (then, otherwise)) if t.type != "label"), "label")
    return If(kind, as_type(condition, "bool"), as_type(then, kind), as_type(otherwise, kind))


def as_type(value: TermLike, wanted: str) -> Term:
    """The value as a term of that type; a bare label takes the type wanted. Raises TypeError otherwise."""
    term = lift(value)
    if term.type == wanted:
        return term
    if isinstance(term, Constant) and term.type == "label" and wanted not in ("bool", "int"):
        return Constant(wanted, term.value)
    said = (
        term.family.name
        if isinstance(term, Read)
        else repr(term.value)
        if isinstance(term, Constant)
        else "it"
    )
    raise TypeError(f"a term of type {wanted} is needed here, and {said} is of type {term.type}")


Node: TypeAlias = (
    Constant | Parameter | Read | Not | AllOf | AnyOf | Equal | Less | Plus | If | Quantified | AtLeast
)
"""Every kind of term there is."""


def node(term: Term) -> Node:
    """The term as one of its kinds, for a `match` that has to name them all and ends in `assert_never`."""
    return cast(Node, term)


def children(term: Term) -> tuple[Term, ...]:
    """The terms directly below a term."""
    match node(term):
        case Read(index=index):
            return index
        case Not(operand=operand):
            return (operand,)
        case AllOf(operands=operands) | AnyOf(operands=operands):
            return operands
        case Equal(left=left, right=right) | Less(left=left, right=right) | Plus(left=left, right=right):
            return (left, right)
        case If(condition=condition, then=then, otherwise=otherwise):
            return (condition, then, otherwise)
        case Quantified(body=body) | AtLeast(body=body):
            return (body,)
        case Constant() | Parameter():
            return ()
        case other:
            assert_never(other)
