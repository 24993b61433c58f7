"""The rows of a sweep in words and in sums: a line for each row, numbers by verdict, solvers compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fencepost.encoding.engine.named_clauses import found_text
from fencepost.encoding.engine.verdicts import Fewest, Verdict
from fencepost.encoding.language.state import amount
from fencepost.properties.catalogue import unmodelled
from fencepost.sweeps.rows import ERROR, VERDICTS, Row

SIZES = ("ensemble", "write_quorum", "ack_quorum")
"""The settings that are written E/WQ/AQ."""

QUESTION = ("protocol", "property", "bound", "most_rounds", "minimize", "drop_declared")
"""The columns of a question, besides its settings. Several solvers may answer it."""


def counts(rows: Iterable[Row]) -> dict[str, int]:
    """Return the number of rows by verdict, in the order of `VERDICTS`, without zeros."""
    counted = Counter(row["verdict"] for row in rows)
    return {verdict: counted[verdict] for verdict in VERDICTS if counted[verdict]}


def verdict_counts(counted: Mapping[str, int]) -> str:
    """Return the numbers by verdict in words, without verdicts that have none."""
    return ", ".join(f"{counted[verdict]} {verdict}" for verdict in VERDICTS if counted.get(verdict))


@dataclass
class SolverSums:
    """The cases of one solver, compared with those that other solvers answered."""

    cases: int = 0
    decided: int = 0
    fastest: int = 0
    contradicted: int = 0
    """The cases of which another solver that decided said the opposite. There must be none."""
    seconds_on_those: float | None = None
    """The seconds on the cases that all solvers decided; None if there is none."""
    seconds: float = 0.0


def by_solver(rows: Iterable[Row]) -> dict[str, SolverSums]:
    """Return the sums of each solver. The rows of one question differ in nothing but the solver."""
    questions: dict[object, list[Row]] = {}
    for row in rows:
        asked = *(row[name] for name in QUESTION), *sorted(row["settings"].items())
        questions.setdefault(asked, []).append(row)
    sums = {
        name: SolverSums() for name in sorted({row["solver"] for same in questions.values() for row in same})
    }
    for same in questions.values():
        decided = [row for row in same if row["verdict"] not in (Verdict.UNDECIDED.value, ERROR)]
        best = min((row["seconds"] for row in decided), default=None)
        differ = len({row["verdict"] == Verdict.VIOLATED.value for row in decided}) > 1
        for row in same:
            own = sums[row["solver"]]
            own.cases += 1
            own.seconds += row["seconds"]
            if row in decided:
                own.decided += 1
                own.fastest += row["seconds"] == best
                own.contradicted += differ
            if len(decided) == len(same):
                own.seconds_on_those = (own.seconds_on_those or 0.0) + row["seconds"]
    return sums


def configuration(row: Row) -> str | None:
    """Return E/WQ/AQ of a row; None if its protocol has no such sizes."""
    settings = row["settings"]
    return "/".join(settings[name] for name in SIZES) if all(name in settings for name in SIZES) else None


def varying(rows: Sequence[Row]) -> list[str]:
    """Return the settings in which rows of one protocol differ, in the protocol's order."""
    names = dict.fromkeys(name for row in rows for name in row["settings"])
    return [name for name in names if len({row["settings"].get(name) for row in rows}) > 1]


def in_order_of_sizes(rows: Iterable[Row]) -> list[Row]:
    """Return the rows by protocol and settings, numbers by size, then by property."""
    return sorted(rows, key=lambda r: (r["protocol"], _sizes(r), r["property"], r["solver"], r["id"]))


def _sizes(row: Row) -> list[tuple[str, int, str]]:
    return [
        (name, int(value) if re.fullmatch(r"\d+", value) else 0, value)
        for name, value in row["settings"].items()
    ]


def how_decided(row: Row) -> str:
    """Return a phrase for the result: the basis of a proof, a bound, or a trace's length and faults."""
    match row["verdict"]:
        case "proved" if row["basis"] == "induction" and row["found"]:
            return f"proved: inductive, with {found_text(len(row['found']))}"
        case "proved" if row["basis"] == "induction":
            return "proved by induction over one action"
        case "proved" if row["basis"] == "enumeration":
            return "proved: all reachable states were visited"
        case "proved":
            return f"proved: every execution fits in {amount(row['rounds'], 'round')}"
        case "holds":
            return f"holds up to {_bound(row)}"
        case "violated":
            return f"violated in {amount(row['steps'], 'step')}{_fewest(row)}, {_faults(row)}"
        case "undecided":
            return f"undecided: {row['reason']}; {amount(row['searched'], 'round')} finished"
        case verdict:
            return f"{verdict}: {(row['reason'] or '').strip().splitlines()[-1]}"


def _bound(row: Row) -> str:
    if row["bound"] is not None:
        return amount(row["bound"], "step")
    return amount(row["searched"], "round")


def _fewest(row: Row) -> str:
    if row["fewest"] == Fewest.OF_ALL.value:
        return " (fewest)"
    return f" (fewest within {amount(row['searched'], 'round')})" if row["fewest"] else ""


def _faults(row: Row) -> str:
    counted = {name: number for name, number in (row["faults"] or {}).items() if number}
    return ", ".join(f"{name} {number}" for name, number in counted.items()) or "no fault"


def left_out(rows: Iterable[Row]) -> list[str]:
    """Return the lines that say what the models of the rows leave out, each line once."""
    asked = {(row["protocol"], tuple(sorted(row["settings"].items()))) for row in rows}
    return unmodelled((protocol, dict(settings)) for protocol, settings in sorted(asked))
