"""Further counterexamples: searches for violations that differ from those known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fencepost.encoding.engine.knowledge import Knowledge
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.rounds.findings import Findings
from fencepost.encoding.rounds.search import Footprint
from fencepost.encoding.rounds.searches import Job, SearchKind, search
from fencepost.encoding.solving.workers import Worker


def search_further(findings: Findings) -> None:
    """Look for as many counterexamples of each violated property as are wanted.

    They fire other actions, or lose other messages, than those known.
    """
    work = findings.work
    for prop in work.properties:
        found = work.knowledge.violation(prop.name)
        if found is None:
            continue
        further = work.further[prop.name] = []
        known = [findings.confirmation.footprint(found.trace)]
        while len(further) + 1 < work.limits.count:
            another = _another(findings, prop, found.rounds or len(found.trace.steps), known)
            if another is None:
                break
            further.append(another)
            known.append(findings.confirmation.footprint(another))


def _another(findings: Findings, prop: Property, rounds: int, known: Sequence[Footprint]) -> Trace | None:
    """Return the cheapest counterexample with another footprint within that many rounds, or None."""
    work = findings.work
    hunt = _AnotherHunt(findings, prop, rounds, known)
    stopped = work.run([hunt], hunt.is_done)
    found = hunt.knowledge.violation(prop.name)
    if found is None:
        none_left = f"there is no other within {amount(rounds, 'round')}"
        work.no_further[prop.name] = stopped or none_left
        return None
    return found.trace


class _AnotherHunt:
    """The engine that looks for one more counterexample, in a worker of its own."""

    suits = True
    proves = False

    def __init__(self, findings: Findings, prop: Property, rounds: int, known: Sequence[Footprint]) -> None:
        self._findings = replace(findings, keeps_steps=True)
        self._property, self._rounds, self._known = prop, rounds, known
        self.knowledge = Knowledge([prop], findings.work.limits)
        self.is_over = False

    def is_done(self) -> bool:
        """Return whether the rounds have been searched."""
        return self.knowledge.searched(self._property.name) >= self._rounds

    def begin(self) -> None:
        """Start the search."""
        findings, limits = self._findings, self._findings.work.limits
        asked = findings.task([self._property])
        asked = replace(asked, rounds=self._rounds, avoid=tuple(self._known), upheld_before=True)
        hunt = findings.prepared.template, asked, limits, [Job(SearchKind.HUNT)]
        findings.work.start(self, SearchKind.HUNT.value, search, *hunt)

    def go_on(self) -> None:
        """Start nothing more."""

    def take(self, worker: Worker, message: Any) -> None:
        """Record a finding."""
        self._findings.hear(self.knowledge, message)

    def end(self, worker: Worker) -> None:
        """Note that the search has ended."""
        self.is_over = True
