"""Rows: what is asked and what was found, as columns with types, for Arrow, Spark and Parquet alike.

A row is a dictionary with a value, or None, for each column. Traces are JSON text,
as `fencepost trace` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.encoding.engine.limits import Minimize
from fencepost.encoding.engine.verdicts import Result, Verdict
from fencepost.sweeps.sweep_cases import SweepCase

Row = dict[str, Any]

ERROR = "error"
"""Stands in the column `verdict` of an obligation at which the tool failed: an internal error,
never a verdict."""

VERDICTS = (ERROR, *(verdict.value for verdict in Verdict))
"""What the column `verdict` may say, worst first but for `error`, which says nothing of the property."""

KINDS = {
    "text": "string",
    "integer": "bigint",
    "number": "double",
    "boolean": "boolean",
    "texts": "array<string>",
    "settings": "map<string,string>",
    "counts": "map<string,bigint>",
}
"""The types of columns, and what Spark calls them."""


@dataclass(frozen=True)
class Column:
    """A column: its name, its type among `KINDS`, what it says, and whether it may be empty."""

    name: str
    kind: str
    meaning: str
    optional: bool = False


ASKED = (
    Column("id", "text", "a hash of what is asked and of the engine"),
    Column("engine", "text", "version of Fencepost, and a hash of its modules and solvers"),
    Column("protocol", "text", "name of the protocol"),
    Column("settings", "settings", "every parameter and switch; of walks, on what, and what was set"),
    Column("property", "text", "name of the property; `conforms` of walks on the real code"),
    Column("solver", "text", "who answers; `code` of walks"),
    Column("bound", "integer", "at most so many protocol steps", optional=True),
    Column("most_rounds", "integer", "at most so many rounds", optional=True),
    Column("minimize", "text", "what is made small in a counterexample"),
    Column("weight", "integer", "state variables of the instance: an estimate of how hard it is"),
    Column("system", "text", "SHA-256 of the ground system, of a protocol that does not ship", optional=True),
)
"""The columns of an obligation."""

TASK = (
    Column("properties", "texts", "names of the properties"),
    *(column for column in ASKED if column.name not in ("id", "property")),
)
"""The columns of a task: of obligations that differ in their property alone."""

FOUND = (
    Column("verdict", "text", "violated, undecided, vacuous, holds, proved; or error: the tool failed"),
    Column("basis", "text", "why a proof covers everything: rounds or induction", optional=True),
    Column("rounds", "integer", "rounds of the trace, or that cover everything, or that were searched"),
    Column("searched", "integer", "the deepest round searched"),
    Column("steps", "integer", "length of the trace, or of the shortest walk that departs", optional=True),
    Column("fewest", "text", "among which none is shorter: of-all, within-rounds", optional=True),
    Column("faults", "counts", "faults of the trace by kind", optional=True),
    Column("complete", "boolean", "no execution within the caps needs more rounds than were searched"),
    Column("witness", "boolean", "the property's witness was reached"),
    Column("by_actions", "boolean", "the induction is over one action"),
    Column("induction", "integer", "rounds that the induction goes over", optional=True),
    Column("invariants", "texts", "what the induction carries along"),
    Column(
        "reason",
        "text",
        "why it is undecided, vacuous or an error, or a proof uncertified; what walks came to",
        optional=True,
    ),
    Column("trace", "text", "the counterexample, as JSON", optional=True),
    Column("certificate", "text", "the folder in DIR with the certificate of a proof", optional=True),
    Column(
        "seconds",
        "number",
        "time from the start of the check to this answer; of a proof that rows share, an equal part in each",
    ),
    Column("host", "text", "the machine that answered"),
)
"""The columns that an answer adds."""

COLUMNS = ASKED + FOUND


def asked(obligation: SweepCase, engine: str) -> Row:
    """The row of an obligation that is still to be answered: the columns `ASKED`."""
    return {
        "id": obligation.identify(engine),
        "engine": engine,
        "protocol": obligation.protocol,
        "settings": dict(obligation.settings),
        "property": obligation.property,
        "solver": obligation.solver,
        "bound": obligation.bound,
        "most_rounds": obligation.rounds,
        "minimize": obligation.minimize.value,
        "weight": obligation.weight,
        "system": obligation.system,
    }


def task_of(obligations: Sequence[SweepCase], engine: str) -> Row:
    """The task of obligations that differ in their property alone: the columns `TASK`."""
    first = asked(obligations[0], engine) | {"properties": [one.property for one in obligations]}
    return {column.name: first[column.name] for column in TASK}


def obligations_of(task: Row) -> list[SweepCase]:
    """The obligations of a task."""
    return [obligation_of({**task, "property": name}) for name in task["properties"]]


def obligation_of(row: Mapping[str, Any]) -> SweepCase:
    """The obligation that a row is about."""
    return SweepCase(
        row["protocol"],
        tuple(dict(row["settings"]).items()),
        row["property"],
        row["solver"],
        row["bound"],
        row["most_rounds"],
        Minimize(row["minimize"]),
        row["weight"],
        row["system"],
    )


def found(result: Result) -> Row:
    """The columns `FOUND`, but for the host, of what a check came to."""
    return {
        "verdict": result.verdict.value,
        "basis": result.basis.value if result.basis else None,
        "rounds": result.rounds,
        "searched": result.searched,
        "steps": result.steps,
        "fewest": result.fewest.value if result.fewest else None,
        "faults": dict(result.faults) if result.faults is not None else None,
        "complete": result.complete,
        "witness": result.witness,
        "by_actions": result.by_actions,
        "induction": result.induction,
        "invariants": list(result.invariants),
        "reason": result.reason,
        "trace": json.dumps(result.trace.to_json()) if result.trace else None,
        "certificate": result.certificate,
        "seconds": round(result.seconds, 3),
    }


def unanswered(verdict: str, reason: str, seconds: float) -> Row:
    """The columns `FOUND`, but for the host, where no check came to an end: `undecided`, or `error`."""
    nothing = {"basis", "steps", "fewest", "faults", "induction", "trace", "certificate"}
    return {
        "verdict": verdict,
        **dict.fromkeys(nothing),
        "rounds": 0,
        "searched": 0,
        "complete": False,
        "witness": False,
        "by_actions": False,
        "invariants": [],
        "reason": reason,
        "seconds": round(seconds, 3),
    }


def spark_schema(columns: Iterable[Column] = COLUMNS) -> str:
    """The columns as Spark declares them."""
    return ", ".join(f"`{c.name}` {KINDS[c.kind]}{'' if c.optional else ' NOT NULL'}" for c in columns)


def arrow_schema(columns: Iterable[Column] = COLUMNS) -> Any:
    """The columns as an Arrow schema."""
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


def to_arrow(rows: Iterable[Mapping[str, Any]], columns: Iterable[Column] = COLUMNS) -> Any:
    """Rows as one Arrow batch; raises ValueError if a row has other columns,
    or nothing where something must be."""
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
    """The rows of an Arrow batch or table."""
    listed = list(columns)
    return [{c.name: _from_cell(c, row[c.name]) for c in listed} for row in batch.to_pylist()]


def _is_map(column: Column) -> bool:
    return column.kind in ("settings", "counts")


def _to_cell(column: Column, value: Any) -> Any:
    return list(value.items()) if _is_map(column) and value is not None else value


def _from_cell(column: Column, value: Any) -> Any:
    return dict(value) if _is_map(column) and value is not None else value
