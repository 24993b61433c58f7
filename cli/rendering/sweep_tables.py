"""A sweep as tables for other programs and for pages: CSV and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from fencepost.cli.rendering.check_text import sentence
from fencepost.cli.rendering.sweep_matrices import Matrix, SweepReport, matrices
from fencepost.cli.rendering.sweep_text import solver_lines
from fencepost.cli.rendering.words import brief, in_words
from fencepost.encoding.language.state import show_all
from fencepost.sweeps.rows import COLUMNS, Row
from fencepost.sweeps.summary import left_out, varying


def csv_table(report: SweepReport) -> str:
    """Return a line for each row: varying settings, all columns but the trace, and what is not modelled."""
    settings = dict.fromkeys(name for rows in report.protocols.values() for name in varying(rows))
    names = [c.name for c in COLUMNS if c.name != "trace"]
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
            parts.append(_markdown([[*matrix.heads, *matrix.columns], *map(_line, _cells(matrix))]))
    return "\n\n".join(parts)


def _cells(matrix: Matrix) -> list[tuple[tuple[str, ...], list[str]]]:
    def cell(row: Row | None) -> str:
        if row is None:
            return ""
        verdict = f"**{row['verdict']}**" if row["verdict"] == "violated" else row["verdict"]
        seconds = "" if matrix.sized else f", {row['seconds']:.1f} s"
        return f"{verdict}: {brief(row)}{seconds}"

    return [(labels, list(map(cell, cells))) for labels, cells in matrix.lines]


def _line(line: tuple[tuple[str, ...], list[str]]) -> list[str]:
    labels, cells = line
    return [*labels, *cells]


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *others = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *others)).replace(
        "| --- ", "|---"
    )
