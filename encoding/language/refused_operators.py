"""Refusal of the Python operators that would leave the language without a word.

A term has no value while the author's code runs. Most operators of Python can be given a meaning on terms, or
fail on them by themselves. The ones here would return a plain value: a set compares hashes, `str` describes
the tree, and `is` compares objects. A guard that uses one is always true or always false.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator
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
_OBJECTS = "`is` and `match` compare"


def _names_for_none(tree: ast.AST) -> Iterator[str]:
    """Yield the names that a file sets to None, as a default or by an assignment."""
    for node in ast.walk(tree):
        match node:
            case ast.arguments(posonlyargs=first, args=args, defaults=defaults):
                both = [*zip(reversed([*first, *args]), reversed(defaults), strict=False)]
                both += [(a, d) for a, d in zip(node.kwonlyargs, node.kw_defaults, strict=True) if d]
                yield from (argument.arg for argument, default in both if _is_none(default))
            case ast.Assign(targets=targets, value=value) if _is_none(value):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=None)):
                yield name


def _is_none(operand: ast.expr) -> bool:
    return isinstance(operand, ast.Constant) and operand.value is None


class _Guard(ast.NodeTransformer):
    """A rewriting of what asks about a Python object, such as `a is b`, into calls that refuse terms.

    No term is None. So a comparison with None is guarded too, but for names that the file itself sets to
    None: there the question is whether a term is given.
    """

    def __init__(self, optional: Collection[str]) -> None:
        """Take the names that may be None."""
        self.optional = optional

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
        given = any(isinstance(operand, ast.Name) and operand.id in self.optional for operand in operands)
        if not compares_objects or (given and any(map(_is_none, operands))):
            return node
        said = "a term is never None: `is` compares" if any(map(_is_none, operands)) else _OBJECTS
        guarded = [_guarded(operand, said) for operand in operands]
        return ast.copy_location(ast.Compare(guarded[0], node.ops, guarded[1:]), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """Return the operator with its operand guarded, if it is `~`."""
        self.generic_visit(node)
        if isinstance(node.op, ast.Invert):
            node.operand = _call(OPERAND_OF_INVERT, node.operand)
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """Return the statement with its subject guarded: a pattern such as True compares objects."""
        self.generic_visit(node)
        node.subject = _guarded(node.subject)
        return node


def _guarded(operand: ast.expr, said: str = _OBJECTS) -> ast.expr:
    return _call(OPERAND_OF_IS, operand, ast.Constant(said))


def _call(function: str, operand: ast.expr, *more: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(function, ast.Load()), [operand, *more], []), operand)


OPERAND_OF_IS = "__fencepost_operand_of_is__"
OPERAND_OF_INVERT = "__fencepost_operand_of_invert__"
"""The names under which a protocol's file finds `operand_of_is` and `operand_of_invert`."""


def operand_of_is(value: object, said: str) -> object:
    """Return an object that the author's code asks about, as `is` does. Raises TypeError for a term."""
    if isinstance(value, RefusesPython):
        raise TypeError(f"{said} Python objects, never values of the state: write == and !=")
    return value


def operand_of_invert(value: object) -> object:
    """Return an object that the author's code negates by `~`. Raises TypeError for a plain Boolean."""
    if isinstance(value, bool):
        raise TypeError(f"~{value} is the number {-1 - value}: a plain Boolean is negated by not")
    return value


GUARDS = {OPERAND_OF_IS: operand_of_is, OPERAND_OF_INVERT: operand_of_invert}
"""The functions that a guarded file calls, by the names under which it finds them."""


def guarded_source(source: bytes, path: str) -> ast.Module:
    """Return a protocol's file, parsed; `is` and `match` refuse terms, and `~` refuses plain Booleans.

    Raises SyntaxError, ValueError.
    """
    tree = ast.parse(source, path)
    _Guard(frozenset(_names_for_none(tree))).visit(tree)
    return ast.fix_missing_locations(tree)
