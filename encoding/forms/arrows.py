"""The arrow of a message in a drawing: its points, its head and its words."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from fencepost.encoding.forms.labels import Label, Point, Segment


@dataclass(frozen=True, eq=False)
class MessageArrow:
    """An arrow with its points and words, before it is drawn."""

    kind: str
    data: str
    title: str
    points: Sequence[Point]
    words: str = ""
    end: str = "tip"
    """Its end: `tip`, `cross` or empty."""

    @property
    def segments(self) -> list[Segment]:
        """Its straight parts."""
        return list(itertools.pairwise(self.points))


def drawn(arrow: MessageArrow, label: Label | None) -> str:
    """Return the arrow with its words as SVG."""
    end = _tip(*arrow.segments[-1]) if arrow.end == "tip" else _cross(arrow.points[-1]) if arrow.end else ""
    text = ""
    if label is not None:
        x, y = label.at
        text = f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{label.anchor}">{escape(label.words)}</text>'
    classes = f"travel {arrow.kind}".strip()
    return (
        f'<g class="{classes}" {arrow.data}><title>{escape(arrow.title)}</title>'
        f"{_way(*arrow.points)}{end}{text}</g>"
    )


def _way(*points: Point) -> str:
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path class="way" d="M{path}"/>'


def _tip(start: Point, end: Point) -> str:
    """Return the head of an arrow, which ends just before the lifeline."""
    angle = math.atan2(end[1] - start[1], end[0] - start[0])
    point = (end[0] - 5 * math.cos(angle), end[1] - 5 * math.sin(angle))
    corners = [(point[0] - 9 * math.cos(angle + s), point[1] - 9 * math.sin(angle + s)) for s in (-0.4, 0.4)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (point, *corners))
    return f'<polygon class="tip" points="{points}"/>'


def _cross(at: Point) -> str:
    x, y = at
    return (
        f'<path class="cross" d="M{x - 5:.1f} {y - 5:.1f}L{x + 5:.1f} {y + 5:.1f}'
        f'M{x - 5:.1f} {y + 5:.1f}L{x + 5:.1f} {y - 5:.1f}"/>'
    )
