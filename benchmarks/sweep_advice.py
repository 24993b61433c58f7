"""Answer the cells that prove the conditions of `advise`, and write properties/expected/advice.manifest.

    python benchmarks/sweep_advice.py               answer what is missing, the smallest sizes first
    python benchmarks/sweep_advice.py --rows DIR    take the answers from a sweep of grids/advice.toml
    python benchmarks/sweep_advice.py --again       answer the undecided cells, too

The manifest is written after each cell, so the run may be stopped at any time. A line of another model than
today's is answered again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

from fencepost.advice.checked import (
    MANIFEST,
    UNDECIDED,
    Line,
    LossCell,
    Place,
    cells,
    read_manifest,
    sizes,
    written,
)
from fencepost.sweeps.advice_cases import ask, case_of, digest_of, line_of
from fencepost.sweeps.engine_version import engine
from fencepost.sweeps.rows import Row
from fencepost.sweeps.store import Store

TIMEOUT = 300.0
"""The seconds after which a cell is undecided."""


def main() -> None:
    """Answer the cells, and print each line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--timeout", type=float, default=TIMEOUT)
    given = parser.parse_args()
    lines = read_manifest(MANIFEST.read_text(encoding="utf-8")) if MANIFEST.exists() else {}
    rows = {row["id"]: row for row in Store(given.rows).rows()} if given.rows else None
    for cell in open_cells(lines, given.again):
        case = case_of(cell)
        row = ask(case, given.timeout) if rows is None else rows.get(case.identify(engine()))
        if row is not None:
            lines[cell.place] = line_of(cell, row)
            MANIFEST.write_text(written(lines), encoding="utf-8")
            print(told(cell, lines[cell.place], row), flush=True)


def told(cell: LossCell, line: Line, row: Row) -> str:
    """Return the line with its seconds, and whether the condition says something else."""
    differs = "" if line.verdict in (cell.expected, UNDECIDED) else " THE CONDITION DIFFERS"
    return f"{line} {row['seconds']:.0f} s{differs} {(row['reason'] or '').strip()[-100:]}"


def open_cells(lines: Mapping[Place, Line], again: bool) -> Iterator[LossCell]:
    """Yield the cells without a line of today's model, the smallest sizes first."""
    for cell in (cell for size in sizes() for cell in cells(*size)):
        line = lines.get(cell.place)
        if line is None or (again and line.verdict == UNDECIDED) or line.digest != digest_of(cell):
            yield cell


if __name__ == "__main__":
    main()
