"""The text of the author's modules, rewritten so that questions about Python objects refuse terms."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from types import CodeType
from typing import Any
from weakref import WeakValueDictionary

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
            node.operand = _call("operand_of_invert", node.operand)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Return the statement with its value guarded: a part of the protocol would be dropped."""
        self.generic_visit(node)
        if not isinstance(node.value, ast.Constant | ast.Yield | ast.YieldFrom | ast.Await):
            node.value = _call("statement", node.value)
        return node

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        """Return the generator as one that refuses to be read again after its end."""
        self.generic_visit(node)
        return _call("once", node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Return the function; if it is a generator, each of its results refuses to be read again."""
        yields = any(isinstance(own, ast.Yield | ast.YieldFrom) for own in _own(node))
        self.generic_visit(node)
        if yields:
            node.decorator_list.append(ast.copy_location(_function("once_each"), node))
        return node

    def _caught(self, node: Any) -> Any:
        """Return the statement with a note of each exception that it may catch."""
        self.generic_visit(node)
        noted: list[ast.stmt] = [ast.Expr(ast.Call(_function("raised"), [], [])), ast.Raise()]
        inner = ast.Try(node.body, [ast.ExceptHandler(None, None, noted)], [], [])
        node.body = [ast.copy_location(inner, node.body[0])]
        return node

    visit_Try = visit_TryStar = visit_With = _caught  # noqa: N815 - the names of the nodes

    def _compared(self, node: Any) -> ast.AST:
        """Return the pattern, which compares an object or its class, for anything but a term."""
        self.generic_visit(node)
        return ast.copy_location(ast.MatchClass(_function("plain"), [node], [], []), node)

    visit_MatchSingleton = visit_MatchClass = _compared  # noqa: N815 - the names of the nodes
    visit_MatchSequence = visit_MatchMapping = _compared  # noqa: N815


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those of the functions in it."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            yield from _own(node)


def _guarded(operand: ast.expr, said: str = _OBJECTS) -> ast.expr:
    return _call("operand_of_is", operand, ast.Constant(said))


def _call(function: str, operand: ast.expr, *more: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(_function(function), [operand, *more], []), operand)


def _function(name: str) -> ast.expr:
    return ast.Attribute(ast.Name(FUNCTIONS, ast.Load()), name, ast.Load())


FUNCTIONS = "__fencepost__"
"""The name under which the author's modules find the functions that their text is rewritten to call."""

_GUARDED = WeakValueDictionary[int, CodeType]()
"""The code that was made here, by its id. Equal code may have been made elsewhere."""


def is_guarded(code: CodeType) -> bool:
    """Return whether this code was made from a text that was rewritten."""
    return _GUARDED.get(id(code)) is code


def guarded_code(source: Any, path: str, mode: str = "exec", flags: int = 0) -> CodeType:
    """Return the code of an author's text, or of its tree, rewritten. Raises SyntaxError, ValueError."""
    tree: Any = compile(source, path, mode, flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    _Guard(frozenset(_names_for_none(tree))).visit(tree)
    code: CodeType = compile(ast.fix_missing_locations(tree), path, mode, flags, dont_inherit=True)
    _GUARDED.update((id(one), one) for one in inside(code))
    return code


def inside(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object, and each one in it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from inside(one)
