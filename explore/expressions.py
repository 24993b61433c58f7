"""Expressions over the state as users type them, such as `stored[b1, 1] == 0 and status == closed`.

They have the syntax of Python and become terms. Nothing is executed.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

from fencepost.encoding.errors import BadInput, unknown_name
from fencepost.encoding.language.sorts import Sort, Value, show
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Constant, Family, Read, Term, lift

COMPARISONS: dict[type[ast.cmpop], Callable[[Term, Term], Term]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
LISTING = "fencepost explore PROTOCOL"
"""The command that shows all state variables."""

TRUTHS = {"yes": True, "no": False, "true": True, "false": False}


@dataclass(frozen=True)
class Reader:
    """A parser of expressions over the state of one system."""

    system: System

    def read(self, text: str) -> Term:
        """Return the expression as a term. Raises BadInput."""
        try:
            body = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            hint = "quote labels that are not a word, as in status == 'in-recovery'"
            raise BadInput(f"{text}: not an expression; {hint}") from error
        return self._term(body)

    @cached_property
    def _families(self) -> dict[str, Family]:
        return {v.family.name: v.family for v in self.system.variables}

    @cached_property
    def _labels(self) -> dict[tuple[str, str], Value]:
        """The labels by their type and their text."""
        sorts = dict.fromkeys(sort for f in self._families.values() for sort in (f.domain, *f.over))
        return {
            (sort.type, show(value)): value
            for sort in sorts
            if sort.type not in ("bool", "int")
            for value in sort
        }

    def _term(self, node: ast.expr, wanted: str = "") -> Term:
        """Return the term of a part; a bare label has the type `wanted`."""
        try:
            return self._parsed(node, wanted)
        except TypeError as error:
            raise BadInput(f"{ast.unparse(node)}: yes or no, numbers and labels cannot be mixed") from error

    def _parsed(self, node: ast.expr, wanted: str) -> Term:
        match node:
            case ast.Name(id=name) if name in self._families:
                return self._variable(node, name, [])
            case ast.Name(id=name) if (wanted, name) not in self._labels and name.lower() in TRUTHS:
                return lift(TRUTHS[name.lower()])
            case ast.Name(id=label) | ast.Constant(value=str(label)):
                return self._label(label, wanted)
            case ast.Constant(value=bool() | int() as value):
                return lift(value)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
                return lift(-value)
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                parts = index.elts if isinstance(index, ast.Tuple) else [index]
                return self._variable(node, name, parts)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ~self._term(operand)
            case ast.BoolOp(op=op, values=values):
                joined = operator.and_ if isinstance(op, ast.And) else operator.or_
                return reduce(joined, (self._term(value) for value in values))
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                plus = operator.add if isinstance(op, ast.Add) else operator.sub
                result: Term = plus(self._term(left), self._term(right))
                return result
            case ast.Compare():
                return reduce(operator.and_, self._comparisons(node))
        valid = "variables, values, ==, !=, <, <=, >, >=, +, -, and, or, not"
        raise BadInput(f"{ast.unparse(node)}: not part of an expression; valid: {valid}")

    def _comparisons(self, node: ast.Compare) -> Iterator[Term]:
        sides = [node.left, *node.comparators]
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            if type(op) not in COMPARISONS:
                raise BadInput(f"{ast.unparse(node)}: compare with ==, !=, <, <=, > or >=")
            yield COMPARISONS[type(op)](*self._sides(left, right))

    def _sides(self, left: ast.expr, right: ast.expr) -> tuple[Term, Term]:
        """Return both sides of a comparison; a label takes its type from the other side."""
        if self._is_label(left):
            second = self._term(right)
            return self._term(left, second.type), second
        first = self._term(left)
        return first, self._term(right, first.type)

    def _is_label(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name | ast.Constant) and not (
            isinstance(node, ast.Name) and node.id in self._families
        )

    def _label(self, label: str, wanted: str) -> Term:
        if (wanted, label) in self._labels:
            return Constant(wanted, self._labels[wanted, label])
        if wanted in ("", "bool", "int"):
            raise unknown_name(label, "variable", self._families, LISTING)
        raise unknown_name(label, "value", (shown for kind, shown in self._labels if kind == wanted))

    def _variable(self, node: ast.expr, name: str, index: list[ast.expr]) -> Term:
        """Return a read of a state variable, with its indices given as values."""
        if name not in self._families:
            raise unknown_name(name, "variable", self._families, LISTING)
        family = self._families[name]
        if len(index) != len(family.over):
            names = ", ".join(sort.name for sort in family.over)
            raise BadInput(f"{ast.unparse(node)}: {name} has {len(family.over)} indices ({names})")
        values = [self._index(part, sort) for part, sort in zip(index, family.over, strict=True)]
        return Read(family.domain.type, family, tuple(map(lift, values)))

    def _index(self, node: ast.expr, sort: Sort) -> Value:
        given = ast.unparse(node).strip("'\"")
        for value in sort:
            if show(value) == given:
                return value
        raise unknown_name(given, sort.name, map(show, sort))
