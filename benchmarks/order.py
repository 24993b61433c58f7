"""Measure the order of the engines: `check` by default beside each engine alone.

    python benchmarks/order.py                    every row, three runs of each way
    python benchmarks/order.py zab --runs 5       only rows whose names contain the word
    python benchmarks/order.py --other PYTHON     the default of another environment too, as `other`

Each run is a process of its own, with its children, and begins without kept answers about commutation. The
runs of the ways alternate. An engine alone is interrupted once it has used more than the default and two
processor seconds. The regret of a row is what the default takes over what its best engine alone takes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from measuring import Run, run_once

from fencepost.encoding.engine.limits import ENGINES

TIMEOUT = 300
"""The seconds of wall time after which a run is undecided."""

MOST, MARGIN = 1.3, 2.0
"""No regret should be larger, unless the default takes at most so many seconds more."""

UNDECLARED = ("--drop-declared",)
LOSS = ("bookkeeper-4.13", "--property=no-divergence")


def sized(sizes: str, *properties: str) -> tuple[str, ...]:
    """Return the arguments for today's protocol at these sizes."""
    sets = (f"--set={size}" for size in sizes.split())
    return ("bookkeeper", *sets, *(f"--property={name}" for name in properties))


def corpus(name: str, *sizes: str) -> tuple[str, ...]:
    """Return the arguments for a protocol of other people at these sizes."""
    return (f"examples/corpus/{name}.py", *(f"--set={size}" for size in sizes))


SEVEN = "bookies=7 ensemble=7 write_quorum=7 ack_quorum=4 entries=3 recoverers=3"
FOUR = sized("bookies=4 entries=2", "no-divergence")

ROWS: Mapping[str, tuple[str, ...]] = {
    "lock-server": ("examples/lock_server.py",),
    "two-phase-commit, 6 participants": ("examples/two_phase_commit.py", "--set=participants=6", *UNDECLARED),
    "4.13 mended, no-divergence": (*LOSS, "--set=recovery_reads_fence=yes"),
    "3/3/2 N=3 L=2, three properties": sized(
        "bookies=3 entries=2", "no-divergence", "acked-entries-readable", "entries-in-order"
    ),
    "7/7/4 L=3, three recoverers, two properties": sized(SEVEN, "no-divergence", "entries-in-order"),
    "4.13, the loss in the fewest steps": LOSS,
    "bookkeeper, all properties": ("bookkeeper",),
    "2/2/2 N=3, no-divergence, nothing declared": (
        *sized("bookies=3 ensemble=2 write_quorum=2 ack_quorum=2", "no-divergence"),
        *UNDECLARED,
    ),
    "N=4 L=2, no-divergence, nothing declared": (*FOUR, *UNDECLARED),
    "verified-log-02, nothing declared": ("verified-log-02", "--property=commit-durability", *UNDECLARED),
    "logless-reconfig, 3 terms": corpus("logless_reconfig", "terms=3"),
    "paxos-commit, 2 managers": corpus("paxos_commit", "managers=2"),
    "consensus-epr": corpus("consensus_epr"),
    "multi-paxos": corpus("multi_paxos"),
    "multi-paxos, a command from one vote": corpus("multi_paxos", "commit=one"),
    "fast-paxos": corpus("fast_paxos"),
    "zab, 3 servers": corpus("zab", "servers=3", "timeouts=0"),
    "raft": corpus("raft"),
    "raft, any vote": corpus("raft", "entries=1", "vote=any"),
    "kafka-elr, 3 brokers": corpus("kafka_elr", "brokers=3"),
    "kafka-elr, the last replica": corpus("kafka_elr", "recovery=last_replica"),
    "oxia": corpus("oxia"),
    "viewstamped, 2 values": corpus("viewstamped", "values=2"),
    "viewstamped, 2 values, 2 views": corpus("viewstamped", "values=2", "views=2"),
}
"""The arguments of `fencepost check` of each row."""


