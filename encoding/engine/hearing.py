"""What is heard while a check is under way: its workers, and where each of their messages goes.

What they say is only passed on: to `confirming`, which replays it, and to `knowledge`, which says what it comes to.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.engine.confirmation import Confirmation
from fencepost.encoding.engine.events import Replayed, Seen, Untrue
from fencepost.encoding.engine.houdini import Houdini, Posed
from fencepost.encoding.engine.knowledge import Knowledge, failure
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.preparation import PreparationPhase, Prepared
from fencepost.encoding.engine.searches import Job, Search, search, task
from fencepost.encoding.engine.verdicts import Outcome
from fencepost.encoding.errors import InternalError, ModelError
from fencepost.encoding.induction.directed_simulation import SimulatedTo
from fencepost.encoding.induction.over_rounds import Inductive, NotInductive
from fencepost.encoding.induction.withdrawal import Left, StillInductive, Withdrawn
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.traces import Subject, Trace
from fencepost.encoding.rounds.search import Broken, Task, Violated, Wrong
from fencepost.encoding.solving.answers import SolverGaveUpError
from fencepost.encoding.solving.crew import Crew, OutOfTime
from fencepost.encoding.solving.solvers import Progress, SpentError
from fencepost.encoding.solving.workers import Ended, Worker

TIME_OUT = "time-out after"
"""How the reason begins if the time was over."""

PATIENCE = 5.0
"""Seconds after which completeness is asked of short executions only, if that is enough for the verdict.
Most small instances are complete before that."""


@dataclass(frozen=True)
class Remark:
    """What an author may want to know: why a property is not inductive, with which invariants one is."""

    text: str


@dataclass(frozen=True)
class Open:
    """These properties are not decided yet: the search is about them."""

    properties: tuple[str, ...]


@dataclass(frozen=True)
class Silence:
    """For a while nobody has said anything."""


@dataclass(frozen=True)
class Underway:
    """A check begins: from now on `outcome` says what it comes to if it ends at once."""

    outcome: Callable[[], Outcome]


Event = Progress | PreparationPhase | Remark | Replayed | Open | Silence | Underway
"""What is heard of a check under way; a violation that was replayed may become smaller yet."""

Listener = Callable[[Event], None]


class Hearing:
    """The workers of a check, and what is known from them so far."""

    def __init__(
        self,
        system: System,
        subject: Subject,
        properties: Sequence[Property],
        limits: Limits,
        listener: Listener,
    ) -> None:
        self._system, self._properties, self._limits, self._listen = system, properties, limits, listener
        self._by_actions = limits.inducts(system)
        inducing = limits.inducts_over_rounds(system)
        self._invariants = system.invariants if inducing else ()
        self._assumed: tuple[Invariant, ...] = ()
        """Facts that are inductive over one action: searches for violations may take them for granted."""
        self._knowledge = Knowledge(properties, limits, inducing, tuple(i.name for i in self._invariants))
        self._replayer = Replayer(system, subject)
        self._begun = time.perf_counter()
        until = self._begun + limits.timeout - limits.gone
        self._crew = Crew(until, self._replayer.warm_up(), tick=lambda: listener(Silence()))
        self._open: tuple[str, ...] = ()
        self._doing: dict[Worker, Sequence[Job]] = {}
        self._prepared: Prepared | None = None
        self._proving: Houdini | None = None
        self._gave_up: str | None = None
        self._cap: int | None = None
        self._settled_at: dict[str, float] = {}
        self._more: dict[str, list[Trace]] = {}
        self._no_more: dict[str, str] = {}
        self._searching = self._solving = 0.0
        self.interrupted = False

    def stop(self) -> None:
        """Stop every worker."""
        self._dismiss()

    # The workers.

    def _task(self, properties: Sequence[Property]) -> Task:
        names, carried = [p.name for p in properties], tuple(i.name for i in self._invariants)
        slots = self._confirming.actions
        asked = task(self._system, slots, names, self._limits)
        return replace(asked, invariants=carried, assumed=tuple(i.name for i in self._assumed))

    def _start(self, task: Task, some: Sequence[Job]) -> None:
        assert self._prepared is not None
        name, asked = "+".join(job.search.value for job in some), (self._prepared.template, task)
        worker = Worker(name, search, *asked, self._limits, some, gib=self._limits.memory)
        self._doing[self._crew.start(worker)] = some

    def _dismiss(self, *workers: Worker) -> None:
        for worker in workers or tuple(self._doing):
            self._doing.pop(worker, None)
        self._crew.dismiss(*workers)

    def _hear(self, knowledge: Knowledge, done: Callable[[], bool]) -> str | None:
        """Handle what workers say until `done`; if something kept them from that, what it was."""
        gave_up = None
        try:
            if not done():
                for worker, message in self._crew.heard():
                    if isinstance(message, Ended):
                        self._doing.pop(worker, None)
                        gave_up = self._why_ended(worker, message) or gave_up
                    else:
                        self._handle(knowledge, message)
                    if done():
                        break
        except OutOfTime:
            gave_up = f"{TIME_OUT} {self._limits.timeout:g} s"
        return gave_up

    def _why_ended(self, worker: Worker, ended: Ended) -> str | None:
        """Why a worker has no more to say, if it gave up."""
        if ended.gave_up:
            return f"{ended.gave_up} ({worker.name})"
        if ended.error is None:
            return None
        if ended.kind == ModelError.__name__:
            raise ModelError(ended.says)
        if ended.kind == SpentError.__name__:
            return ended.says
        if self._limits.memory is not None:
            return f"failed within {self._limits.memory:g} GiB of memory ({worker.name}: {ended.says})"
        if ended.kind == SolverGaveUpError.__name__:
            return ended.says
        raise InternalError(f"{worker.name} failed: {ended.error}")

    def _handle(self, knowledge: Knowledge, message: Any) -> None:
        match message:
            case Prepared():
                self._prepared = message
            case Posed():
                self._proving = Houdini(message)
            case StillInductive() | Withdrawn() | Left():
                assert self._proving is not None
                self._proving.hear(message)
            case SimulatedTo():
                self._see(knowledge, message)
            case Progress() | PreparationPhase():
                self._listen(message)
            case Violated(property=name, execution=execution, costs=costs):
                trace = self._confirming.violation(self._property(name), execution)
                replayed = Replayed(name, trace, execution.rounds, costs)
                knowledge.hear(replayed)
                self._listen(replayed)
            case Broken(execution=execution):
                untrue = Untrue(self._confirming.broken(self._invariants, execution))
                steps = "; ".join(step.name for step in untrue.trace.steps)
                self._listen(Remark(f"{untrue}: {steps or 'it is at first'}"))
                knowledge.hear(untrue)
            case Wrong(execution=execution):
                self._confirming.wrong(execution)
            case _:
                self._remark(message)
                knowledge.hear(message)
                self._cap_completeness()

    def _see(self, knowledge: Knowledge, walked: SimulatedTo) -> None:
        """Replay a walk, to the witness of a property or to a state in which a fact is false."""
        actions = [self._system.ground_actions[number] for number in walked.actions]
        choices = [self._system.choices[position].name for position in walked.choices]
        for fact in self._system.invariants:
            if fact.name == walked.name:
                trace = self._replayer.spare_faults(fact, actions, choices)
                self._listen(Remark(str(Untrue(trace))))
                return
        prop = self._property(walked.name)
        trace = self._replayer.spare_faults(replace(prop, holds=~prop.witness), actions, choices)
        if all(trace.faults.get(fault, 0) <= most for fault, most in self._limits.budgets.items()):
            knowledge.hear(Seen(prop.name))

    def _remark(self, message: Any) -> None:
        """Tell an author what came of induction."""
        match message:
            case Inductive(property=name, rounds=rounds):
                carried = ", ".join(i.name for i in self._invariants) or "none"
                self._listen(
                    Remark(f"{name} is inductive over {amount(rounds, 'round')}; invariants: {carried}")
                )
            case NotInductive(property=name):
                self._listen(Remark(f"{name} is {failure(message)}, {self._confirming.way(message)}"))

    @property
    def _confirming(self) -> Confirmation:
        assert self._prepared is not None
        return Confirmation(self._replayer, self._prepared)

    def _property(self, name: str) -> Property:
        return next(prop for prop in self._properties if prop.name == name)

    def _cap_completeness(self) -> None:
        """Once everything is violated, only executions shorter than the longest trace matter."""
        limits = self._limits
        if limits.minimize is Minimize.NONE or limits.jobs == 1 or limits.bound is not None:
            return
        if time.perf_counter() - self._searching < PATIENCE:
            return
        cap = self._knowledge.longest_of_use()
        exhausting = [w for w, some in self._doing.items() if any(j.search is Search.EXHAUST for j in some)]
        if cap is None or cap == self._cap or not exhausting:
            return
        self._cap = cap
        for worker in exhausting:
            self._dismiss(worker)
        self._start(self._task(self._properties), [Job(Search.EXHAUST, cap)])
