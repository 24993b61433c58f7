"""A SAT solver that holds the rounds of one system, and counters over the slots that fire."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from fencepost.encoding.formulas.templates import RoundTemplate
from fencepost.encoding.rounds.unrolling import Unrolling
from fencepost.encoding.solving.answers import GaveUp, No, SolverGaveUpError, Yes
from fencepost.encoding.solving.clauses import Clause
from fencepost.encoding.solving.solvers import Backend, Progress, Purse, ask_a_slice, backend


class RoundSolver:
    """A SAT solver that holds rounds of one system; rounds and counters are added to it."""

    def __init__(
        self,
        template: RoundTemplate,
        solver: str | Backend,
        seed: int | None = None,
        report: Callable[[Progress], None] = lambda progress: None,
        task: str = "",
        purse: Purse | None = None,
    ) -> None:
        """Load the initial state into the solver.

        `seed` shuffles the clauses, `purse` limits the conflicts. `report` receives progress named `task`.
        """
        self.unrolling = Unrolling(template)
        self._purse = purse
        self._backend = backend(solver) if isinstance(solver, str) else solver
        self._shuffle = random.Random(seed).shuffle if seed is not None else None
        self._report, self._task = report, task
        self._clauses = 0
        self._model: Sequence[int] = ()
        self._counters: list[Counter] = []
        self.add(self.unrolling.start())

    @property
    def rounds(self) -> int:
        """The number of rounds that the solver holds."""
        return self.unrolling.rounds

    def add(self, clauses: list[Clause]) -> None:
        """Add clauses over the unrolling's variables."""
        if self._shuffle:
            self._shuffle(clauses)
        self._clauses += len(clauses)
        self._backend.add(clauses)

    def deepen(self) -> None:
        """Add one more round, to every counter too."""
        self.add(self.unrolling.add_round())
        for counter in self._counters:
            self.add(counter.extend(self.unrolling, self.unrolling.rounds))

    def counter(self, slots: Sequence[int], choices: Sequence[int], most: int) -> Counter:
        """Return a counter, up to `most` + 1, of the slots that fire and the choices that are true."""
        counter = Counter(tuple(slots), tuple(self.unrolling.choice(c) for c in choices), most)
        self._counters.append(counter)
        for round_ in range(self.rounds + 1):
            self.add(counter.extend(self.unrolling, round_))
        return counter

    def fires_last(self) -> int:
        """Return a literal that implies that some slot fires in the last round."""
        guard = self.unrolling.fresh()
        self.add([[-guard, *self.unrolling.fires(self.rounds)]])
        return guard

    def solve(self, assumptions: Sequence[int]) -> bool:
        """Return whether clauses and assumptions are satisfiable together, and report progress meanwhile."""
        while (answer := self.attempt(assumptions)) is None:
            self._report(self.progress())
        return answer

    def attempt(self, assumptions: Sequence[int]) -> bool | None:
        """Return the same within one slice of conflicts, or None if the slice is too small for an answer.

        Raises SolverGaveUpError if more conflicts would not help.
        """
        match ask_a_slice(self._backend, assumptions, self._purse):
            case Yes(model):
                self._model = model
                return True
            case No():
                return False
            case GaveUp(may_go_on=True):
                return None
            case GaveUp(why):
                raise SolverGaveUpError(f"the solver gave up: {why}")

    def refuted(self, assumptions: Sequence[int], conflicts: int) -> bool:
        """Return whether so many conflicts show that clauses and assumptions are not satisfiable together."""
        return isinstance(self._backend.ask(assumptions, conflicts), No)

    def progress(self) -> Progress:
        """Return the rounds, clauses and conflicts so far."""
        return Progress(self._task, self.rounds, self._clauses, self._backend.conflicts())

    def model(self) -> Sequence[int]:
        """Return the model of the last question. The answer must have been yes."""
        return self._model


class Counter:
    """A totalizer over slots that fire and choices that are true, extended round by round."""

    def __init__(self, slots: tuple[int, ...], choices: tuple[int, ...], most: int) -> None:
        """Take what is counted, and the largest count that assumptions may allow."""
        self._slots, self._choices = slots, choices
        self.most = most
        self._totalizer: Any = None
        self._inputs = 0

    def extend(self, unrolling: Unrolling, round_: int) -> list[Clause]:
        """Return the clauses that add the slots of one round to the count; round 0 adds the choices."""
        from pysat.card import ITotalizer

        inputs = [unrolling.fire(s, round_) for s in self._slots] if round_ else list(self._choices)
        if not inputs:
            return []
        self._inputs += len(inputs)
        limit = min(self.most, self._inputs - 1)
        if self._totalizer is None:
            self._totalizer = ITotalizer(lits=inputs, ubound=limit, top_id=unrolling.top)
            clauses = list(self._totalizer.cnf.clauses)
        else:
            self._totalizer.extend(lits=inputs, ubound=limit, top_id=unrolling.top)
            clauses = list(self._totalizer.cnf.clauses[-self._totalizer.nof_new :])
        unrolling.reserve(self._totalizer.top_id)
        return clauses

    def at_most(self, count: int) -> list[int]:
        """Return assumptions that limit the count to `count`, which may not exceed the counter's `most`."""
        assert count <= self.most
        if self._inputs <= count:
            return []
        return [-self._totalizer.rhs[count]]
