"""The tables of a sweep: what Spark SQL counts is what a plain recount finds."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from fencepost.sweeps.pipeline import session
from fencepost.sweeps.rows import Row
from fencepost.sweeps.store import Store
from fencepost.sweeps.tables import read_summary, summarize
from support.reports import fabricated, recounted, stored_as

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("java") is None or importlib.util.find_spec("pyspark") is None,
        reason="needs Java and the extra spark",
    ),
]


def contradicted(row: Row) -> Row:
    """One solver says the opposite of another."""
    wrong = (row["verdict"], row["solver"]) == ("violated", "minisat")
    nothing = dict.fromkeys(("steps", "faults", "fewest", "trace"))
    return {**row, **nothing, "verdict": "proved", "basis": "rounds"} if wrong else row


def test_the_tables_are_what_a_recount_finds(tmp_path: Path) -> None:
    rows = [contradicted(row) for row in fabricated(tmp_path)]
    expected = recounted(rows)
    assert [line["contradicted"] for line in expected["solvers"]] == [1, 1]
    assert {line["fewest_faults"] for line in expected["configurations"]} > {None}
    store = Store(stored_as(tmp_path, rows, finished=False))
    with session("local[2]", store.log) as spark:
        summarize(spark, store)
    tables = read_summary(store)
    assert tables is not None
    assert tables.keys() == expected.keys()
    for name, lines in expected.items():
        assert tables[name] == [pytest.approx(line) for line in lines], name
    assert not any((tmp_path / "out" / "staging").iterdir()), "they come in one rename"
