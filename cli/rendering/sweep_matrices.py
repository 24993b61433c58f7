"""The rows of a sweep as matrices: by E/WQ/AQ, or by case and solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.cli.rendering.check_text import unlike_newest
from fencepost.encoding.documents import whole
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.state import amount, show_all
from fencepost.encoding.solving.solvers import SOLVERS
from fencepost.properties.catalogue import find
from fencepost.sweeps.rows import Row
from fencepost.sweeps.summary import SIZES, configuration, varying

FULL = 3
"""The least number of cells that matrices of sizes have on average: one or two show nothing."""

USUAL = {
    "bound": None,
    "most_rounds": None,
    "minimize": "steps",
    "drop_declared": False,
}
"""The limits of a case, with their values unless a grid has others."""


@dataclass(frozen=True)
class SweepReport:
    """A sweep to be reported: its manifest and rows."""

    manifest: dict[str, Any]
    rows: Sequence[Row]

    @property
    def protocols(self) -> dict[str, list[Row]]:
        """The rows, by protocol."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row["protocol"], []).append(row)
        return found

    @property
    def unfinished(self) -> str:
        """A sentence if cases have no row yet, else empty."""
        asked = self.manifest["cases"]
        if len(self.rows) == asked:
            return ""
        return f"Not finished: {len(self.rows)} of {asked} cases have their row; go on with --resume."


@dataclass(frozen=True)
class Matrix:
    """A matrix of rows; the title has what they share, unlike other matrices of the protocol."""

    title: str
    heads: tuple[str, ...]
    """The headings of the labels of a line."""
    columns: tuple[str, ...]
    lines: tuple[tuple[tuple[str, ...], tuple[Row | None, ...]], ...]
    """The lines, each with its labels and a cell for each column; None where there is no row."""
    sized: bool
    """Whether the lines are E/WQ and the columns AQ."""


def matrices(rows: Sequence[Row]) -> list[Matrix]:
    """Return the rows of one protocol, each in one cell of one matrix."""
    sized = _sized(rows)
    if sized and len(rows) >= FULL * len(sized):
        return sized
    return [_by_solver(rows)]


def _sized(rows: Sequence[Row]) -> list[Matrix]:
    """Return a matrix of E/WQ by AQ for each property, number of spare bookies, and other values."""
    if not all(configuration(row) for row in rows):
        return []
    names = [name for name in varying(rows) if name not in (*SIZES, "bookies")]
    limits = [name for name in ("solver", *USUAL) if len({row[name] for row in rows}) > 1]
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
    """Return a matrix with a line for each question and a column for each solver."""
    solvers = [name for name in SOLVERS if any(row["solver"] == name for row in rows)]
    lines: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in rows:
        unusual = (_limit(row, n) for n, usual in USUAL.items() if row[n] != usual)
        label = (row["property"], ", ".join((named(row), *unusual)))
        lines.setdefault(label, {})[row["solver"]] = row
    cells = [(label, tuple(found.get(name) for name in solvers)) for label, found in lines.items()]
    return Matrix("", ("property", "instance"), tuple(solvers), tuple(cells), sized=False)


def _limit(row: Row, name: str) -> str:
    """Return the solver or a limit in words."""
    value = row[name]
    match name:
        case "bound":
            return f"up to {amount(value, 'step')}" if value is not None else "any number of steps"
        case "most_rounds":
            return f"up to {amount(value, 'round')}" if value is not None else "any number of rounds"
        case "minimize":
            return f"minimize {value}"
        case "drop_declared":
            return f"{'without' if value else 'with'} the declared invariants"
        case _:
            return str(value)


def _spare(row: Row) -> int | None:
    """Return the number of bookies beyond an ensemble, or None without such sizes."""
    settings = row["settings"]
    return int(settings["bookies"]) - int(settings["ensemble"]) if "bookies" in settings else None


def _spare_in_words(row: Row) -> str:
    spare = _spare(row)
    if spare is None:
        return ""
    return f"N = E + {spare} ({amount(spare, 'spare bookie')})" if spare else "N = E (no spare bookie)"


def named(row: Row) -> str:
    """Return the instance of a row in a few words: its sizes and the other settings that are no defaults."""
    sizes, others = configuration(row), changed(row)
    if sizes is None:
        return show_all(others) or "as by default"
    bookies = row["settings"].get("bookies")
    parts = [sizes, *([f"N = {bookies}"] if bookies else [])]
    parts += [f"{name}={value}" for name, value in others.items() if name not in (*SIZES, "bookies")]
    return ", ".join(parts)


def changed(row: Row) -> dict[str, str]:
    """Return the settings that differ from the defaults; all of them if the protocol is unknown here."""
    try:
        defaults = {o.name: str(o.default) for o in find(row["protocol"]).options()}
    except BadInput:
        defaults = {}
    return {name: value for name, value in row["settings"].items() if defaults.get(name) != value}


def asked(rows: Sequence[Row]) -> str:
    """Return the sizes of the rows of a protocol: each setting that is a number, or its range."""
    sizes: dict[str, list[int]] = {}
    for row in rows:
        for name, value in row["settings"].items():
            if (number := whole(value)) is not None:
                sizes.setdefault(name, []).append(number)
    ranges = {name: sorted({min(numbers), max(numbers)}) for name, numbers in sizes.items()}
    said = [f"{name} {' to '.join(map(str, ends))}" for name, ends in ranges.items()]
    return f"asked with {', '.join(said)}" if said else "asked without sizes"


def unlike(rows: Sequence[Row]) -> str:
    """Return how all instances of a protocol differ from the newest release; empty if they do not."""
    every = [{name: str(value) for name, value in row["settings"].items()} for row in rows]
    try:
        instance = find(rows[0]["protocol"]).instance(every[0].items())
    except BadInput:  # of a file, or of another Fencepost
        return ""
    own = instance.unlike_release
    shared = {k: v for k, v in own.items() if all(settings.get(k) == v for settings in every)}
    return unlike_newest(instance, shared) if shared else ""
