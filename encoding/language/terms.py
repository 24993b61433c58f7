"""Terms: what guards, updates and properties are made of.

A term is data, a small immutable tree. It evaluates nothing itself: each reading (plain values in
`concrete`, formulas in `formulas`) walks the same tree. Python's `if`, `and` and `or` cannot be used on a
term, because they would decide something before a reading does; `&`, `|`, `~`, `if_` and the quantifiers
are part of the tree instead.

    exists(entry, lambda e: (e < last) & stored[bookie, e])
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, partial
from math import comb
from typing import Any, NoReturn, TypeAlias, assert_never, cast

from fencepost.encoding.errors import ModelError
from fencepost.encoding.saying import is_name

Value: TypeAlias = bool | int | str | Enum
"""A plain value: a truth value, a small integer, the label of a bookie or client, or a member of an Enum."""

TermLike: TypeAlias = "Term | bool | int | str | Enum"
"""Where a term is expected, a plain value may stand and becomes a constant."""


MOST_VALUES = 1000
"""Values of a sort, at most: far more than anybody's bookies, entries or fragments in an instance that is proved."""


@dataclass(frozen=True)
class Sort:
    """A non-empty set of values: the domain of a variable, or an index set to quantify over.

    `listed` are all its values, in order: all Booleans, all integers, or all labels (strings or members of one
    Enum). Integers of different sorts may be compared and added; labels only compared within their own sort, or
    within the sort they are `part_of`, as recoverers are clients. A sort that lists none is of any size.
    """

    name: str
    listed: tuple[Value, ...] | None
    part_of: str | None = None

    def __post_init__(self) -> None:
        if self.listed is None:
            return
        if len(self.listed) > MOST_VALUES:
            raise _too_large(self.name, len(self.listed))
        if not self.listed or len(set(self.listed)) != len(self.listed):
            raise ValueError(f"sort {self.name}: values {self.listed} must be distinct, and at least one")
        for value in self.listed:
            label = value.value if isinstance(value, Enum) else value
            if isinstance(label, str) and not is_name(label):
                raise ModelError(f"sort {self.name}: value {label!r}; write a word that is shown on one line")

    @property
    def counted(self) -> bool:
        """The values are listed; otherwise there may be any number of them."""
        return self.listed is not None

    @property
    def values(self) -> tuple[Value, ...]:
        """All values, in order. Raises TypeError for a sort of any size: what needs them is no reading of it."""
        if self.listed is None:
            raise TypeError(f"{self.name} is a sort of any size: nothing can go through its values")
        return self.listed

    @property
    def type(self) -> str:
        """`bool`, `int`, or the name of this sort of labels: what decides which terms may be compared."""
        if self.listed is None:
            return self.part_of or self.name
        first = self.listed[0]
        if isinstance(first, bool):
            return "bool"
        return "int" if isinstance(first, int) else self.part_of or self.name

    def __iter__(self) -> Iterator[Value]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)


BOOL = Sort("bool", (False, True))


def integers(low: int, high: int) -> Sort:
    """The integers from `low` to `high`, both included."""
    if high - low >= MOST_VALUES:
        raise _too_large(f"{low}..{high}", high - low + 1)
    return Sort(f"{low}..{high}", tuple(range(low, high + 1)))


def _too_large(name: str, count: int) -> ModelError:
    return ModelError(f"sort {name}: {count:,} values, and {MOST_VALUES:,} are the most; make it smaller")


def labels(name: str, prefix: str, count: int) -> Sort:
    """`count` interchangeable things: labels("bookie", "b", 3) is b1, b2, b3."""
    if count > MOST_VALUES:
        raise _too_large(name, count)
    return Sort(name, tuple(f"{prefix}{i}" for i in range(1, count + 1)))


