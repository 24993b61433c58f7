"""Measure proofs by induction over one action beside proofs by rounds, as whole runs of `fencepost check`.

    python benchmarks/induction.py                    measure everything, print the tables
    python benchmarks/induction.py bookies 3/3/2      only rows whose names contain one of these words
    python benchmarks/induction.py --only actions     only one of the two ways
    python benchmarks/induction.py --output docs/generated/induction.md     the page, and its plot beside it

Each run is a process of its own, with an empty cache. What is compared is processor time, of all processes of a run
together: other programs on the machine change it least.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import plot
from measuring import TIMEOUT, Run, run_once

HOLD = (
    "no-divergence",
    "acked-entries-readable",
    "entries-in-order",
    "valid-fragments",
    "recovery-can-finish",
)
"""Of today's protocol: those that hold where bookies are spare, for any number of recoverers."""

WAYS = {"actions": "induction over one action", "none": "rounds"}
"""How a proof is looked for, by the value of `--induction`."""


@dataclass(frozen=True)
class Size:
    """An instance: its row's name, what is set, which properties are asked about, and which growth it is a point of."""

    name: str
    settings: Mapping[str, object]
    properties: tuple[str, ...] = HOLD
    grows: str | None = None

    def arguments(self, way: str) -> tuple[str, ...]:
        """What follows `fencepost check`."""
        chosen = [word for name in self.properties for word in ("--property", name)]
        sets = [word for name, value in self.settings.items() for word in ("--set", f"{name}={value}")]
        return ("bookkeeper", *chosen, *sets, "--induction", way)


NAMED = (
    Size("3/3/2 N=3, two entries", {"bookies": 3, "entries": 2}, HOLD[:3]),
    Size("3/3/2 N=4, two entries", {"entries": 2}),
    Size("the same, recovery_lac=frozen", {"entries": 2, "recovery_lac": "frozen"}, (*HOLD, "no-dirty-read")),
    Size("3/3/2 N=4, three entries, three fragments", {"entries": 3, "fragments": 3}),
    Size(
        "5/3/2 N=6, three entries",
        {"bookies": 6, "ensemble": 5, "entries": 3, "unset_acks": "before-acking"},
        HOLD[:4],
    ),
    Size(
        "7/7/4 N=7, three entries, three recoverers",
        {"bookies": 7, "ensemble": 7, "write_quorum": 7, "ack_quorum": 4, "entries": 3, "recoverers": 3},
        HOLD[:3],
    ),
)
"""What people run, and larger ones."""

GROWING = {
    "bookies": range(4, 8),
    "entries": range(1, 6),
    "recoverers": range(1, 5),
    "fragments": range(2, 6),
}
"""Each alone, the others as they are at first: 3/3/2 with four bookies, one entry, one recoverer and two fragments."""


def growth() -> Iterator[Size]:
    """The points of the plots."""
    for name, values in GROWING.items():
        for value in values:
            yield Size(f"{name} {value}", {name: value}, HOLD[:4], grows=name)


Measured = Mapping[tuple[str, str], Run | None]
"""The run of each size, by its name and the way; None if the command was ended before it had a result."""


def table(sizes: Sequence[Size], ways: Sequence[str], measured: Measured) -> str:
    """A row for each size, both ways side by side."""
    head = ["instance", *(f"{WAYS[way]}, processor" for way in ways)]
    lines = [head, ["---"] * len(head)]
    lines += [[size.name, *(_cell(measured[size.name, way]) for way in ways)] for size in sizes]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(run: Run | None) -> str:
    if run is None:
        return "no answer in time"
    return (
        f"{run.processor:.1f} s" if run.verdict == "proved" else f"{run.verdict} after {run.processor:.0f} s"
    )


def curves(sizes: Sequence[Size], measured: Measured) -> str:
    """How processor time grows with each parameter, for what is proved by induction over one action."""
    series = []
    for name in GROWING:
        own = [(s, measured[s.name, "actions"]) for s in sizes if s.grows == name]
        points = [
            (int(str(size.settings[name])), run.processor)
            for size, run in own
            if run is not None and run.verdict == "proved"
        ]
        if points:
            series.append(plot.Line(name, points))
    return plot.lines("Processor time for a proof by induction, by size", series, "how many of them")


def _run(arguments: Sequence[str], timeout: int) -> Run | None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            return run_once(arguments, Path(folder), timeout)
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return None


def main() -> None:
    """Measure the rows asked for and print or write what was found."""
    parser = argparse.ArgumentParser(
        description="Proofs by induction over one action beside proofs by rounds."
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="only rows whose names contain one of these")
    parser.add_argument("--only", choices=list(WAYS), help="only this way of proving")
    parser.add_argument("--timeout", type=int, default=TIMEOUT, metavar="SECONDS", help="for each run")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the page, and its plot beside it")
    arguments = parser.parse_args()
    ways = [arguments.only] if arguments.only else list(WAYS)
    every = [*NAMED, *growth()]
    sizes = [s for s in every if not arguments.words or any(word in s.name for word in arguments.words)]
    if not sizes:
        parser.error(
            f"{' '.join(arguments.words)}: no such row; the rows are {', '.join(s.name for s in every)}"
        )
    if arguments.output and (arguments.words or arguments.only == "none"):
        parser.error("--output: the page needs every row, and induction; leave the words out")
    measured: dict[tuple[str, str], Run | None] = {}
    for size in sizes:
        for way in ways:
            run = measured[size.name, way] = _run(size.arguments(way), arguments.timeout)
            print(f"{size.name}, {WAYS[way]}: {_cell(run)}", file=sys.stderr, flush=True)
    text = table(sizes, ways, measured)
    if arguments.output is None:
        print(text)
        return
    drawing = arguments.output.with_suffix(".svg")
    drawing.write_text(curves(sizes, measured), encoding="utf-8")
    arguments.output.write_text(
        f"# Induction beside rounds\n\nAs `python benchmarks/induction.py` measured it: today's protocol, whole processes, "
        f"each with an empty cache and `--timeout {arguments.timeout}`.\n\n{text}\n\n![Processor time by size]({drawing.name})\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
