"""The sums of solvers: a contradiction between two answers to one question is counted for both."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost.sweeps.rows import Row
from fencepost.sweeps.summary import SolverSums, by_solver
from support.reports import LISTED, fabricated

SAID = {"cadical": ("proved", "violated", "undecided"), "minisat": ("proved", "proved", "proved")}
"""The verdicts on three questions."""


@pytest.fixture
def rows(tmp_path: Path) -> list[Row]:
    """Return the answers of two solvers to three questions. They disagree on the second.

    The first two questions differ in a setting alone.
    """
    made: dict[str, list[Row]] = {name: [] for name in SAID}
    for row in sorted(fabricated(tmp_path, LISTED), key=lambda row: row["property"]):
        made[row["solver"]].append(row)
    return [
        {**row, "verdict": verdict, "seconds": seconds}
        for (solver, verdicts), took in zip(SAID.items(), ((1.0, 5.0, 9.0), (2.0, 5.5, 8.0)), strict=True)
        for row, verdict, seconds in zip(made[solver], verdicts, took, strict=False)
    ]


def test_solvers_are_compared_question_by_question(rows: list[Row]) -> None:
    """Planted: rows of other settings are one question; an undecided row counts as an answer."""
    assert len(rows) == 6
    assert by_solver(rows) == {
        "cadical": SolverSums(3, 2, 2, 1, 6.0, 15.0),
        "minisat": SolverSums(3, 3, 1, 1, 7.5, 15.5),
    }


def test_an_error_decides_nothing(rows: list[Row]) -> None:
    (found,) = by_solver([{**rows[0], "verdict": "error"}]).values()
    assert found == SolverSums(1, 0, 0, 0, None, rows[0]["seconds"])
