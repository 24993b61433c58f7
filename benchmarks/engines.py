"""Measure whether `check` chooses its engines well: its processor seconds over those of its best engine.

    python benchmarks/engines.py                measure every row, print the table
    python benchmarks/engines.py logless 3      only rows whose names contain all of these words

A row is an instance, checked by default and by each engine alone. Each run is a process of its own, which is
measured with its children, and begins without kept answers about commutation. A single engine is interrupted
once it has used more than the default and two seconds, because only the best one counts.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from measuring import run_once

from fencepost.encoding.engine.limits import ENGINES

TIMEOUT = 120
"""The seconds of wall time after which a run is undecided."""

FACTOR, MARGIN = 1.1, 2.0
"""The default should take at most so many times its best engine, and so many processor seconds more."""

UNDECLARED = ("--drop-declared",)
CORPUS = "examples/corpus/"
NO_DIVERGENCE = ("--property=no-divergence",)
ONE_OF_413 = ("bookkeeper-4.13", *NO_DIVERGENCE)
TWO_OF_THREE = ("--set=bookies=3", "--set=ensemble=2", "--set=write_quorum=2", "--set=ack_quorum=2")

ROWS: Mapping[str, tuple[str, ...]] = {
    "lock-server 5": ("examples/lock_server.py", "--set=nodes=5"),
    "ricart-agrawala": ("examples/ricart_agrawala.py",),
    "verified-log-01": ("verified-log-01",),
    "ledger-chain, declared": ("ledger-chain",),
    "ledger-chain, nothing declared": ("ledger-chain", *UNDECLARED),
    "two-phase-commit 6, nothing declared": (
        "examples/two_phase_commit.py",
        "--set=participants=6",
        *UNDECLARED,
    ),
    "bookkeeper-4.13, violated": ONE_OF_413,
    "bookkeeper-4.13, mended": (*ONE_OF_413, "--set=recovery_reads_fence=yes"),
    "bookkeeper 2/2/2 N=3, declared": ("bookkeeper", *NO_DIVERGENCE, *TWO_OF_THREE),
    "bookkeeper 2/2/2 N=3, nothing declared": ("bookkeeper", *NO_DIVERGENCE, *TWO_OF_THREE, *UNDECLARED),
    "verified-log-02, nothing declared": ("verified-log-02", "--property=commit-durability", *UNDECLARED),
    "logless-reconfig, 3 terms": (f"{CORPUS}logless_reconfig.py", "--set=terms=3"),
    "raft-reconfig, 2 terms": (
        f"{CORPUS}raft_reconfig.py",
        *("--set=servers=3", "--set=smallest=2", "--set=terms=2"),
    ),
    "raft-reconfig, 3 terms": (f"{CORPUS}raft_reconfig.py", "--set=servers=3", "--set=smallest=2"),
    "acp-sb 3": (f"{CORPUS}acp_sb.py", "--set=participants=3"),
    "consensus-epr": (f"{CORPUS}consensus_epr.py",),
    "paxos-commit 2": (f"{CORPUS}paxos_commit.py", "--set=managers=2"),
}
"""The arguments of `fencepost check` of each row.

Of a system with violated properties, a row names one property: an engine alone leaves others undecided.
"""


@dataclass(frozen=True)
class Measured:
    """The processor seconds of a run, and its verdict."""

    seconds: float
    verdict: str

    def __str__(self) -> str:
        """Return the seconds, and the verdict if there is none."""
        return f"{self.seconds:.1f}" + (", undecided" if self.verdict == "undecided" else "")


def measured(arguments: tuple[str, ...], most: float | None = None) -> Measured | None:
    """Return what a run takes; None if the engine refuses the row, or takes more than `most`."""
    with tempfile.TemporaryDirectory() as cache:
        try:
            run = run_once(arguments, Path(cache), TIMEOUT, most)
        except RuntimeError:
            return None
    if most is not None and run.processor > most and run.verdict == "undecided":
        return None
    return Measured(run.processor, run.verdict)


def line(name: str, arguments: tuple[str, ...]) -> str:
    """Return a row of the table in Markdown."""
    cells, best = [], None
    default = measured(arguments)
    if default is None:
        raise RuntimeError(f"{name}: no result")
    for engine in ENGINES:
        run = measured((*arguments, "--engine", engine), default.seconds + MARGIN)
        cells.append("-" if run is None else str(run))
        if run is not None and run.verdict == default.verdict and run.verdict != "undecided":
            best = run.seconds if best is None else min(best, run.seconds)
    ratio = "-" if best is None else f"{default.seconds / best:.1f}"
    over = "" if best is None or default.seconds <= FACTOR * best + MARGIN else ", over"
    return f"| {name} | {default.verdict} | {default} | {' | '.join(cells)} | {ratio}{over} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Compare the default check with each engine alone.")
    parser.add_argument("words", nargs="*", metavar="WORD", help="only rows whose names contain every WORD")
    words = parser.parse_args().words
    heads = ("row", "verdict", "default", *ENGINES, "default over best")
    print(f"| {' | '.join(heads)} |", "|".join(["", *["---"] * len(heads), ""]), sep="\n")
    for name, arguments in ROWS.items():
        if all(word in name for word in words):
            print(line(name, arguments))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
