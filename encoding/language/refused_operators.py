"""Refusal of the Python operators that would leave the language without a word.

A term has no value while the author's code runs. Most operators of Python can be given a meaning on terms, or
fail on them by themselves. The ones here would return a plain value: a set compares hashes, `str` describes
the tree, and `is` compares objects. A guard that uses one is always true or always false.
"""

from __future__ import annotations

import ast
import sys
from typing import NoReturn

_ENGINE = {"copy", "copyreg", "pickle", "dataclasses", "typing", "reprlib", "pdb"}
_ENGINE_PACKAGES = {"fencepost", "multiprocessing", "_pytest"}
"""The modules that may keep terms in tables and show them: the engine, and those that copy or debug it.

A module of a package is looked up by its whole name once it has asked.
"""


def _asked_by_engine() -> bool:
    """Return whether the engine calls the method that calls this function."""
    module = str(sys._getframe(2).f_globals.get("__name__"))
    if module not in _ENGINE and module.partition(".")[0] in _ENGINE_PACKAGES:
        _ENGINE.add(module)
    return module in _ENGINE


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


_ASKING = {"callable", "getattr", "hasattr", "id", "isinstance", "type"}
"""The functions of Python that ask about the object and would take a term without a word."""
_OF_ENGINE = {"__class__", "family", "free", "index", "sort", "type"}
"""The attributes of terms that an author may take for the value."""


class _Guard(ast.NodeTransformer):
    """A rewriting of what asks about a Python object, such as `a is b`, into calls that refuse terms.

    No term is None, so a comparison with None stays as it is.
    """

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return the call with its first argument guarded, if it asks about an object."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _ASKING and node.args:
            node.args[0] = _guarded(node.args[0], f"{node.func.id}() asks about")
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Return the attribute with its owner guarded, if terms have it for the engine alone."""
        self.generic_visit(node)
        if node.attr in _OF_ENGINE and isinstance(node.ctx, ast.Load):
            node.value = _guarded(node.value, f".{node.attr} asks about")
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Return the comparison with `is` and `is not` guarded."""
        self.generic_visit(node)
        operands = [node.left, *node.comparators]
        compares_objects = any(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops)
        if not compares_objects or any(isinstance(o, ast.Constant) and o.value is None for o in operands):
            return node
        guarded = [_guarded(operand) for operand in operands]
        return ast.copy_location(ast.Compare(guarded[0], node.ops, guarded[1:]), node)

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """Return the statement with its subject guarded: a pattern such as True compares objects."""
        self.generic_visit(node)
        node.subject = _guarded(node.subject)
        return node


def _guarded(operand: ast.expr, said: str = "`is` and `match` compare") -> ast.expr:
    call = ast.Call(ast.Name(OPERAND_OF_IS, ast.Load()), [operand, ast.Constant(said)], [])
    return ast.copy_location(call, operand)


OPERAND_OF_IS = "__fencepost_operand_of_is__"
"""The name under which a protocol's file finds `operand_of_is`."""


def operand_of_is(value: object, said: str) -> object:
    """Return an object that the author's code asks about, as `is` does. Raises TypeError for a term."""
    if isinstance(value, RefusesPython):
        raise TypeError(f"{said} Python objects, never values of the state: write == and !=")
    return value


def guarded_source(source: bytes, path: str) -> ast.Module:
    """Return a protocol's file, parsed; `is` and `match` refuse terms. Raises SyntaxError, ValueError."""
    tree = ast.parse(source, path)
    _Guard().visit(tree)
    return ast.fix_missing_locations(tree)
