"""Patterns: what the text of a term is made of, and terms made from others by rewriting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

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
    node,
)


def rewritten(term: Term, change: Callable[[Read], Term]) -> Term:
    """The term with every read replaced by what `change` makes of it."""
    kind = node(term)
    match kind:
        case Read():
            return change(kind)
        case Not(operand=operand):
            return replace(kind, operand=rewritten(operand, change))
        case AllOf(operands=operands) | AnyOf(operands=operands):
            return replace(kind, operands=tuple(rewritten(o, change) for o in operands))
        case Equal(left=left, right=right) | Less(left=left, right=right) | Plus(left=left, right=right):
            return replace(kind, left=rewritten(left, change), right=rewritten(right, change))
        case If(condition=condition, then=then, otherwise=otherwise):
            parts = [rewritten(part, change) for part in (condition, then, otherwise)]
            return replace(kind, condition=parts[0], then=parts[1], otherwise=parts[2])
        case Quantified(body=body) | AtLeast(body=body):
            return replace(kind, body=rewritten(body, change))
        case Constant() | Parameter():
            return term
        case other:
            assert_never(other)


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
