"""Solvers: the one place where a question is put to one, and where no answer becomes `None`.

Solvers are used inside worker processes, which can be killed at any time. CaDiCaL cannot be interrupted, so questions
are asked in slices of conflicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.state import amount
from fencepost.encoding.solving.clauses import Clause

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

    def core(self) -> Sequence[int]:
        """After false: assumptions that cannot hold together, with the clauses."""

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

    def core(self) -> Sequence[int]:
        core: list[int] = self._solver.get_core() or []
        return core

    def conflicts(self) -> int:
        return int(self._solver.accum_stats()["conflicts"])


class Z3:
    """z3's own search, on the same clauses."""

    def __init__(self) -> None:
        import z3

        from fencepost.encoding.solving import logic

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

    def core(self) -> Sequence[int]:
        core = {str(literal) for literal in self._solver.unsat_core()}
        literals = (s * v for v in self._variables for s in (1, -1))
        return [literal for literal in literals if str(self._literal(literal)) in core]

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
