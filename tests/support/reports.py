"""A sweep that was never run: rows of every verdict, two with a counterexample that replays, and the sums."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from fencepost.sweeps.rows import VERDICTS, Row, asked, to_arrow, unanswered
from fencepost.sweeps.store import Store, opened
from fencepost.sweeps.summary import SIZES
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


def stored_as(folder: Path, rows: Sequence[Row], finished: bool = True, text: str = SIZED + LISTED) -> Path:
    """Return the folder of a sweep of that grid with those rows, and with their sums if it is finished."""
    pa, pq = arrow()
    with opened(folder / "out", planned(folder, text)[1], ENGINE, resume=False) as store:
        store.commit(stage(store, rows))
        if finished:
            staged = store.stage()
            for name, lines in recounted(rows).items():
                (staged / name).mkdir(parents=True)
                pq.write_table(pa.Table.from_pylist(lines), staged / name / "part.parquet")
            store.commit_summary(staged)
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


# The tables of a sweep, counted a second time.

Lines = list[dict[str, Any]]


def recounted(rows: Sequence[Row]) -> dict[str, Lines]:
    """Return the tables of a sweep, counted one row after another."""
    return {
        "properties": [
            {**named, "cases": len(found), **verdicts(found), "seconds": seconds(found)}
            for named, found in grouped(rows, lambda r: {n: r[n] for n in ("protocol", "property")})
        ],
        "configurations": [
            {
                **named,
                "cases": len(found),
                **verdicts(found),
                "most_rounds": max((r["rounds"] for r in found if r["basis"] == "rounds"), default=None),
                "least_searched": min(
                    (r["searched"] for r in found if r["verdict"] in ("holds", "undecided")), default=None
                ),
                "fewest_steps": min((r["steps"] for r in found if r["steps"] is not None), default=None),
                "fewest_faults": min(
                    (sum(r["faults"].values()) for r in found if r["faults"] is not None), default=None
                ),
                "seconds": seconds(found),
            }
            for named, found in grouped(
                [r for r in rows if r["settings"].keys() >= {*SIZES, "bookies"}], sizes
            )
        ],
        "times": [
            {
                **named,
                "cases": len(found),
                "undecided": verdicts(found)["undecided"],
                "shortest": min(r["seconds"] for r in found),
                "median": statistics.median(r["seconds"] for r in found),
                "longest": max(r["seconds"] for r in found),
            }
            for named, found in grouped(rows, lambda r: {n: r[n] for n in ("protocol", "solver", "weight")})
        ],
        "solvers": [of_solver(name, rows) for name in sorted({row["solver"] for row in rows})],
    }


def grouped(rows: Sequence[Row], name: Any) -> list[tuple[dict[str, Any], list[Row]]]:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(name(row).items()), []).append(row)
    return [(dict(key), groups[key]) for key in sorted(groups)]


def sizes(row: Row) -> dict[str, Any]:
    numbers = {name: int(row["settings"][name]) for name in (*SIZES, "bookies")}
    return {"protocol": row["protocol"], "property": row["property"], **numbers}


def verdicts(rows: Sequence[Row]) -> dict[str, int]:
    return {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in VERDICTS}


def seconds(rows: Sequence[Row]) -> float:
    return float(sum(row["seconds"] for row in rows))


def of_solver(solver: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the sums of one solver compared with the others, question by question."""

    def question(row: Row) -> str:
        kept = {n: row[n] for n in ("protocol", "settings", "property", "bound", "most_rounds", "minimize")}
        return json.dumps(kept)

    def decided(row: Row) -> bool:
        return row["verdict"] not in ("undecided", "error")

    fastest = contradicted = 0
    by_all = []
    own = [row for row in rows if row["solver"] == solver]
    for row in own:
        beside = [other for other in rows if question(other) == question(row)]
        if decided(row):
            fastest += row["seconds"] == min(other["seconds"] for other in beside if decided(other))
            contradicted += len({other["verdict"] == "violated" for other in beside if decided(other)}) > 1
        by_all += [row] if all(map(decided, beside)) else []
    return {
        "solver": solver,
        "cases": len(own),
        "decided": sum(map(decided, own)),
        "fastest": fastest,
        "contradicted": contradicted,
        "decided_by_all": len(by_all),
        "seconds_on_those": seconds(by_all) if by_all else None,
        "seconds": seconds(own),
    }
