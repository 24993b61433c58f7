"""Refusal of the Python operators that would leave the language without a word.

A term has no value while the author's code runs. Most operators of Python can be given a meaning on terms, or
fail on them by themselves. The ones here would return a plain value: a set compares hashes, `str` describes
the tree, and `is` compares objects. A guard that uses one is always true or always false.
"""

from __future__ import annotations

import ast
import sys
from typing import NoReturn

_ENGINE = (
    *("fencepost.", "multiprocessing.", "copy", "copyreg", "pickle", "dataclasses"),
    *("typing", "reprlib", "pdb", "_pytest."),
)
"""The modules that may keep terms in tables and show them: the engine, and those that copy or debug it."""


def _asked_by_engine() -> bool:
    """Return whether the engine calls the method that calls this function."""
    return str(sys._getframe(2).f_globals.get("__name__", "")).startswith(_ENGINE)


class RefusesPython:
    """A base class of objects that have no value while the author's code runs."""

    def __bool__(self) -> NoReturn:
        """Raise TypeError: a term has no truth value."""
        raise TypeError(
            "a term has no truth value: use & | ~, if_, forall or exists instead of and, or, not, if; "
            "write is_one_of(x, (A, B)) instead of x in (A, B)"
        )

    def __hash__(self) -> int:
        """Return a hash by identity to the engine. Raises TypeError in the author's code."""
        if not _asked_by_engine():
            raise TypeError(
                "a term cannot be looked up in a set or a dict, because it has no value yet: "
                "write is_one_of(x, (A, B)) instead of x in {A, B}, and if_ instead of a dict"
            )
        return object.__hash__(self)

    def __repr__(self) -> str:
        """Return the object's type to the engine. Raises TypeError in the author's code."""
        return f"<{type(self).__name__}>" if _asked_by_engine() else str(self)

    def __str__(self) -> NoReturn:
        """Raise TypeError: a term has no text."""
        raise TypeError("a term has no text: compare the term itself, and name an argument in a note as {n}")

    def __format__(self, _: str) -> NoReturn:
        """Raise TypeError: a term has no text."""
        str(self)
        raise AssertionError


class _Guard(ast.NodeTransformer):
    """A rewriting of `a is b` into a call that refuses terms."""

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Return the comparison with `is` and `is not` guarded."""
        self.generic_visit(node)
        operands = [node.left, *node.comparators]
        if not any(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops):
            return node
        guarded: list[ast.expr] = [
            ast.Call(ast.Name(OPERAND_OF_IS, ast.Load()), [operand], []) for operand in operands
        ]
        return ast.copy_location(ast.Compare(guarded[0], node.ops, guarded[1:]), node)


OPERAND_OF_IS = "__fencepost_operand_of_is__"
"""The name under which a protocol's file finds `operand_of_is`."""


def operand_of_is(value: object) -> object:
    """Return an operand of `is` in a protocol's file. Raises TypeError for a term."""
    if isinstance(value, RefusesPython):
        raise TypeError("`is` compares Python objects, never values of the state: write == and !=")
    return value


def guarded_source(source: bytes, path: str) -> ast.Module:
    """Return a protocol's file, parsed, in which `is` refuses terms. Raises SyntaxError and ValueError."""
    tree = ast.parse(source, path)
    _Guard().visit(tree)
    return ast.fix_missing_locations(tree)
