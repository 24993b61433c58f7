"""Plots as SVG: bars and lines with seconds on a logarithmic axis, in light and dark mode."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 860, 190, 230, 46, 58
AXIS = "seconds, each line ten times the one before"
COLOURS = (
    ("#1b6ca8", "#6db3f2"),
    ("#c8553d", "#f0917d"),
    ("#3a7d44", "#7fc98c"),
    ("#7a4e9e", "#bf9be0"),
    ("#b8860b", "#e3b341"),
    ("#50808e", "#8fc1cf"),
    ("#8c3a5b", "#dd8bab"),
)
"""The colours of each line, in light and dark mode."""


@dataclass(frozen=True)
class Bar:
    """A bar: its label, its seconds, the text after it, and whether it timed out."""

    label: str
    seconds: float
    note: str
    open_ended: bool = False


@dataclass(frozen=True)
class Line:
    """A line: its label, its points (round and seconds), and the points of runs that gave up."""

    label: str
    points: Sequence[tuple[int, float]]
    gave_up: Sequence[tuple[int, float]] = ()


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _upright(x: float, y: float, words: str) -> str:
    """Return text that runs from bottom to top."""
    turned = f"translate({x:.1f} {y:.1f}) rotate(-90)"
    return f'<text transform="{turned}" text-anchor="middle">{escape(words)}</text>'


def _rule(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="rule" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _style() -> str:
    """Return the style. Letters have a border of the background's colour, so that lines do not cross them."""
    colours = [("--paper", "#fff", "#14181f"), ("--ink", "#222", "#e4e8ee"), ("--rule", "#ddd", "#343d4a")]
    colours += [(f"--c{number}", *pair) for number, pair in enumerate(COLOURS)]
    light = " ".join(f"{name}: {value};" for name, value, _ in colours)
    dark = " ".join(f"{name}: {value};" for name, _, value in colours)
    return (
        f"<style>svg {{ {light} }}\n@media (prefers-color-scheme: dark) {{ svg {{ {dark} }} }}\n"
        ".paper { fill: var(--paper); } .rule { stroke: var(--rule); }\n"
        "text { fill: var(--ink); paint-order: stroke; stroke: var(--paper); stroke-width: 5px; "
        "stroke-linejoin: round; }"
        "</style>"
    )


def _document(title: str, height: float, parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        'font-family="sans-serif" font-size="13">'
    )
    back = f'{_style()}\n<rect class="paper" width="{WIDTH}" height="{height:.0f}"/>'
    return (
        "\n".join([head, f"<title>{escape(title)}</title>", back, _text(LEFT, 24, title), *parts, "</svg>"])
        + "\n"
    )


class _Scale:
    """A scale of powers of ten around some values, over a stretch of pixels."""

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
    """Return horizontal bars, one in each row."""
    bottom = TOP + 30 * len(rows)
    scale = _Scale([row.seconds for row in rows], LEFT, WIDTH - RIGHT)
    parts = [_text((LEFT + WIDTH - RIGHT) / 2, bottom + 40, AXIS, "middle")]
    for x, words in scale.ticks():
        parts += [_rule(x, TOP, x, bottom), _text(x, bottom + 18, words, "middle")]
    for number, row in enumerate(rows):
        y, width = TOP + 30 * number + 5, scale(row.seconds) - LEFT
        look = 'fill="none" stroke-dasharray="4"' if row.open_ended else 'fill="var(--c0)"'
        parts.append(f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="20" stroke="var(--c0)" {look}/>')
        parts += [_text(LEFT - 8, y + 15, row.label, "end"), _text(LEFT + width + 8, y + 15, row.note)]
    return _document(title, bottom + BOTTOM, parts)


def lines(title: str, series: Sequence[Line], across: str = "round") -> str:
    """Return lines over rounds, or over the quantity `across`, with a legend at the right."""
    bottom = TOP + 340
    points = [point for line in series for point in (*line.points, *line.gave_up)]
    scale = _Scale([seconds for _, seconds in points], bottom, TOP)
    last = max(round_ for round_, _ in points)
    wide = (WIDTH - RIGHT - LEFT + 100) / max(last - 1, 1)

    def ring(point: tuple[int, float], colour: str, filling: str) -> str:
        x, y = LEFT - 100 + (point[0] - 1) * wide, scale(point[1])
        return (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{filling}" stroke="{colour}" stroke-width="2"/>'
        )

    middle = (LEFT - 100 + WIDTH - RIGHT) / 2
    parts = [_text(middle, bottom + 40, across, "middle"), _upright(24, (TOP + bottom) / 2, AXIS)]
    for y, words in scale.ticks():
        parts += [_rule(LEFT - 100, y, WIDTH - RIGHT, y), _text(LEFT - 108, y + 4, words, "end")]
    for round_ in range(1, last + 1):
        parts.append(_text(LEFT - 100 + (round_ - 1) * wide, bottom + 18, str(round_), "middle"))
    for number, line in enumerate(series):
        colour = f"var(--c{number % len(COLOURS)})"
        path = " ".join(f"{LEFT - 100 + (r - 1) * wide:.1f},{scale(s):.1f}" for r, s in line.points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [ring(point, colour, colour) for point in line.points]
        parts += [ring(point, colour, "var(--paper)") for point in line.gave_up]
        y = TOP + 20 * number + 10
        parts.append(f'<rect x="{WIDTH - RIGHT + 16}" y="{y - 5}" width="20" height="4" fill="{colour}"/>')
        parts.append(_text(WIDTH - RIGHT + 44, y + 2, line.label))
    return _document(title, bottom + BOTTOM, parts)
