"""A recorded run: the modules that each process enters, in order."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

import fencepost.encoding

HOME = Path(fencepost.encoding.__file__).parent.parent


def recorded(work: Callable[[], object], file: Path) -> dict[str, list[str]]:
    """Call `work` and return, by process, the modules that calls enter, in the order of first calls.

    Modules are paths such as `encoding/check.py`. A process has the name of its worker; the first
    process is `command`. Calls while a module is imported do not count. `file` is where the processes write.
    """
    with _profiled(file):
        work()
    found: dict[str, list[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        process, module = line.split()
        found.setdefault(process, []).append(module)
    return {process: list(dict.fromkeys(modules)) for process, modules in found.items()}


@contextmanager
def _profiled(file: Path) -> Iterator[None]:
    out = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    seen: set[tuple[str, CodeType]] = set()

    def enter(frame: FrameType, event: str, argument: object) -> None:
        if event != "call":
            return
        process = multiprocessing.current_process().name
        code = frame.f_code
        if (process, code) in seen:
            return
        seen.add((process, code))
        if code.co_name.startswith("<") or not code.co_filename.startswith(str(HOME)):
            return
        if not _is_importing(frame):
            module = Path(code.co_filename).relative_to(HOME)
            os.write(out, f"{'command' if process == 'MainProcess' else process} {module}\n".encode())

    sys.setprofile(enter)
    try:
        yield
    finally:
        sys.setprofile(None)
        os.close(out)


def _is_importing(frame: FrameType | None) -> bool:
    """Return whether the frame stands within the execution of a module's own text."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(str(HOME)):
            return True
        frame = frame.f_back
    return False
