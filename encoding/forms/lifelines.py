"""A counterexample as a drawing: lifelines for participants, rows for steps, arrows for messages."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

from fencepost.encoding.forms.arrows import MessageArrow, drawn
from fencepost.encoding.forms.counterexample import (
    Counterexample,
    Travel,
    action_line,
    family_of,
    gathered,
    message_line,
)
from fencepost.encoding.forms.labels import Box, Label, Point, place_labels, places_beside, text_width
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.traces import TraceStep

HEAD = 40
"""The height of the row of participants' names."""

_SOON = 3
"""The most steps between sending and receiving for which an arrow is straight."""
_BOLD, _PLAIN = 12.0, 9.7
"""The width of an em in a step's name, and in its note."""
_HEAD = 0.75
"""The least share of its own width to which a participant's name is squeezed."""


@dataclass(frozen=True)
class Layout:
    """The measures of a drawing. A wide one has a row's words in a gutter, a narrow one above the arrows."""

    name: str
    gutter: float
    column: float
    """The least width of a lifeline."""
    lifelines: float
    """The least width of all lifelines together."""
    row: float
    """The height of a step."""
    dot: float
    """The distance from the top of a row to the dot of its step."""
    fall: float
    """The distance that the arrow of an undelivered message goes down."""
    drop: float | None
    """The distance that the arrow of a delivered message goes down; None if it begins at the sending step."""


Offers = Sequence[tuple[str, str]]
"""The actions that are possible after the last step, each as its actor and its words."""

WIDE = Layout("wide", gutter=344, column=104, lifelines=0, row=42, dot=21, fall=23, drop=None)
NARROW = Layout("narrow", gutter=0, column=34, lifelines=340, row=70, dot=54, fall=11, drop=10)
"""The narrow drawing fits into a card on a phone. Its arrows stay in one row, so they cross no words."""


