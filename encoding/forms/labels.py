"""Where the words beside arrows stand: above or below their own, clear of the others as far as there is room."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Point = tuple[float, float]
Segment = tuple[Point, Point]

LETTER, ASCENT, DESCENT = 6.1, 9.0, 3.0
"""The width of a letter, and how far it reaches above and below its line, of words 11 pixels high."""

_GAP = 3.0
"""Between an arrow and its own words."""
_SPACE = 2.0
"""Between words and what stands before or after them."""
_TIP = 16.0
"""What an arrow's head takes."""

FREE = (False, 0)
"""What a place costs that lies on nothing: there is none better."""


@dataclass(frozen=True)
class Box:
    """A rectangle, its sides along the axes."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """They have an area in common."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def is_crossed_by(self, segment: Segment) -> bool:
        """A part of the segment lies inside (clipped as Liang and Barsky do)."""
        (x0, y0), (x1, y1) = segment
        if (y0 <= self.top and y1 <= self.top) or (y0 >= self.bottom and y1 >= self.bottom):
            return False
        begin, end = 0.0, 1.0
        sides = (
            (x0 - x1, x0 - self.left),
            (x1 - x0, self.right - x0),
            (y0 - y1, y0 - self.top),
            (y1 - y0, self.bottom - y0),
        )
        for towards, distance in sides:
            if towards == 0:
                if distance <= 0:
                    return False
            elif towards < 0:
                begin = max(begin, distance / towards)
            else:
                end = min(end, distance / towards)
        return begin < end


@dataclass(frozen=True)
class Label:
    """Words that begin, or end, at a point of their line of writing."""

    words: str
    at: Point
    anchor: str
    """`start` or `end`, as SVG has it."""

    @property
    def box(self) -> Box:
        """What the words cover."""
        x, y = self.at
        width = LETTER * len(self.words)
        left = x if self.anchor == "start" else x - width
        return Box(left - _SPACE, y - ASCENT, left + width + _SPACE, y + DESCENT)


def beside(words: str, way: Segment) -> Iterator[Label]:
    """The places for words beside a way that goes down, or level: the best first, none of them crossed by it.

    Above a way its words begin where it leads to, below they end there; so it goes away from them.
    """
    (x0, y0), (x1, y1) = way
    forward = 1 if x1 >= x0 else -1
    ahead, behind = ("start", "end") if forward > 0 else ("end", "start")
    length = abs(x1 - x0) or 1.0
    best = max(0.0, 1 - (LETTER * len(words) + _TIP) / length)
    for share in sorted({best, *(n / 10 for n in range(10))}, key=lambda share: abs(share - best)):
        x, y = x0 + share * (x1 - x0), y0 + share * (y1 - y0)
        yield Label(words, (x + forward * _GAP, y - _GAP - DESCENT), ahead)
        yield Label(words, (x - forward * _GAP, y + _GAP + ASCENT), behind)


def placed(
    wanted: Iterable[Sequence[Label]], ways: Sequence[Segment], taken: Iterable[Box], width: float
) -> list[Label]:
    """One of its places for each, in turn: where it lies on the fewest words, marks and ways, the earlier of equals."""
    boxes, found = list(taken), list[Label]()
    for places in wanted:

        def cost(label: Label) -> tuple[bool, int]:
            box = label.box
            lies_on = sum(map(box.overlaps, boxes))
            return (
                box.left < 0 or box.right > width,
                4 * lies_on + sum(map(box.is_crossed_by, ways)),
            )

        best = next((label for label in places if cost(label) == FREE), None) or min(places, key=cost)
        found.append(best)
        boxes.append(best.box)
    return found
