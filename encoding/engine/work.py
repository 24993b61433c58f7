"""The work on one question: what the engines of a check share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.engine.events import Listener, Open, PatienceOver, Silence
from fencepost.encoding.engine.knowledge import Knowledge
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.patience import Waiting
from fencepost.encoding.engine.verdicts import Outcome, Result
from fencepost.encoding.language.protocol import Checkable
from fencepost.encoding.language.system import Invariant, Property
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.solving.crew import Crew, OutOfTime
from fencepost.encoding.solving.workers import Ended, Worker, reason_of

TIME_OUT = "time-out after"
"""The beginning of the reason of a check that ran out of time."""

Take = Callable[[Any], None]
"""A function that handles one message of a worker."""


class Work:
    """The question, the limits, the workers and the evidence of one check.

    An engine starts workers with `start` and waits for them with `hear`. Evidence goes to `knowledge`.
    """

    def __init__(
        self, instance: Checkable, properties: Sequence[Property], limits: Limits, listen: Listener
    ) -> None:
        """Begin the work; the time limit counts from here."""
        self.system, self.properties, self.limits, self.listen = instance.system, properties, limits, listen
        inducts = limits.inducts_over_rounds(self.system)
        self.carried: tuple[Invariant, ...] = self.system.invariants if inducts else ()
        """Invariants that k-induction carries along."""
        self.assumed: tuple[Invariant, ...] = ()
        """Invariants that are proved: a bounded search may take them for granted."""
        self.knowledge = Knowledge(properties, limits, inducts, tuple(i.name for i in self.carried))
        self.replayer = Replayer(self.system, instance.subject)
        self.begun = time.perf_counter()
        self._waiting = Waiting(limits.patience, self.begun)
        until = self.begun + limits.timeout - limits.gone
        self.crew = Crew(until, self.replayer.warm_up(), tick=lambda: listen(Silence()))
        self.stopped: str | None = None
        """Why the check ended before everything was settled; None if it did not."""
        self.interrupted = False
        self.spent: dict[str, float] = {}
        """Seconds by part of the preparation."""
        self.solving = 0.0
        """Seconds of the searches."""
        self.further: dict[str, list[Trace]] = {}
        """Further counterexamples by property, if more than one was asked for."""
        self.no_further: dict[str, str] = {}
        """Why there are no more of them, by property."""
        self._open: tuple[str, ...] = ()
        self._settled_at: dict[str, float] = {}

    def start(self, name: str, make: Callable[..., Sequence[Iterator[Any]]], *arguments: Any) -> Worker:
        """Start a worker within the memory limit."""
        return self.crew.start(Worker(name, make, *arguments, gib=self.limits.memory))

    def hear(
        self, take: Take, done: Callable[[], bool], ended: Callable[[Worker], None] = lambda worker: None
    ) -> str | None:
        """Handle messages until `done`. Return why that was not reached, or None if nothing failed.

        Raises ModelError, BadInput and InternalError of workers.
        """
        reason = None
        try:
            if done():
                return None
            for worker, message in self.crew.heard(done):
                if isinstance(message, Ended):
                    ended(worker)
                    reason = reason_of(message, worker.name, self.limits.memory) or reason
                else:
                    take(message)
                if done():
                    break
        except OutOfTime:
            reason = f"{TIME_OUT} {self.limits.timeout:g} s"
        return reason

    def property(self, name: str) -> Property:
        """Return the property of that name."""
        return next(prop for prop in self.properties if prop.name == name)

    # How far the check is.

    def all_settled(self) -> bool:
        """Return whether every property is settled. Tell the listener when the open properties change."""
        self._end_patience()
        settled = [prop.name for prop in self.properties if self.knowledge.settled(prop.name)]
        for name in settled:
            self._settled_at.setdefault(name, time.perf_counter())
        still = tuple(prop.name for prop in self.properties if prop.name not in settled)
        if still != self._open:
            self._open = still
            self.listen(Open(still))
        return not still

    def _end_patience(self) -> None:
        """Tell the evidence which counterexamples have been made smaller for long enough."""
        violated = [p.name for p in self.properties if self.knowledge.violation(p.name) is not None]
        for name in self._waiting.over(violated, time.perf_counter()):
            self.knowledge.hear(PatienceOver(name))

    def is_over(self) -> bool:
        """Return whether no engine has anything left to do."""
        return self.stopped is not None or self.all_settled()

    # The results.

    def outcome(self) -> Outcome:
        """Return a result for each property from the evidence so far."""
        seconds = time.perf_counter() - self.begun
        results = tuple(map(self._result, self.properties))
        return Outcome(results, seconds, self.interrupted, {**self.spent, "solving": self.solving})

    def _result(self, prop: Property) -> Result:
        name = prop.name
        stopped = "interrupted" if self.interrupted else self.stopped
        until = self._settled_at.get(name, time.perf_counter())
        result = self.knowledge.result(name, until - self.begun, stopped or "the search stopped early")
        if result.trace is None:
            return result
        further = tuple(self.further.get(name, ()))
        complete = 1 + len(further) >= self.limits.count
        return replace(
            result, more_traces=further, reason=None if complete else self.no_further.get(name, stopped)
        )
