"""Candidates read off the actions, as text: what they prove, and their source to paste."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.cli.exits import ExitCode
from fencepost.cli.rendering.progress import CheckProgress
from fencepost.encoding.engine.candidates import Offer
from fencepost.encoding.engine.events import PreparationPhase
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Property
from fencepost.encoding.solving.answers import SolverGaveUpError
from fencepost.encoding.solving.solvers import Progress
from fencepost.encoding.solving.workers import Ended, failure

NAMED = 8
"""The most claims that are named. A longer list is counted."""


@dataclass
class CandidatesReport:
    """The findings of the process that reads candidates off."""

    offer: Offer | None = None
    undecided: str | None = None

    def hear(self, event: Offer | PreparationPhase | Progress | Ended, progress: CheckProgress) -> None:
        """Note an event of the process; raises the error that ended it."""
        match event:
            case Offer():
                self.offer = event
            case Ended():
                match failure(event, "reading the actions"):
                    case SolverGaveUpError() as gave_up:
                        self.undecided = str(gave_up)
                    case Exception() as failed:
                        raise failed
            case _:
                progress.hear(event)

    @property
    def code(self) -> ExitCode:
        """The exit code: every action keeps all properties, or not."""
        done = self.offer is not None and not self.offer.broken
        return ExitCode.SUCCESS if done else ExitCode.UNDECIDED

    def lines(self, properties: Sequence[Property]) -> list[str]:
        """Return the numbers of candidates, a line for each property, and the source."""
        found = self.offer
        if found is None:
            return []
        counts = (f"{found.simulated} true in all simulated states", f"{len(found.candidates)} inductive")
        return [
            f"read off the actions: {found.read_off} candidates, {', '.join(counts)}",
            *(f"{prop.name}: {_verdict(found, prop.name)}" for prop in properties),
            *([f"well-defined: {found.undefined}, so nothing is proved"] if found.undefined else []),
            *([""] if found.candidates else []),
            *(candidate.source for candidate in found.candidates),
        ]


def _verdict(found: Offer, name: str) -> str:
    if name in found.broken:
        return found.broken[name]
    used = found.kept[name]
    if not used:
        return "kept by every action"
    names = ", ".join(used) if len(used) <= NAMED else amount(len(used), "claim")
    return f"kept by every action, with {names}"
