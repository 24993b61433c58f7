"""Solvers: the one place where a question is put to one, and where no answer becomes `None`.

A `Session` holds a solver and the rounds given to it so far; it is used inside a worker process, which can
be killed at any time. CaDiCaL cannot be interrupted, so questions are asked in slices of conflicts: between
slices the session reports progress.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.state import amount
from fencepost.encoding.rounds.unrolling import Clause, Early, Template, Unrolling

SOLVERS = {
    "cadical": "cadical195",
    "cadical153": "cadical153",
    "glucose": "glucose42",
    "minisat": "minisat22",
    "z3": "z3",
}
"""The solvers on offer, by the name on the command line; `z3` is z3's own search on the same clauses."""

SLICE = 20_000
"""Conflicts between two reports of progress."""

UNCOUNTED = ("z3",)
"""The solvers that cannot be told how many conflicts they may spend."""


class Backend(Protocol):
    """What a session needs of a solver."""

    def add(self, clauses: Iterable[Clause]) -> None:
        """Add clauses."""

    def solve(self, assumptions: Sequence[int], conflicts: int) -> bool | None:
        """True or false; None if so many conflicts were used up first."""

    def model(self) -> Sequence[int]:
        """After true: model[v - 1] is v or -v for every variable v."""

    def conflicts(self) -> int:
        """Conflicts so far."""


class PySat:
    """A CDCL solver through PySAT."""

    def __init__(self, name: str) -> None:
        from pysat.solvers import Solver

        self._solver: Any = Solver(name=name)

    def add(self, clauses: Iterable[Clause]) -> None:
        self._solver.append_formula(clauses)

    def solve(self, assumptions: Sequence[int], conflicts: int) -> bool | None:
        self._solver.conf_budget(conflicts)
        answer = self._solver.solve_limited(assumptions=list(assumptions))
        return None if answer is None else bool(answer)

    def model(self) -> Sequence[int]:
        model: list[int] = self._solver.get_model()
        return model

    def conflicts(self) -> int:
        return int(self._solver.accum_stats()["conflicts"])


class Z3:
    """z3's own search, on the same clauses."""

    def __init__(self) -> None:
        import z3

        from fencepost.encoding.formulas import logic

        self._z3, self._logic = z3, logic
        self._solver = z3.SolverFor("QF_FD")
        self._variables: dict[int, Any] = {}
        self._top = 0

    def _literal(self, literal: int) -> Any:
        number = abs(literal)
        self._top = max(self._top, number)
        if number not in self._variables:
            self._variables[number] = self._logic.named(f"x{number}")
        return self._variables[number] if literal > 0 else self._logic.neg(self._variables[number])

    def add(self, clauses: Iterable[Clause]) -> None:
        for clause in clauses:
            self._solver.add(self._logic.disj(map(self._literal, clause)))

    def solve(self, assumptions: Sequence[int], conflicts: int) -> bool | None:
        answer = self._solver.check(*map(self._literal, assumptions))
        if answer == self._z3.unknown:
            raise SolverGaveUpError(f"z3: {self._solver.reason_unknown()}")
        return bool(answer == self._z3.sat)

    def model(self) -> Sequence[int]:
        model = self._solver.model()
        truth = {v: self._z3.is_true(model[x]) for v, x in self._variables.items()}
        return [v if truth.get(v) else -v for v in range(1, self._top + 1)]

    def conflicts(self) -> int:
        statistics = self._solver.statistics()
        return next((int(value) for key, value in statistics if key == "sat conflicts"), 0)


class SolverGaveUpError(Exception):
    """The solver itself said that it does not know; becomes `undecided`."""


class SpentError(Exception):
    """The conflicts that a search may take are spent; becomes `undecided`."""


class Purse:
    """The conflicts that searches which take turns in one process may spend together."""

    def __init__(self, conflicts: int) -> None:
        self._all = self._left = conflicts

    def slice(self) -> int:
        """How many the next question may spend before it reports; raises SpentError if none are left."""
        if self._left <= 0:
            raise SpentError(f"{amount(self._all, 'conflict')} spent")
        return min(SLICE, self._left)

    def spend(self, conflicts: int) -> None:
        """So many were taken: a solver that looks at its limit now and then only takes more than it was told."""
        self._left -= conflicts


def load(name: str) -> None:
    """Import the solver's library, so that processes forked later need not."""
    if name != "z3":
        import pysat.card
        import pysat.solvers  # noqa: F401