@dataclass(frozen=True)
class Drawing:
    """The drawing of a counterexample in a layout."""

    counterexample: Counterexample
    layout: Layout = WIDE
    offers: Offers | None = None
    """If given, a row after the last step shows them."""

    @cached_property
    def column(self) -> float:
        """The width of a lifeline."""
        return max(self.layout.column, self.layout.lifelines / max(1, len(self.counterexample.participants)))

    @cached_property
    def width(self) -> float:
        """The width of the drawing."""
        return self.layout.gutter + self.column * len(self.counterexample.participants)

    @cached_property
    def height(self) -> float:
        """The height of the drawing."""
        rows = len(self.counterexample.trace.steps) + (1 if self.offers is None else 2)
        return self.layout.row * rows + 24

    def x(self, participant: str) -> float:
        """Return the x of a participant's lifeline."""
        return self.layout.gutter + self.column * (self.counterexample.participants.index(participant) + 0.5)

    def y(self, step: int) -> float:
        """Return the y of a step's dot; 0 is the row before the first step."""
        return self.layout.row * step + self.layout.dot

    def heads(self) -> str:
        """Return the participants' names, which stay in view above the rows."""
        stores = self.counterexample.system.state.stores
        width = self.column - 6
        boxes = "".join(
            f'<g class="head{" store" if name in stores else ""}">'
            f'<rect x="{self.x(name) - width / 2:g}" y="7" width="{width:g}" height="26" rx="6"/>'
            f'<text x="{self.x(name):g}" y="25"{_squeezed(name, width)}>'
            f"{escape(_cut(name, width / _HEAD, _BOLD))}</text></g>"
            for name in self.counterexample.participants
        )
        size = f'viewBox="0 0 {self.width:g} {HEAD}"'
        return f'<svg class="heads {self.layout.name}" {size} aria-hidden="true">{boxes}</svg>'

    def body(self) -> str:
        """Return bands, lifelines, arrows, and on top the words of each row."""
        parts = [*self._bands(), *self._lifelines(), *self._drawn(), *self._actors(), *self._rows()]
        parts += self._next()
        label = escape(
            f"{self.counterexample.trace.property} of {self.counterexample.trace.protocol}, step by step",
            quote=True,
        )
        size = f'viewBox="0 0 {self.width:g} {self.height:g}"'
        return (
            f'<svg class="drawing {self.layout.name}" {size} role="img" aria-label="{label}">\n'
            + "\n".join(parts)
            + "\n</svg>"
        )

    # Rows.

    def _bands(self) -> Iterator[str]:
        """Yield the band of each row, which is marked and clicked."""
        for step in range(len(self.counterexample.trace.steps) + 1):
            yield (
                f'<rect class="band" data-step="{step}" x="0" y="{self.layout.row * step:g}" '
                f'width="{self.width:g}" height="{self.layout.row:g}" rx="6"/>'
            )

    def _rows(self) -> Iterator[str]:
        yield self._row(0, "at first", "")
        steps = self.counterexample.trace.steps
        for step in steps:
            yield self._row(
                step.index, action_line(step), self._note(step), "end" if step is steps[-1] else ""
            )

    def _next(self) -> Iterator[str]:
        """Yield the row of the offers: a ring on the lifeline of each actor that can act."""
        if self.offers is None:
            return
        step = len(self.counterexample.trace.steps) + 1
        words = "; ".join(f"{actor} {said}" for actor, said in self.offers)
        number = (
            f"possible next: {amount(len(self.offers), 'action')}" if words else "nothing is possible here"
        )
        yield self._row(step, number, words, "next")
        for name in {actor: None for actor, _ in self.offers if actor in self.counterexample.participants}:
            title = "; ".join(said for actor, said in self.offers if actor == name)
            yield (
                f'<circle class="next" cx="{self.x(name):g}" cy="{self.y(step):g}" r="5">'
                f"<title>{escape(title)}</title></circle>"
            )

    def _row(self, step: int, action: str, note: str, kind: str = "") -> str:
        middle = self.layout.row * step + 21
        room = (self.layout.gutter or self.width) - 34
        is_step = kind != "next"
        number = f'<text class="number" x="24" y="{middle + 4:g}">{step}</text>' if step and is_step else ""
        lift = 3 if note else -4
        lines = (
            f'<text class="action" x="34" y="{middle - lift:g}">{escape(_cut(action, room, _BOLD))}</text>'
        )
        if note:
            lines += (
                f'<text class="note" x="34" y="{middle + 12:g}">{escape(_cut(note, room, _PLAIN))}</text>'
            )
        data = f' data-step="{step}"' if is_step else ""
        return f'<g class="{f"row {kind}".strip()}"{data}><title>{escape(action)}</title>{number}{lines}</g>'

    def _note(self, step: TraceStep) -> str:
        """Return the message that the step receives, or the messages that it sends if it receives none."""
        travel = self.counterexample.arrivals.get(step.index)
        if travel is None:
            return "; ".join(f"→ {', '.join(to)}: {text}" for text, to in gathered(step.sent).items())
        late = ", LATE" if self.counterexample.is_late(travel) else ""
        return f"← sent in {travel.sent}{late}: {message_line(travel.message)}"

    def _lifelines(self) -> Iterator[str]:
        for name in self.counterexample.participants:
            x = self.x(name)
            yield f'<line class="lifeline" x1="{x:g}" y1="0" x2="{x:g}" y2="{self.height:g}"/>'

    def _actors(self) -> Iterator[str]:
        """Yield the dot of each step; a fault has its own colour."""
        faults = {schema.name for schema in self.counterexample.system.schemas if schema.action.fault}
        for step in self.counterexample.trace.steps:
            x, y = self.x(show(step.actor)), self.y(step.index)
            kind = "actor fault" if step.action in faults else "actor"
            yield f'<circle class="{kind}" data-step="{step.index}" cx="{x:g}" cy="{y:g}" r="4.5"/>'

    # Arrows.

    def _drawn(self) -> Iterator[str]:
        labels = self.labels
        for arrow in self.arrows:
            yield drawn(arrow, labels.get(arrow))

    @cached_property
    def arrows(self) -> tuple[MessageArrow, ...]:
        """The arrows, ordinary ones first, so that late and lost messages are drawn on top of them."""
        ordered = sorted(self.counterexample.travels, key=self._importance)
        touches = [
            self._touch(step, store)
            for step in self.counterexample.trace.steps
            for store in self.counterexample.touched(step)
            if store != show(step.actor)
        ]
        return (*map(self._travel, ordered), *touches)

    @cached_property
    def labels(self) -> Mapping[MessageArrow, Label]:
        """The words beside arrows; a narrow drawing has those of messages received in its rows instead."""
        worded = [arrow for arrow in self.arrows if arrow.words and self._is_worded(arrow)]
        segments = [segment for arrow in self.arrows for segment in arrow.segments]
        steps = self.counterexample.trace.steps
        dots = [_around((self.x(show(step.actor)), self.y(step.index)), 5) for step in steps]
        crosses = [_around(arrow.points[-1], 5) for arrow in self.arrows if arrow.end == "cross"]
        wanted = [list(self._places(arrow)) for arrow in worded]
        rows = [self._words_area(step) for step in range(len(steps) + 2)]
        return dict(
            zip(worded, place_labels(wanted, segments, [*dots, *crosses, *rows], self.width), strict=True)
        )

    def _words_area(self, step: int) -> Box:
        """Return the area of a row's words."""
        top = self.layout.row * step
        return Box(0, top + 8, self.layout.gutter or self.width, top + 35)

    def _is_worded(self, arrow: MessageArrow) -> bool:
        return self.layout.gutter > 0 or arrow.kind in ("lost", "touch")

    def _places(self, arrow: MessageArrow) -> Iterator[Label]:
        if arrow.end == "cross":
            x, y = arrow.points[-1]
            for dx, dy, anchor in ((9, 4, "start"), (-9, 4, "end"), (-6, 18, "start"), (6, 18, "end")):
                yield Label(arrow.words, (x + dx, y + dy), anchor)
        else:
            yield from places_beside(arrow.words, arrow.segments[-1])

    def _importance(self, travel: Travel) -> int:
        return 2 if travel.message.lost else 1 if self.counterexample.is_late(travel) else 0

    def _travel(self, travel: Travel) -> MessageArrow:
        start = (self.x(travel.sender), self.y(travel.sent))
        title = f"{message_line(travel.message)}, {travel.sender} to {travel.receiver}"
        data = f'data-sent="{travel.sent}"'
        words = _label_of(travel)
        if travel.message.lost:
            end = self._towards(start, self.x(travel.receiver), 0.62)
            return MessageArrow("lost", data, f"{title}: lost", (start, end), f"{words}: lost", "cross")
        if travel.received is None:
            end = self._towards(start, self.x(travel.receiver), 0.4)
            return MessageArrow("waiting", data, f"{title}: in flight at the end", (start, end), end="")
        end = (self.x(travel.receiver), self.y(travel.received))
        kind = "late" if self.counterexample.is_late(travel) else ""
        points = self._within_row(travel, end) or (start, *self._detour(travel), end)
        return MessageArrow(kind, f'{data} data-received="{travel.received}"', title, points, words)

    def _within_row(self, travel: Travel, end: Point) -> tuple[Point, ...]:
        """Return the points of an arrow that stays in the row of its end; none if the layout has no such."""
        if self.layout.drop is None:
            return ()
        x, y = self.x(travel.sender), end[1] - self.layout.drop
        return ((x, y), (x + 12, y + 4), end) if _is_to_its_sender(travel) else ((x, y), end)

    def _detour(self, travel: Travel) -> tuple[Point, ...]:
        """Return the points at which an arrow in a lane leaves and enters, or none for a straight arrow."""
        if travel not in self._lanes:
            return ()
        x, row = self.x(travel.sender) + self._lanes[travel], self.layout.row
        return (x, self.y(travel.sent) + row * 0.35), (x, self.y(travel.received or 0) - row * 0.65)

    @cached_property
    def _lanes(self) -> Mapping[Travel, float]:
        """The distance from the sender's lifeline for each message that takes long or goes to its sender."""
        lanes: dict[Travel, float] = {}
        for travel in self.counterexample.travels:
            if travel.received is None or (
                travel.received - travel.sent <= _SOON and not _is_to_its_sender(travel)
            ):
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
        """Return the point at a share of the way to another lifeline, with a slight fall."""
        across = x - start[0] or self.column
        return (start[0] + share * across, start[1] + self.layout.fall)

    def _touch(self, step: TraceStep, store: str) -> MessageArrow:
        y = self.y(step.index)
        changed = [
            f"{family_of(name)} → {show(value)}"
            for name, value in step.changes.items()
            if self.counterexample.holder(name, step) == store
        ]
        words = changed[0] + (" …" if len(changed) > 1 else "")
        data = f'data-sent="{step.index}" data-received="{step.index}"'
        return MessageArrow(
            "touch", data, "; ".join(changed), ((self.x(show(step.actor)), y), (self.x(store), y)), words
        )


def _squeezed(name: str, width: float) -> str:
    """Return the attribute that narrows the letters of a name that is too long for its box."""
    return (
        f' textLength="{width - 6:g}" lengthAdjust="spacingAndGlyphs"'
        if text_width(name, _BOLD) > width - 6
        else ""
    )


def _is_to_its_sender(travel: Travel) -> bool:
    return travel.sender == travel.receiver


def _around(at: Point, distance: float) -> Box:
    x, y = at
    return Box(x - distance, y - distance, x + distance, y + distance)


def _label_of(travel: Travel) -> str:
    """Return the kind of a message with those of its fields that are text."""
    words = [show(value) for value in travel.message.fields.values() if isinstance(value, str)]
    return _cut(" ".join([travel.message.kind, *words]), 175, 11)


def _cut(text: str, room: float, em: float) -> str:
    """Return the text, or its beginning with an ellipsis if it is wider than the room."""
    if text_width(text, em) <= room:
        return text
    kept = next(n for n in range(len(text), -1, -1) if text_width(text[:n] + "…", em) <= room or n == 0)
    return text[:kept].rstrip(" ,[(") + "…"
