"""The tables of a sweep: Spark SQL and a plain recount find the same numbers."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from fencepost.sweeps.rows import VERDICTS, Row
from fencepost.sweeps.store import Store
from fencepost.sweeps.tables import read_summary, summarize
from support.reports import fabricated, recounted, stored_as

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]


def scrambled(rows: list[Row]) -> list[Row]:
    """Return the rows with random verdicts and numbers: solvers disagree, and no two rows are alike."""
    dice = Random(7)
    return [
        {
            **row,
            "verdict": (verdict := dice.choice((*VERDICTS, "violated", "violated"))),
            "basis": dice.choice(("rounds", "induction")) if verdict == "proved" else None,
            "rounds": dice.randint(1, 20),
            "searched": dice.randint(0, 9),
            "steps": dice.randint(5, 30) if verdict == "violated" else None,
            "faults": {"lost": dice.randint(0, 2), "crashes": dice.randint(0, 2)}
            if verdict == "violated"
            else None,
            "seconds": dice.randint(1, 4000) / 8,
        }
        for row in rows
    ]


def test_the_tables_are_what_a_recount_finds(spark: Any, tmp_path: Path) -> None:
    rows = scrambled(fabricated(tmp_path))
    expected = recounted(rows)
    assert [line["contradicted"] for line in expected["solvers"]] > [0, 0]
    assert {line["fewest_faults"] for line in expected["configurations"]} > {None}
    store = Store(stored_as(tmp_path, rows, finished=False))
    summarize(spark, store)
    tables = read_summary(store)
    assert tables is not None
    assert tables.keys() == expected.keys()
    for name, lines in expected.items():
        assert tables[name] == [pytest.approx(line) for line in lines], name
    assert not any((tmp_path / "out" / "staging").iterdir()), "they come in one rename"