@dataclass
class Way:
    """A way to check: the arguments that select it, the interpreter, and its runs."""

    arguments: tuple[str, ...] = ()
    python: str = sys.executable
    runs: list[Run] = field(default_factory=list)
    is_out: bool = False
    """Whether it does not suit the row, or was interrupted."""

    def run(self, row: Sequence[str], most: float | None) -> None:
        """Run the row once more; `most` is the limit of processor seconds."""
        try:
            run = run_once((*row, *self.arguments), TIMEOUT, most, self.python)
        except RuntimeError:
            self.is_out = True
            return
        self.is_out = most is not None and run.processor > most and run.verdict == "undecided"
        self.runs.append(run)

    @property
    def verdict(self) -> str:
        """The verdicts of the runs."""
        return "/".join(sorted({run.verdict for run in self.runs}))

    def seconds(self) -> tuple[float, float]:
        """Return the medians of wall time and processor time."""
        return median(run.seconds for run in self.runs), median(run.processor for run in self.runs)

    def __str__(self) -> str:
        """Return the cell of a table: wall time, processor time, and an undecided verdict."""
        if self.is_out:
            return "-"
        wall, processor = self.seconds()
        return f"{wall:.2f}, {processor:.2f}" + (" undecided" if "undecided" in self.verdict else "")


def ways(other: str | None) -> dict[str, Way]:
    """Return the ways to check a row, the default first."""
    engines = {name: Way(("--engine", name)) for name in ENGINES}
    return {"default": Way(), **({"other": Way(python=other)} if other else {}), **engines}


def regret(found: Mapping[str, Way]) -> tuple[float, float, float] | None:
    """Return the default over the best engine alone, by wall and by processor, and its wall seconds more."""
    default = found["default"]
    alone = [found[name] for name in ENGINES if not found[name].is_out]
    best = [way.seconds() for way in alone if way.verdict == default.verdict and way.verdict != "undecided"]
    if not best:
        return None
    (wall, processor), by_wall, by_processor = default.seconds(), *map(min, zip(*best, strict=True))
    return wall / by_wall, processor / by_processor, wall - by_wall


def measured(arguments: tuple[str, ...], runs: int, other: str | None) -> dict[str, Way]:
    """Return the ways to check a row with their runs."""
    found = ways(other)
    for _ in range(runs):
        for name, way in found.items():
            if not way.is_out:
                alone = name in ENGINES
                way.run(arguments, found["default"].seconds()[1] + MARGIN if alone else None)
    return found


def line(name: str, found: Mapping[str, Way]) -> str:
    """Return a row of the table in Markdown."""
    default, over = found["default"], regret(found)
    memory = f"{max(run.memory for run in default.runs) / 2**20:.0f}"
    ratios = "-, -" if over is None else f"{over[0]:.2f}, {over[1]:.2f}"
    cells = (name, default.verdict, *map(str, found.values()), memory, ratios)
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, the median regret, and the rows with too large a regret."""
    parser = argparse.ArgumentParser(description="Compare the default check with each engine alone.")
    parser.add_argument("words", nargs="*", metavar="WORD", help="only rows whose names contain some WORD")
    parser.add_argument("--runs", type=int, default=3, help="the runs of each way")
    parser.add_argument("--other", metavar="PYTHON", help="the interpreter of another environment")
    asked = parser.parse_args()
    heads = ("row", "verdict", *ways(asked.other), "MiB", "regret by wall, by processor")
    print(f"| {' | '.join(heads)} |", "|".join(["", *["---"] * len(heads), ""]), sep="\n")
    regrets: dict[str, tuple[float, float, float]] = {}
    for name, arguments in ROWS.items():
        if not asked.words or any(word in name for word in asked.words):
            found = measured(arguments, asked.runs, asked.other)
            print(line(name, found), flush=True)
            if (over := regret(found)) is not None:
                regrets[name] = over
    if regrets:
        by_wall, by_processor, _ = zip(*regrets.values(), strict=True)
        print(f"\nMedian regret: {median(by_wall):.2f} by wall, {median(by_processor):.2f} by processor.")
    for name, (wall, _, seconds) in regrets.items():
        if wall > MOST and seconds > MARGIN:
            print(f"Over: {name}, {wall:.2f} and {seconds:.1f} s more.")


if __name__ == "__main__":
    main()
