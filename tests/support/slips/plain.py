"""The names of the language, over plain values: a second meaning of a protocol's text, in one state.

A file of a protocol runs with this module in place of `fencepost.encoding.language`. Its `build` then
computes: a state variable is its value in the state `NOW`, a quantifier is a loop, an action is its guard and
its updates for these arguments. Python's own operators mean what they mean on the values. Nothing is shared
with the language.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

Place = tuple[str, tuple[object, ...]]
"""The name of a family, and an index."""


class NoMeaning(Exception):
    """A text that says nothing on plain values, such as a conjunction of numbers."""


class BadlyDefined(Exception):
    """A text that says nothing in this state, such as one that reads a variable that does not exist."""


class Outside:
    """The value of a variable that does not exist."""


OUTSIDE = Outside()


@dataclass
class Now:
    """The state in which the text is read; None: the initial one, as it is declared."""

    values: Mapping[Place, object] | None = None


NOW = Now()


class Plain:
    """A plain value, with the operators of the language, and all others as the value has them."""

    def __init__(self, value: object, place: Place | None = None) -> None:
        self.__dict__.update(_plain=value, _place=place)

    def __getattr__(self, name: str) -> object:
        return getattr(known(self), name)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(name)

    def set(self, value: object, when: object = True) -> Update:
        if self._place is None:
            raise NoMeaning("only a state variable can be set")
        return Update(self._place, plain(value), truth(when))

    def __invert__(self) -> Plain:
        return negation(self)

    def __and__(self, other: object) -> Plain:
        return conjunction(self, other)

    def __rand__(self, other: object) -> Plain:
        return conjunction(other, self)

    def __or__(self, other: object) -> Plain:
        return disjunction(self, other)

    def __ror__(self, other: object) -> Plain:
        return disjunction(other, self)

    def __eq__(self, other: object) -> Plain:  # type: ignore[override]
        return _computed(lambda a, b: bool(a == b), self, other)

    def __ne__(self, other: object) -> Plain:  # type: ignore[override]
        return _computed(lambda a, b: bool(a != b), self, other)

    def __lt__(self, other: object) -> Plain:
        return _computed(lambda a, b: a < b, self, other)

    def __gt__(self, other: object) -> Plain:
        return _computed(lambda a, b: a > b, self, other)

    def __le__(self, other: object) -> Plain:
        return _computed(lambda a, b: a <= b, self, other)

    def __ge__(self, other: object) -> Plain:
        return _computed(lambda a, b: a >= b, self, other)

    def __add__(self, other: object) -> Plain:
        return _computed(lambda a, b: a + b, self, other)

    def __radd__(self, other: object) -> Plain:
        return _computed(lambda a, b: b + a, self, other)

    def __sub__(self, other: object) -> Plain:
        return _computed(lambda a, b: a - b, self, other)

    def __rsub__(self, other: object) -> Plain:
        return _computed(lambda a, b: b - a, self, other)

    def __hash__(self) -> int:
        return hash(known(self))

    def __bool__(self) -> bool:
        return bool(known(self))

    def __str__(self) -> str:
        return str(known(self))

    def __repr__(self) -> str:
        return repr(known(self))

    def __format__(self, form: str) -> str:
        return format(known(self), form)

    def __len__(self) -> int:
        return len(known(self))

    def __iter__(self) -> Iterator[Any]:
        return iter(known(self))

    def __contains__(self, value: object) -> bool:
        return plain(value) in known(self)

    def __index__(self) -> int:
        return _index(known(self))


def _index(value: Any) -> int:
    found = value.__index__()
    assert isinstance(found, int)
    return found


def plain(value: object) -> Any:
    """Return the value without its wrapping."""
    return value.__dict__["_plain"] if isinstance(value, Plain) else value


def known(value: object) -> Any:
    """Return the plain value. Raises BadlyDefined if there is none."""
    found = plain(value)
    if found is OUTSIDE:
        raise BadlyDefined("reads a variable that does not exist")
    return found


def truth(value: object) -> Any:
    """Return a Boolean, or OUTSIDE. Raises NoMeaning for a number or a label."""
    found = plain(value)
    if found is not OUTSIDE and not isinstance(found, bool):
        raise NoMeaning(f"{found!r} stands for a truth")
    return found


def _computed(operation: Callable[[Any, Any], object], one: object, other: object) -> Plain:
    a, b = plain(one), plain(other)
    return Plain(OUTSIDE if OUTSIDE in (a, b) else operation(a, b))


def negation(value: object) -> Plain:
    found = truth(value)
    return Plain(found if found is OUTSIDE else not found)


def conjunction(*values: object) -> Plain:
    found = [truth(value) for value in values]
    return Plain(False if False in found else OUTSIDE if OUTSIDE in found else True)


def disjunction(*values: object) -> Plain:
    return negation(conjunction(*map(negation, values)))


def implies(condition: object, conclusion: object) -> Plain:
    return disjunction(negation(condition), conclusion)


all_of, any_of = conjunction, disjunction


def if_(condition: object, then: object, otherwise: object) -> Plain:
    found = truth(condition)
    return Plain(OUTSIDE if found is OUTSIDE else plain(then if found else otherwise))


class Sort:
    """A set of plain values."""

    def __init__(self, name: str, listed: Sequence[object], part_of: str | None = None) -> None:
        if not listed or len(set(listed)) != len(listed):
            raise NoMeaning("values are not distinct")
        self.name, self.values = name, tuple(listed)

    def __iter__(self) -> Iterator[object]:
        return iter(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def held(self, value: object) -> object:
        """Return the value of the sort that is equal to this one. Raises BadlyDefined."""
        if plain(value) not in self.values:
            raise BadlyDefined(f"{plain(value)!r} is outside {self.name}")
        return self.values[self.values.index(plain(value))]


BOOL = Sort("bool", (False, True))


def integers(low: int, high: int) -> Sort:
    return Sort(f"{low}..{high}", range(low, high + 1))


def labels(name: str, prefix: str, count: int) -> Sort:
    return Sort(name, [f"{prefix}{number}" for number in range(1, count + 1)])


def members(enum: type[Enum]) -> Sort:
    return Sort(enum.__name__, list(enum))


def forall(sort: Sort, body: Callable[[Any], object]) -> Plain:
    return conjunction(*(body(Plain(value)) for value in sort))


def exists(sort: Sort, body: Callable[[Any], object]) -> Plain:
    return disjunction(*(body(Plain(value)) for value in sort))


def at_least(count: object, sort: Sort, body: Callable[[Any], object]) -> Plain:
    found = [truth(body(Plain(value))) for value in sort]
    if OUTSIDE in (*found, plain(count)):
        return Plain(OUTSIDE)
    return Plain(bool(sum(found) >= plain(count)))


def maximum(sort: Sort, body: Callable[[Any], object]) -> Plain:
    found = [plain(body(Plain(value))) for value in sort]
    return Plain(OUTSIDE if OUTSIDE in found else max(found))


def forall_over(sorts: Sequence[Sort], body: Callable[..., object]) -> Plain:
    return conjunction(*(body(*map(Plain, values)) for values in itertools.product(*sorts)))


def exists_over(sorts: Sequence[Sort], body: Callable[..., object]) -> Plain:
    return disjunction(*(body(*map(Plain, values)) for values in itertools.product(*sorts)))


@dataclass(eq=False)
class Family:
    """State variables of one name."""

    domain: Sort
    over: tuple[Sort, ...]
    initial: Any = None
    fault: str | None = None
    name: str = ""

    @property
    def places(self) -> Iterator[Place]:
        return ((self.name, index) for index in itertools.product(*self.over))

    def first(self, place: Place) -> object:
        """Return the initial value at a place. Raises BadlyDefined if it is outside the domain."""
        initial = self.initial(*place[1]) if callable(self.initial) else self.initial
        return self.domain.values[0] if initial is None else self.domain.held(initial)

    def __getitem__(self, index: object) -> Plain:
        given = tuple(map(plain, index if isinstance(index, tuple) else (index,)))
        if len(given) != len(self.over):
            raise NoMeaning(f"{self.name}: {len(given)} indices")
        exists_ = all(value in sort.values for value, sort in zip(given, self.over, strict=True))
        if not exists_:
            return Plain(OUTSIDE, (self.name, given))
        place = self.name, tuple(s.held(value) for value, s in zip(given, self.over, strict=True))
        return Plain(self.first(place) if NOW.values is None else NOW.values[place], place)


def family(domain: Sort, *over: Sort, initial: object = None) -> Family:
    return Family(domain, over, initial)


def variable(domain: Sort, initial: object = None) -> Family:
    return Family(domain, (), initial)


def choice(*over: Sort, fault: str) -> Family:
    return Family(BOOL, over, fault=fault)


class StateSpace:
    """The base class of the author's state: it collects the families that are assigned to it."""

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, Family):
            value.name = name
            self.__dict__.setdefault("families_", []).append(value)
            value = value if value.over else value[()]
        super().__setattr__(name, value)