def subsets(name: str, of: Sort, size: int) -> Sort:
    """The subsets of `size` values of a sort of labels: subsets("quorum", bookie, 2) has `b1 b3`.

    Raises ValueError if there are none.
    """
    if comb(len(of), size) > MOST_VALUES:
        raise _too_large(name, comb(len(of), size))
    chosen = (" ".join(map(str, values)) for values in itertools.combinations(of, size))
    return Sort(name, tuple(values or "nobody" for values in chosen))


def is_in(value: Value, subset: Value) -> bool:
    """Whether a value belongs to one of the `subsets` of its sort."""
    return str(value) in str(subset).split()


def of_any_size(name: str) -> Sort:
    """A sort of which nothing is known but that it is not empty: quantified over, never counted (`all_sizes`)."""
    return Sort(name, None)


def members(enum: type[Enum]) -> Sort:
    """The members of an Enum, in their order of definition."""
    if not (isinstance(enum, type) and issubclass(enum, Enum)):
        raise ModelError(f"members of {enum!r:.80}, which is no Enum; give the class itself")
    return Sort(enum.__name__, tuple(enum))


def _no_sort(given: object) -> str:
    """What to write instead of something that is no sort where one is needed."""
    if isinstance(given, type) and issubclass(given, Enum):
        return f"{given.__name__} is an Enum, and a sort is needed here; write members({given.__name__})"
    return f"{given!r:.80} is no sort; write BOOL, integers(0, 3), labels(…), members(SomeEnum), or a sort of the state"


def type_of(value: Value) -> str:
    """The type of a plain value. A string fits any sort of labels and has the type `label`."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    return type(value).__name__ if isinstance(value, Enum) else "label"


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
                raise ModelError(_no_sort(sort))

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


_fresh = itertools.count()


def bind(sort: Sort, name: str | None = None) -> Parameter:
    """A new parameter over `sort`, different from every other."""
    return Parameter(sort.type, name or f"{sort.name}~{next(_fresh)}", sort)


def _quantified(quantifier: str, sort: Sort, body: Callable[[Any], TermLike], expected: str) -> Term:
    bound = bind(sort)
    return Quantified(expected, quantifier, bound, as_type(body(bound), expected))


def forall(sort: Sort, body: Callable[[Any], TermLike]) -> Term:
    """`body` holds of every value of `sort`."""
    return _quantified("forall", sort, body, "bool")


def exists(sort: Sort, body: Callable[[Any], TermLike]) -> Term:
    """`body` holds of some value of `sort`."""
    return _quantified("exists", sort, body, "bool")


def forall_over(sorts: Sequence[Sort], body: Callable[..., TermLike]) -> Term:
    """`body` holds of all values of the sorts, taken together: forall_over((bookie, entry), lambda b, e: …)."""
    return _nested(forall, sorts, body)


def exists_over(sorts: Sequence[Sort], body: Callable[..., TermLike]) -> Term:
    """`body` holds of some values of the sorts, taken together."""
    return _nested(exists, sorts, body)


def _nested(
    quantify: Callable[[Sort, Callable[[Any], TermLike]], Term],
    sorts: Sequence[Sort],
    body: Callable[..., TermLike],
) -> Term:
    first, *others = sorts
    if not others:
        return quantify(first, body)
    return quantify(first, lambda value: _nested(quantify, others, partial(body, value)))


def everywhere(sort: Sort, update: Callable[[Any], Update]) -> list[Update]:
    """The update for each value of `sort`: one by one if they are listed, else one update over all of them."""
    if sort.counted:
        return [update(value) for value in sort]
    bound = bind(sort)
    inner = update(bound)
    return [replace(inner, over=(bound, *inner.over))]


def maximum(sort: Sort, body: Callable[[Any], TermLike]) -> Term:
    """The largest integer that `body` takes over `sort`."""
    return _quantified("maximum", sort, body, "int")


def at_least(count: int, sort: Sort, body: Callable[[Any], TermLike]) -> Term:
    """`body` holds of `count` or more values of `sort`."""
    bound = bind(sort)
    return AtLeast("bool", count, bound, as_type(body(bound), "bool"))


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
