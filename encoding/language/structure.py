"""Terms compared by their structure, and terms with other terms in place of parameters."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import fields

from fencepost.encoding.language.patterns import rebuilt
from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    AtLeast,
    Constant,
    Equal,
    Family,
    If,
    In,
    Joined,
    Not,
    Pair,
    Parameter,
    Quantified,
    Read,
    Term,
    children,
    node,
)


class _Same:
    """A parameter, equal only to itself. Terms have no equality that Python could ask."""

    def __init__(self, of: Parameter) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.of is other.of

    def __hash__(self) -> int:
        return id(self.of)


def key(term: Term) -> Hashable:
    """Return a value that is equal for terms of one structure, whatever the names of their bound variables.

    Parameters that nothing in the term binds are told apart by identity, and so are families.
    """
    return _key(term, {})


def pattern(terms: Sequence[Term]) -> Hashable:
    """Return a value that is equal for terms that differ only in which parameters they have.

    The parameters that nothing binds count by their sorts, in the order in which they come.
    """
    free = list(dict.fromkeys(parameter for term in terms for parameter in term.free))
    numbers = {parameter: number for number, parameter in enumerate(free)}
    return tuple(parameter.sort for parameter in free), tuple(_key(term, numbers) for term in terms)


def _key(term: Term, bound: Mapping[Parameter, int]) -> Hashable:
    match node(term):
        case Parameter() as own:
            return ("bound", bound[own]) if own in bound else _Same(own)
        case Constant(value=value):
            return type(value), value
        case Quantified(bound=own) | AtLeast(bound=own):
            bound = {**bound, own: len(bound)}
        case Read() | Not() | Joined() | Pair() | If() | In():
            pass
    parts = tuple(_key(child, bound) for child in children(term))
    return type(term), tuple(_label(getattr(term, field.name)) for field in fields(term)), parts


def _label(part: object) -> Hashable:
    """Return a field of a term, if it is not a term itself; of a bound variable the values."""
    match part:
        case Parameter(sort=sort):
            return sort
        case Sort():
            return part
        case Family() | str() | int():
            return part
        case _:
            return None


def replaced(
    term: Term,
    parameters: Mapping[Parameter, Term],
    change: Callable[[Read], Term] | None = None,
) -> Term:
    """Return the term with these terms in place of parameters, and each read replaced by `change`.

    An equality with a constant that a parameter cannot have becomes false. The term itself is returned if
    nothing in it is replaced.
    """
    known: dict[int, Term] = {}

    def walk(term: Term) -> Term:
        if change is None and not any(parameter in parameters for parameter in term.free):
            return term
        if id(term) not in known:
            known[id(term)] = walked(term)
        return known[id(term)]

    def walked(term: Term) -> Term:
        if isinstance(term, Parameter):
            return parameters.get(term, term)
        before = children(term)
        after = tuple(map(walk, before))
        found = term if all(a is b for a, b in zip(after, before, strict=True)) else rebuilt(term, after)
        if isinstance(found, Read):
            return found if change is None else change(found)
        return _decided(found) if isinstance(found, Equal) else found

    return walk(term)


def _decided(equal: Equal) -> Term:
    """Return an equality of a parameter with a constant as true or false, if it is."""
    for one, other in ((equal.left, equal.right), (equal.right, equal.left)):
        if one is other:
            return TRUE
        if isinstance(one, Parameter) and isinstance(other, Constant) and one.sort.counted:
            if other.value not in one.sort.values:
                return FALSE
            if len(one.sort) == 1:
                return TRUE
    return equal
