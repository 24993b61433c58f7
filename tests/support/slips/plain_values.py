"""Plain values in one state, with the operators of the language and those of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Update:
    """A value for a place, if the condition holds."""

    place: Place
    value: object
    when: object


class Plain:
    """A plain value, with the operators of the language, and all others as the value has them."""

    def __init__(self, value: object, place: Place | None = None) -> None:
        self.__dict__.update(_plain=value, _place=place)

    def __getattr__(self, name: str) -> object:
        return getattr(known(self), name)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(name)

    def set(self, value: object, when: object = True) -> Update:
        place: Place | None = self.__dict__["_place"]
        if place is None:
            raise NoMeaning("only a state variable can be set")
        return Update(place, plain(value), truth(when))

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

    def __mul__(self, other: object) -> Plain:
        return _computed(lambda a, b: a * b, self, other)

    __rmul__ = __mul__

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


def implication(condition: object, conclusion: object) -> Plain:
    return disjunction(negation(condition), conclusion)


def chosen(condition: object, then: object, otherwise: object) -> Plain:
    found = truth(condition)
    return Plain(OUTSIDE if found is OUTSIDE else plain(then if found else otherwise))
