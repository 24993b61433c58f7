"""What a long check is doing, and what it has found by then, on stderr: a status line on a terminal, plain lines elsewhere."""

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
    Underway,
)
from fencepost.encoding.engine.verdicts import Outcome
from fencepost.encoding.forms.counterexample import action_line
from fencepost.encoding.language.state import amount, show
from fencepost.encoding.language.traces import Trace, TraceStep
from fencepost.encoding.solving.solvers import Progress as SolverProgress


class StatusLine:
    """A line on stderr that can be changed, from entering to leaving; there is none unless stderr is a terminal."""

    def __init__(self, first: str) -> None:
        self._first = first
        self._status: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True).status(self._first)
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, text: str, plainly: bool) -> None:
        """Change the line; where there is no terminal, print one if it is time to."""
        if self._status is not None:
            self._status.update(text)
        elif plainly:
            click.echo(text, err=True)


HELD = 2.0
"""A violation is told of if the command goes on so many seconds after it was found: else the result says it."""
PAUSE = 10.0
"""Where there is no terminal, so many seconds lie between two lines that say what is being done."""
WORDS = {
    "hunt": "violations",
    "exhaust": "longer executions",
    "surpass": "executions past the bound",
    "induct": "induction",
}
"""What a search looks for, by its name."""


class CheckProgress(StatusLine):
    """Hears what a check reports and shows it on stderr.

    On a terminal on one line that changes; elsewhere a line every ten seconds, with `verbose` one for each thing heard.
    A violation is told of as soon as it is clear that the command takes longer; `announcing` is called just before.
    """

    def __init__(self, verbose: bool) -> None:
        super().__init__("building")
        self.announcing: Callable[[], None] = lambda: None
        self.under_way: Callable[[], Outcome] | None = None
        """A call for the outcome of the running check as if it ended now; None between two checks."""
        self._verbose = verbose
        self._begun = self._said = time.perf_counter()
        self._title: str | None = None
        self._tasks: dict[str, str] = {"prepare": "building"}
        self._open: tuple[str, ...] = ()
        self._found: dict[str, tuple[Trace, float]] = {}
        self._told: dict[str, int] = {}

    def begin(self, title: str) -> None:
        """Say which of several checks the events from now on belong to."""
        self._title = title
        for about in (self._tasks, self._found, self._told):
            about.clear()
        self._show(title)

    def hear(self, event: Event) -> None:
        """Show one event; a remark is for those who asked for more than the verdict."""
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
                self._task("prepare", name)
            case SolverProgress(task=task, rounds=rounds, clauses=clauses, conflicts=conflicts):
                words = WORDS.get(task, task)
                self._task(words, f"{words}: round {rounds}, {clauses:,} clauses, {conflicts:,} conflicts")
            case Underway(outcome=outcome):
                self.under_way = outcome
            case Silence():
                pass
        self._tell_found()
        self._still_there()

    def _task(self, task: str, line: str) -> None:
        self._tasks.pop("prepare", None)
        self._tasks[task] = line
        self._show(line)

    def _tell_found(self) -> None:
        """Each violation that is new or shorter than the one told of, unless it has just been found."""
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
                self._say("\n".join(_line(step) for step in trace.steps))

    def _still_there(self) -> None:
        """Where nothing else is said, what is being done."""
        if self._status is None and not self._verbose and time.perf_counter() - self._said >= PAUSE:
            self._say(self._now())

    def _now(self) -> str:
        """Everything under way, what is still to decide, and how long it has taken."""
        elapsed = f"{time.perf_counter() - self._begun:.1f} s"
        still = [f"to decide: {', '.join(self._open)}"] if self._open else []
        return " · ".join([*filter(None, [self._title]), *self._tasks.values(), *still, elapsed])

    def _show(self, line: str) -> None:
        """Everything under way on a terminal's status line; elsewhere the new line only, if every line is wanted."""
        if self._status is not None:
            self._status.update(self._now())
        elif self._verbose:
            self._say(f"{line} ({time.perf_counter() - self._begun:.1f} s)")

    def _say(self, text: str) -> None:
        """A line of its own; the status line stays below it."""
        self._said = time.perf_counter()
        if self._status is not None:
            self._status.console.print(text, highlight=False, markup=False)
        else:
            click.echo(text, err=True)


def _line(step: TraceStep) -> str:
    return f"{step.index:3}  {show(step.actor)} {action_line(step)}"


def tell_spent(spent: Mapping[str, float]) -> None:
    """Say on stderr how many seconds each part of the work took."""
    click.echo("; ".join(f"{part} {seconds:.2f} s" for part, seconds in spent.items()), err=True)
