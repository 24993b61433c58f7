"""Measure induction over one action beside the rounds engine, as whole runs of `fencepost check`.

    python benchmarks/induction.py                    measure everything, print the tables
    python benchmarks/induction.py bookies 3/3/2      only rows whose names contain one of these words
    python benchmarks/induction.py --only actions     only one of the two ways
    python benchmarks/induction.py --kept runs.jsonl --output docs/generated/induction.md
                                                      the page, and its plots beside it

Each run is a process of its own. The measure, and the limit, is the processor time of
all processes of a run together, because other programs on the machine change it least.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import plot
from measuring import run_once

HOLD = (
    "no-divergence",
    "acked-entries-readable",
    "entries-in-order",
    "valid-fragments",
    "recovery-can-finish",
)
"""The properties of today's protocol that hold with spare bookies, for any number of recoverers."""

WAYS = {"induction": "induction over one action", "rounds": "rounds"}
"""The engines that are compared, by the value of `--engine`."""


@dataclass(frozen=True)
class Size:
    """A size: its row's name, its settings, its properties, and the growth that it is a point of."""

    name: str
    settings: Mapping[str, object]
    properties: tuple[str, ...] = HOLD
    grows: str | None = None

    def arguments(self, way: str) -> tuple[str, ...]:
        """Return the arguments after `fencepost check`."""
        chosen = [word for name in self.properties for word in ("--property", name)]
        sets = [word for name, value in self.settings.items() for word in ("--set", f"{name}={value}")]
        return ("bookkeeper", *chosen, *sets, "--engine", way)


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
"""The usual sizes, and larger ones."""

GROWING = {
    "bookies": range(3, 8),
    "entries": range(1, 6),
    "recoverers": range(1, 5),
    "fragments": range(2, 6),
}
"""The parameters that grow. Each grows alone; the others are as in `SMALLEST`."""

SMALLEST = {"bookies": 3, "ensemble": 2, "write_quorum": 2, "ack_quorum": 2, "entries": 1}
"""The smallest size: 2/2/2, a spare bookie, one entry, one recoverer, two fragments.

It is small enough for rounds too.
"""

PATIENCE = 3600
"""The seconds of wall time after which a run gives up; the limit of processor time ends it earlier."""

PAGE = """# Induction beside rounds

Today's protocol, every property that holds together, witnesses included: whole runs of `fencepost check`,
each a process of its own, as `python benchmarks/induction.py` measured them, one run of
each, on two cores with nothing else to do. A run that has no answer is ended after some processor time, of
all its processes together, which stands beside it; the larger ones of its table, or of the same growth, are
then not begun.

{named}

How it grows, from 2/2/2 with three bookies, one entry, one recoverer and two fragments (`no-divergence`,
`acked-entries-readable`, `entries-in-order`, `valid-fragments`). Empty rings in the plots are runs that
were ended.

{growing}

{pictures}

The commands, each with `--engine induction`, which `check` takes first by itself, or with `--engine rounds`:

{commands}
"""


def growth() -> Iterator[Size]:
    """Return the points of the plots."""
    for name, values in GROWING.items():
        for value in values:
            yield Size(f"{name} {value}", {**SMALLEST, name: value}, HOLD[:4], grows=name)


@dataclass(frozen=True)
class Point:
    """The seconds of one run, and its result: a verdict, or that it was ended or not run."""

    verdict: str
    wall: float = 0.0
    processor: float = 0.0


ENDED = "ended"
"""The result of a run that was interrupted because it used its processor time."""

NOT_RUN = "not run"
"""The result of a run that was left out because a smaller one of its table or growth was ended."""

Measured = dict[tuple[str, str], Point]
"""The measurements, by the name of the size and the engine."""


def table(sizes: Sequence[Size], ways: Sequence[str], measured: Measured) -> str:
    """Return a table with a row for each size and both engines side by side."""
    head = ["instance", *(f"{WAYS[way]}: {what}" for way in ways for what in ("processor", "wall"))]
    lines = [head, ["---"] * len(head)]
    for size in sizes:
        lines.append([size.name, *(cell for way in ways for cell in _cells(measured[size.name, way]))])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(point: Point) -> tuple[str, str]:
    if point.verdict == NOT_RUN:
        return NOT_RUN, ""
    said = "" if point.verdict == "proved" else f"{point.verdict} after "
    return f"{said}{point.processor:.1f} s", f"{point.wall:.1f} s"


