"""A sweep as text for people at a terminal, as CSV and as Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

from fencepost.cli.rendering.check_text import sentence
from fencepost.cli.rendering.columns import columns
from fencepost.cli.rendering.sweep_matrices import Matrix, SweepReport, asked, matrices, unlike
from fencepost.cli.rendering.words import SIGNS, brief, in_words
from fencepost.encoding.language.state import show_all
from fencepost.encoding.safe_text import one_line
from fencepost.sweeps.rows import COLUMNS as OF_ROWS
from fencepost.sweeps.rows import Row
from fencepost.sweeps.summary import SIZES, finding, left_out, varying
from fencepost.sweeps.tables import Table


def text(report: SweepReport) -> str:
    """Return sums, matrices and all rows; an unfinished sweep has no sums."""
    manifest = report.manifest
    parts = [f"engine {manifest['engine']}; {manifest['invalid']} invalid combinations left out"]
    parts += [report.unfinished] if report.unfinished else []
    summary = report.summary or {}
    if len(solvers := summary.get("solvers", [])) > 1:
        parts.append(table(solver_lines(solvers)))
    for protocol, rows in report.protocols.items():
        parts.append(
            "\n".join([*filter(None, [f"{protocol}, {asked(rows)}", unlike(rows)]), *left_out(rows)])
        )
        parts += [table(lines) for name in summary if (lines := _summed(name, summary[name], protocol))]
        parts += [_drawn(matrix) for matrix in matrices(rows) if matrix.sized]
        parts.append(_each(rows))
    return "\n\n".join(parts)


def _summed(name: str, of_all: Table, protocol: str) -> list[list[str]]:
    """Return the lines of a protocol in a table of the sweep, under a heading."""
    if name not in COLUMNS:
        return []
    columns, found = COLUMNS[name], [line for line in of_all if line.get("protocol") == protocol]
    return [list(columns), *([cell(line) for cell in columns.values()] for line in found)] if found else []


def _number(name: str) -> Any:
    """Return a function from a line to the text of a number in it, or a dash."""
    return lambda line: "-" if line[name] is None else str(line[name])


def _seconds(name: str) -> Any:
    return lambda line: "-" if line[name] is None else f"{line[name]:.1f}"


COLUMNS: Mapping[str, Mapping[str, Any]] = {
    "properties": {"property": _number("property"), "verdicts": in_words, "seconds": _seconds("seconds")},
    "configurations": {
        "property": _number("property"),
        "E/WQ/AQ": lambda line: "/".join(str(line[name]) for name in SIZES),
        "bookies": _number("bookies"),
        "verdicts": in_words,
        "rounds": _number("most_rounds"),
        "searched": _number("least_searched"),
        "fewest steps": _number("fewest_steps"),
        "fewest faults": _number("fewest_faults"),
    },
    "times": {
        "solver": _number("solver"),
        "state variables": _number("weight"),
        "cases": _number("cases"),
        "undecided": _number("undecided"),
        "shortest": _seconds("shortest"),
        "median": _seconds("median"),
        "longest": _seconds("longest"),
    },
}
"""The columns shown of each table that names a protocol."""

OF_SOLVERS: Mapping[str, Any] = {
    "solver": _number("solver"),
    "cases": _number("cases"),
    "decided": _number("decided"),
    "fastest": _number("fastest"),
    "contradicted": _number("contradicted"),
    "seconds on what all decided": _seconds("seconds_on_those"),
    "seconds": _seconds("seconds"),
}


def solver_lines(solvers: Table) -> list[list[str]]:
    """Return the lines about solvers, under a heading."""
    return [list(OF_SOLVERS), *([cell(line) for cell in OF_SOLVERS.values()] for line in solvers)]


def _drawn(matrix: Matrix) -> str:
    def cell(row: Row | None) -> str:
        return f"{SIGNS[row['verdict']]} {row['verdict']} ({brief(row)})" if row else ""

    lines = [[*labels, *map(cell, cells)] for labels, cells in matrix.lines]
    return f"{matrix.title}\n{table([[*matrix.heads, *matrix.columns], *lines])}"


def _each(rows: Sequence[Row]) -> str:
    names = varying(rows)
    limits = [name for name in ("solver", "bound", "most_rounds") if len({row[name] for row in rows}) > 1]
    lines = [
        [
            row["id"],
            *(row["settings"].get(name, "-") for name in names),
            row["property"],
            *map(str, (row[name] if row[name] is not None else "-" for name in limits)),
            finding(row),
            f"{row['seconds']:.1f}",
        ]
        for row in rows
    ]
    return table([["id", *names, "property", *limits, "found", "seconds"], *lines])


def table(lines: Sequence[Sequence[str]]) -> str:
    """Return lines of cells in columns as wide as their contents."""
    return "\n".join(columns([[one_line(cell) for cell in line] for line in lines]))


# Tables for other programs and for pages.


def csv_table(report: SweepReport) -> str:
    """Return a line for each row: varying settings, all columns but the trace, and what is not modelled."""
    settings = dict.fromkeys(name for rows in report.protocols.values() for name in varying(rows))
    names = [c.name for c in OF_ROWS if c.name != "trace"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*settings, *names, "unmodelled"])
    for row in report.rows:
        cells = [row["settings"].get(name, "") for name in settings]
        writer.writerow([*cells, *(_cell(row[name]) for name in names), "; ".join(left_out([row]))])
    return text.getvalue().rstrip("\n")


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return show_all(value)
    return " ".join(value) if isinstance(value, list) else value


def markdown(report: SweepReport) -> str:
    """Return the matrices of each protocol, and the table of solvers if there are several."""
    summary = report.summary or {}
    parts = [report.unfinished] if report.unfinished else []
    if len(solvers := summary.get("solvers", [])) > 1:
        parts.append(_markdown(solver_lines(solvers)))
    sums = {(line["protocol"], line["property"]): line for line in summary.get("properties", [])}
    for protocol, rows in report.protocols.items():
        counted = [f"{prop} {in_words(line)}" for (name, prop), line in sums.items() if name == protocol]
        parts.append(f"**{protocol}**" + (f": {'; '.join(counted)}." if counted else ""))
        parts += [sentence(line) for line in left_out(rows)]
        for matrix in matrices(rows):
            parts += [f"{matrix.title}:"] if matrix.title else []
            parts.append(_markdown([[*matrix.heads, *matrix.columns], *_cells(matrix)]))
    return "\n\n".join(parts)


def _cells(matrix: Matrix) -> list[list[str]]:
    def cell(row: Row | None) -> str:
        if row is None:
            return ""
        verdict = f"**{row['verdict']}**" if row["verdict"] == "violated" else row["verdict"]
        seconds = "" if matrix.sized else f", {row['seconds']:.1f} s"
        return f"{verdict}: {brief(row)}{seconds}"

    return [[*labels, *map(cell, cells)] for labels, cells in matrix.lines]


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *others = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *others)).replace(
        "| --- ", "|---"
    )
