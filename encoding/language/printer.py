"""Terms as text for people, shortened to fit on a line."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.terms import (
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
    Parameter,
    Plus,
    Quantified,
    Read,
    Term,
    node,
)

LEFT_OUT = "…"
"""The mark for a part of a term that is too deep to be shown."""

_DEPTH = 12
"""A depth greater than that of any term that fits on a line."""

_LOOSE, _COMPARED, _SUM, _ATOM = range(4)
"""Precedence of terms: quantifiers, `if`, `and`, `or`; then comparisons; then sums; then single words."""

Names = Mapping[Term, str]
"""Names of the parameters that are bound so far, and of plain values and counts that have a name."""


@dataclass(frozen=True, eq=False, repr=False)
class NamedVariable(Parameter):
    """A bound variable whose symbol is its name in the text, with a number if the name is taken."""


@dataclass(frozen=True, eq=False, repr=False)
class DefinitionName(Family):
    """The name of a definition. A read of it is printed as a call."""


def complete_text(term: Term, names: Names | None = None) -> str:
    """Return the term as text with nothing left out."""
    return _text(term, names or {}, sys.maxsize)


def line(term: Term, width: int = 100, names: Names | None = None) -> str:
    """Return the term as text, leaving out its deepest parts until at most `width` characters remain.

    The first level of the term is always shown, even if it is longer. `names` has the names of parameters
    that nothing in the term binds, of plain values, and of the counts of `at least`.
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
            return names.get(kind) or (str(value).lower() if isinstance(value, bool) else show(value))
        case Parameter(symbol=name):
            return names.get(kind, name)
        case Read(family=family, index=index):
            inside = ", ".join(_text(i, names, depth) for i in index)
            if isinstance(family, DefinitionName):
                return f"{family.name}({inside})"
            return f"{family.name}[{inside}]" if index else family.name
        case _ if depth == 0:
            return LEFT_OUT
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
        case Plus(right=right, sign=sign) if abs(sign) != 1:
            return f"{_part(right, names, depth)} * {sign}"
        case Plus(left=left, right=right, sign=sign):
            return _infix("+" if sign > 0 else "-", left, right, names, depth)
        case If(condition=condition, then=then, otherwise=otherwise):
            yes, holds, no = (_part(t, names, depth) for t in (then, condition, otherwise))
            return f"{yes} if {holds} else {no}"
        case Quantified(quantifier=quantifier, bound=bound, body=body):
            return _bound(quantifier, bound, body, names, depth)
        case AtLeast(count=count, bound=bound, body=body):
            return _bound(f"at least {names.get(kind, count)}", bound, body, names, depth)
        case In(member=member, chosen=chosen):
            return _infix("in", member, chosen, names, depth)


def _negation(operand: Term, names: Names, depth: int) -> str:
    """Return the negation as text. A negated comparison becomes the opposite one; other terms get a `not`."""
    match node(operand):
        case Equal(left=left, right=right):
            return _infix("!=", left, right, names, depth)
        case Less(left=left, right=right):
            return _infix("<=", right, left, names, depth)
        case Leaf() | Read() | Not() | Joined() | Plus() | If() | Binder() | In():
            return f"not {_part(operand, names, depth)}"


def _infix(operator: str, left: Term, right: Term, names: Names, depth: int) -> str:
    least = _ATOM if operator in "+-" else _SUM
    return f"{_part(left, names, depth, least)} {operator} {_part(right, names, depth, least)}"


def _part(term: Term, names: Names, depth: int, least: int = _ATOM) -> str:
    """Return a part of a larger term as text, in parentheses if its precedence is lower than `least`."""
    text = _text(term, names, depth - 1)
    return text if text == LEFT_OUT or _precedence(term) >= least else f"({text})"


def _precedence(term: Term) -> int:
    match node(term):
        case Constant() | Parameter() | Read():
            return _ATOM
        case Plus():
            return _SUM
        case Equal() | Less() | Not() | In():
            return _COMPARED
        case Joined() | If() | Binder():
            return _LOOSE


def _bound(quantifier: str, bound: Parameter, body: Term, names: Names, depth: int) -> str:
    name = _fresh(bound, names)
    return f"{quantifier} {name}: {_text(body, {**names, bound: name}, depth - 1)}"


def _fresh(bound: Parameter, names: Names) -> str:
    """Return an unused name: that of a named variable, else the first letter of the sort, `n` for numbers."""
    sort = bound.sort
    name = sort.name[0] if sort.type not in ("int", "bool") else "n"
    if isinstance(bound, NamedVariable):
        name = bound.symbol
    taken = [other for other in names.values() if other.rstrip("0123456789") == name]
    return f"{name}{len(taken) + 1}" if taken else name
