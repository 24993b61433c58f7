"""Two kinds of plots as SVG text: bars and lines, both with seconds on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 860, 190, 230, 46, 40
COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44", "#7a4e9e", "#b8860b", "#50808e", "#8c3a5b")


@dataclass(frozen=True)
class Bar:
    """One bar: its label, its length in seconds, what stands after it, and whether it ended in a time-out."""

    label: str
    seconds: float
    note: str
    open_ended: bool = False


@dataclass(frozen=True)
class Line:
    """One line: its label and its points, each a round and seconds."""

    label: str
    points: Sequence[tuple[int, float]]


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#ddd"/>'


def _document(title: str, height: float, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        'font-family="sans-serif" font-size="13" fill="#222">'
    )
    back = f'<rect width="{WIDTH}" height="{height:.0f}" fill="white"/>'
    return (
        "\n".join([head, f"<title>{escape(title)}</title>", back, _text(LEFT, 24, title), *parts, "</svg>"])
        + "\n"
    )


class _Scale:
    """Powers of ten around some values, spread over a stretch of pixels."""

    def __init__(self, values: Sequence[float], begin: float, end: float) -> None:
        self.low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        self.high = max(high, self.low + 1)
        self._begin, self._end = begin, end

    def __call__(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self._begin + share * (self._end - self._begin)

    def ticks(self) -> list[tuple[float, str]]:
        return [(self(10.0**power), f"{10.0**power:g} s") for power in range(self.low, self.high + 1)]


def bars(title: str, rows: Sequence[Bar]) -> str:
    """Horizontal bars, one a row."""
    bottom = TOP + 30 * len(rows)
    scale = _Scale([row.seconds for row in rows], LEFT, WIDTH - RIGHT)
    parts = []
    for x, words in scale.ticks():
        parts += [_rule(x, TOP, x, bottom), _text(x, bottom + 18, words, "middle")]
    for number, row in enumerate(rows):
        y, width = TOP + 30 * number + 5, scale(row.seconds) - LEFT
        look = 'fill="none" stroke-dasharray="4"' if row.open_ended else f'fill="{COLOURS[0]}"'
        parts.append(
            f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="20" stroke="{COLOURS[0]}" {look}/>'
        )
        parts += [_text(LEFT - 8, y + 15, row.label, "end"), _text(LEFT + width + 8, y + 15, row.note)]
    return _document(title, bottom + BOTTOM, parts)


def lines(title: str, series: Sequence[Line]) -> str:
    """Lines over rounds, with a legend at the right."""
    bottom = TOP + 340
    points = [point for line in series for point in line.points]
    scale = _Scale([seconds for _, seconds in points], bottom, TOP)
    last = max(round_ for round_, _ in points)
    wide = (WIDTH - RIGHT - LEFT + 100) / max(last - 1, 1)
    parts = []
    for y, words in scale.ticks():
        parts += [_rule(LEFT - 100, y, WIDTH - RIGHT, y), _text(LEFT - 108, y + 4, words, "end")]
    for round_ in range(1, last + 1):
        parts.append(_text(LEFT - 100 + (round_ - 1) * wide, bottom + 18, str(round_), "middle"))
    for number, line in enumerate(series):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{LEFT - 100 + (r - 1) * wide:.1f},{scale(s):.1f}" for r, s in line.points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = TOP + 20 * number + 10
        parts.append(f'<rect x="{WIDTH - RIGHT + 16}" y="{y - 5}" width="20" height="4" fill="{colour}"/>')
        parts.append(_text(WIDTH - RIGHT + 44, y + 2, line.label))
    return _document(title, bottom + BOTTOM, parts)
