"""How time grows, as a picture: seconds against size, both on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from fencepost.cli.rendering.sweep_matrices import named
from fencepost.sweeps.rows import Row
from fencepost.sweeps.summary import finding
from fencepost.sweeps.tables import Table

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 600, 330, 84, 84, 14, 46
SIZES = 3
"""Sizes that a picture must have, at least: fewer show no growth."""

MARKS: dict[str, str] = {
    "proved": '<circle r="4.5"/>',
    "holds": '<rect x="-4" y="-4" width="8" height="8"/>',
    "violated": '<path d="M-4-4 4 4M-4 4 4-4"/>',
    "undecided": '<path d="M0-5.5 5 4H-5Z"/>',
    "vacuous": '<circle r="4" class="hollow"/>',
    "error": '<path d="M0-5.5 5.5 0 0 5.5-5.5 0Z"/>',
}
"""A shape for each verdict, for readers who do not see the colours."""


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis: from `low` to `high`, along a stretch of the picture."""

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the place of a value on the page."""
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """Return a few round numbers on the axis: powers of ten, and multiples of these if there is room."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for steps in ((1, 1.5, 2, 3, 4, 5, 7), (1, 2, 5), (1,)):
            found = [s * 10.0**p for p in powers for s in steps if self.low <= s * 10.0**p <= self.high]
            if len(found) <= 6:
                break
        return found


def plot(rows: Sequence[Row], times: Table) -> str:
    """Return a plot with a point for each row and a line through the medians of each solver, or nothing."""
    if len({row["weight"] for row in rows}) < SIZES:
        return ""
    x = _axis([row["weight"] for row in rows], LEFT, WIDTH - RIGHT)
    y = _axis([_seconds(row["seconds"]) for row in rows], HEIGHT - BOTTOM, TOP)
    parts = [*_grid(x, y), *_medians(times, x, y), *(_point(row, x, y) for row in rows)]
    label = f"Seconds against state variables, {rows[0]['protocol']}"
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="group" aria-label="{escape(label)}">\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


def _seconds(seconds: float) -> float:
    """Return seconds that a logarithmic axis can show."""
    return max(seconds, 0.01)


def _axis(values: Sequence[float], begin: float, end: float) -> Axis:
    return Axis(min(values) / 1.25, max(values) * 1.25, begin, end)


def _grid(x: Axis, y: Axis) -> list[str]:
    bottom = HEIGHT - BOTTOM
    parts = []
    for value in x.ticks():
        parts.append(f'<path class="rule" d="M{x(value):.1f} {TOP}V{bottom}"/>')
        parts.append(f'<text x="{x(value):.1f}" y="{bottom + 16}" text-anchor="middle">{value:g}</text>')
    for value in y.ticks():
        parts.append(f'<path class="rule" d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT - 7}" y="{y(value) + 4:.1f}" text-anchor="end">{value:g} s</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text class="what" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">size: state variables</text>'
    )
    turned = f'transform="translate(14 {(TOP + bottom) / 2:g}) rotate(-90)"'
    parts.append(f'<text class="what" {turned} text-anchor="middle">time for an answer</text>')
    return parts


def _medians(times: Table, x: Axis, y: Axis) -> list[str]:
    parts, solvers = [], list(dict.fromkeys(line["solver"] for line in times))
    for solver in solvers:
        points = [
            (x(line["weight"]), y(_seconds(line["median"]))) for line in times if line["solver"] == solver
        ]
        path = " ".join(f"{across:.1f},{up:.1f}" for across, up in points)
        across, up = points[-1]
        parts.append(f'<polyline class="median" points="{path}"/>')
        if len(solvers) > 1:
            parts.append(f'<text class="what" x="{across + 8:.1f}" y="{up + 4:.1f}">{escape(solver)}</text>')
    return parts


def _point(row: Row, x: Axis, y: Axis) -> str:
    where = f"translate({x(row['weight']):.1f} {y(_seconds(row['seconds'])):.1f})"
    said = escape(f"{named(row)}: {finding(row)}, {row['seconds']:.1f} s")
    return (
        f'<a href="#{row["id"]}" tabindex="-1" class="{row["verdict"]}" transform="{where}">'
        f"<title>{said}</title>{MARKS[row['verdict']]}</a>"
    )
