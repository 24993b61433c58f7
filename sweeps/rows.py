"""Rows: a case and its answer, as typed columns for Arrow, Spark and Parquet.

A row is a dictionary with a value, or None, for each column. Traces are JSON text, as `fencepost export`
reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from fencepost.encoding.engine.limits import Minimize
from fencepost.encoding.engine.named_clauses import text_of
from fencepost.encoding.engine.verdicts import Result, Verdict
from fencepost.sweeps.sweep_cases import SweepCase

Row = dict[str, Any]

ERROR = "error"
"""The word in the column `verdict` if the tool failed on a case: an internal error, never a verdict."""

VERDICTS = (ERROR, *(verdict.value for verdict in Verdict))
"""The words in the column `verdict`, worst first. `error` says nothing about the property."""

KINDS = {
    "text": "string",
    "integer": "bigint",
    "number": "double",
    "boolean": "boolean",
    "texts": "array<string>",
    "settings": "map<string,string>",
    "counts": "map<string,bigint>",
}
"""The types of columns, and their names in Spark."""


@dataclass(frozen=True)
class Column:
    """A column: its name, its type among `KINDS`, its meaning, and whether it may be empty."""

    name: str
    kind: str
    meaning: str
    optional: bool = False


ASKED = (
    Column("id", "text", "a hash of the case and of the engine"),
    Column("engine", "text", "version of Fencepost, and a hash of its modules and solvers"),
    Column("protocol", "text", "name of the protocol"),
    Column("settings", "settings", "every parameter and switch"),
    Column("property", "text", "name of the property"),
    Column("solver", "text", "name of the solver"),
    Column("bound", "integer", "largest number of protocol steps searched", optional=True),
    Column("most_rounds", "integer", "largest number of rounds searched", optional=True),
    Column("minimize", "text", "quantity that a counterexample minimizes"),
    Column("weight", "integer", "state variables of the instance: an estimate of how hard it is"),
    Column("system", "text", "SHA-256 of the ground system, if the protocol does not ship", optional=True),
    Column("drop_declared", "boolean", "the invariants that the protocol declares were hidden"),
)
"""The columns of a case."""

TASK = (
    Column("properties", "texts", "names of the properties"),
    *(column for column in ASKED if column.name not in ("id", "property")),
)
"""The columns of a task, whose cases differ in their property alone."""

FOUND = (
    Column("verdict", "text", "violated, undecided, vacuous, holds, proved; or error: the tool failed"),
    Column("basis", "text", "basis of a proof: rounds, induction, or enumeration of liveness", optional=True),
    Column("rounds", "integer", "rounds of the trace, rounds that cover every execution, or rounds searched"),
    Column("searched", "integer", "the deepest round searched"),
    Column("steps", "integer", "length of the trace, or of the shortest run that departs", optional=True),
    Column("fewest", "text", "no shorter trace exists: of-all, or within-rounds searched", optional=True),
    Column("faults", "counts", "faults of the trace by kind", optional=True),
    Column("complete", "boolean", "no execution within the caps needs more rounds than were searched"),
    Column("witness", "boolean", "the property's witness was reached"),
    Column("invariants", "texts", "invariants that the induction uses"),
    Column("found", "texts", "clauses that the induction uses and that an engine found"),
    Column(
        "reason",
        "text",
        "why the case is undecided, vacuous or an error, or its proof has no certificate",
        optional=True,
    ),
    Column("trace", "text", "the counterexample, as JSON", optional=True),
    Column("certificate", "text", "the folder in DIR with the certificate of a proof", optional=True),
    Column(
        "seconds",
        "number",
        "time from the start of the check to this answer; the time of a shared proof is split equally",
    ),
    Column("host", "text", "the machine that answered"),
)
"""The columns of an answer."""

COLUMNS = ASKED + FOUND

BRIEF = tuple(column for column in COLUMNS if column.name in ("id", "verdict", "seconds"))
"""The columns that a run of a sweep reads back."""


def asked(case: SweepCase, engine: str) -> Row:
    """Return the row of a case before it is answered: the columns `ASKED`."""
    row = vars(case) | {"id": case.identify(engine), "engine": engine, "most_rounds": case.rounds}
    row |= {"settings": dict(case.settings), "minimize": case.minimize.value}
    return {column.name: row[column.name] for column in ASKED}


def task_of(cases: Sequence[SweepCase], engine: str) -> Row:
    """Return the task of cases that differ in their property alone: the columns `TASK`."""
    first = asked(cases[0], engine) | {"properties": [one.property for one in cases]}
    return {column.name: first[column.name] for column in TASK}


def cases_of(task: Row) -> list[SweepCase]:
    """Return the cases of a task."""
    return [case_of({**task, "property": name}) for name in task["properties"]]


def case_of(row: Mapping[str, Any]) -> SweepCase:
    """Return the case of a row."""
    given = {field.name: row[field.name] for field in fields(SweepCase) if field.name in row}
    given |= {"settings": tuple(row["settings"].items()), "rounds": row["most_rounds"]}
    return SweepCase(**given | {"minimize": Minimize(row["minimize"])})


def found(result: Result) -> Row:
    """Return the columns `FOUND`, except the host, of the result of a check."""
    row = {column.name: getattr(result, column.name) for column in FOUND if column.name != "host"}
    return row | {
        "verdict": result.verdict.value,
        "basis": result.basis.value if result.basis else None,
        "fewest": result.fewest.value if result.fewest else None,
        "faults": dict(result.faults) if result.faults is not None else None,
        "invariants": list(result.invariants),
        "found": list(map(text_of, result.found)),
        "trace": json.dumps(result.trace.to_json()) if result.trace else None,
        "seconds": round(result.seconds, 3),
    }


def unanswered(verdict: str, reason: str, seconds: float) -> Row:
    """Return the columns `FOUND`, except the host, of a check that did not end.

    The verdict is `undecided` or `error`.
    """
    nothing = {"basis", "steps", "fewest", "faults", "trace", "certificate"}
    return {
        "verdict": verdict,
        **dict.fromkeys(nothing),
        "rounds": 0,
        "searched": 0,
        "complete": False,
        "witness": False,
        "invariants": [],
        "found": [],
        "reason": reason,
        "seconds": round(seconds, 3),
    }


def spark_schema(columns: Iterable[Column] = COLUMNS) -> str:
    """Return the columns as Spark declares them."""
    return ", ".join(f"`{c.name}` {KINDS[c.kind]}{'' if c.optional else ' NOT NULL'}" for c in columns)


def arrow_schema(columns: Iterable[Column] = COLUMNS) -> Any:
    """Return the columns as an Arrow schema."""
    import pyarrow as pa

    kinds = {
        "text": pa.string(),
        "integer": pa.int64(),
        "number": pa.float64(),
        "boolean": pa.bool_(),
        "texts": pa.list_(pa.string()),
        "settings": pa.map_(pa.string(), pa.string()),
        "counts": pa.map_(pa.string(), pa.int64()),
    }
    return pa.schema([pa.field(c.name, kinds[c.kind], nullable=c.optional) for c in columns])


def parts_of(rows: Iterable[Row], columns: Sequence[Column]) -> list[Row]:
    """Return these columns of the rows."""
    return [{column.name: row[column.name] for column in columns} for row in rows]


def to_arrow(rows: Iterable[Mapping[str, Any]], columns: Iterable[Column] = COLUMNS) -> Any:
    """Return the rows as one Arrow batch.

    Raises ValueError if a row has other columns, or None in a column that must not be empty.
    """
    import pyarrow as pa

    listed, given = list(columns), [dict(row) for row in rows]
    for row in given:
        if row.keys() != {c.name for c in listed}:
            raise ValueError(f"columns {sorted(row)} instead of {sorted(c.name for c in listed)}")
        for column in listed:
            if row[column.name] is None and not column.optional:
                raise ValueError(f"nothing in the column {column.name}")
    schema = arrow_schema(listed)
    arrays = [
        pa.array([_to_cell(c, row[c.name]) for row in given], type=schema.field(c.name).type) for c in listed
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def from_arrow(batch: Any, columns: Iterable[Column] = COLUMNS) -> list[Row]:
    """Return the rows of an Arrow batch or table."""
    listed = list(columns)
    return [{c.name: _from_cell(c, row[c.name]) for c in listed} for row in batch.to_pylist()]


def _is_map(column: Column) -> bool:
    return column.kind in ("settings", "counts")


def _to_cell(column: Column, value: Any) -> Any:
    return list(value.items()) if _is_map(column) and value is not None else value


def _from_cell(column: Column, value: Any) -> Any:
    return dict(value) if _is_map(column) and value is not None else value
