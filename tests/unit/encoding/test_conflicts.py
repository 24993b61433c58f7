"""A limit in conflicts: the searches of a process share it, its end is `undecided`, no clock matters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Result
from fencepost.encoding.errors import BadInput
from fencepost.encoding.formulas.templates import RoundTemplate
from fencepost.encoding.rounds.round_solver import RoundSolver
from fencepost.encoding.solving.answers import GaveUp, SpentError
from fencepost.encoding.solving.clauses import Clause
from fencepost.encoding.solving.solvers import SLICE, SOLVERS, UNCOUNTED, Purse
from support.instances import checked
from support.tiers import each_third

EMPTY = RoundTemplate([], 0, 0, [], 0, [], {}, [], [])
"""No variables and no clauses: `Ponders` ignores its question."""


class Ponders:
    """A solver that takes every conflict it may, and some more, and never has an answer."""

    def __init__(self, overlooks: int = 0) -> None:
        self._overlooks, self._taken = overlooks, 0
        self.allowed: list[int] = []

    def add(self, clauses: Iterable[Clause]) -> None:
        """Ignore the clauses."""

    def ask(self, assumptions: Sequence[int], conflicts: int = SLICE) -> GaveUp:
        """Give up."""
        self.allowed.append(conflicts)
        self._taken += conflicts + self._overlooks
        return GaveUp("spent", may_go_on=True)

    def core(self) -> Sequence[int]:
        """Return no core."""
        return []

    def conflicts(self) -> int:
        """Return the number of conflicts so far."""
        return self._taken


def asks_until_spent(session: RoundSolver) -> str:
    with pytest.raises(SpentError) as spent:
        session.solve([])
    return str(spent.value)


def test_searches_of_one_process_spend_from_one_purse() -> None:
    purse = Purse(2 * SLICE + 10)
    first, second = Ponders(), Ponders()
    sessions = [RoundSolver(EMPTY, solver, purse=purse) for solver in (first, second)]
    assert sessions[0].attempt([]) is None
    assert asks_until_spent(sessions[1]) == asks_until_spent(sessions[0]) == "40010 conflicts spent"
    assert (first.allowed, second.allowed) == ([SLICE], [SLICE, 10])


def test_what_a_solver_takes_too_many_of_is_spent_too() -> None:
    solver = Ponders(overlooks=7)
    asks_until_spent(RoundSolver(EMPTY, solver, purse=Purse(SLICE + 8)))
    assert solver.allowed == [SLICE, 1]


def counted(conflicts: int | None, solver: str = "cadical", memory: float | None = None) -> Result:
    limits = Limits(conflicts=conflicts, solver=solver, memory=memory, jobs=1, engines=("rounds",))
    return checked("bookkeeper-unbounded", {"values": 1}, "no-divergence", limits)


@pytest.mark.parametrize("solver", each_third(name for name in SOLVERS if name not in UNCOUNTED))
def test_a_spent_limit_is_undecided_and_says_so_and_a_generous_one_changes_nothing(solver: str) -> None:
    spent = counted(100, solver, memory=8.0)
    assert (spent.verdict.value, spent.reason) == ("undecided", "100 conflicts spent")
    enough = counted(1_000_000, solver)
    assert enough.verdict.value == "proved"
    assert spent.searched < enough.searched


def test_a_solver_that_cannot_count_is_refused() -> None:
    with pytest.raises(BadInput, match="z3: this solver accepts no limit on conflicts; valid: cad"):
        counted(100, "z3")
