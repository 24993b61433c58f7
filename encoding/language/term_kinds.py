"""The kinds of terms, for whoever takes a term apart."""

from __future__ import annotations

from typing import TypeAlias, assert_never, cast

from fencepost.encoding.language.terms import (
    AllOf,
    AnyOf,
    AtLeast,
    Constant,
    Equal,
    If,
    In,
    Less,
    Not,
    Parameter,
    Plus,
    Quantified,
    Read,
    Term,
)

Node: TypeAlias = (
    Constant | Parameter | Read | Not | AllOf | AnyOf | Equal | Less | Plus | If | Quantified | AtLeast | In
)
"""The kinds of terms."""


def node(term: Term) -> Node:
    """Return the term as one of its kinds, for a `match` that names them all and ends in `assert_never`."""
    return cast(Node, term)


def children(term: Term) -> tuple[Term, ...]:
    """Return the terms directly below a term."""
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
        case In(member=member, chosen=chosen):
            return (member, chosen)
        case Constant() | Parameter():
            return ()
        case other:
            assert_never(other)
