"""The rows of a sweep laid out so that one look answers: by E/WQ/AQ, or by what is asked and who answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.cli.rendering.check_text import unlike_newest
from fencepost.encoding.documents import whole
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.state import amount, show_all
from fencepost.encoding.solving.solvers import SOLVERS
from fencepost.properties.catalogue import find
from fencepost.sweeps.rows import Row
from fencepost.sweeps.summary import SIZES, configuration, varying
from fencepost.sweeps.sweep_cases import CODE
from fencepost.sweeps.tables import Table

FULL = 3
"""Cells that a matrix of sizes has on average, at least: one or two show nothing."""

USUAL = {"solver": "cadical", "bound": None, "most_rounds": None, "minimize": "steps"}
"""Who answers and how far it searches, unless a grid says something else."""


@dataclass(frozen=True)
class SweepReport:
    """A sweep to be told: its folder, what it says of itself, its rows in order, and its tables if it is finished."""

    folder: Path
    manifest: dict[str, Any]
    rows: Sequence[Row]
    summary: dict[str, Table] | None

    @property
    def protocols(self) -> dict[str, list[Row]]:
        """The rows of each protocol."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row["protocol"], []).append(row)
        return found

    @property
    def unfinished(self) -> str:
        """A sentence if cases have no row yet."""
        asked = self.manifest["cases"]
        if len(self.rows) == asked:
            return ""
        return f"Not finished: {len(self.rows)} of {asked} cases have their row; go on with --resume."


@dataclass(frozen=True)
class Matrix:
    """Rows as cells: lines by columns, under what they have in common and other matrices of the protocol have not."""

    title: str
    heads: tuple[str, ...]
    """What the labels of a line say."""
    columns: tuple[str, ...]
    lines: tuple[tuple[tuple[str, ...], tuple[Row | None, ...]], ...]
    """Each with its labels and a cell for each column; None: no row."""
    sized: bool
    """The lines are E/WQ, the columns AQ."""


def matrices(rows: Sequence[Row]) -> list[Matrix]:
    """The rows of one protocol, each in one cell of one matrix."""
    sized = _sized(rows)
    if sized and len(rows) >= FULL * len(sized):
        return sized
    return [_by_solver(rows)]


def _sized(rows: Sequence[Row]) -> list[Matrix]:
    """A matrix of E/WQ by AQ for each property, number of spare bookies, and whatever else varies."""
    if not all(configuration(row) for row in rows):
        return []
    names = [name for name in varying(rows) if name not in (*SIZES, "bookies")]
    limits = [name for name in USUAL if len({row[name] for row in rows}) > 1]
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["property"], _spare(row) or 0)):
        values = (f"{name}={row['settings'].get(name, '-')}" for name in names)
        title = (row["property"], *values, *(_limit(row, name) for name in limits), _spare_in_words(row))
        groups.setdefault(tuple(filter(None, title)), []).append(row)
    return [_by_sizes(", ".join(title), found) for title, found in groups.items()]


def _by_sizes(title: str, rows: Sequence[Row]) -> Matrix:
    def size(row: Row, name: str) -> int:
        return int(row["settings"][name])

    cells = {tuple(size(row, name) for name in SIZES): row for row in rows}
    columns = sorted({ack for _, _, ack in cells})
    lines = [
        ((f"{ensemble}/{write}",), tuple(cells.get((ensemble, write, ack)) for ack in columns))
        for ensemble, write in sorted({sizes[:2] for sizes in cells})
    ]
    return Matrix(title, ("E/WQ",), tuple(f"AQ {ack}" for ack in columns), tuple(lines), sized=True)


def _by_solver(rows: Sequence[Row]) -> Matrix:
    """A line for each question, a column for each solver that was asked."""
    solvers = [name for name in (*SOLVERS, CODE) if any(row["solver"] == name for row in rows)]
    lines: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        unusual = (_limit(row, n) for n, usual in USUAL.items() if n != "solver" and row[n] != usual)
        label = (row["property"], ", ".join((named(row), *unusual)))
        lines.setdefault(label, {})[row["solver"]] = row
    cells = [(label, tuple(found.get(name) for name in solvers)) for label, found in lines.items()]
    return Matrix("", ("property", "instance"), tuple(solvers), tuple(cells), sized=False)


def _limit(row: Row, name: str) -> str:
    """Who answers, or how far it searches, in words."""
    value = row[name]
    match name:
        case "bound":
            return f"up to {amount(value, 'step')}" if value is not None else "any number of steps"
        case "most_rounds":
            return f"up to {amount(value, 'round')}" if value is not None else "any number of rounds"
        case "minimize":
            return f"minimize {value}"
        case _:
            return str(value)


def _spare(row: Row) -> int | None:
    """How many more bookies there are than an ensemble takes."""
    settings = row["settings"]
    return int(settings["bookies"]) - int(settings["ensemble"]) if "bookies" in settings else None


def _spare_in_words(row: Row) -> str:
    spare = _spare(row)
    if spare is None:
        return ""
    return f"N = E + {spare} ({amount(spare, 'spare bookie')})" if spare else "N = E (no spare bookie)"


def named(row: Row) -> str:
    """The instance of a row in a few words: its sizes, and what else differs from its protocol's defaults."""
    sizes, others = configuration(row), changed(row)
    if sizes is None:
        return show_all(others) or "as by default"
    bookies = row["settings"].get("bookies")
    parts = [sizes, *([f"N = {bookies}"] if bookies else [])]
    parts += [f"{name}={value}" for name, value in others.items() if name not in (*SIZES, "bookies")]
    return ", ".join(parts)


def changed(row: Row) -> dict[str, str]:
    """The settings of a row that differ from its protocol's defaults; all if this Fencepost has no such protocol."""
    try:
        defaults = {o.name: str(o.default) for o in find(row["protocol"]).options()}
    except BadInput:
        defaults = {}
    return {name: value for name, value in row["settings"].items() if defaults.get(name) != value}


def asked(rows: Sequence[Row]) -> str:
    """Return the sizes that the rows of a protocol were asked with: each setting that is a number, or its range."""
    sizes: dict[str, list[int]] = {}
    for row in rows:
        for name, value in row["settings"].items():
            if (number := whole(value)) is not None:
                sizes.setdefault(name, []).append(number)
    ranges = {name: sorted({min(numbers), max(numbers)}) for name, numbers in sizes.items()}
    said = [f"{name} {' to '.join(map(str, ends))}" for name, ends in ranges.items()]
    return f"asked with {', '.join(said)}" if said else "asked without sizes"


def unlike(rows: Sequence[Row]) -> str:
    """In what all instances of a protocol are not the newest release, and which of its bugs none can show; empty if in nothing."""
    every = [{name: str(value) for name, value in row["settings"].items()} for row in rows]
    try:
        instance = find(rows[0]["protocol"]).instance(every[0].items())
    except BadInput:  # of a file, or of another Fencepost
        return ""
    own = instance.unlike_release
    shared = {k: v for k, v in own.items() if all(settings.get(k) == v for settings in every)}
    return unlike_newest(instance, shared) if shared else ""
