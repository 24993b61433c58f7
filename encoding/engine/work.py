"""The work on one question: what the engines of a check share, and the loop that runs them side by side."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.engine.clauses import Clause
from fencepost.encoding.engine.events import (
    Listener,
    Open,
    PatienceOver,
    PreparationPhase,
    Silence,
    TasksOver,
)
from fencepost.encoding.engine.knowledge import Knowledge
from fencepost.encoding.engine.limits import Limits, Waiting
from fencepost.encoding.engine.messages import IC3, Visiting
from fencepost.encoding.engine.verdicts import Outcome, Reached, Result, Verdict
from fencepost.encoding.errors import time_out
from fencepost.encoding.language.protocol import Checkable
from fencepost.encoding.language.system import Invariant, Property
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.solving.crew import Crew, OutOfTime
from fencepost.encoding.solving.solvers import Progress
from fencepost.encoding.solving.workers import Ended, Worker, reason_of


class Engine(Protocol):
    """A way to settle properties. `Work` begins it, hands it the messages of its workers, and lets it go on.

    It starts its workers with `Work.start` and reports evidence to `Work.knowledge`.
    """

    proves: bool
    """Whether it can prove what searches by rounds cannot. While it is at work, `holds` is not final."""

    @property
    def suits(self) -> bool:
        """Whether the limits ask for this engine, and it can work on the system."""

    @property
    def is_over(self) -> bool:
        """Whether the engine, once begun, has nothing more to do."""

    def begin(self) -> None:
        """Start the first workers."""

    def go_on(self) -> None:
        """Start and end workers as the evidence of all engines allows by now. Called after each message."""

    def take(self, worker: Worker, message: Any) -> None:
        """Handle a message of a worker of this engine."""

    def end(self, worker: Worker) -> None:
        """Handle the end of a worker of this engine that was not dismissed."""


class Work:
    """The question, the limits, the workers and the evidence of one check.

    `run` lets engines work side by side. At most `limits.jobs` of their processes run at the same moment.
    """

    def __init__(
        self, instance: Checkable, properties: Sequence[Property], limits: Limits, listen: Listener
    ) -> None:
        """Begin the work; the time limit counts from here."""
        self.system, self.properties, self.limits, self.listen = instance.system, properties, limits, listen
        asked = {prop.name for prop in properties}
        others = (prop for prop in self.system.properties if prop.name not in asked)
        self.lemmas = tuple(Invariant(prop.name, prop.meaning, prop.holds) for prop in others)
        """The properties that are not asked about. A proof may rest on those that it proves along."""
        self.assumed: tuple[Invariant, ...] = ()
        """Invariants that are proved: a bounded search may take them for granted."""
        self.kept: tuple[Clause, ...] = ()
        """The clauses of an earlier certificate that are inductive with the declared invariants."""
        self.knowledge = Knowledge(properties, limits)
        self.replayer = Replayer(self.system, instance.subject)
        self.begun = time.perf_counter()
        self._waiting = Waiting(limits.patience, self.begun)
        until = self.begun + limits.timeout - limits.gone
        self.crew = Crew(until, self._tick, limits.jobs)
        self.stopped: str | None = None
        """Why the check ended before everything was settled; None if it did not."""
        self.interrupted = False
        self.spent: dict[str, float] = {}
        """Seconds by part of the preparation."""
        self.searching: float | None = None
        """The time at which the searches began, as a value of `time.perf_counter`."""
        self.further: dict[str, list[Trace]] = {}
        """Further counterexamples by property, if more than one was asked for."""
        self.no_further: dict[str, str] = {}
        """Why there are no more of them, by property."""
        self._engines: Sequence[Engine] = ()
        self._may_work: Callable[[Engine], bool] = lambda engine: True
        self._begun: list[Engine] = []
        self._owners: dict[Worker, Engine] = {}
        self._spent = defaultdict[Engine, float](float)
        """The processor seconds of the workers of an engine that have ended."""
        self._gave_up: dict[Engine, str] = {}
        """Why an engine gave up a part of its work."""
        self._latest: dict[str, Progress] = {}
        """The latest report of each task."""
        self._visiting: Visiting | None = None
        self._most_memory = 0
        self._open: tuple[str, ...] = ()
        self._settled_at: dict[str, float] = {}

    # The engines and their workers.

    def run(
        self,
        engines: Sequence[Engine],
        done: Callable[[], bool],
        may_work: Callable[[Engine], bool] = lambda engine: True,
    ) -> str | None:
        """Let those engines that suit work side by side until `done`, or until all are over.

        While `may_work` says that an engine may not work, it does not begin, and its workers are stopped.
        Return why some engine gave up, or None if none did. Raises ModelError, BadInput and InternalError of
        workers.
        """
        self._engines = [engine for engine in engines if engine.suits]
        self._begun.clear()
        self._gave_up.clear()
        self._may_work = may_work
        try:
            begun = self._goes_on(done)
            while begun:
                for worker, message in self.crew.heard(done):
                    self._take(worker, message)
                    if not self._goes_on(done):
                        break
                # The end of one engine, seen by another only now, may let it conclude or start a worker.
                begun = self._goes_on(done) and bool(self.crew.workers)
        except OutOfTime:
            return time_out(self.limits.timeout)
        finally:
            self._most_memory = max([self._most_memory, *(w.most_memory for w in self.crew.workers)])
            self.crew.dismiss()
            self._owners.clear()
        return "; ".join(dict.fromkeys(self._gave_up.values())) or None

    def start(
        self,
        engine: Engine,
        name: str,
        messages: Callable[..., Iterator[Any]],
        *arguments: Any,
        steady: bool = False,
        waits: bool = False,
    ) -> Worker:
        """Start a worker of an engine within the memory limit. It `waits` for a place, or another one does.

        With several jobs, a `steady` worker that runs never waits for others.
        """
        if not waits:
            self.crew.make_room()
        worker = Worker(name, messages, *arguments, gib=self.limits.memory)
        self._owners[worker] = engine
        return self.crew.start(worker, steady and self.limits.jobs > 1)

    def dismiss(self, *workers: Worker) -> None:
        """End these workers; none is no mistake."""
        for worker in workers:
            self._forget(worker)
            self.crew.dismiss(worker)

    def spent_by(self, *engines: Engine) -> float:
        """Return the processor seconds of all workers of these engines so far.

        Engines wait for each other by these seconds: a clock would take a busy machine for a hard question.
        """
        working = sum(worker.spent for worker, engine in self._owners.items() if engine in engines)
        return working + sum(self._spent[engine] for engine in engines)

    @property
    def places(self) -> int:
        """The number of workers that run at the same moment beside the one that looks for violations."""
        beside = self.limits.searches and self.limits.jobs > 1
        return self.limits.jobs - 1 if beside else self.limits.jobs

    def _take(self, worker: Worker, message: Any) -> None:
        """Hand a message to the engine that the worker belongs to."""
        engine = self._owners[worker]
        match message:
            case Ended():
                self._forget(worker)
                self._most_memory = max(self._most_memory, message.memory)
                reason = reason_of(message, worker.name, self.limits.memory)
                if reason is not None:
                    self._gave_up[engine] = reason
                engine.end(worker)
            case Progress() | PreparationPhase() | Visiting():
                if isinstance(message, Progress):
                    self._latest[message.task] = message
                elif isinstance(message, Visiting):
                    self._visiting = message
                self.listen(message)
            case _:
                engine.take(worker, message)

    def _forget(self, worker: Worker) -> None:
        self._spent[self._owners.pop(worker)] += worker.spent
        self.listen(TasksOver(tuple(worker.name.split("+"))))

    def _goes_on(self, done: Callable[[], bool]) -> bool:
        """Let the engines go on, and return whether there is anything to wait for."""
        if done():
            return False
        self._advance()
        return not done()

    def _advance(self) -> None:
        for engine in self._engines:
            if not self._may_work(engine):
                continue
            if engine not in self._begun:
                self._begun.append(engine)
                engine.begin()
            engine.go_on()
        self.crew.hold([w for w, engine in self._owners.items() if not self._may_work(engine)])
        self.knowledge.proving = any(engine.proves and not engine.is_over for engine in self._engines)

    def _tick(self) -> None:
        self.listen(Silence())
        self._advance()

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

    def is_enough(self) -> bool:
        """Return whether the check may end: all is settled, or there is the one violation that is wanted."""
        if self.limits.one_is_enough and any(self.knowledge.violation(p.name) for p in self.properties):
            return True
        return self.all_settled()

    # The results.

    def outcome(self) -> Outcome:
        """Return a result for each property from the evidence so far."""
        seconds = time.perf_counter() - self.begun
        results = tuple(map(self._result, self.properties))
        solving = 0.0 if self.searching is None else time.perf_counter() - self.searching
        return Outcome(results, seconds, self.interrupted, {**self.spent, "solving": solving})

    def _reached(self) -> Reached:
        """Return how far the engines have come."""
        found = self._latest.get(IC3, None)
        memory = max([self._most_memory, *(worker.most_memory for worker in self.crew.workers)])
        frames, clauses = (found.rounds, found.clauses) if found is not None else (None, None)
        nodes, steps = (v.nodes, v.steps) if (v := self._visiting) is not None else (None, None)
        return Reached(self.knowledge.longer, frames, clauses, nodes, steps, memory or None)

    def _result(self, prop: Property) -> Result:
        name = prop.name
        stopped = "interrupted" if self.interrupted else self.stopped
        until = self._settled_at.get(name, time.perf_counter())
        result = self.knowledge.result(name, until - self.begun, stopped or "the search stopped early")
        if result.verdict is Verdict.UNDECIDED:
            return replace(result, reached=self._reached())
        if result.trace is None:
            return result
        further = tuple(self.further.get(name, ()))
        complete = 1 + len(further) >= self.limits.count
        return replace(
            result, more_traces=further, reason=None if complete else self.no_further.get(name, stopped)
        )
