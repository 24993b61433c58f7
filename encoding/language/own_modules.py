"""The modules that a protocol's file has for itself: those that it imports, loaded anew with the file."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.guarded_modules import is_authors


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
    return {name: module for name, module in list(sys.modules.items()) if _is_authors(name, module)}


def _is_authors(name: str, module: object) -> bool:
    """Return whether a module is the author's. A folder without __init__.py has a path in place of a file."""
    if not issubclass(type(module), ModuleType) or name.startswith(("__main__", "__mp_", "fencepost_")):
        return False
    names = object.__getattribute__(module, "__dict__")
    path = names.get("__path__", ())
    folders = getattr(path, "_path", path)  # to read a path itself looks for the package above it
    return is_authors(name, names.get("__file__") or next((f"{folder}/.py" for folder in folders), None))
