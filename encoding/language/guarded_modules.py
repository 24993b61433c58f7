"""The author's modules, run so that questions about Python objects refuse terms.

`is`, `match`, `isinstance` and their like ask about the object that stands for a term, never about a value of
the state. No class can refuse them, so the text of the author's modules is rewritten, and these modules get
functions of their own for the built-in ones. This holds for the protocol's file and for all that it imports,
but for the standard library, installed packages and Fencepost.
"""

from __future__ import annotations

import ast
import builtins
import operator
import sys
import sysconfig
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import resolve_name
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from fencepost.encoding.errors import refusal
from fencepost.encoding.language.refused_operators import RefusesPython

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


def operand_of_is(value: Any, said: str) -> Any:
    """Return an object that the author's code asks about, as `is` does. Raises TypeError for a term."""
    if isinstance(value, RefusesPython):
        raise refusal(f"{said} Python objects, never values of the state: write == and !=")
    return value


def operand_of_invert(value: object) -> object:
    """Return an object that the author's code negates by `~`. Raises TypeError for a plain Boolean."""
    if isinstance(value, bool):
        raise refusal(f"~{value} is the number {-1 - value}: a plain Boolean is negated by not")
    return value


def _asking(function: Callable[..., Any], compared: int = 1, said: str = "") -> Callable[..., Any]:
    """Return a function of Python's that refuses a term among its first arguments."""
    name = said or f"{function.__name__}() asks about"

    @wraps(function)
    def guarded(*given: Any, **named: Any) -> Any:
        for value in given[:compared]:
            operand_of_is(value, name)
        return function(*given, **named)

    return guarded


def _type(given: object) -> object:
    """Return `type`, as an argument of the author's call, as a function that refuses terms."""
    return _asking(type) if given is type else given


def _text(given: object, mode: str) -> object:
    """Return a text that the author's code runs, guarded as its file is."""
    if isinstance(given, str):
        given = given.encode()
    return _code(given, "<text>", mode) if isinstance(given, bytes) else given


def _import(
    name: str,
    globals: Mapping[str, object] | None = None,
    locals: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """Import a module into the author's code: guarded, if it is the author's too."""
    if name in _SUBSTITUTES:
        return _SUBSTITUTES[name]
    package = str((globals or {}).get("__package__") or "")
    whole = resolve_name("." * level + name, package) if level and package else name
    parts = whole.split(".")
    modules = [".".join(parts[: number + 1]) for number in range(len(parts))]
    for module in (*modules, *(f"{whole}.{part}" for part in fromlist or ())):
        known = sys.modules.get(module)
        if known is not None and _is_unguarded(known):
            del sys.modules[module]
    with authors_modules_are_guarded():
        return builtins.__import__(name, globals, locals, fromlist or (), level)


def _is_unguarded(module: ModuleType) -> bool:
    """Return whether a module is the author's, and was imported before as any other module is."""
    spec, file = getattr(module, "__spec__", None), getattr(module, "__file__", None)
    begun = getattr(spec, "_initializing", False)
    return OPERAND_OF_IS not in vars(module) and not begun and is_authors(module.__name__, file)


_ASKING = {
    function.__name__: _asking(function)
    for function in (callable, dir, getattr, hasattr, id, isinstance, vars)
}
"""The functions of Python that ask about the object and would take a term without a word."""
_COMPARING = {name: _asking(getattr(operator, name), 2, "`is` compares") for name in ("is_", "is_not")}


def _substitute(module: ModuleType, changed: Mapping[str, object]) -> ModuleType:
    made = ModuleType(module.__name__, module.__doc__)
    made.__dict__.update({**vars(module), **changed})
    return made


_SUBSTITUTES = {
    "operator": _substitute(operator, _COMPARING),
    "_operator": _substitute(operator, _COMPARING),
    "builtins": _substitute(builtins, _ASKING),
}
"""The modules that the author's modules get instead of those of Python."""

_GUARDS: Mapping[str, object] = {
    OPERAND_OF_IS: operand_of_is,
    OPERAND_OF_INVERT: operand_of_invert,
    TYPE: _type,
    TEXT: _text,
    "__builtins__": {**vars(builtins), **_ASKING, "__import__": _import},
}
"""What a guarded module has beside its own names."""


def _code(source: bytes, path: str, mode: str = "exec") -> CodeType:
    tree: Any = ast.parse(source, path, mode)
    _Guard(frozenset(_names_for_none(tree))).visit(tree)
    code: CodeType = compile(ast.fix_missing_locations(tree), path, mode, dont_inherit=True)
    return code


def run_guarded(module: ModuleType, path: Path) -> None:
    """Run a file of the author's as this module. Raises SyntaxError, ValueError, and what the file raises."""
    code = _code(path.read_bytes(), str(path))
    module.__dict__.update(_GUARDS)
    exec(code, module.__dict__)  # noqa: S102 - a protocol is a Python file


class _Loader(SourceFileLoader):
    """A loader of the author's modules."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, guarded."""
        run_guarded(module, Path(self.path))


class _Finder(MetaPathFinder):
    """A finder that loads the author's modules guarded. It finds them as the other finders do."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the specification of a module of the author's; None for any other module."""
        others = (finder for finder in sys.meta_path if finder is not self)
        found = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((one for one in found if one is not None), None)
        if spec is None or not is_authors(fullname, spec.origin):
            return None
        spec.loader = _Loader(fullname, str(spec.origin))
        return spec


_FINDER = _Finder()


@contextmanager
def authors_modules_are_guarded() -> Iterator[None]:
    """Load the author's modules guarded while the block runs."""
    if _FINDER in sys.meta_path:
        yield
        return
    sys.meta_path.insert(0, _FINDER)
    try:
        yield
    finally:
        sys.meta_path.remove(_FINDER)


_LIBRARY = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))


def is_authors(module: str, file: str | None) -> bool:
    """Return whether a module with this file is the author's: not Python's, Fencepost's or installed."""
    if not file or not file.endswith(".py") or module.partition(".")[0] == "fencepost":
        return False
    installed = {"site-packages", "dist-packages"} & set(Path(file).parts)
    return not installed and not any(map(Path(file).is_relative_to, _LIBRARY))


def authors_line(error: BaseException) -> str:
    """Return the author's file and line in which an error arose, with a colon; empty if there is none."""
    frames = [*traceback.walk_tb(error.__traceback__)]
    own = (
        f"{Path(frame.f_code.co_filename).name}, line {line}: "
        for frame, line in reversed(frames)
        if _is_protocols(frame)
    )
    return next(own, "")


def _is_protocols(frame: FrameType) -> bool:
    """Return whether a frame runs code of a protocol: of its author, or of one that ships."""
    module = str(frame.f_globals.get("__name__"))
    ships = module.startswith("fencepost.") and not module.startswith(_LANGUAGE)
    return ships or is_authors(module, frame.f_code.co_filename)


_LANGUAGE = "fencepost.encoding.language."
"""The modules of the language, whose lines an author does not need to see."""
