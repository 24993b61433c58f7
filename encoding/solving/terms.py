"""Questions as z3 terms, answered by z3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import z3

from fencepost.encoding.solving.answers import TIME_OUT, Answer, Deadline, GaveUp, No, SolverGaveUpError, Yes

BOOLEAN = "QF_FD"
"""The logic of Boolean variables and counts over them."""


class Terms:
    """A z3 solver with terms that hold in every question."""

    def __init__(self, logic: str | None = None, given: Iterable[Any] = ()) -> None:
        """Start with the terms `given`. `logic` is a logic of SMT-LIB, such as `BOOLEAN`."""
        self._solver = z3.Solver() if logic is None else z3.SolverFor(logic)
        self._solver.set("ctrl_c", False)  # the command handles Ctrl-C, not the solver
        self.add(*given)

    def add(self, *terms: Any) -> None:
        """Add terms."""
        self._solver.add(*terms)

    def read(self, script: str) -> None:
        """Add the assertions of an SMT-LIB 2 script."""
        self._solver.from_string(script)

    def ask(self, *terms: Any, by: Deadline | None = None) -> Answer[Any]:
        """Return whether these terms can hold as well, with a model. z3 may exceed the deadline a little."""
        if by is not None:
            if by.passed():
                return TIME_OUT
            self._solver.set("timeout", max(1, int(by.left() * 1000)))
        if not terms:
            return self._check(by is not None)
        self._solver.push()
        try:
            self._solver.add(*terms)
            return self._check(by is not None)
        finally:
            self._solver.pop()

    def under(self, assumptions: Iterable[Any]) -> Answer[Any]:
        """Return whether these literals can hold as well. z3 keeps what it learns for the next question."""
        return self._check(False, *assumptions)

    def core(self) -> Sequence[Any]:
        """Return, after the answer no, assumptions that contradict the terms."""
        return list(self._solver.unsat_core())

    def conflicts(self) -> int:
        """Return the number of conflicts so far, as z3 counts them."""
        return next((int(value) for key, value in self._solver.statistics() if key == "sat conflicts"), 0)

    def _check(self, timed: bool, *assumptions: Any) -> Answer[Any]:
        try:
            result = self._solver.check(*assumptions)
            if result == z3.unsat:
                return No()
            if result == z3.sat:
                return Yes(self._solver.model())
            reason = self._solver.reason_unknown()
        except z3.Z3Exception as error:
            reason = str(error)
        return TIME_OUT if timed and reason in CUT_SHORT else GaveUp(reason)


CUT_SHORT = ("timeout", "canceled")
"""The reasons that z3 gives if its time is over or it was interrupted."""


def clausal(terms: Iterable[Any], tactics: Sequence[str]) -> str:
    """Return the conjunction of terms as clauses, in DIMACS with the names of variables.

    The same terms in the same order give the same clauses, whatever this process did before. z3's tactics
    depend on the order in which terms were made, so they work on a copy in a context of its own. Raises
    SolverGaveUpError.
    """
    goal = z3.Goal()
    goal.add(*terms)
    apart = z3.Context()
    try:
        result = z3.Then(*tactics, ctx=apart)(goal.translate(apart))
    except z3.Z3Exception as error:
        raise SolverGaveUpError(f"z3, clauses: {error}") from error
    assert len(result) == 1, "these tactics keep one goal"
    return str(result[0].dimacs(include_names=True))
