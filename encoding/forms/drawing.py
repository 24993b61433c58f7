"""A story as a drawing: a lifeline for each participant, a row for each step, an arrow from where a message is sent
to where it is received."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape

from fencepost.encoding.forms.story import Story, Travel, action_line, family_of, message_line
from fencepost.encoding.language.state import show
from fencepost.encoding.language.traces import TraceStep

GUTTER, COLUMN, ROW, HEAD = 330, 104, 42, 40
"""The width of the steps' words and of a lifeline, the height of a step and of the participants' names."""
_LETTERS = 50
"""How many letters fit in the gutter."""

_SOON = 3
"""A message that is received at most so many steps after it was sent goes straight."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Drawing:
    """Where everything in the picture of a story is."""

    story: Story

    @cached_property
    def width(self) -> int:
        return GUTTER + COLUMN * len(self.story.participants)

    @cached_property
    def height(self) -> int:
        return ROW * (len(self.story.trace.steps) + 2)

    def x(self, participant: str) -> float:
        """The lifeline of a participant."""
        return GUTTER + COLUMN * (self.story.participants.index(participant) + 0.5)

    def y(self, step: int) -> float:
        """The middle of a step's row; 0 is the row before the first step."""
        return ROW * (step + 0.5)

    def heads(self) -> str:
        """The participants' names, to stay in view above the rows."""
        stores = self.story.system.state.stores
        boxes = "".join(
            f'<g class="head{" store" if name in stores else ""}">'
            f'<rect x="{self.x(name) - 49:g}" y="7" width="98" height="26" rx="6"/>'
            f'<text x="{self.x(name):g}" y="25">{escape(_cut(name, 12))}</text></g>'
            for name in self.story.participants
        )
        return f'<svg class="heads" viewBox="0 0 {self.width} {HEAD}" aria-hidden="true">{boxes}</svg>'

    def body(self) -> str:
        """Lifelines, rows and arrows."""
        parts = [*self._rows(), *self._lifelines(), *self._arrows(), *self._actors()]
        label = escape(
            f"{self.story.trace.property} of {self.story.trace.protocol}, step by step", quote=True
        )
        return (
            f'<svg class="story" viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{label}">\n'
            + "\n".join(parts)
            + "\n</svg>"
        )

    def _rows(self) -> Iterator[str]:
        yield self._row(0, "at first", "")
        steps = self.story.trace.steps
        for step in steps:
            yield self._row(step.index, action_line(step), self._received(step), step is steps[-1])

    def _row(self, step: int, action: str, note: str, is_end: bool = False) -> str:
        middle = self.y(step)
        number = f'<text class="number" x="24" y="{middle + 4:g}">{step}</text>' if step else ""
        lift = 3 if note else -4
        lines = (
            f'<text class="action" x="34" y="{middle - lift:g}">{escape(_cut(action, _LETTERS - 4))}</text>'
        )
        if note:
            lines += f'<text class="note" x="34" y="{middle + 12:g}">{escape(_cut(note, _LETTERS))}</text>'
        return (
            f'<g class="row{" end" if is_end else ""}" data-step="{step}"><title>{escape(action)}</title>'
            f'<rect x="0" y="{middle - ROW / 2:g}" width="{self.width}" height="{ROW}" rx="6"/>{number}{lines}</g>'
        )

    def _received(self, step: TraceStep) -> str:
        travel = self.story.arrivals.get(step.index)
        if travel is None:
            return ""
        late = ", LATE" if self.story.is_late(travel) else ""
        return f"← sent in {travel.sent}{late}: {message_line(travel.message)}"

    def _lifelines(self) -> Iterator[str]:
        for name in self.story.participants:
            x = self.x(name)
            yield f'<line class="lifeline" x1="{x:g}" y1="0" x2="{x:g}" y2="{self.height}"/>'

    def _actors(self) -> Iterator[str]:
        """A dot where each step is taken, of another colour where it is a fault."""
        faults = {schema.name for schema in self.story.system.schemas if schema.action.fault}
        for step in self.story.trace.steps:
            x, y = self.x(show(step.actor)), self.y(step.index)
            kind = "actor fault" if step.action in faults else "actor"
            yield f'<circle class="{kind}" data-step="{step.index}" cx="{x:g}" cy="{y:g}" r="4.5"/>'

    def _arrows(self) -> Iterator[str]:
        """What is ordinary first, so that what is late or lost lies on top."""
        travels = self.story.travels
        yield from (self._travel(t) for t in sorted(travels, key=self._importance))
        for step in self.story.trace.steps:
            for store in self.story.touched(step):
                if store != show(step.actor):
                    yield self._touch(step, store)

    def _importance(self, travel: Travel) -> int:
        return 2 if travel.message.lost else 1 if self.story.is_late(travel) else 0

    def _travel(self, travel: Travel) -> str:
        start = (self.x(travel.sender), self.y(travel.sent))
        title = f"{message_line(travel.message)}, {travel.sender} to {travel.receiver}"
        data = f'data-sent="{travel.sent}"'
        word = _short(travel)
        if travel.message.lost:
            end = self._towards(start, self.x(travel.receiver), 0.62)
            shape, below = f"{_way(start, end)}{_cross(end)}", (end[0], end[1] + 21)
            return _group("lost", data, f"{title}: lost", shape, f"{word}: lost", below)
        if travel.received is None:
            end = self._towards(start, self.x(travel.receiver), 0.4)
            return _group("waiting", data, f"{title}: in flight at the end", _way(start, end), "", end)
        end = (self.x(travel.receiver), self.y(travel.received))
        kind = "late" if self.story.is_late(travel) else ""
        points = [start, *self._waits(travel), end]
        shape = f"{_way(*points)}{_tip(points[-2], end)}"
        return _group(
            kind, f'{data} data-received="{travel.received}"', title, shape, word, _before(points[-2], end)
        )

    def _waits(self, travel: Travel) -> tuple[Point, ...]:
        """Where a message that takes long goes down beside its sender before it crosses, and one to oneself always."""
        if travel not in self._lanes:
            return ()
        x = self.x(travel.sender) + self._lanes[travel]
        return (x, self.y(travel.sent) + ROW * 0.35), (x, self.y(travel.received or 0) - ROW * 0.65)

    @cached_property
    def _lanes(self) -> Mapping[Travel, float]:
        """How far beside their sender those that take long go down, without lying on one another."""
        lanes: dict[Travel, float] = {}
        for travel in self.story.travels:
            if travel.received is None or (travel.received - travel.sent <= _SOON and not _is_own(travel)):
                continue
            side = -1 if self.x(travel.receiver) < self.x(travel.sender) else 1
            taken = {
                lane
                for other, lane in lanes.items()
                if other.sender == travel.sender and (other.received or 0) > travel.sent
            }
            lanes[travel] = next(d for n in itertools.count(2) if (d := 6.0 * n * side) not in taken)
        return lanes

    def _towards(self, start: Point, x: float, share: float) -> Point:
        """Part of the way to another lifeline, on a gentle slope."""
        across = x - start[0] or COLUMN
        return (start[0] + share * across, start[1] + ROW * 0.55)

    def _touch(self, step: TraceStep, store: str) -> str:
        y = self.y(step.index)
        start, end = (self.x(show(step.actor)), y), (self.x(store), y)
        changed = [
            f"{family_of(name)} → {show(value)}"
            for name, value in step.changes.items()
            if self.story.holder(name, step) == store
        ]
        word = changed[0] + (" …" if len(changed) > 1 else "")
        shape = f"{_way(start, end)}{_tip(start, end)}"
        data = f'data-sent="{step.index}" data-received="{step.index}"'
        return _group("touch", data, "; ".join(changed), shape, word, _before(start, end, 60))


def _is_own(travel: Travel) -> bool:
    return travel.sender == travel.receiver


def _group(kind: str, data: str, title: str, shape: str, word: str, place: Point) -> str:
    text = f'<text x="{place[0]:.1f}" y="{place[1] - 5:.1f}">{escape(word)}</text>' if word else ""
    classes = f"travel {kind}".strip()
    return f'<g class="{classes}" {data}><title>{escape(title)}</title>{shape}{text}</g>'


def _short(travel: Travel) -> str:
    """The kind of a message, with what it says in words."""
    words = [show(value) for value in travel.message.fields.values() if isinstance(value, str)]
    return _cut(" ".join([travel.message.kind, *words]), 26)


def _way(*points: Point) -> str:
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path class="way" d="M{path}"/>'


def _tip(start: Point, end: Point) -> str:
    """An arrow's head that ends just before the lifeline."""
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


def _before(start: Point, end: Point, distance: float = 52) -> Point:
    """A point on the way, that far across from its end."""
    across = abs(end[0] - start[0])
    share = 1 - min(distance, across / 2) / (across or 1)
    return (start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]))


def _cut(text: str, letters: int) -> str:
    return text if len(text) <= letters else text[: letters - 1].rstrip(" ,[") + "…"
