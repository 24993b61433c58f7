"""Questions in z3's terms: z3 looks for values of their variables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import z3

from fencepost.encoding.solving.answers import TIME_OUT, Answer, Deadline, GaveUp, No, SolverGaveUpError, Yes

BOOLEAN = "QF_FD"
"""The logic of Boolean variables and counts over them."""


class Terms:
    """Terms that hold together with whatever is asked about."""

    def __init__(self, logic: str | None = None, given: Iterable[Any] = ()) -> None:
        self._solver = z3.Solver() if logic is None else z3.SolverFor(logic)
        self._solver.set("ctrl_c", False)  # who hears Ctrl-C is not for a solver to choose
        self.add(*given)

    def add(self, *terms: Any) -> None:
        """From now on these hold too."""
        self._solver.add(*terms)

    def read(self, script: str) -> None:
        """From now on what an SMT-LIB 2 script asserts holds too."""
        self._solver.from_string(script)

    def ask(self, *terms: Any, by: Deadline | None = None) -> Answer[Any]:
        """Whether these can hold as well, with a model of z3's; by a deadline, as far as z3 keeps to it."""
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
        """Whether these Boolean variables, or their negations, can hold as well; nothing learned is lost by it."""
        return self._check(False, *assumptions)

    def core(self) -> Sequence[Any]:
        """After no: assumptions that cannot hold together, with the terms."""
        return list(self._solver.unsat_core())

    def conflicts(self) -> int:
        """Conflicts so far, as z3 counts them."""
        return next((int(value) for key, value in self._solver.statistics() if key == "sat conflicts"), 0)

    def _check(self, timed: bool, *assumptions: Any) -> Answer[Any]:
        try:
            said = self._solver.check(*assumptions)
            if said == z3.unsat:
                return No()
            if said == z3.sat:
                return Yes(self._solver.model())
            reason = self._solver.reason_unknown()
        except z3.Z3Exception as error:
            reason = str(error)
        return TIME_OUT if timed and reason in CUT_SHORT else GaveUp(reason)


CUT_SHORT = ("timeout", "canceled")
"""What z3 says if its time is over, or if it was interrupted."""


def clausal(terms: Iterable[Any], tactics: Sequence[str]) -> str:
    """The conjunction of terms as clauses, in DIMACS with the names of variables.

    The same terms in the same order give the same clauses, whatever was done before in this process: z3's tactics look
    at the order in which terms were made, so they work on a copy in a context of its own. Raises SolverGaveUpError.
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
