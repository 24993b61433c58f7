"""The messages of a command to its supervisor, its results, and the option that bounds its time.

A command that nobody supervises, as in a test, prints to `sys.stdout`. Nobody bounds its time from outside.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import select
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import click

from fencepost.cli.options.grouped import LIMITS, option
from fencepost.cli.options.numbers import SECONDS
from fencepost.encoding.errors import BadInput


@dataclass
class _Supervised:
    """The command that this process works for. The defaults are for a command that nobody supervises."""

    pipe: int | None = None
    """Where the supervisor reads messages."""
    begun: float | None = None
    """The time of `time.perf_counter` when the command began."""
    home: Path | None = None
    """The folder in which it began; None if that is gone."""
    output: TextIO | None = None
    """Where results are printed; None for `sys.stdout`."""
    printed: bool = False
    """Whether a result was printed, or begun to be."""


_supervised = _Supervised()


class _Stream(io.FileIO):
    """A standard stream whose writes are whole. A write that fails with a certain error is dropped."""

    def __init__(self, file: int, forgiven: type[OSError]) -> None:
        super().__init__(file, "w", closefd=False)
        self._forgiven = forgiven

    def write(self, data: Any) -> int:
        with contextlib.suppress(self._forgiven):
            _write_all(self.fileno(), data)
        return len(data)


def _text_stream(before: TextIO | None, file: int, forgiven: type[OSError]) -> TextIO:
    encoding = before.encoding if before else "utf-8"
    return io.TextIOWrapper(_Stream(file, forgiven), encoding, "backslashreplace", write_through=True)


def _write_all(file: int, data: bytes) -> None:
    """Write all of the data. An interrupt of a working process that comes meanwhile is raised afterwards."""
    left = memoryview(data)
    late = () if _supervised.pipe is None else (signal.SIGTERM, signal.SIGALRM)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, late)
    try:
        while left:
            try:
                left = left[os.write(file, left) :]
            except BlockingIOError:
                select.select([], [file], [])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def supervised_by(pipe: int | None, begun: float) -> None:
    """Send the messages of a command that began at that time to a supervisor on that pipe, if there is one.

    From now on only results go to standard output. Everything else that this process or a child prints goes
    to standard error.
    """
    _supervised.pipe, _supervised.begun = pipe, begun
    with contextlib.suppress(OSError):  # the folder is gone: names are left as they are
        _supervised.home = Path(os.getcwd())
    _supervised.output = sys.stdout = _text_stream(sys.stdout, os.dup(1), BrokenPipeError)
    sys.stderr = _text_stream(sys.stderr, 2, OSError)
    os.dup2(2, 1)


def report(**message: object) -> None:
    """Send a message to the supervisor; its keys are fields of the supervisor's report."""
    if _supervised.pipe is not None:
        _write_all(_supervised.pipe, json.dumps(message).encode() + b"\n")


def say(text: str) -> None:
    """Print a result; raises BadInput.

    From then on the supervisor does not bound the time, because the reader may be slow.
    """
    report(limit=math.inf, printed=True)
    _supervised.printed = True
    try:
        click.echo(text, _supervised.output, nl=False)
    except OSError as error:
        raise BadInput(f"stdout: cannot be written ({error.strerror}); give --output FILE") from error


def say_error(text: str) -> None:
    """Print the document of an error, unless a result was printed: stdout has one document at most."""
    if not _supervised.printed:
        with contextlib.suppress(BadInput):
            say(text)


def nothing_printed() -> None:
    """Note that a command begins, which has printed nothing yet."""
    _supervised.printed = False


def runs(path: Path) -> None:
    """Report a protocol file whose code is about to run.

    Its name counts from the folder where the command began, which is the current one from now on.
    """
    if _supervised.home is not None:
        os.chdir(_supervised.home)
    report(protocol=str(path))
    if _supervised.pipe is not None:
        sys.stdout = sys.stderr


def at_home(path: Path) -> Path:
    """Return a path in the folder where the command began. A protocol file may have changed the folder."""
    return path if _supervised.home is None else _supervised.home / path


def elapsed() -> float:
    """Return the seconds since the command began, imports included; 0 where nobody supervises it."""
    return 0.0 if _supervised.begun is None else time.perf_counter() - _supervised.begun


def timeout_option(default: float | None = 300.0, of_cpu: bool = False) -> Any:
    """Return the option `--timeout`, which bounds all that a command does.

    With `of_cpu` it counts CPU seconds, which the command has to watch itself: nobody waits for it.
    The default None stands for no limit, which is infinitely many seconds.
    """

    def bound(context: click.Context, parameter: click.Parameter, value: float | None) -> float:
        seconds = math.inf if value is None else value
        report(limit=math.inf if of_cpu and sys.platform == "linux" else seconds)
        return seconds

    usual = "no limit" if default is None else f"{default:g}"
    what = "CPU time" if of_cpu else "Time"
    return option(
        "--timeout SECONDS",
        f"{what} for the whole command.  [default: {usual}]",
        LIMITS,
        SECONDS,
        default=default,
        callback=bound,
    )
