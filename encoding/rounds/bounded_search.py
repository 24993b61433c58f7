"""The engine that unrolls rounds: violations and completeness."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fencepost.encoding.engine.limits import Minimize
from fencepost.encoding.engine.messages import Complete
from fencepost.encoding.engine.work import Engine, Work
from fencepost.encoding.language.system import Invariant
from fencepost.encoding.rounds.findings import Findings
from fencepost.encoding.rounds.preparation import Prepared, prepare
from fencepost.encoding.rounds.search import Task
from fencepost.encoding.rounds.searches import Job, SearchKind, jobs, search, shared
from fencepost.encoding.solving.solvers import UNCOUNTED, load
from fencepost.encoding.solving.workers import Worker

PATIENCE = 5.0
"""The processor seconds of rounds after which completeness is asked of short executions, if that is enough.

Most small instances are complete before that.
"""

LEAD = 1.0
"""The processor seconds that IC3 has for a proof before the end of the search for violations proves the same.

That search ends when no execution is longer.
"""

GLANCE = 1_000
"""The conflicts that the search for violations spends after each round on whether any execution is longer."""

RENEWAL = 20.0
"""The processor seconds of a search for violations after which it begins again with proved invariants.

A search without them takes about twice as long. Shorter searches go on as they are, so the trace that they
find does not depend on the time at which a proof ends.
"""


class BoundedSearch:
    """Bounded model checking by rounds, with a search for longer executions that makes a bound a proof.

    One worker prepares one round as clauses. The search for violations then begins at once. The other
    searches begin when it is over, or when the engines that prove by induction have nothing left to do.
    """

    proves = False

    def __init__(self, work: Work, proofs: Sequence[Engine]) -> None:
        """Prepare nothing yet: `begin` starts the first worker. The first of the proofs is induction."""
        self._work, self._proofs = work, proofs
        self.findings: Findings | None = None
        """The findings of the searches, once one round is prepared."""
        self._preparing: Worker | None = None
        self._assumed: tuple[Invariant, ...] = ()
        self._later: Sequence[Job] = jobs(work.limits)
        """The searches that have not begun."""
        self._doing: dict[Worker, Sequence[Job]] = {}
        self._cap: int | None = None
        self._end: Complete | None = None
        """The end of the search for violations."""

    @property
    def suits(self) -> bool:
        """Whether the limits ask for this engine."""
        return self._work.limits.searches

    @property
    def is_over(self) -> bool:
        """Whether no search is under way, and none will begin."""
        may_begin = self.findings is not None and bool(self._later)
        return self._preparing is None and not self._doing and not may_begin and self._end is None

    def begin(self) -> None:
        """Prepare one round."""
        load(self._work.limits.solver)
        self._prepare(steady=True)

    def _prepare(self, steady: bool) -> None:
        """Prepare one round, with the invariants that are proved by now."""
        work, self._assumed = self._work, self._work.assumed
        asked = work.system, work.properties, self._assumed, work.limits.count > 1
        self._preparing = work.start(self, "prepare", prepare, *asked, steady=steady, waits=steady)

    def take(self, worker: Worker, message: Any) -> None:
        """Handle a message of a worker."""
        work = self._work
        if isinstance(message, Prepared):
            work.dismiss(worker)
            self._preparing = None
            is_first, self.findings = self.findings is None, Findings(work, message, self._assumed)
            if is_first:
                work.spent |= message.seconds
                work.searching = time.perf_counter()
            elif hunt := self._hunt():
                self._stop(hunt)
                self._start([Job(SearchKind.HUNT)], self.findings.rest())
        elif isinstance(message, Complete) and worker is self._hunt():
            self._end = message
        else:
            assert self.findings is not None
            self.findings.hear(work.knowledge, message)

    def end(self, worker: Worker) -> None:
        """Handle the end of a worker."""
        if worker is self._preparing:
            self._preparing = None
        self._doing.pop(worker, None)

    def go_on(self) -> None:
        """Begin the searches that may begin, and ask less of those under way if less is enough."""
        if self.findings is None:
            return
        if self._end is not None and self._end_counts():
            self.findings.hear(self._work.knowledge, self._end)
            self._end = None
            self._later = [job for job in self._later if job.search is not SearchKind.EXHAUST]
        now = [job for job in self._later if job.search is SearchKind.HUNT or self._others_may_begin()]
        if now:
            self._later = [job for job in self._later if job not in now]
            for some in shared(now, self._places()):
                self._start(some)
        self._cap_completeness()
        if self._is_worth_renewing():
            self._prepare(steady=False)

    def _is_worth_renewing(self) -> bool:
        """Return whether the search for violations should begin again with more invariants."""
        work = self._work
        hunt = self._hunt()
        if self._preparing is not None or len(work.assumed) <= len(self._assumed) or hunt is None:
            return False
        return work.limits.conflicts is None and hunt.spent >= RENEWAL

    def _hunt(self) -> Worker | None:
        """Return the worker that looks for violations and does nothing else."""
        alone = (
            worker for worker, some in self._doing.items() if [j.search for j in some] == [SearchKind.HUNT]
        )
        return next(alone, None)

    def _others_may_begin(self) -> bool:
        """Return whether a processor is free: the proofs or the search for violations have nothing left."""
        waiting = [self._later, *self._doing.values()]
        hunts = self._end is not None or any(
            job.search is SearchKind.HUNT for some in waiting for job in some
        )
        return not hunts or self._proofs_are_over()

    def _proofs_are_over(self) -> bool:
        """Return whether the engines that prove by induction have nothing left to do."""
        if all(proof.is_over or not proof.suits for proof in self._proofs):
            return True
        return all(self._work.knowledge.violation(prop.name) for prop in self._work.properties)

    def _end_counts(self) -> bool:
        """Return whether the end of the search for violations counts: proofs by induction come first."""
        if self._proofs_are_over():
            return True
        inducing, last = self._proofs[0], self._proofs[-1]
        return (inducing.is_over or not inducing.suits) and self._work.spent_by(last) >= LEAD

    def _places(self) -> int:
        """Return the number of processes for more searches. The search for violations has its own."""
        return self._work.places if self._doing else self._work.limits.jobs

    def _start(self, some: Sequence[Job], task: Task | None = None) -> None:
        assert self.findings is not None
        work, asked = self._work, task or self.findings.task(self._work.properties)
        name = "+".join(job.search.value for job in some)
        hunts = any(job.search is SearchKind.HUNT for job in some)
        if hunts and len(some) == 1 and work.limits.conflicts is None and work.limits.solver not in UNCOUNTED:
            asked = replace(asked, glance=GLANCE)
        template = self.findings.prepared.template
        worker = work.start(self, name, search, template, asked, work.limits, some, steady=hunts)
        self._doing[worker] = some

    def _stop(self, worker: Worker) -> None:
        del self._doing[worker]
        self._work.dismiss(worker)

    def _cap_completeness(self) -> None:
        """Ask for completeness of short executions only, once each property has a violation.

        Only executions shorter than the longest trace matter then.
        """
        work, limits = self._work, self._work.limits
        if limits.minimize is Minimize.NONE or limits.jobs == 1 or limits.bound is not None:
            return
        if work.spent_by(self) < PATIENCE:
            return
        cap = work.knowledge.longest_useful()
        exhausting = [
            w for w, some in self._doing.items() if any(j.search is SearchKind.EXHAUST for j in some)
        ]
        if cap is None or cap == self._cap or not exhausting:
            return
        self._cap = cap
        for worker in exhausting:
            self._stop(worker)
        self._start([Job(SearchKind.EXHAUST, cap)])
