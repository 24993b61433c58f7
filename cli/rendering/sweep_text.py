"""A sweep as text for people at a terminal, as CSV and as Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import astuple

from fencepost.cli.rendering.check_text import sentence
from fencepost.cli.rendering.columns import columns
from fencepost.cli.rendering.sweep_matrices import Matrix, SweepReport, asked, matrices, unlike
from fencepost.encoding.engine.verdicts import Fewest
from fencepost.encoding.language.state import amount, show_all
from fencepost.encoding.safe_text import one_line
from fencepost.sweeps.rows import COLUMNS as OF_ROWS
from fencepost.sweeps.rows import Row
from fencepost.sweeps.summary import by_solver, counts, how_decided, left_out, varying, verdict_counts

SIGNS = {"proved": "✓", "holds": "≈", "violated": "✗", "undecided": "?", "vacuous": "∅", "error": "!"}


def text(report: SweepReport) -> str:
    """Return sums, matrices and all rows; an unfinished sweep has no sums."""
    manifest = report.manifest
    parts = [f"engine {manifest['engine']}; {manifest['invalid']} invalid combinations left out"]
    parts += [report.unfinished] if report.unfinished else []
    parts += [table(lines) for lines in _solver_lines(report)]
    for protocol, rows in report.protocols.items():
        parts.append(
            "\n".join([*filter(None, [f"{protocol}, {asked(rows)}", unlike(rows)]), *left_out(rows)])
        )
        if not report.unfinished:
            sums = [[name, verdict_counts(counts(own)), _seconds(own)] for name, own in _by_property(rows)]
            parts.append(table([["property", "verdicts", "seconds"], *sums]))
        parts += [_drawn(matrix) for matrix in matrices(rows) if matrix.sized]
        parts.append(_each(rows))
    return "\n\n".join(parts)


def _by_property(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    names = sorted({row["property"] for row in rows})
    return [(name, [row for row in rows if row["property"] == name]) for name in names]


def _seconds(rows: Sequence[Row]) -> str:
    return f"{sum(row['seconds'] for row in rows):.1f}"


def _solver_lines(report: SweepReport) -> Iterator[list[list[str]]]:
    """Yield the lines about solvers, under a heading, if there are several and the sweep is finished."""
    found = by_solver(report.rows)
    if len(found) > 1 and not report.unfinished:
        heads = [
            "solver",
            "cases",
            "decided",
            "fastest",
            "contradicted",
            "seconds on what all decided",
            "seconds",
        ]
        yield [heads, *([name, *map(_number, astuple(sums))] for name, sums in found.items())]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)


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
            how_decided(row),
            f"{row['seconds']:.1f}",
        ]
        for row in rows
    ]
    return table([["id", *names, "property", *limits, "found", "seconds"], *lines])


def table(lines: Sequence[Sequence[str]]) -> str:
    """Return lines of cells in columns as wide as their contents."""
    return "\n".join(columns([[one_line(cell) for cell in line] for line in lines]))


def brief(row: Row) -> str:
    """Return the short text beside a verdict in a cell: rounds, steps, faults."""
    match row["verdict"]:
        case "proved":
            by = {"induction": "by induction", "enumeration": "by its states"}
            return by.get(row["basis"]) or amount(row["rounds"], "round")
        case "holds":
            by_steps = row["bound"] is not None
            return f"to {amount(row['bound'], 'step') if by_steps else amount(row['searched'], 'round')}"
        case "violated":
            least = "" if row["fewest"] == Fewest.OF_ALL.value else "≤"
            return f"{least}{amount(row['steps'], 'step')}, {faults(row)}"
        case "undecided":
            return f"none in {amount(row['searched'], 'round')}" if row["searched"] else "no round finished"
        case "vacuous":
            return "nothing tested"
        case _:
            return "see why"


def faults(row: Row) -> str:
    """Return the number of faults of a counterexample in words."""
    number = sum((row["faults"] or {}).values())
    return amount(number, "fault") if number else "no fault"


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
    parts = [report.unfinished] if report.unfinished else []
    parts += map(_markdown, _solver_lines(report))
    for protocol, rows in report.protocols.items():
        counted = "; ".join(f"{name} {verdict_counts(counts(own))}" for name, own in _by_property(rows))
        parts.append(f"**{protocol}**" + ("" if report.unfinished else f": {counted}."))
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
