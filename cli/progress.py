"""What a long check is doing, on stderr: a status line on a terminal, plain lines with -v elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import click

from fencepost.encoding.checking.preparing import Phase
from fencepost.encoding.checking.running import Remark
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


class Progress(StatusLine):
    """Hears what a check reports and shows it; silent unless stderr is a terminal or `verbose`."""

    def __init__(self, verbose: bool) -> None:
        super().__init__("building")
        self._verbose = verbose
        self._begun = time.perf_counter()
        self._title: str | None = None
        self._tasks: dict[str, str] = {}

    def begin(self, title: str) -> None:
        """Say which of several checks the events from now on belong to."""
        self._title = title
        self._tasks.clear()
        self._show(title)

    def hear(self, event: SolverProgress | Phase | Remark) -> None:
        """Show one event; a remark is for those who asked for more than the verdict."""
        if isinstance(event, Remark):
            if self._verbose:
                click.echo(event.text, err=True)
            return
        if isinstance(event, Phase):
            line, task = event.name, "prepare"
        else:
            words = {
                "hunt": "violations",
                "exhaust": "longer executions",
                "surpass": "executions past the bound",
                "induct": "induction",
            }
            task = words.get(event.task, event.task)
            line = f"{task}: round {event.rounds}, {event.clauses:,} clauses, {event.conflicts:,} conflicts"
        self._tasks.pop("prepare", None)
        self._tasks[task] = line
        self._show(line)

    def _show(self, line: str) -> None:
        """Everything under way on a terminal's status line; elsewhere the new line only."""
        elapsed = f"{time.perf_counter() - self._begun:.1f} s"
        if self._status is not None:
            parts = [self._title] if self._title is not None else []
            self._status.update(" · ".join([*parts, *self._tasks.values(), elapsed]))
        elif self._verbose:
            click.echo(f"{line} ({elapsed})", err=True)


def tell_spent(spent: Mapping[str, float]) -> None:
    """Say on stderr how many seconds each part of the work took."""
    click.echo("; ".join(f"{part} {seconds:.2f} s" for part, seconds in spent.items()), err=True)
