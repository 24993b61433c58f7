"""State: families of variables over index sets, and the choices that are made before anything happens."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, wraps
from typing import ClassVar, TypeVar, cast

from fencepost.encoding.language.author_errors import fits_in
from fencepost.encoding.language.sorts import BOOL, Sort, Value
from fencepost.encoding.language.terms import Family, Read, Term, TermLike


def family(domain: Sort, *over: Sort, initial: Value | Callable[..., Value] | None = None) -> Family:
    """Declare a state variable for each combination of values of `over`."""
    return Family(domain, over, initial, None)


def variable(domain: Sort, initial: Value | None = None) -> Read:
    """Declare a single state variable; the attribute it is assigned to becomes the term that reads it."""
    return cast(Read, Family(domain, (), initial, None))


def choice(*over: Sort, fault: str) -> Family:
    """Declare a fault chosen up front for each index, such as the loss of one sending."""
    return Family(BOOL, over, None, fault)


def named(family: Family, index: tuple[object, ...]) -> str:
    """A member of a family as people read it: `stored[b1, 2]`."""
    return f"{family.name}[{', '.join(map(show, index))}]" if index else family.name


@dataclass(frozen=True)
class Variable:
    """One member of a family: a place in the state."""

    family: Family
    index: tuple[Value, ...]
    place: int

    @cached_property
    def name(self) -> str:
        """As people read it: `stored[b1, 2]`."""
        return named(self.family, self.index)

    @property
    def domain(self) -> Sort:
        return self.family.domain

    @property
    def is_choice(self) -> bool:
        return self.family.fault is not None


def decode(variable: Variable, true_bits: list[bool]) -> Value:
    """The value whose Booleans these are: one for each value of the domain but the first, which is meant if none is true."""
    position = true_bits.index(True) + 1 if any(true_bits) else 0
    return variable.domain.values[position]


class StateSpace:
    """Base of a protocol's state: assign families to attributes, and they take the attribute's name.

    class Ledger(StateSpace):
        def __init__(self, bookies: int) -> None:
            self.bookie = labels("bookie", "b", bookies)
            self.fenced = family(BOOL, self.bookie)
            self.closed = variable(BOOL)

    `stores` names those who hold state but do nothing themselves, such as a metadata store, and the families they
    hold: diagrams show a step that changes one of them as a message to its store.
    """

    stores: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __setattr__(self, name: str, value: object) -> None:
        if isinstance(value, Family):
            if hasattr(StateSpace, name):
                raise TypeError(f"{name}: a state space has an attribute of that name; choose another")
            value.name = name
            families: list[Family] = self.__dict__.setdefault("_families", [])
            places = self.__dict__.get("_places", 0)
            self.__dict__["_places"] = places + fits_in(name, value.over, places)
            families.append(value)
            if not value.over:
                value = value[()]
        super().__setattr__(name, value)

    @property
    def families(self) -> tuple[Family, ...]:
        """Every family, in order of declaration."""
        return tuple(self.__dict__.get("_families", ()))

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Every state variable and choice, in order of declaration; `place` counts from 0."""
        places = [(f, index) for f in self.families for index in itertools.product(*f.over)]
        return tuple(Variable(f, index, place) for place, (f, index) in enumerate(places))

    @cached_property
    def places(self) -> dict[tuple[Family, tuple[Value, ...]], Variable]:
        """Each variable by its family and index values."""
        return {(v.family, v.index): v for v in self.variables}


Definition = TypeVar("Definition", bound=Callable[..., Term])


def definition(method: Definition) -> Definition:
    """A definition over the state that is written out once for each combination of arguments.

    Called again with the same arguments it returns the same term, which a reading then needs to translate only
    once. Pays where definitions are built on definitions: the LAC, and what follows from it.
    """
    name = f"_definition of {method.__module__}.{method.__qualname__}"

    @wraps(method)
    def shared(self: StateSpace, *arguments: TermLike) -> Term:
        known: dict[tuple[object, ...], tuple[Term, tuple[TermLike, ...]]] = self.__dict__.setdefault(
            name, {}
        )
        key = tuple(id(a) if isinstance(a, Term) else a for a in arguments)
        if key not in known:
            known[key] = method(self, *arguments), arguments  # keeps the arguments, and so their ids, alive
        return known[key][0]

    return shared  # type: ignore[return-value]


def show(value: object) -> str:
    """A plain value as people and JSON read it."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def show_all(values: Mapping[str, object]) -> str:
    """Settings, or faults and how many of each, on one line: `lost=1 crashes=2`."""
    return " ".join(f"{name}={show(value)}" for name, value in values.items())


def amount(number: int, noun: str) -> str:
    """So many of them: 1 round, 2 rounds."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
