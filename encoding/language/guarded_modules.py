"""The author's modules, run so that questions about Python objects refuse terms.

`is`, `match`, `isinstance` and their like ask about the object that stands for a term, never about a value of
the state. No class can refuse them, so the text of the author's modules is rewritten, and these modules get
functions of their own for the built-in ones. This holds for the protocol's file and for all that it imports,
but for the standard library, installed packages and Fencepost.
"""

from __future__ import annotations

import builtins
import gc
import operator
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import resolve_name
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from fencepost.encoding.errors import refusal
from fencepost.encoding.language.guarded_text import (
    OPERAND_OF_INVERT,
    OPERAND_OF_IS,
    TEXT,
    TYPE,
    guarded_code,
)
from fencepost.encoding.language.refused_operators import RefusesPython


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

    @wraps(function, assigned=("__name__", "__doc__"))  # type has no other that 3.12 takes
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
    if isinstance(given, str | bytes):
        return guarded_code(given.encode() if isinstance(given, str) else given, "<text>", mode)
    return given


def _import(
    name: str,
    globals: Mapping[str, object] | None = None,
    locals: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """Import a module into the author's code: guarded, if it is the author's too."""
    if name in _SUBSTITUTES and not level:
        return _SUBSTITUTES[name]
    package = str((globals or {}).get("__package__") or "")
    whole = resolve_name("." * level + name, package) if level and package else name
    parts = whole.split(".")
    modules = [".".join(parts[: number + 1]) for number in range(len(parts))]
    _guard_modules([*modules, *(f"{whole}.{part}" for part in fromlist or ())])
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

_GUARDS: dict[str, object] = {
    OPERAND_OF_IS: operand_of_is,
    OPERAND_OF_INVERT: operand_of_invert,
    TYPE: _type,
    TEXT: _text,
    "__builtins__": {**vars(builtins), **_ASKING, "__import__": _import},
}
"""The names that a guarded module gets."""


def run_guarded(module: ModuleType, path: Path) -> None:
    """Run a file of the author's as this module. Raises SyntaxError, ValueError, and what the file raises."""
    code = guarded_code(path.read_bytes(), str(path))
    module.__dict__.update(_GUARDS)
    exec(code, module.__dict__)  # noqa: S102 - a protocol is a Python file


def guard_modules_of(function: Callable[..., Any]) -> None:
    """Guard the author's modules that a function uses, if they were imported as any other module is.

    Their functions get the code that they would have in a guarded module. A module without a file, or whose
    file has changed since, stays as it is.
    """
    _guard_modules([str(getattr(function, "__module__", ""))])


def _guard_modules(found: list[str]) -> None:
    """Guard those of these modules that are the author's and were imported, and the modules that they use."""
    for name in found:
        module = sys.modules.get(name)
        if module is None or not _is_unguarded(module):
            continue
        names = vars(module)
        _guard_in_place(module, Path(str(module.__file__)))
        used = [value.__name__ for value in names.values() if isinstance(value, ModuleType)]
        used += [str(v.__module__) for v in names.values() if isinstance(v, type | FunctionType)]
        found += dict.fromkeys(one for one in used if one not in found)


def _guard_in_place(module: ModuleType, path: Path) -> None:
    names = vars(module)
    for name, value in names.items():
        if isinstance(value, ModuleType) and value.__name__ in _SUBSTITUTES:
            names[name] = _SUBSTITUTES[value.__name__]
        elif isinstance(value, BuiltinFunctionType):
            names[name] = (_ASKING | _COMPARING).get(value.__name__, value)
    for name, value in (_GUARDS | _ASKING).items():
        names.setdefault(name, value)
    try:
        source = path.read_bytes()
        before = compile(source, path, "exec", dont_inherit=True)
        instead = dict(_pairs(before, guarded_code(source, str(path))))
    except (OSError, SyntaxError, ValueError):
        return
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__globals__ is names:
            function.__code__ = instead.get(function.__code__, function.__code__)


def _pairs(one: CodeType, other: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield each code object below the first with that in its place below the other."""
    yield one, other
    inside = ([c for c in code.co_consts if isinstance(c, CodeType)] for code in (one, other))
    for pair in zip(*inside, strict=True):
        yield from _pairs(*pair)


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
    """Load the author's modules guarded while the block runs. Their output goes to stderr."""
    if _FINDER in sys.meta_path:
        yield
        return
    sys.meta_path.insert(0, _FINDER)
    try:
        with redirect_stdout(sys.stderr):
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
