"""Houdini in worker processes: the questions on some claims are made, then asked turn by turn."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.encoding.engine.work import Engine, Work
from fencepost.encoding.induction.houdini import SHARES, Houdini, Posed, ask, pose
from fencepost.encoding.induction.proof_obligations import Statement
from fencepost.encoding.induction.withdrawal import Left, StillInductive, Withdrawn
from fencepost.encoding.rounds.searches import shared
from fencepost.encoding.solving.workers import Worker


class HoudiniRun:
    """Houdini on properties and further claims of a system, up to the claims that are inductive together.

    The engine that owns the run hands it the messages and the ends of `workers`, and calls `go_on` after
    each message.
    """

    def __init__(self, work: Work, engine: Engine, claims: Sequence[Statement]) -> None:
        """Start the worker that makes the questions."""
        self._work, self._engine = work, engine
        self._houdini: Houdini | None = None
        self.workers = [work.start(engine, "questions", pose, work.system, work.properties, claims)]

    @property
    def result(self) -> Houdini | None:
        """The claims left and withdrawn; None before the end, or if a process gave up."""
        return self._houdini if self._houdini is not None and self._houdini.settled else None

    @property
    def is_over(self) -> bool:
        """Whether there is a result, or none will come."""
        return self.result is not None or not self.workers

    def take(self, message: Posed | StillInductive | Withdrawn | Left) -> None:
        """Handle a message of one of the workers."""
        if isinstance(message, Posed):
            self.stop()
            self._houdini = Houdini(message)
            self._ask(self._houdini)
        else:
            assert self._houdini is not None
            self._houdini.hear(message)

    def end(self, worker: Worker) -> None:
        """Handle the end of one of the workers."""
        self.workers.remove(worker)

    def go_on(self) -> None:
        """End the turn if all its questions are answered, and begin another if the shares differ."""
        houdini = self._houdini
        if houdini is None or not houdini.answered:
            return
        self.stop()
        if not houdini.settled:
            houdini.again()
            self._ask(houdini)

    def stop(self) -> None:
        """End the workers."""
        self._work.dismiss(*self.workers)
        self.workers.clear()

    def _ask(self, houdini: Houdini) -> None:
        for shares in shared(range(SHARES), self._work.places):
            asked = houdini.posed, houdini.claims, dict(houdini.kept), shares, self._work.limits
            self.workers.append(self._work.start(self._engine, "induction", ask, *asked))
