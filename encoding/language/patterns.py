"""Analysis of terms by their structure, and terms made from others by rewriting and replacement."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from fencepost.encoding.language.sorts import Sort, Value
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    AllOf,
    AnyOf,
    AtLeast,
    Binder,
    Constant,
    Equal,
    Family,
    If,
    In,
    Joined,
    Leaf,
    Less,
    Not,
    Pair,
    Parameter,
    Plus,
    Quantified,
    Read,
    Term,
    any_of,
    children,
    node,
)


def rebuilt(term: Term, parts: tuple[Term, ...]) -> Term:
    """Return the term with other terms directly below it, in the order of `children`."""
    given = (parts,) if isinstance(term, Read | Joined) else parts
    changed: dict[str, Any] = dict(zip(term.parts, given, strict=True))
    return replace(term, **changed) if changed else term


def mapped(term: Term, change: Callable[[Term], Term]) -> Term:
    """Return the term with each term directly below it changed; the term itself if nothing changes."""
    before = children(term)
    after = tuple(map(change, before))
    return term if all(a is b for a, b in zip(after, before, strict=True)) else rebuilt(term, after)


def rewritten(term: Term, change: Callable[[Read], Term]) -> Term:
    """Return the term with every read replaced by the term that `change` returns for it."""
    return change(term) if isinstance(term, Read) else mapped(term, lambda part: rewritten(part, change))


def conjuncts(term: Term) -> tuple[Term, ...]:
    """Return the parts of a conjunction, or the term itself if it is not a conjunction."""
    return term.operands if isinstance(term, AllOf) else (term,)


def flattened(guard: Term) -> tuple[Term, ...]:
    """Return the conjuncts of a guard, those of nested conjunctions included.

    Quantifiers and disjunctions are not opened.
    """
    if isinstance(guard, AllOf):
        return tuple(part for operand in guard.operands for part in flattened(operand))
    return (guard,)


def same_place(left: Read, right: Read) -> bool:
    """Return whether the two read the same variable for all arguments."""
    return left.family is right.family and all(map(same, left.index, right.index))


def same(left: Term, right: Term) -> bool:
    """Return whether the two are the same term, or equal constants."""
    if left is right:
        return True
    if isinstance(left, Constant) and isinstance(right, Constant):
        return type(left.value) is type(right.value) and left.value == right.value
    return False


def sorts_of(term: Term) -> Iterator[Sort | None]:
    """Yield sorts that together have every value of the term; None if its text does not tell."""
    match node(term):
        case Read(family=family):
            yield family.domain
        case Parameter(sort=sort):
            yield sort
        case If(then=then, otherwise=otherwise):
            yield from (*sorts_of(then), *sorts_of(otherwise))
        case Quantified(quantifier="maximum", body=body):
            yield from sorts_of(body)
        case Quantified(quantifier="count", bound=bound) if bound.sort.counted:
            yield Sort(f"0..{len(bound.sort)}", tuple(range(len(bound.sort) + 1)))
        case Constant(value=value):
            yield Sort(f"{term.type} {value}", (value,))
        case Not() | Joined() | Pair() | Binder() | In():
            yield None


def is_within(term: Term, sort: Sort) -> bool:
    """Return whether every value of the term is in the sort, as far as its text tells."""
    return all(
        own is not None and own.counted and all(value in sort for value in own) for own in sorts_of(term)
    )


def closed_conjuncts(
    term: Term, environment: Mapping[Parameter, Value]
) -> Iterator[tuple[Term, Mapping[Parameter, Value]]]:
    """Yield the conjuncts of a term. A universal quantifier has one conjunct for each value."""
    match node(term):
        case AllOf(operands=operands):
            for operand in operands:
                yield from closed_conjuncts(operand, environment)
        case Quantified(quantifier="forall", bound=bound, body=body):
            for value in bound.sort:
                yield from closed_conjuncts(body, {**environment, bound: value})
        case Not(operand=AnyOf(operands=operands)):
            for operand in operands:
                yield from closed_conjuncts(~operand, environment)
        case Not(operand=Quantified(quantifier="exists", bound=bound, body=body)):
            for value in bound.sort:
                yield from closed_conjuncts(~body, {**environment, bound: value})
        case AnyOf(operands=(*conditions, conclusion)):
            for part, inner in closed_conjuncts(conclusion, environment):
                yield any_of(*conditions, part), inner
        case Leaf() | Read() | Not() | AnyOf() | Pair() | If() | Binder() | In():
            yield term, environment


def plain_index(term: Term, environment: Mapping[Parameter, Value]) -> tuple[Value, ...]:
    """Return the one value of an index that does not depend on the state; an empty tuple if it does."""
    match node(term):
        case Constant(value=value):
            return (value,)
        case Parameter() as parameter:
            return (environment[parameter],)
        case Plus(left=left, right=right, sign=sign):
            a, b = plain_index(left, environment), plain_index(right, environment)
            return (int(a[0]) + sign * int(b[0]),) if a and b else ()  # type: ignore[arg-type]
        case Read() | Not() | Joined() | Equal() | Less() | If() | Binder() | In():
            return ()


def subterms(*terms: Term) -> Iterator[Term]:
    """Yield these terms and all terms in them, each once."""
    yield from new_subterms(terms, set())


def new_subterms(terms: Iterable[Term], seen: set[int]) -> Iterator[Term]:
    """Yield the subterms whose `id` is not in `seen`, and add their ids to it.

    The caller keeps the terms alive as long as `seen` is in use, because ids are reused.
    """
    ahead = list(terms)
    while ahead:
        term = ahead.pop()
        if id(term) not in seen:
            seen.add(id(term))
            ahead += children(term)
            yield term


def families_read(*terms: Term) -> frozenset[Family]:
    """Return the families that these terms read."""
    return frozenset(term.family for term in subterms(*terms) if isinstance(term, Read))


def sorts_in(families: Iterable[Family], terms: Iterable[Term]) -> tuple[Sort, ...]:
    """Return each sort of these families, and each that one of the terms itself binds or reads over, once."""
    found = dict.fromkeys(sort for family in families for sort in (family.domain, *family.over))
    for term in terms:
        match node(term):
            case Parameter(sort=sort):
                found[sort] = None
            case Quantified(bound=bound) | AtLeast(bound=bound):
                found[bound.sort] = None
            case Read(family=family):
                found.update(dict.fromkeys((family.domain, *family.over)))
            case Constant() | Not() | Joined() | Pair() | If() | In():
                pass
    return tuple(found)


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
        found = mapped(term, walk)
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
