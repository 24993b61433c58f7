"""Obligations in cubes: a row for each cube while they are under way,
and of them all the one row of the obligation.

A cube that finds a counterexample leaves a file that stops those after it. Those before it are finished, so
that the counterexample in the row is that of the first cube that has one, whichever was faster.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path

from fencepost.encoding.engine.joining import CubeAnswer, join
from fencepost.encoding.engine.verdicts import Basis, Fewest, Outcome, Verdict
from fencepost.encoding.errors import InternalError
from fencepost.encoding.rounds.cubes import Part
from fencepost.sweeps.rows import ASKED, COLUMNS, ERROR, Column, Row, found, obligation_of, unanswered
from fencepost.sweeps.solve import Allowance, answered, checked
from fencepost.sweeps.sweep_cases import SweepCase

CUBES_ASKED = (
    *ASKED,
    Column("part", "integer", "which cube it is, from 0"),
    Column("most", "integer", "into how many cubes the obligation is split, at most"),
)
CUBES_FOUND = (
    Column(
        "cube", "texts", "which slots fire early, and which do not; none if that is not known", optional=True
    ),
    Column("surpassed", "boolean", "whether some execution takes more steps than the bound", optional=True),
)
CUBE_COLUMNS = CUBES_ASKED + COLUMNS[len(ASKED) :] + CUBES_FOUND
"""The columns of a cube: those of a row, which cube, and what only joining needs."""

UNKNOWN: Row = {"cube": None, "surpassed": None}

Check = Callable[[SweepCase, Allowance, Part], Outcome]


@dataclass(frozen=True)
class Stops:
    """Where the cubes of a wave tell each other that a counterexample is found:
    a folder that all of them share."""

    folder: Path

    def found(self, name: str, part: int) -> None:
        """Stop the cubes after this one, of the obligation of that id."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{name}.{part}").touch()

    def stopped(self, name: str, part: int) -> bool:
        """Whether a cube before this one has a counterexample."""
        return any(int(file.suffix[1:]) < part for file in self.folder.glob(f"{name}.*"))


def parts(row: Row, most: int) -> list[Row]:
    """What is asked of each cube of an obligation; there may turn out to be fewer."""
    return [{**row, "part": number, "most": most} for number in range(most)]


def solve_cube(row: Row, allowance: Allowance, stops: Stops, decided: Check = checked) -> Row | None:
    """The row of a cube; None if there are not so many, or it need not be known any more."""
    name, number = row["id"], row["part"]
    obligation, part = obligation_of(row), Part(number, row["most"])
    stopped = partial(stops.stopped, name, number)
    answer = answered(partial(_found, obligation, allowance, part, decided), allowance, stopped)
    if answer is None:
        return None
    if answer["verdict"] == Verdict.VIOLATED.value:
        stops.found(name, number)
    return {**row, **UNKNOWN, **answer, "host": platform.node()}


def failed_cube(row: Row, reason: str) -> Row:
    """The row of a cube that cannot be asked here."""
    return {**row, **UNKNOWN, **unanswered(ERROR, reason, 0.0), "host": platform.node()}


def _found(obligation: SweepCase, allowance: Allowance, part: Part, decided: Check) -> Row | None:
    outcome = decided(obligation, allowance, part)
    if not outcome.results:
        return None
    cube = None if outcome.cube is None else list(outcome.cube)
    return {**found(outcome.results[0]), "cube": cube, "surpassed": outcome.surpassed}


def joined(rows: Iterable[Row]) -> list[Row]:
    """One row for each obligation, from the rows of its cubes."""
    ordered = sorted(rows, key=lambda row: (row["id"], row["part"]))
    return [_joined(list(of_one)) for _, of_one in groupby(ordered, key=lambda row: row["id"])]


def _joined(rows: Sequence[Row]) -> Row:
    """The row of an obligation; an `error` if a cube failed or is missing,
    unless there is a counterexample."""
    verdicts = [row["verdict"] for row in rows]
    if Verdict.VIOLATED.value not in verdicts and ERROR in verdicts:
        return _as_row(rows[verdicts.index(ERROR)], rows, refuted=None, covered=False)
    if len(rows) == 1 and rows[0]["cube"] == []:
        return _as_row(rows[0], rows, refuted=None, covered=True)
    try:
        whole = join([_answer(row) for row in rows])
    except InternalError as error:
        failed = {**rows[0], **unanswered(ERROR, str(error), 0.0)}
        return _as_row(failed, rows, refuted=None, covered=False)
    heard = rows[: whole.decisive + 1] if whole.verdict is Verdict.VIOLATED else rows
    told = {
        "verdict": whole.verdict.value,
        "basis": Basis.ROUNDS.value if whole.verdict is Verdict.PROVED else None,
        "rounds": whole.rounds,
        "searched": whole.searched,
        "complete": whole.complete,
        "witness": whole.witness,
        "fewest": whole.fewest.value if whole.fewest else None,
        "reason": whole.reason,
    }
    return _as_row({**rows[whole.decisive], **told}, heard, whole.refuted, whole.covered)


def _as_row(row: Row, heard: Sequence[Row], refuted: int | None, covered: bool) -> Row:
    """A row of a sweep from that of its decisive cube."""
    every = {
        **row,
        "cubes": len(heard),
        "refuted": refuted,
        "covered": covered,
        "seconds": round(sum(one["seconds"] for one in heard), 3),
        "host": " ".join(sorted({one["host"] for one in heard})),
    }
    return {column.name: every[column.name] for column in COLUMNS}


def _answer(row: Row) -> CubeAnswer:
    """What joining needs to know of a cube; one that failed is one that nothing is known of."""
    if row["verdict"] == ERROR:
        return CubeAnswer(None, Verdict.UNDECIDED, reason=f"a cube failed: {row['reason']}")
    return CubeAnswer(
        None if row["cube"] is None else tuple(row["cube"]),
        Verdict(row["verdict"]),
        fewest=None if row["fewest"] is None else Fewest(row["fewest"]),
        **{name: row[name] for name in _SHARED},
    )


_SHARED = ("rounds", "searched", "complete", "witness", "reason", "surpassed")
"""What a row and an `CubeAnswer` call the same."""
