"""The engine that unrolls rounds: violations, completeness, and k-induction beside them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from fencepost.encoding.engine.confirmation import Confirmation
from fencepost.encoding.engine.events import PreparationPhase, Remark, Replayed, Untrue
from fencepost.encoding.engine.knowledge import Knowledge, failure
from fencepost.encoding.engine.limits import Minimize
from fencepost.encoding.engine.preparation import Prepared, prepare
from fencepost.encoding.engine.searches import Job, Search, jobs, search, shared, task
from fencepost.encoding.engine.work import Work
from fencepost.encoding.induction.over_rounds import Inductive, NotInductive
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.traces import Trace
from fencepost.encoding.rounds.search import Broken, Footprint, Task, Violated, Witnessed, Wrong
from fencepost.encoding.solving.solvers import Progress, load
from fencepost.encoding.solving.workers import Worker

PATIENCE = 5.0
"""Seconds after which completeness is asked of short executions only, if that is enough for the verdict.

Most small instances are complete before that.
"""


class BoundedSearch:
    """Bounded model checking by rounds, with a search for longer executions that makes a bound a proof.

    One worker prepares one round as clauses. The searches then run side by side, in as many processes as
    the limits allow.
    """

    def __init__(self, work: Work) -> None:
        """Prepare nothing yet: `run` does the work."""
        self._work = work
        self._prepared: Prepared | None = None
        self._doing: dict[Worker, Sequence[Job]] = {}
        self._cap: int | None = None
        self._searching = 0.0

    @property
    def suits(self) -> bool:
        """Whether the limits ask for this engine."""
        return self._work.limits.searches

    def run(self) -> None:
        """Prepare, search, and look for further counterexamples, until all is settled or time is up."""
        work = self._work
        invariants = {invariant.name: invariant for invariant in (*work.carried, *work.assumed)}
        work.start("prepare", prepare, work.system, work.properties, tuple(invariants.values()))
        load(work.limits.solver)
        work.stopped = work.hear(self._taking(work.knowledge), lambda: self._prepared is not None)
        if self._prepared is None:
            return
        work.spent |= self._prepared.seconds
        self._searching = time.perf_counter()
        self._search()
        for prop in work.properties:
            if work.knowledge.violation(prop.name) is not None:
                self._search_further(prop)
        work.solving = time.perf_counter() - self._searching

    # The searches.

    def _search(self) -> None:
        work = self._work
        for some in shared(jobs(work.limits, work.knowledge.inducing), work.limits.jobs):
            self._start(self._task(work.properties), some)
        work.stopped = self._hear(work.knowledge, self._enough)

    def _enough(self) -> bool:
        work = self._work
        if work.limits.one_is_enough and any(work.knowledge.violation(p.name) for p in work.properties):
            return True
        return work.all_settled()

    def _search_further(self, prop: Property) -> None:
        """Look for counterexamples that fire other actions, or lose other messages, than those known."""
        work, found = self._work, self._work.knowledge.violation(prop.name)
        assert found is not None
        further = work.further[prop.name] = []
        known = [self._confirmation.footprint(found.trace)]
        while len(further) + 1 < work.limits.count:
            another = self._another(prop, found.rounds, known)
            if another is None:
                break
            further.append(another)
            known.append(self._confirmation.footprint(another))

    def _another(self, prop: Property, rounds: int, known: Sequence[Footprint]) -> Trace | None:
        """Return the cheapest counterexample with another footprint within that many rounds, or None.

        When time is up, a counterexample that was still being made smaller may have a known footprint.
        Such a counterexample does not count.
        """
        knowledge = Knowledge([prop], self._work.limits)
        asked = replace(self._task([prop]), rounds=rounds, avoid=tuple(known), invariants=())
        self._start(asked, [Job(Search.HUNT)])
        stopped = self._hear(knowledge, lambda: knowledge.searched(prop.name) >= rounds)
        found = knowledge.violation(prop.name)
        if found is None or self._confirmation.footprint(found.trace) in known:
            none_left = f"there is no other within {amount(rounds, 'round')}"
            self._work.no_further[prop.name] = stopped or none_left
            return None
        return found.trace

    # The workers.

    def _task(self, properties: Sequence[Property]) -> Task:
        work, names = self._work, [prop.name for prop in properties]
        asked = task(work.system, self._confirmation.actions, names, work.limits)
        carried, assumed = (tuple(i.name for i in some) for some in (work.carried, work.assumed))
        return replace(asked, invariants=carried, assumed=assumed)

    def _start(self, task: Task, some: Sequence[Job]) -> None:
        assert self._prepared is not None
        name = "+".join(job.search.value for job in some)
        worker = self._work.start(name, search, self._prepared.template, task, self._work.limits, some)
        self._doing[worker] = some

    def _hear(self, knowledge: Knowledge, done: Callable[[], bool]) -> str | None:
        """Handle what the searches say until `done`, then stop them."""
        stopped = self._work.hear(self._taking(knowledge), done, self._forget)
        self._doing.clear()
        self._work.crew.dismiss()
        return stopped

    def _forget(self, worker: Worker) -> None:
        self._doing.pop(worker, None)

    def _taking(self, knowledge: Knowledge) -> Callable[[Any], None]:
        return lambda message: self._take(knowledge, message)

    def _take(self, knowledge: Knowledge, message: Any) -> None:
        work = self._work
        match message:
            case Prepared():
                self._prepared = message
            case Progress() | PreparationPhase():
                work.listen(message)
            case Violated(property=name, execution=execution, costs=costs):
                trace = self._confirmation.violation(work.property(name), execution)
                replayed = Replayed(name, trace, execution.rounds, costs)
                knowledge.hear(replayed)
                work.listen(replayed)
            case Broken(execution=execution):
                untrue = Untrue(self._confirmation.broken(work.carried, execution))
                steps = "; ".join(step.name for step in untrue.trace.steps)
                work.listen(Remark(f"{untrue}: {steps or 'it is at first'}"))
                knowledge.hear(untrue)
            case Wrong(execution=execution):
                self._confirmation.wrong(execution)
            case _:
                self._examine(message)
                knowledge.hear(message)
                self._cap_completeness()

    def _examine(self, message: Any) -> None:
        """Replay the execution to a witness, and tell the author what k-induction found."""
        match message:
            case Witnessed(property=name, execution=execution):
                self._confirmation.witness(self._work.property(name), execution)
            case Inductive(property=name, rounds=rounds):
                carried = ", ".join(i.name for i in self._work.carried) or "none"
                self._work.listen(
                    Remark(f"{name} is inductive over {amount(rounds, 'round')}; invariants: {carried}")
                )
            case NotInductive(property=name):
                way = self._confirmation.way(message)
                self._work.listen(Remark(f"{name} is {failure(message)}, {way}"))

    @property
    def _confirmation(self) -> Confirmation:
        assert self._prepared is not None
        return Confirmation(self._work.replayer, self._prepared)

    def _cap_completeness(self) -> None:
        """Ask for completeness of short executions only, once each property has a violation.

        Only executions shorter than the longest trace matter then.
        """
        limits = self._work.limits
        if limits.minimize is Minimize.NONE or limits.jobs == 1 or limits.bound is not None:
            return
        if time.perf_counter() - self._searching < PATIENCE:
            return
        cap = self._work.knowledge.longest_useful()
        exhausting = [w for w, some in self._doing.items() if any(j.search is Search.EXHAUST for j in some)]
        if cap is None or cap == self._cap or not exhausting:
            return
        self._cap = cap
        for worker in exhausting:
            del self._doing[worker]
            self._work.crew.dismiss(worker)
        self._start(self._task(self._work.properties), [Job(Search.EXHAUST, cap)])
