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

from support.slips.plain_values import (
    NOW,
    OUTSIDE,
    BadlyDefined,
    NoMeaning,
    Place,
    Plain,
    Update,
    chosen,
    conjunction,
    disjunction,
    implication,
    known,
    plain,
    truth,
)

all_of, any_of, implies, if_ = conjunction, disjunction, implication, chosen


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


def is_one_of(value: object, values: Sequence[object]) -> Plain:
    return disjunction(*(Plain(plain(value)) == other for other in values))


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

    def __iter__(self) -> Iterator[object]:
        raise NoMeaning(f"{self.name} is no sort")

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
