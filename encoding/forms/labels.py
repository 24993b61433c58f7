"""Placement of the words beside arrows: next to their own arrow, away from others where possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

Point = tuple[float, float]
Segment = tuple[Point, Point]

LETTER, ASCENT, DESCENT = 6.1, 9.0, 3.0
"""The width of a letter in a text of 11 pixels, and its extent above and below the line."""

_GAP = 3.0
"""The distance between an arrow and its own words."""
_SPACE = 2.0
"""The distance between words and their neighbours."""
_TIP = 16.0
"""The length of an arrow's head."""

_SLIM, _BROAD = frozenset("fijlrt .,:;'|()[]-"), frozenset("mwMW…→←")
"""Letters that are slimmer than others, and letters that are broader."""

FREE = (False, 0)
"""The cost of a place that overlaps nothing, which is the best."""


def text_width(text: str, em: float) -> float:
    """Return about how wide a text is in bold letters of that size."""
    return em * sum(0.42 if c in _SLIM else 1.0 if c in _BROAD else 0.69 for c in text)


@dataclass(frozen=True)
class Box:
    """A rectangle, its sides along the axes."""

    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """Return whether the two boxes have an area in common."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom

    def is_crossed_by(self, segment: Segment) -> bool:
        """Return whether a part of the segment lies inside, by the clipping of Liang and Barsky."""
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
    """Words that begin, or end, at a point on their line."""

    words: str
    at: Point
    anchor: str
    """`start` or `end`, as SVG has it."""

    @property
    def box(self) -> Box:
        """The area of the words."""
        x, y = self.at
        width = LETTER * len(self.words)
        left = x if self.anchor == "start" else x - width
        return Box(left - _SPACE, y - ASCENT, left + width + _SPACE, y + DESCENT)


def places_beside(words: str, segment: Segment) -> Iterator[Label]:
    """Yield the places for words beside a segment that goes down or level; the best come first.

    Words above the segment begin at a point of it and run in its direction. Words below it end at a point of
    it. So the segment crosses none of them.
    """
    (x0, y0), (x1, y1) = segment
    forward = 1 if x1 >= x0 else -1
    ahead, behind = ("start", "end") if forward > 0 else ("end", "start")
    length = abs(x1 - x0) or 1.0
    best = max(0.0, 1 - (LETTER * len(words) + _TIP) / length)
    for share in sorted({best, *(n / 10 for n in range(10))}, key=lambda share: abs(share - best)):
        x, y = x0 + share * (x1 - x0), y0 + share * (y1 - y0)
        yield Label(words, (x + forward * _GAP, y - _GAP - DESCENT), ahead)
        yield Label(words, (x - forward * _GAP, y + _GAP + ASCENT), behind)


def place_labels(
    wanted: Iterable[Sequence[Label]], segments: Sequence[Segment], taken: Iterable[Box], width: float
) -> list[Label]:
    """Return for each label in turn the place that overlaps the fewest words, marks and segments."""
    boxes, found = list(taken), list[Label]()
    for places in wanted:

        def cost(label: Label) -> tuple[bool, int]:
            box = label.box
            overlaps = sum(map(box.overlaps, boxes))
            return (box.left < 0 or box.right > width, 4 * overlaps + sum(map(box.is_crossed_by, segments)))

        best = next((label for label in places if cost(label) == FREE), None) or min(places, key=cost)
        found.append(best)
        boxes.append(best.box)
    return found
