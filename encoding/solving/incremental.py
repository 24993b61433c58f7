"""A SAT solver for many small questions under assumptions, as IC3 asks them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from fencepost.encoding.solving.answers import SolverGaveUpError
from fencepost.encoding.solving.clauses import Clause


class Incremental:
    """A solver of PySAT that keeps its clauses, and what it learnt, from one question to the next.

    Questions are not sliced: each is small, and the worker that asks can be killed.
    """

    def __init__(self, solver: str, clauses: Iterable[Clause]) -> None:
        """Start with these clauses, in a solver of that name in PySAT."""
        from pysat.solvers import Solver

        self._solver: Any = Solver(name=solver, bootstrap_with=clauses)

    def add(self, clause: Clause) -> None:
        """Add a clause."""
        self._solver.add_clause(clause)

    def can_hold(self, assumptions: Sequence[int]) -> bool:
        """Return whether the clauses and assumptions can hold together. Raises SolverGaveUpError."""
        import pysolvers

        try:
            answer = self._solver.solve(assumptions=assumptions)
        except pysolvers.error as error:
            raise SolverGaveUpError(f"IC3: {error}") from error
        if answer is None:
            raise SolverGaveUpError("IC3: no answer")
        return bool(answer)

    def model(self) -> Sequence[int]:
        """Return, after the answer yes, each variable v as v or -v, in order."""
        model: Sequence[int] = self._solver.get_model()
        return model

    def core(self) -> Sequence[int]:
        """Return, after the answer no, assumptions that contradict the clauses."""
        core: Sequence[int] = self._solver.get_core() or ()
        return core

    def conflicts(self) -> int:
        """Return the number of conflicts so far."""
        return int(self._solver.accum_stats()["conflicts"])

    def free(self) -> None:
        """Free the memory of the solver."""
        self._solver.delete()