def definition(method: Callable[..., Any]) -> Callable[..., Any]:
    return method


def message(*_: object, **__: object) -> None:
    return None


to_each = message


def parameter(default: object, _: str) -> Any:
    return default


def switch(values: Sequence[object], *_: str) -> Any:
    return values[0]


@dataclass(frozen=True)
class Update:
    """A value for a place, if the condition holds."""

    place: Place
    value: object
    when: object


@dataclass(frozen=True)
class Action:
    """A guard and updates, in one state and for one combination of arguments."""

    when: object
    then: Sequence[Update]
    actor: object
    received: object = None
    sent: Sequence[object] = ()
    note: str = ""
    fault: str | None = None

    @property
    def enabled(self) -> object:
        return known(truth(self.when))


@dataclass(frozen=True)
class Property:
    """A condition and its witness, in one state."""

    name: str
    meaning: str
    holds: object
    witness: object
    witness_meaning: str
    explain: object = None


@dataclass(frozen=True)
class System:
    """The actions and properties in one state."""

    state: Any
    actions: Sequence[Any]
    properties: Sequence[Property]
    caps: Mapping[str, int] = field(default_factory=dict)
    default_rounds: int | None = None


@dataclass(frozen=True)
class Protocol:
    """What the file assigns to PROTOCOL."""

    name: str
    summary: str
    defaults: Any
    build: Callable[[Any], System]


def each(handler: Callable[..., Action], state: object, *over: Sort) -> list[Action]:
    return [handler(state, *map(Plain, values)) for values in itertools.product(*over)]


Message = Parameter = Read = Term = TermLike = Trace = object
