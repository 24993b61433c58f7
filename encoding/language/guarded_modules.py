"""The author's code, run so that questions about Python objects refuse terms.

`is`, `match`, `isinstance` and their like ask about the object that stands for a term, never about a value of
the state. No class can refuse them, so the text of the author's modules is rewritten, and these modules get
functions of their own for the built-in ones. This holds for all code of the author's that runs while a file
is loaded or a system is built: any code but that of the standard library, installed packages and Fencepost.
Code that ran otherwise is guarded in place if its text is at hand, and the system is built again. If its text
is not at hand, nothing guards it, and the protocol is refused.

One pass over the syntax tree that refuses such questions does less, because a text has no values. Of 100
kinds of slips it let five through without a word, among them a function that dispatches on a class, `is`
reached through a module, and an iterator that is read twice. And it refused 8 of 50 protocols without a slip,
for the `index` of a list or `getattr` of the state.

A protocol's file has modules for itself: those that it imports are loaded anew with it.
"""

from __future__ import annotations
import __future__

import builtins
import gc
import importlib
import linecache
import os
import sys
import sysconfig
import threading
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, TypeVar

from fencepost.encoding.errors import ModelError, refusal, refusals_are_kept
from fencepost.encoding.language.guarded_builtins import BUILTINS, INSTEAD, LANGUAGE, NO_FILE, Names
from fencepost.encoding.language.guarded_text import guarded_code, inside, is_guarded

_Result = TypeVar("_Result")
_Ran = dict[int, tuple[CodeType, Names]]


def run_guarded(module: ModuleType, path: Path) -> None:
    """Run a file of the author's as this module. Raises SyntaxError, ValueError, and what the file raises."""
    code = guarded_code(path.read_bytes(), str(path))
    module.__dict__["__builtins__"] = BUILTINS

    def run() -> None:
        with refusals_are_kept():
            exec(code, module.__dict__)  # noqa: S102 - a protocol is a Python file

    guarded(run)


def _exec_module(loader: Any, module: ModuleType) -> None:
    """Run a module that Python loads, guarded if it is the author's."""
    if _is_authors(module.__name__, loader.path):
        run_guarded(module, Path(loader.path))
    else:
        _EXEC_MODULE(loader, module)


_EXEC_MODULE = SourceFileLoader.exec_module
_blocks: list[str] = []
"""An entry for each block in which the author's code runs."""
_turn = threading.RLock()
"""The author's code runs in one thread at a time, and in the threads that it begins."""
os.register_at_fork(after_in_child=_turn._at_fork_reinit)  # type: ignore[attr-defined]


def runs_guarded() -> bool:
    """Return whether the author's code runs guarded now."""
    return bool(_blocks)


@contextmanager
def authors_code_runs() -> Iterator[None]:
    """Load the author's modules guarded while the block runs. Their output goes to stderr."""
    with _turn, redirect_stdout(sys.stderr):
        _blocks.append("a block")
        SourceFileLoader.exec_module = _exec_module  # type: ignore[assignment, method-assign]
        try:
            yield
        finally:
            _blocks.pop()
            if not _blocks:
                SourceFileLoader.exec_module = _EXEC_MODULE  # type: ignore[method-assign]


@contextmanager
def _noting() -> Iterator[_Ran]:
    """Note the code that runs in the block, in this thread and in threads that begin there.

    Raises TypeError if the author's code calls a function of Python's that it gets in another form.
    """
    ran: _Ran = {}

    def note(frame: FrameType, event: str, called: Any) -> None:
        if event == "call" and id(frame.f_code) not in ran:
            ran[id(frame.f_code)] = frame.f_code, frame.f_globals
        elif event == "c_call" and id(called) in INSTEAD and is_guarded(frame.f_code):
            raise refusal(
                f"{called.__name__}() is reached in a way that nothing guards: import its module and call it "
                "by its name"
            )

    before, of_threads = sys.getprofile(), threading.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield ran
    finally:
        sys.setprofile(before if callable(before) else None)  # a profiler in C cannot be set from Python
        threading.setprofile(of_threads)


def guarded(call: Callable[[], _Result]) -> _Result:
    """Return what a call of the author's code returns, once all code of the author's that it runs is guarded.

    Code that is not is guarded in place, and the call made again. Raises ModelError if it cannot be guarded,
    and what the call raises.
    """
    tried = set[str]()
    while True:
        error = None
        try:
            with _noting() as ran:
                result = call()
        except Exception as raised:  # noqa: BLE001 - it may come from code that is not guarded yet
            error = raised
        missing = [code for code, names in ran.values() if not _is_guarded(code, names)]
        if not missing:
            if error is not None:
                raise error
            return result
        for path in {code.co_filename for code in missing}:
            if path in tried:
                raise ModelError(f"{path}: is run in a way that nothing guards; load it by import")
            _guard_in_place(path, [code for code in missing if code.co_filename == path])
            tried.add(path)


def _is_guarded(code: CodeType, names: Names) -> bool:
    """Return whether code is guarded or is not the author's."""
    if id(code) in _IN_PLACE or (names.get("__builtins__") is BUILTINS and is_guarded(code)):
        return True
    module, path = str(names.get("__name__")), code.co_filename
    of_dataclass = code.co_qualname.startswith("__create_fn__") or code.co_names[:1] == ("__create_fn__",)
    of_python = of_dataclass or path.startswith("<frozen") or module.startswith("namedtuple_")
    if of_python or module.partition(".")[0] == "fencepost":
        return True
    return _is_installed(str(names.get("__file__", path)) if path.startswith("<") else path)


