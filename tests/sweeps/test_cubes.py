"""Obligations in cubes: one row each, with the verdict that it has without, and never a proof with a cube missing."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost.encoding.engine.verdicts import Outcome
from fencepost.encoding.rounds.cubes import Part
from fencepost.sweeps.rows import COLUMNS, Row, asked, from_arrow, to_arrow
from fencepost.sweeps.solve import Allowance, solve
from fencepost.sweeps.splitting import CUBE_COLUMNS, Stops, failed_cube, joined, parts, solve_cube
from fencepost.sweeps.sweep_cases import SweepCase
from support.instances import TWO_BOOKIES
from support.reports import arrow
from support.sweeps import planned, stored

MOST = 3


def obligation(fences: str) -> SweepCase:
    settings = {**TWO_BOOKIES, "recovery_reads_fence": fences}
    return SweepCase(
        "bookkeeper-4.13", tuple((n, str(v)) for n, v in settings.items()), "no-divergence", weight=1
    )


def solved(of: SweepCase, folder: Path) -> list[Row]:
    """The rows of all cubes, one after another; those that need not be known any more are left out."""
    stops = Stops(folder / "stops")
    rows = [solve_cube(row, Allowance(), stops) for row in parts(asked(of, "engine"), MOST)]
    return [row for row in rows if row is not None]


@pytest.fixture(scope="module")
def refuted(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    return solved(obligation("yes"), tmp_path_factory.mktemp("yes"))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    return solved(obligation("no"), tmp_path_factory.mktemp("no"))


@pytest.mark.slow
def test_a_proof_in_cubes_is_one_row(refuted: list[Row]) -> None:
    (row,) = joined(refuted)
    alone = solve(obligation("yes"), "engine", Allowance())
    assert row.keys() == alone.keys() == {c.name for c in COLUMNS}
    assert (row["verdict"], row["basis"]) == ("proved", "rounds"), "a cube is about rounds"
    assert (alone["verdict"], alone["basis"]) == ("proved", "induction"), "in one piece the facts prove it"
    assert (row["cubes"], row["refuted"], row["covered"]) == (MOST, MOST, True)
    assert (alone["cubes"], alone["refuted"], alone["covered"]) == (None, None, None)
    assert row["id"] == alone["id"]


def test_a_counterexample_in_cubes_is_one_row(found: list[Row]) -> None:
    (row,) = joined(found)
    assert len(found) == 1, "the cubes after the first counterexample were not asked"
    assert (row["verdict"], row["cubes"], row["refuted"], row["covered"]) == ("violated", 1, 0, False)
    assert (row["fewest"], row["complete"]) == ("within-cubes", False)
    assert row["trace"] is not None


def test_without_one_of_its_cubes_nothing_is_proved(refuted: list[Row]) -> None:
    for missing in range(MOST):
        (row,) = joined(cube for cube in refuted if cube["part"] != missing)
        assert (row["verdict"], row["covered"]) == ("error", False)
        assert row["reason"].startswith("the cubes do not cover everything: none has")


def test_a_cube_that_failed_is_an_error_unless_there_is_a_counterexample(
    refuted: list[Row], found: list[Row]
) -> None:
    (row,) = joined([*refuted[1:], failed_cube(parts(asked(obligation("yes"), "engine"), MOST)[0], "broken")])
    assert (row["verdict"], row["reason"]) == ("error", "broken")
    last = [{**cube, "part": 2} for cube in found]
    failed = failed_cube(parts(asked(obligation("no"), "engine"), MOST)[0], "broken")
    assert [row["verdict"] for row in joined([*last, failed])] == ["violated"]


def test_cubes_of_several_obligations_are_told_apart(refuted: list[Row], found: list[Row]) -> None:
    rows = joined([*reversed(refuted), *found])
    assert sorted(row["verdict"] for row in rows) == ["proved", "violated"]


@pytest.mark.slow
def test_there_may_be_fewer_cubes_than_asked_for(tmp_path: Path) -> None:
    """A protocol that goes on for ever is not split."""
    chain = SweepCase("ledger-chain", (), "one-open-ledger", rounds=1)
    rows = [solve_cube(row, Allowance(), Stops(tmp_path)) for row in parts(asked(chain, "engine"), 2)]
    assert rows[1] is None
    (row,) = joined(row for row in rows if row is not None)
    assert (row["verdict"], row["cubes"]) == (solve(chain, "engine", Allowance())["verdict"], 1)


def hangs(of: SweepCase, allowance: Allowance, part: Part) -> Outcome:
    time.sleep(600)
    raise AssertionError


def test_a_counterexample_stops_the_cubes_after_it_and_no_other(tmp_path: Path) -> None:
    stops, cubes = Stops(tmp_path / "stops"), parts(asked(obligation("no"), "engine"), 12)
    stops.found(cubes[0]["id"], 5)
    begun = time.monotonic()
    assert solve_cube(cubes[6], Allowance(), stops, hangs) is None
    assert solve_cube(cubes[11], Allowance(), stops, hangs) is None
    assert time.monotonic() - begun < 60
    assert not stops.stopped(cubes[0]["id"], 4)
    assert not stops.stopped("another", 6)


def test_rows_of_cubes_come_back_from_arrow_as_they_went_in(refuted: list[Row]) -> None:
    arrow()
    assert from_arrow(to_arrow(refuted, CUBE_COLUMNS), CUBE_COLUMNS) == refuted


GRID = """
[[grid]]
protocols = "bookkeeper-4.13"
properties = "no-divergence"
set = { bookies = 2, ensemble = 2, write_quorum = 2, recovery_reads_fence = ["no", "yes"] }

[[grid]]
protocols = "verified-log-01"
properties = "durability"
bounds = 4
"""
"""Proved, violated, and vacuous within a bound: seconds each."""


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_on_spark_the_verdicts_are_those_without_cubes(
    sweep_here: Callable[..., int], tmp_path: Path
) -> None:
    grid, _ = planned(tmp_path, GRID)
    rows = {}
    for name, options in {"whole": (), "cubes": ("--cubes", "3"), "again": ("--cubes", "3")}.items():
        assert sweep_here(grid, tmp_path / name, *options, conflicts=1_000_000) == 0
        rows[name] = {row["id"]: row for row in stored(tmp_path / name)}
    assert rows["cubes"] == rows["again"], "whichever cube was faster"
    whole = {name: row["verdict"] for name, row in rows["whole"].items()}
    assert {name: row["verdict"] for name, row in rows["cubes"].items()} == whole
    assert set(whole.values()) >= {"violated", "proved"}
    for row in rows["cubes"].values():
        assert row["covered"] or row["verdict"] == "violated"
        assert row["cubes"] == 3 or row["verdict"] == "violated"
