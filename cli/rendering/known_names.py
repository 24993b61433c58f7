"""What is known already among what a check found: its bugs by name, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fencepost.answers.affected import affected, family, span
from fencepost.answers.explained_by import known_bugs
from fencepost.cli.rendering.check_text import verdict_sentence
from fencepost.encoding.engine.verdicts import Outcome, Result


def names_of(result: Result) -> list[str]:
    """The known bugs that explain its counterexamples; none if one of these is explained by none."""
    if result.trace is None:
        return []
    found = [[known.name for known in known_bugs(trace)] for trace in (result.trace, *result.more_traces)]
    return list(dict.fromkeys(name for one in found for name in one)) if all(found) else []


def line(result: Result, known: Sequence[str], where: str = "", faults: str = "") -> str:
    """The verdict's line, with the instance if it has one of its own, and the known bugs that it shows.

    A proof of every length names the `faults` that its executions may have.
    """
    on = f"; on {where}" if where else ""
    said = f"; known: {', '.join(map(_where, known))}; see docs/known.md" if known else ""
    return f"{verdict_sentence(result, faults)}{on}{said}  [{result.seconds:.1f} s]"


def _where(name: str) -> str:
    """A bug, and the releases of BookKeeper that have it if it was in any."""
    releases = affected(family(name))
    return f"{name} ({span(releases)})" if releases else name


def new(outcome: Outcome, known: Sequence[Sequence[str]]) -> Outcome:
    """What was found without what is known: for `--known-as-expected`."""
    results = tuple(r for r, named in zip(outcome.results, known, strict=True) if not named)
    return replace(outcome, results=results)