def commands(sizes: Sequence[Size]) -> str:
    """Return the command of each size, without the engine and the limits."""
    return "\n".join(f"    fencepost check {' '.join(size.arguments('actions')[:-2])}" for size in sizes)


def curves(name: str, sizes: Sequence[Size], measured: Measured) -> str:
    """Plot processor time over a parameter for both engines; an open ring is a run that was ended."""
    series = []
    for way, label in WAYS.items():
        points = [
            (int(str(size.settings[name])), measured[size.name, way])
            for size in sizes
            if size.grows == name and measured[size.name, way].verdict != NOT_RUN
        ]
        proved = [(x, point.processor) for x, point in points if point.verdict == "proved"]
        ended = [(x, point.processor) for x, point in points if point.verdict != "proved"]
        series.append(plot.Line(label, proved, ended))
    return plot.lines(f"Processor time for a proof, by number of {name}", series, name)


def _run(arguments: Sequence[str], processor: float) -> Point:
    begun = time.perf_counter()
    try:
        run = run_once(arguments, PATIENCE, processor)
    except RuntimeError:
        return Point(ENDED, time.perf_counter() - begun, processor)
    return Point(run.verdict, run.seconds, run.processor)


def _measure(sizes: Sequence[Size], ways: Sequence[str], processor: float, kept: Path | None) -> Measured:
    """Run the sizes that have no result yet.

    Each run is a line of `kept`, so that an interrupted measurement can continue.
    """
    known: Measured = {}
    if kept is not None and kept.exists():
        for line in kept.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            known[row["name"], row["way"]] = Point(row["verdict"], row["wall"], row["processor"])
    for way in ways:
        given_up: set[str | None] = set()
        for size in sizes:
            point = known.get((size.name, way)) or (
                Point(NOT_RUN) if size.grows in given_up else _run(size.arguments(way), processor)
            )
            if point.verdict != "proved":
                given_up.add(size.grows)
            print(f"{size.name}, {WAYS[way]}: {' '.join(_cells(point))}", file=sys.stderr, flush=True)
            if kept is not None and (size.name, way) not in known:
                row = {"name": size.name, "way": way, **asdict(point)}
                with kept.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            known[size.name, way] = point
    return known


def main() -> None:
    """Measure the rows asked for and print or write what was found."""
    parser = argparse.ArgumentParser(
        description="Proofs by induction over one action beside proofs by rounds."
    )
    parser.add_argument("words", nargs="*", metavar="WORD", help="only rows whose names contain one of these")
    parser.add_argument("--only", choices=list(WAYS), help="only this way of proving")
    parser.add_argument(
        "--processor",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="end a run after so much processor time",
    )
    parser.add_argument(
        "--kept", type=Path, metavar="FILE", help="keep each run in this file, and go on from it"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the page, and its plots beside it")
    arguments = parser.parse_args()
    ways = [arguments.only] if arguments.only else list(WAYS)
    every = [*NAMED, *growth()]
    sizes = [s for s in every if not arguments.words or any(word in s.name for word in arguments.words)]
    if not sizes:
        parser.error(
            f"{' '.join(arguments.words)}: no such row; the rows are {', '.join(s.name for s in every)}"
        )
    if arguments.output and (arguments.words or arguments.only):
        parser.error("--output: the page needs every row, both ways; leave the words out")
    measured = _measure(sizes, ways, arguments.processor, arguments.kept)
    if arguments.output is None:
        print(table(sizes, ways, measured))
    else:
        write(arguments.output, sizes, measured)


def write(page: Path, sizes: Sequence[Size], measured: Measured) -> None:
    """Write the page, and a plot of each growth beside it."""
    pictures = []
    for name in GROWING:
        drawing = page.with_name(f"{page.stem}-{name}.svg")
        drawing.write_text(curves(name, sizes, measured), encoding="utf-8")
        pictures.append(f"![Processor time for a proof, by number of {name}]({drawing.name})")
    page.write_text(
        PAGE.format(
            named=table(NAMED, list(WAYS), measured),
            growing=table(list(growth()), list(WAYS), measured),
            pictures="\n\n".join(pictures),
            commands=commands(sizes),
        ),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
