"""Measure whole runs of `fencepost check` on fixed instances.

    python benchmarks/run.py                 measure everything, print the tables
    python benchmarks/run.py proof n4        only rows whose names contain all of these words
    python benchmarks/run.py --list          names and commands
    python benchmarks/run.py --output docs/generated/performance.md

A row is a command line and a commutation cache: cold (an empty folder) or warm (one that a run of the same
instance has filled). Each run is a process of its own, timed from its start to its end.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import page
from instances import ROWS
from measuring import measure_all


def main() -> None:
    """Measure the rows asked for and print or write what was found."""
    parser = argparse.ArgumentParser(
        description="Measure whole runs of `fencepost check` on fixed instances."
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="only rows whose names contain every WORD")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs of each row (default: 3)")
    parser.add_argument("--list", action="store_true", help="show the rows and measure nothing")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the page, and its plots beside it")
    arguments = parser.parse_args()
    rows = [row for row in ROWS if all(word in row.name for word in arguments.words)]
    if arguments.runs < 1:
        parser.error(f"--runs {arguments.runs}: must be 1 or more")
    if not rows:
        parser.error(f"{' '.join(arguments.words)}: no such row; --list shows them")
    if arguments.output and arguments.words:
        parser.error("--output: the page needs every row; leave the words out")
    if arguments.list:
        for row in rows:
            print(f"{row.name:30} {row.command}")
        return
    subprocess.run(
        [sys.executable, "-c", "import fencepost.cli.commands.check, z3, pysat.solvers"], check=True
    )
    load = os.getloadavg()[0]
    measured = measure_all(rows, arguments.runs)
    if arguments.output:
        page.write(arguments.output, measured, arguments.runs, load)
    else:
        print(page.times_table(rows, measured))


if __name__ == "__main__":
    main()
