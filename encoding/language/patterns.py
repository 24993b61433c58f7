"""Patterns: what the text of a term is made of, and terms made from others by rewriting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import assert_never

from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.terms import (
    AllOf,
    AnyOf,
    AtLeast,
    Constant,
    Equal,
    If,
    Less,
    Not,
    Parameter,
    Plus,
    Quantified,
    Read,
    Term,
    children,
    node,
)


def rebuilt(term: Term, parts: tuple[Term, ...]) -> Term:
    """The term with other terms directly below it, in the order of `children`."""
    match node(term):
        case Read() as read:
            return replace(read, index=parts)
        case Not() as negation:
            return replace(negation, operand=parts[0])
        case AllOf() | AnyOf() as several:
            return replace(several, operands=parts)
        case Equal() | Less() | Plus() as pair:
            return replace(pair, left=parts[0], right=parts[1])
        case If() as choice:
            return replace(choice, condition=parts[0], then=parts[1], otherwise=parts[2])
        case Quantified() | AtLeast() as binder:
            return replace(binder, body=parts[0])
        case Constant() | Parameter():
            return term
        case other:
            assert_never(other)


def rewritten(term: Term, change: Callable[[Read], Term]) -> Term:
    """The term with every read replaced by what `change` makes of it."""
    if isinstance(term, Read):
        return change(term)
    return rebuilt(term, tuple(rewritten(part, change) for part in children(term)))


def conjuncts(term: Term) -> tuple[Term, ...]:
    """The parts of a conjunction; the term itself if it is none."""
    return term.operands if isinstance(term, AllOf) else (term,)


def same_place(left: Read, right: Read) -> bool:
    """The two read one variable, whatever the arguments."""
    return left.family is right.family and all(map(same, left.index, right.index))


def same(left: Term, right: Term) -> bool:
    """The two are one parameter, one constant, or the same sum of such."""
    if left is right:
        return True
    if isinstance(left, Constant) and isinstance(right, Constant):
        return left.value == right.value
    return False


def plain_index(term: Term, environment: Mapping[Parameter, Value]) -> tuple[Value, ...]:
    """The one value of an index that does not depend on the state; empty if it does."""
    match term:
        case Constant(value=value):
            return (value,)
        case Parameter():
            return (environment[term],)
        case Plus(left=left, right=right, sign=sign):
            a, b = plain_index(left, environment), plain_index(right, environment)
            return (int(a[0]) + sign * int(b[0]),) if a and b else ()  # type: ignore[arg-type]
    return ()
