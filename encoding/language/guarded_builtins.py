"""The built-in names of the author's modules: as Python has them, but they refuse terms.

`isinstance` and its like ask about the object that stands for a term, never about a value of the state.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib
import operator
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any, NoReturn

from fencepost.encoding.errors import refusal
from fencepost.encoding.language.guarded_text import FUNCTIONS, guarded_code
from fencepost.encoding.language.refused_operators import RefusesPython

Names = dict[str, Any]
NO_FILE = "<text>"
"""The name of the file of a text that the author's code makes and runs."""
LANGUAGE = "fencepost.encoding.language."
"""The modules of the language, whose lines an author does not need to see."""


def operand_of_is(value: Any, said: str) -> Any:
    """Return an object that the author's code asks about, as `is` does. Raises TypeError for a term."""
    if isinstance(value, RefusesPython):
        raise refusal(f"{said} Python objects, never values of the state: write == and !=")
    return type if value is _Type else value


def operand_of_invert(value: object) -> object:
    """Return an object that the author's code negates by `~`. Raises TypeError for a plain Boolean."""
    if isinstance(value, bool):
        raise refusal(f"~{value} is the number {-1 - value}: a plain Boolean is negated by not")
    return value


def _statement(value: object) -> None:
    """Raise TypeError if the value that a statement drops is a part of the protocol, such as an update."""
    for one in value if isinstance(value, list | tuple) else [value]:
        if _is_of_language(one):
            name = "a term" if isinstance(one, RefusesPython) else f"the {type(one).__name__}"
            raise refusal(
                f"this line makes {name} and drops it: give it to the action, property or system that "
                "needs it, such as an update in then=, or return it"
            )


def _is_of_language(value: object) -> bool:
    return type(value).__module__.startswith(LANGUAGE)


def _raised() -> None:
    """Keep the exception that the author's code may be about to catch, if a term could raise it."""
    error = sys.exception()
    if isinstance(error, TypeError | AttributeError):
        said = f"{error}; a term raises this where a value would not: do not catch {type(error).__name__}"
        refusal(said).__traceback__ = error.__traceback__


class _Once:
    """An iterator of the author's that refuses to be read after its end, if it gave parts of the protocol."""

    def __init__(self, items: Any) -> None:
        self._items, self._gave, self._is_over = items, False, False

    def __iter__(self) -> _Once:
        if self._is_over:
            raise refusal("an iterator gives its items once, and this one is read again: write a list […]")
        return self

    def __next__(self) -> Any:
        try:
            item = next(self._items)
        except StopIteration:
            self._is_over = self._gave
            raise
        self._gave = self._gave or _is_of_language(item)
        return item

    def __getattr__(self, name: str) -> Any:
        return getattr(self._items, name)


