"""A sweep that was never run: rows of every verdict, two with a counterexample that replays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from fencepost.sweeps.rows import Row, asked, to_arrow, unanswered
from fencepost.sweeps.store import Store, opened
from support.counterexamples import counterexample_of
from support.sweeps import planned

ENGINE = "0.0+test"

SIZED = """
[[grid]]
protocols = "bookkeeper-4.13"
properties = "no-divergence"
set = { ensemble = "1..3", write_quorum = "1..3", ack_quorum = "1..3", bookies = ["ensemble", "ensemble+1"], \
recovery_reads_fence = ["no", "yes"] }
"""
"""Forty cells in four matrices."""

LISTED = """
[[grid]]
protocols = "ledger-chain"
solvers = ["cadical", "minisat"]
set = { append_compares = ["no", "yes"] }
"""
"""Six questions to two solvers."""

TRACES = {
    (example.trace.protocol, example.trace.property): example.trace
    for example in map(counterexample_of, ("late", "chained"))
}

OTHERS: Sequence[Row] = (
    {"verdict": "proved", "basis": "rounds", "rounds": 5, "complete": True, "witness": True, "reason": None},
    {
        "verdict": "proved",
        "basis": "induction",
        "witness": True,
        "reason": "no certificate: x",
    },
    {"verdict": "holds", "searched": 4, "rounds": 4, "reason": None},
    {"verdict": "undecided", "searched": 3, "rounds": 3, "reason": "time-out after 9 s"},
    {"verdict": "vacuous", "reason": "never reached within the bound: <nothing>"},
    {"verdict": "error", "reason": "Traceback\n</dialog><script>alert('&')</script>"},
)
"""The values of the other rows, in turn."""


def fabricated(folder: Path, text: str = SIZED + LISTED) -> list[Row]:
    """Return a row for each case of a grid; the cases with a counterexample here are violated."""
    others = cycle(OTHERS)
    rows = []
    for number, case in enumerate(planned(folder, text)[1].cases):
        row = {**asked(case, ENGINE), **unanswered("", "", 0.5 + number), "host": "here"}
        trace = TRACES.get((row["protocol"], row["property"]))
        if trace is not None and settings_of(trace) == row["settings"]:
            violated = {"verdict": "violated", "steps": len(trace.steps), "fewest": "of-all", "rounds": 2}
            found = {**violated, "faults": dict(trace.faults), "trace": json.dumps(trace.to_json())}
            rows.append({**row, **found, "reason": None})
        else:
            rows.append({**row, **next(others)})
    return rows


def settings_of(trace: Any) -> dict[str, str]:
    """Return the settings of the instance of a trace."""
    return {name: str(value) for name, value in {**trace.parameters, **trace.switches}.items()}


def stored_as(folder: Path, rows: Sequence[Row], text: str = SIZED + LISTED) -> Path:
    """Return the folder of a sweep of that grid with those rows."""
    with opened(folder / "out", planned(folder, text)[1], ENGINE, resume=False) as store:
        store.commit(stage(store, rows))
    return store.folder


def arrow() -> tuple[Any, Any]:
    """Import PyArrow and its Parquet writer, or skip the test."""
    reason = "rows as Arrow need the extra spark"
    return pytest.importorskip("pyarrow", reason=reason), pytest.importorskip(
        "pyarrow.parquet", reason=reason
    )


def stage(store: Store, rows: Iterable[Row]) -> Path:
    """Write a wave as Spark does: a folder for each protocol, which is no column of the files."""
    pa, pq = arrow()
    staged = store.stage()
    for row in rows:
        folder = staged / f"protocol={row['protocol']}"
        folder.mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_batches([to_arrow([row])]).drop_columns(["protocol"])
        pq.write_table(table, folder / f"{row['id']}.parquet")
    return staged
