"""The known bugs among the results of a check: their names and releases."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

from fencepost.cli.rendering.check_text import verdict_sentence
from fencepost.encoding.engine.verdicts import Outcome, Result


def line(result: Result, known: Sequence[str], where: str = "", faults: str = "") -> str:
    """Return the line of a verdict, with its own instance if it has one, and the known bugs that explain it.

    An inductive proof names the `faults` that its executions may have.
    """
    on = f"; on {where}" if where else ""
    said = f"; known: {', '.join(map(_where, known))}; see {_command(known)}" if known else ""
    return f"{verdict_sentence(result, faults)}{on}{said}  [{result.seconds:.1f} s]"


def _where(name: str) -> str:
    """Return a bug with the releases of BookKeeper that have it, if any."""
    from fencepost.answers.affected import affected, family, span

    releases = affected(family(name))
    return f"{name} ({span(releases)})" if releases else name


def _command(known: Sequence[str]) -> str:
    """Return the command that describes the bugs. A shell would take a # at the beginning for a remark."""
    return shlex.join(["fencepost", "known", *(name.removeprefix("#") for name in known)])


def new(outcome: Outcome, known: Sequence[Sequence[str]]) -> Outcome:
    """Return the outcome without results that known bugs explain."""
    results = tuple(r for r, named in zip(outcome.results, known, strict=True) if not named)
    return replace(outcome, results=results)