def _once_each(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes iterators as one whose iterators are read once."""

    @wraps(function)
    def guarded(*given: Any, **named: Any) -> _Once:
        return _Once(function(*given, **named))

    return guarded


class _Plain(type):
    """The type of `_Any`."""

    def __instancecheck__(cls, value: object) -> bool:
        operand_of_is(value, "`is` and `match` compare")
        return True


class _Any(int, metaclass=_Plain):
    """A class to which anything but a term belongs. In a pattern its one argument is the value itself."""


class _TypeOfTypes(type):
    """The type of `_Type`."""

    def __call__(cls, *given: Any, **named: Any) -> Any:
        if cls is not _Type:
            return super().__call__(*given, **named)
        return type(*(operand_of_is(one, "type() asks about") for one in given), **named)

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, type) if cls is _Type else super().__instancecheck__(value)


class _Type(type, metaclass=_TypeOfTypes):
    """The class `type` for the author's modules, which refuses terms under any name."""

    def __class_getitem__(cls, item: Any) -> Any:
        return type[item]


def _asking(function: Callable[..., Any], compared: int = 1, said: str = "") -> Callable[..., Any]:
    """Return a function of Python's that refuses a term among its first arguments."""
    name = said or f"{function.__name__}() asks about"

    @wraps(function)
    def guarded(*given: Any, **named: Any) -> Any:
        for value in given[:compared]:
            operand_of_is(value, name)
        return function(*given, **named)

    return guarded


def _compile(source: Any, filename: Any = NO_FILE, mode: str = "exec", flags: int = 0, *more: Any) -> Any:
    """Return the code of a text that the author's code makes, guarded as its file is."""
    if isinstance(source, CodeType):
        return source
    if flags & ast.PyCF_ONLY_AST:
        return compile(source, filename, mode, flags, *more)
    return guarded_code(source, str(filename), mode, flags)


def _running(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return `eval` or `exec` for the author's modules: the text that it runs is guarded."""

    @wraps(run)
    def guarded(source: Any, names: Names | None = None, own: Any = None, /, **more: Any) -> Any:
        caller = sys._getframe(1)
        if names is None:
            names, own = caller.f_globals, caller.f_locals
        names.setdefault("__builtins__", BUILTINS)
        return run(_compile(source, mode=run.__name__), names, own, **more)

    return guarded


def _dispatched(*_: object) -> NoReturn:
    raise refusal("singledispatch asks about Python objects, never values of the state: write if_")


def _singledispatch(function: Callable[..., Any]) -> Any:
    """Return `functools.singledispatch` of a function, which refuses terms."""
    made = functools.singledispatch(function)
    made.register(RefusesPython, _dispatched)
    return made


class _SingleDispatchMethod(functools.singledispatchmethod):  # type: ignore[type-arg]
    """The class `functools.singledispatchmethod`, whose methods refuse terms."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self.dispatcher.register(RefusesPython, _dispatched)


def _import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """Import a module into the author's code, which gets some of Python's modules in another form."""
    found = builtins.__import__(name, globals, locals, fromlist or (), level)
    return found if level else _SUBSTITUTES.get(found.__name__, found)


def _import_module(name: str, package: str | None = None) -> Any:
    """Import a module by its name, as `_import` does."""
    found = importlib.import_module(name, package)
    return _SUBSTITUTES.get(found.__name__, found)


def _attrgetter(*names: str) -> Callable[[Any], Any]:
    """Return a function that reads attributes as `operator.attrgetter` does, but none of a term."""

    def read(value: Any) -> Any:
        found = [functools.reduce(_ASKING["getattr"], name.split("."), value) for name in names]
        return found[0] if len(found) == 1 else tuple(found)

    return read


_ASKING: Mapping[str, Any] = {
    **{one.__name__: _asking(one) for one in (callable, dir, getattr, hasattr, id, isinstance, vars)},
    **{one.__name__: _once_each(one) for one in (enumerate, filter, iter, map, reversed, zip)},
    **{one.__name__: _running(one) for one in (eval, exec)},
    "compile": _compile,
    "type": _Type,
}
"""The functions of Python that ask about the object, or lose what a term says, without a word."""
_OPERATORS = {name: _asking(getattr(operator, name), 2, "`is` compares") for name in ("is_", "is_not")} | {
    "attrgetter": _attrgetter
}
_DISPATCHING = {"singledispatch": _singledispatch, "singledispatchmethod": _SingleDispatchMethod}


def _substitute(module: ModuleType, changed: Mapping[str, Any]) -> ModuleType:
    """Return a module with some functions changed. Submodules that are imported later are found in it too."""
    made = ModuleType(module.__name__, module.__doc__)
    made.__dict__.update({**vars(module), **changed, "__getattr__": functools.partial(getattr, module)})
    return made


_CHANGED = {
    "operator": _OPERATORS,
    "_operator": _OPERATORS,
    "builtins": _ASKING,
    "functools": _DISPATCHING,
    "importlib": {"import_module": _import_module},
}
_SUBSTITUTES = {name: _substitute(importlib.import_module(name), own) for name, own in _CHANGED.items()}
"""The modules that the author's modules get instead of those of Python."""

BUILTINS: Names = {
    **vars(builtins),
    **_ASKING,
    "__import__": _import,
    FUNCTIONS: SimpleNamespace(
        operand_of_is=operand_of_is,
        operand_of_invert=operand_of_invert,
        statement=_statement,
        once=_Once,
        once_each=_once_each,
        raised=_raised,
        plain=_Any,
    ),
}
"""The built-in names of the author's modules."""

INSTEAD = {
    id(getattr(sys.modules[name], key)): value for name, own in _CHANGED.items() for key, value in own.items()
} | {id(sys.modules[name]): made for name, made in _SUBSTITUTES.items()}
"""The same by the object that each stands for, as modules have it that were imported before."""
