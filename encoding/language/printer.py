"""Terms as text for people: as much of a term as fits in a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.language.state import show
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

LEFT_OUT = "…"
"""Stands for a part of a term that is too deep to be shown."""

_DEPTH = 12
"""Deeper than any term that fits in a line."""

_LOOSE, _COMPARED, _SUM, _ATOM = range(4)
"""How closely terms bind, from quantifiers, `if`, `and` and `or` to single words."""

Names = Mapping[Parameter, str]
"""What the parameters bound so far are called."""


def line(term: Term, width: int = 100, names: Names | None = None) -> str:
    """The term, without what lies too deep for the text to be at most `width` characters long.

    What a term consists of on its first level is always there, however long. `names` says what to write for parameters
    that nothing in it binds.
    """
    for depth in range(_DEPTH, 1, -1):
        text = _text(term, names or {}, depth)
        if len(text) <= width:
            return text
    return _text(term, names or {}, 1)


def _text(term: Term, names: Names, depth: int) -> str:
    kind = node(term)
    match kind:
        case Constant(value=value):
            return str(value).lower() if isinstance(value, bool) else show(value)
        case Parameter(name=name):
            return names.get(kind, name)
        case Read(family=family, index=index):
            inside = ", ".join(_text(i, names, depth) for i in index)
            return f"{family.name}[{inside}]" if index else family.name
    if depth == 0:
        return LEFT_OUT
    match kind:
        case Not(operand=operand):
            return _negation(operand, names, depth)
        case AllOf(operands=operands):
            return " and ".join(_part(o, names, depth, _COMPARED) for o in operands)
        case AnyOf(operands=operands):
            return " or ".join(_part(o, names, depth, _COMPARED) for o in operands)
        case Equal(left=left, right=right):
            return _infix("==", left, right, names, depth)
        case Less(left=left, right=right):
            return _infix("<", left, right, names, depth)
        case Plus(left=left, right=right, sign=sign):
            return _infix("+" if sign > 0 else "-", left, right, names, depth)
        case If(condition=condition, then=then, otherwise=otherwise):
            yes, holds, no = (_part(t, names, depth) for t in (then, condition, otherwise))
            return f"{yes} if {holds} else {no}"
        case Quantified(quantifier=quantifier, bound=bound, body=body):
            return _bound(quantifier, bound, body, names, depth)
        case AtLeast(count=count, bound=bound, body=body):
            return _bound(f"at least {count}", bound, body, names, depth)
        case other:
            assert_never(other)


def _negation(operand: Term, names: Names, depth: int) -> str:
    """A comparison is turned round, as it was written; anything else gets a `not`."""
    match operand:
        case Equal(left=left, right=right):
            return _infix("!=", left, right, names, depth)
        case Less(left=left, right=right):
            return _infix("<=", right, left, names, depth)
    return f"not {_part(operand, names, depth)}"


def _infix(operator: str, left: Term, right: Term, names: Names, depth: int) -> str:
    least = _ATOM if operator in "+-" else _SUM
    return f"{_part(left, names, depth, least)} {operator} {_part(right, names, depth, least)}"


def _part(term: Term, names: Names, depth: int, least: int = _ATOM) -> str:
    """A part of a larger term, in parentheses unless it binds at least that closely."""
    text = _text(term, names, depth - 1)
    return text if text == LEFT_OUT or _closeness(term) >= least else f"({text})"


def _closeness(term: Term) -> int:
    match term:
        case Constant() | Parameter() | Read():
            return _ATOM
        case Plus():
            return _SUM
        case Equal() | Less() | Not():
            return _COMPARED
    return _LOOSE


def _bound(quantifier: str, bound: Parameter, body: Term, names: Names, depth: int) -> str:
    name = _fresh(bound.sort, names)
    return f"{quantifier} {name}: {_text(body, {**names, bound: name}, depth - 1)}"


def _fresh(sort: Sort, names: Names) -> str:
    """A short name for a value of the sort: a letter of its own, `n` for numbers, with a number if it is taken."""
    letter = sort.name[0] if sort.type not in ("int", "bool") else "n"
    taken = [name for name in names.values() if name.rstrip("0123456789") == letter]
    return f"{letter}{len(taken) + 1}" if taken else letter
