"""The progress of a long check on stderr: a status line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import click

from fencepost.encoding.engine.events import (
    Event,
    Open,
    PreparationPhase,
    Remark,
    Replayed,
    Silence,
    TasksOver,
    Underway,
)
from fencepost.encoding.engine.messages import Visiting
from fencepost.encoding.engine.verdicts import Outcome
from fencepost.encoding.enumeration.process import TASK as ENUMERATION
from fencepost.encoding.forms.counterexample import action_line
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.traces import Trace, TraceStep
from fencepost.encoding.solving.solvers import Progress as SolverProgress


class StatusLine:
    """A status line on stderr while the context is open; nothing if stderr is no terminal."""

    def __init__(self, first: str) -> None:
        """Make a status line that begins with this text."""
        self._first = first
        self._status: Any = None
        self._said = time.perf_counter()

    def __enter__(self) -> Self:
        """Start the line, on a terminal."""
        if sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True).status(self._first)
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the line."""
        if self._status is not None:
            self._status.stop()

    def show(self, text: str, plainly: bool | None = None) -> None:
        """Change the line. Without a terminal print the text if `plainly`, by default every ten seconds."""
        if self._status is not None:
            self._status.update(text)
        elif self._is_time() if plainly is None else plainly:
            self._say(text)

    def _is_time(self) -> bool:
        """Return whether nothing was printed for a while."""
        return time.perf_counter() - self._said >= PAUSE

    def _say(self, text: str) -> None:
        """Print a line; the status line stays below it."""
        self._said = time.perf_counter()
        if self._status is not None:
            self._status.console.print(text, highlight=False, markup=False)
        else:
            click.echo(text, err=True)


HELD = 2.0
"""The seconds for which a new violation is held back: most commands end sooner and report it themselves."""
PAUSE = 10.0
"""The seconds between two lines of progress without a terminal."""
WORDS = {
    "hunt": "violations",
    "exhaust": "longer executions",
    "surpass": "executions past the bound",
    "questions": "induction",
}
"""The goal of each search, by the name of the search; others are called by their names."""


class CheckProgress(StatusLine):
    """The events of a check, shown on stderr.

    A terminal has one line that changes. Elsewhere there is a line every ten seconds, or with `verbose` one
    for each event. A violation is announced after `HELD` seconds, and `announcing` is called just before.
    """

    def __init__(self, verbose: bool = False) -> None:
        """Make the progress of one check, or of several in a row."""
        super().__init__("building")
        self.announcing: Callable[[], None] = lambda: None
        self.under_way: Callable[[], Outcome] | None = None
        """A call for the outcome of the running check as if it ended now; None between two checks."""
        self._verbose = verbose
        self._begun = self._said
        self._title: str | None = None
        self._tasks: dict[str, str] = {}
        self._open: tuple[str, ...] = ()
        self._found: dict[str, tuple[Trace, float]] = {}
        self._told: dict[str, int] = {}

    def begin(self, title: str) -> None:
        """Begin the next of several checks."""
        self._title = title
        for about in (self._tasks, self._found, self._told):
            about.clear()
        self._show(title)

    def hear(self, event: Event) -> None:
        """Show one event; remarks only with `verbose`."""
        match event:
            case Remark(text=text):
                if self._verbose:
                    self._say(text)
            case Replayed(property=name, trace=trace):
                self._found[name] = trace, time.perf_counter()
            case Open(properties=properties):
                self._open = properties
                self._show(f"to decide: {', '.join(properties)}" if properties else "all decided")
            case PreparationPhase(name=name):
                self._task("induction" if name.startswith("induction") else "prepare", name)
            case SolverProgress(task=task, rounds=rounds, clauses=clauses, conflicts=conflicts):
                words = WORDS.get(task, task)
                by_rounds = f"round {rounds}, " if task in WORDS else ""
                if by_rounds:  # one round is prepared
                    self._tasks.pop("prepare", None)
                said = f": {by_rounds}{clauses:,} clauses, {conflicts:,} conflicts" if clauses else ""
                self._task(words, f"{words}{said}")
            case Visiting():
                self._task(ENUMERATION, f"{ENUMERATION}: {event}")
            case TasksOver(names=names):
                for name in names:
                    self._tasks.pop(WORDS.get(name, name), None)
            case Underway(outcome=outcome):
                self.under_way = outcome
            case Silence():
                pass
        self._tell_found()
        self._still_there()

    def _task(self, task: str, line: str) -> None:
        self._tasks[task] = line
        self._show(line)

    def _tell_found(self) -> None:
        """Print each violation that is new, or shorter than the one printed, unless it was just found."""
        now = time.perf_counter()
        news = {
            name: (trace, at)
            for name, (trace, at) in self._found.items()
            if now - at >= HELD and len(trace.steps) != self._told.get(name)
        }
        if news:
            self.announcing()
        for name, (trace, at) in news.items():
            steps, since = amount(len(trace.steps), "step"), f"found after {at - self._begun:.0f} s"
            first = name not in self._told
            self._told[name] = len(trace.steps)
            self._say(f"{name}: violated in {steps} so far, {since}; the search goes on")
            if first:
                self._say("\n".join(_step_line(step) for step in trace.steps))

    def _still_there(self) -> None:
        """Print the work under way if nothing was printed for a while."""
        if self._status is None and not self._verbose and self._is_time():
            self._say(self._now())

    def _now(self) -> str:
        """Return the work under way, the properties still to decide, and the time so far."""
        elapsed = f"{time.perf_counter() - self._begun:.1f} s"
        still = [f"to decide: {', '.join(self._open)}"] if self._open else []
        doing = list(self._tasks.values()) or ["building"]
        return " · ".join([*filter(None, [self._title]), *doing, *still, elapsed])

    def _show(self, line: str) -> None:
        """Show the work under way on a terminal; elsewhere print the new line, with `verbose`."""
        if self._status is not None:
            self._status.update(self._now())
        elif self._verbose:
            self._say(f"{line} ({time.perf_counter() - self._begun:.1f} s)")


def _step_line(step: TraceStep) -> str:
    return f"{step.index:3}  {show(step.actor)} {action_line(step)}"


def tell_spent(spent: Mapping[str, float]) -> None:
    """Print on stderr the seconds of each part of the work."""
    click.echo("; ".join(f"{part} {seconds:.2f} s" for part, seconds in spent.items()), err=True)
