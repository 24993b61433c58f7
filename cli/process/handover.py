"""What a command hands to the process that supervises it: what it prints, how long it may take, whose code it runs.

A command that nobody supervises, as in a test, prints by itself and takes what time it takes.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import click

from fencepost.cli.options.grouped import LIMITS, option
from fencepost.cli.options.numbers import SECONDS
from fencepost.encoding.errors import BadInput

Command = TypeVar("Command", bound=Callable[..., Any])


class Supervisor(Protocol):
    """Who hears of a command."""

    def say(self, text: str) -> None:
        """Print this."""

    def may_take(self, seconds: float) -> None:
        """End the command if it takes longer than that from its start."""

    def runs(self, path: str) -> None:
        """From now on the code of that protocol file is run: what it does to the process is none of ours."""

    def knows(self, conclusion: str) -> None:
        """Carry this conclusion out, the newest one, if the process ends before it has done so itself."""


class Nobody:
    """A command that is by itself."""

    def say(self, text: str) -> None:
        try:
            click.echo(text, nl=False)
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise BadInput(f"stdout: cannot be written ({error.strerror}); give --output FILE") from error

    def may_take(self, seconds: float) -> None:
        pass

    def runs(self, path: str) -> None:
        pass

    def knows(self, conclusion: str) -> None:
        pass


class _Hands:
    """To whom things are handed, and where and when the command began."""

    def __init__(self) -> None:
        self.to: Supervisor = Nobody()
        self.begun: float | None = None
        self.home: Path | None = None


_hands = _Hands()


def supervised_by(supervisor: Supervisor, begun: float) -> None:
    """From now on this process does the work of a command that began at that time of `time.perf_counter`, here."""
    _hands.to, _hands.begun = supervisor, begun
    try:
        _hands.home = Path(os.getcwd())
    except OSError:  # the folder is gone: names are left as they are
        _hands.home = None


def say(text: str) -> None:
    """Print a result."""
    _hands.to.say(text)


def hand_over(conclusion: str) -> None:
    """Hand over the conclusion so far, in the form of `Conclusion.to_json`: it replaces the one before."""
    _hands.to.knows(conclusion)


def runs(path: Path) -> None:
    """Say, before its code is run, that a protocol file is; names are meant as at first, whatever another has changed."""
    if _hands.home is not None:
        os.chdir(_hands.home)
    _hands.to.runs(str(path))


def at_home(path: Path) -> Path:
    """The path as it was meant when the command was called, wherever a protocol file has changed to since."""
    return path if _hands.home is None else _hands.home / path


def elapsed() -> float:
    """Seconds since the command began, start-up and imports included; 0 where nobody supervises it."""
    return 0.0 if _hands.begun is None else time.perf_counter() - _hands.begun


def timeout_option(told: bool = True, default: float | None = 300.0) -> Callable[[Command], Command]:
    """Return the option `--timeout`, which bounds all that a command does; the seconds are `told` to the command or not.

    Without a `default` the command has no limit unless one is given: infinitely many seconds.
    """

    def bound(context: click.Context, parameter: click.Parameter, value: float | None) -> float:
        seconds = math.inf if value is None else value
        _hands.to.may_take(seconds)
        return seconds

    return option(
        "--timeout",
        type=SECONDS,
        default=default,
        metavar="SECONDS",
        group=LIMITS,
        help=f"Time for the whole command.  [default: {'no limit' if default is None else f'{default:g}'}]",
        callback=bound,
        expose_value=told,
    )


outer_timeout_option = timeout_option(told=False)
"""For a command that does not look at the clock itself."""