def backend(name: str) -> Backend:
    """The solver of that name; raises BadInput if there is none."""
    if name not in SOLVERS:
        raise BadInput(f"{name}: no such solver; valid: {', '.join(SOLVERS)}")
    return Z3() if name == "z3" else PySat(SOLVERS[name])


def countable(name: str) -> None:
    """Raise BadInput for a solver that cannot be told how many conflicts it may spend."""
    if name in UNCOUNTED:
        valid = ", ".join(solver for solver in SOLVERS if solver not in UNCOUNTED)
        raise BadInput(f"{name}: no limit in conflicts is possible with this solver; valid: {valid}")


@dataclass(frozen=True)
class Progress:
    """What a worker is doing: the round it is at, and the size and effort of its solver so far."""

    task: str
    rounds: int
    clauses: int
    conflicts: int


class Session:
    """A solver that holds some rounds of one system, and counters over what they fire.

    With a cube it looks at no executions but those of the cube.
    """

    def __init__(
        self,
        template: Template,
        solver: str | Backend,
        seed: int | None = None,
        report: Callable[[Progress], None] = lambda progress: None,
        task: str = "",
        unrolling: type[Unrolling] = Unrolling,
        purse: Purse | None = None,
        cube: Sequence[Early] = (),
    ) -> None:
        self.unrolling = unrolling(template)
        self._purse = purse
        self._backend = backend(solver) if isinstance(solver, str) else solver
        self._shuffle = random.Random(seed).shuffle if seed is not None else None
        self._report, self._task = report, task
        self._clauses = 0
        self._counters: list[Counter] = []
        self._cube = cube
        self.add(self.unrolling.start())

    @property
    def rounds(self) -> int:
        """How many rounds the solver holds."""
        return self.unrolling.rounds

    def add(self, clauses: list[Clause]) -> None:
        """Add clauses over the unrolling's variables."""
        if self._shuffle:
            self._shuffle(clauses)
        self._clauses += len(clauses)
        self._backend.add(clauses)

    def deepen(self) -> None:
        """Add one more round, to every counter too, and what the cube says of it."""
        self.add(self.unrolling.add_round())
        for literal in self._cube:
            self.add(self.unrolling.early(literal, self.rounds))
        for counter in self._counters:
            self.add(counter.extend(self.unrolling, self.unrolling.rounds))

    def counter(self, slots: Sequence[int], choices: Sequence[int], most: int) -> Counter:
        """A counter, up to `most` + 1, of the slots that fire in any round and the choices that are true."""
        counter = Counter(tuple(slots), tuple(self.unrolling.choice(c) for c in choices), most)
        self._counters.append(counter)
        for round_ in range(self.rounds + 1):
            self.add(counter.extend(self.unrolling, round_))
        return counter

    def solve(self, assumptions: Sequence[int]) -> bool:
        """Whether the clauses and assumptions can hold together; reports progress while it takes."""
        while (answer := self.attempt(assumptions)) is None:
            self._report(self.progress())
        return answer

    def attempt(self, assumptions: Sequence[int]) -> bool | None:
        """The same with one slice of conflicts to spend; None if that is not enough to tell."""
        if self._purse is None:
            return self._backend.solve(assumptions, SLICE)
        before = self._backend.conflicts()
        answer = self._backend.solve(assumptions, self._purse.slice())
        self._purse.spend(self._backend.conflicts() - before)
        return answer

    def progress(self) -> Progress:
        """Where the session stands."""
        return Progress(self._task, self.unrolling.depth, self._clauses, self._backend.conflicts())

    def model(self) -> Sequence[int]:
        """The model found by the last question, if the answer was yes."""
        return self._backend.model()


class Counter:
    """A totalizer over the slots that fire and the choices that are true, extended round by round."""

    def __init__(self, slots: tuple[int, ...], choices: tuple[int, ...], most: int) -> None:
        self._slots, self._choices = slots, choices
        self.most = most
        self._totalizer: Any = None
        self._inputs = 0

    def extend(self, unrolling: Unrolling, round_: int) -> list[Clause]:
        """The clauses that add one round's slots to the count; round 0 adds the choices."""
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
        """Assumptions under which at most `count` are counted; `count` may not exceed the counter's `most`."""
        assert count <= self.most
        if self._inputs <= count:
            return []
        return [-self._totalizer.rhs[count]]
