"""The engine that bounds the steps of violations from below, by frames of IC3, and looks for shorter ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fencepost.encoding.engine.limits import Minimize
from fencepost.encoding.engine.messages import FoundPath
from fencepost.encoding.engine.path_replay import PathReplay
from fencepost.encoding.engine.work import Engine, Work
from fencepost.encoding.ic3.step_bounds import TASK, shorten
from fencepost.encoding.language.system import Property
from fencepost.encoding.solving.workers import Worker

DELAY = 2.0
"""The processor seconds that searches by rounds have after a violation. They settle most small instances."""


class ShortestViolation:
    """Search for shorter violations, one violated property after the other, by steps instead of rounds.

    A path that is found from frame k has k steps. It is replayed. Bounds count once another solver has
    checked the frames.
    """

    proves = False

    def __init__(self, work: Work, proofs: Engine, rounds: Engine) -> None:
        """Prepare nothing yet: a search begins after a violation, and once `proofs` is over."""
        self._work, self._proofs, self._rounds = work, proofs, rounds
        self._since: float | None = None
        """The processor seconds of the rounds when there was a violation."""
        self._searching: tuple[Worker, Property] | None = None
        self._done: list[str] = []

    @property
    def suits(self) -> bool:
        """Whether steps are made few in counterexamples of any length."""
        limits = self._work.limits
        return limits.finds and limits.minimize is Minimize.STEPS and limits.count == 1

    @property
    def is_over(self) -> bool:
        """Whether no search is under way, and none may begin."""
        return self._searching is None and not self._shortening()

    def begin(self) -> None:
        """Start nothing yet."""

    def go_on(self) -> None:
        """Search for a shorter violation of the next property, and end a search that is not needed."""
        if self._searching is not None and self._work.knowledge.settled(self._searching[1].name):
            self._work.dismiss(self._searching[0])
            self._searching = None
        waiting = self._shortening()
        if self._searching is not None or not waiting or not self._may_begin():
            return
        prop, work = waiting[0], self._work
        self._done.append(prop.name)
        found = work.knowledge.violation(prop.name)
        assert found is not None
        steps = len(found.trace.steps)
        asked = work.system, prop, work.assumed, steps, work.limits
        self._searching = work.start(self, TASK, shorten, *asked), prop

    def take(self, worker: Worker, message: Any) -> None:
        """Replay a shorter path, or record a lower bound."""
        assert self._searching is not None
        if isinstance(message, FoundPath):
            PathReplay(self._work).report(message, self._searching[1].name)
        else:
            self._work.knowledge.hear(message)

    def end(self, worker: Worker) -> None:
        """Note that a search has ended."""
        self._searching = None

    def _shortening(self) -> Sequence[Property]:
        """Return the violated properties whose violation may still become shorter."""
        knowledge = self._work.knowledge
        return [
            prop
            for prop in self._work.properties
            if prop.name not in self._done
            and knowledge.violation(prop.name) is not None
            and not knowledge.settled(prop.name)
        ]

    def _may_begin(self) -> bool:
        spent = self._work.spent_by(self._rounds)
        if self._since is None:
            self._since = spent
        if self._proofs.suits and not self._proofs.is_over:
            return False
        if not self._rounds.suits or self._rounds.is_over or self._work.limits.conflicts is not None:
            return True
        return spent - self._since >= DELAY