_IN_PLACE: dict[int, CodeType] = {}
"""The guarded code that stands in place of other code, by its id."""
_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


def _text_of(path: str) -> str | bytes:
    """Return the text from which code was made, a file or a cell of a notebook; empty if it is not kept."""
    file = Path(path)
    return file.read_bytes() if file.is_file() else "".join(linecache.getlines(path))


def _guard_in_place(path: str, codes: Iterable[CodeType]) -> None:
    """Give the functions of a text, with this code among it, the code that they have in a guarded module."""
    source, instead = _text_of(path), dict[CodeType, CodeType]()
    if not source:
        raise ModelError(f"{path}: its text is not kept, so nothing guards it; write it into a file")
    for flags in {code.co_flags & _FUTURE for code in codes}:
        with suppress(SyntaxError, ValueError):
            before = compile(source, path, "exec", flags, dont_inherit=True)
            after = guarded_code(source, path, "exec", flags)
            instead.update(zip(inside(before), inside(after), strict=True))
    if not all(code in instead for code in codes):
        raise ModelError(f"{path}: its text is not the one that runs; import it again, or load the file")
    for function in gc.get_objects():
        if type(function) is FunctionType and function.__code__.co_filename == path:
            code = instead.get(function.__code__)
            if code is not None:
                function.__code__ = code
                _IN_PLACE.update((id(one), one) for one in inside(code))
                _give_names(function.__globals__, {name for one in inside(code) for name in one.co_names})


def _give_names(names: Names, used: Collection[str]) -> None:
    """Give a module that was imported before those built-in names of a guarded module that its code uses."""
    for name, value in names.items():
        names[name] = INSTEAD.get(id(value), value)
    for name in used & BUILTINS.keys():
        if BUILTINS[name] is not vars(builtins).get(name):
            names.setdefault(name, BUILTINS[name])


_LIBRARY = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))


def _is_authors(module: str, file: str | None) -> bool:
    """Return whether a module with this file is the author's: not Python's, Fencepost's or installed."""
    if not file or not file.endswith(".py") or module.partition(".")[0] == "fencepost":
        return False
    return not _is_installed(file)


@lru_cache(4096)
def _is_installed(file: str) -> bool:
    of_packages = {"site-packages", "dist-packages"} & set(Path(file).parts)
    return bool(of_packages) or any(map(Path(file).is_relative_to, _LIBRARY))


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
    ships = module.startswith("fencepost.") and not module.startswith(LANGUAGE)
    return ships or (is_guarded(frame.f_code) and frame.f_code.co_filename != NO_FILE)


@dataclass
class OwnModules:
    """The author's modules that a file imports, directly or not, and the path on which it finds them.

    A module of that name that another file imported, or this one a minute ago, is another module.
    """

    file: str
    """The name of the file's own module."""
    path: list[str]
    modules: dict[str, ModuleType] = field(default_factory=dict)

    def name_classes(self) -> None:
        """Give the classes of the modules a name by which their values reach other processes."""
        for name, module in self.modules.items():
            known = f"{self.file}.{name}"
            sys.modules[known] = module
            for value in vars(module).values():
                if isinstance(value, type) and value.__module__ == name:
                    value.__module__ = known


@contextmanager
def installed(own: OwnModules | None) -> Iterator[None]:
    """Let the author's code find these modules, and no others of the author's, while the block runs.

    Without them it finds those of the process.
    """
    if own is None:
        yield
        return
    others, path = _authors_modules(), list(sys.path)
    _exchange(others, own.modules)
    sys.path[:] = own.path
    importlib.invalidate_caches()
    try:
        yield
    finally:
        own.modules, own.path = _authors_modules(), list(sys.path)
        _exchange(own.modules, others)
        sys.path[:] = path
        own.name_classes()


def note_modules() -> None:
    """Note when the author's modules were seen first. They were read before."""
    for spec, _ in _on_disk():
        vars(spec).setdefault(_SEEN, time.time_ns())


def must_be_as_read() -> None:
    """Raise ModelError if the file of a module of the author's was written after the module was seen."""
    for spec, file in _on_disk():
        with suppress(OSError):
            if file.stat().st_mtime_ns > getattr(spec, _SEEN, time.time_ns()):
                raise ModelError(
                    f"{file}: was written after it was imported; import it again, or load the file"
                )


_SEEN = "_fencepost_seen"


def _on_disk() -> Iterator[tuple[ModuleSpec, Path]]:
    """Yield the author's modules that have a file, by their specifications, which a reload replaces."""
    for module in _authors_modules().values():
        if module.__spec__ is not None and module.__file__:
            yield module.__spec__, Path(module.__file__)


def _exchange(before: dict[str, ModuleType], after: dict[str, ModuleType]) -> None:
    for name in before:
        sys.modules.pop(name, None)
    sys.modules.update(after)


def _authors_modules() -> dict[str, ModuleType]:
    return {name: module for name, module in list(sys.modules.items()) if _is_authors_module(name, module)}


def _is_authors_module(name: str, module: object) -> bool:
    """Return whether a module is the author's. A folder without __init__.py has a path in place of a file."""
    if not issubclass(type(module), ModuleType) or name.startswith(("__main__", "__mp_", "fencepost_")):
        return False
    names = object.__getattribute__(module, "__dict__")
    path = names.get("__path__", ())
    folders = getattr(path, "_path", path)  # to read a path itself looks for the package above it
    return _is_authors(name, names.get("__file__") or next((f"{folder}/.py" for folder in folders), None))
