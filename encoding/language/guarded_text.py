"""The text of the author's modules, rewritten so that questions about Python objects refuse terms."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from types import CodeType
from typing import Any

_OF_ENGINE = {"__class__", "__dict__", "family", "free", "index", "sort", "type"}
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
        """Return the call with its arguments guarded, if it asks for a type or runs a text.

        `type` stays the class that it is: only where it is called, or given to another function, it asks.
        """
        self.generic_visit(node)
        asked = node.func.id if isinstance(node.func, ast.Name) else ""
        if asked == "type" and len(node.args) == 1:
            node.args[0] = _guarded(node.args[0], "type() asks about")
        if asked in ("eval", "exec") and node.args:
            node.args[0] = _call(TEXT, node.args[0], ast.Constant(asked))
        if asked not in ("isinstance", "issubclass"):
            node.args = [_call(TYPE, a) if _is_type(a) else a for a in node.args]
            for keyword in node.keywords:
                keyword.value = _call(TYPE, keyword.value) if _is_type(keyword.value) else keyword.value
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


def _is_type(argument: ast.expr) -> bool:
    return isinstance(argument, ast.Name) and argument.id == "type"


def _guarded(operand: ast.expr, said: str = _OBJECTS) -> ast.expr:
    return _call(OPERAND_OF_IS, operand, ast.Constant(said))


def _call(function: str, operand: ast.expr, *more: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(function, ast.Load()), [operand, *more], []), operand)


OPERAND_OF_IS = "__fencepost_operand_of_is__"
OPERAND_OF_INVERT = "__fencepost_operand_of_invert__"
TYPE = "__fencepost_type__"
TEXT = "__fencepost_text__"
"""The names under which the author's modules find the functions that their text is rewritten to call."""


def guarded_code(source: bytes, path: str, mode: str = "exec") -> CodeType:
    """Return the code of a text of the author's, rewritten. Raises SyntaxError, ValueError."""
    tree: Any = ast.parse(source, path, mode)
    _Guard(frozenset(_names_for_none(tree))).visit(tree)
    code: CodeType = compile(ast.fix_missing_locations(tree), path, mode, dont_inherit=True)
    return code
