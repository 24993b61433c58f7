"""Texts with named places, so that a slip can stand in one place and all else stays as it was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Text:
    """A piece of a file. With a `kind` it is a place at which a slip can be; `about` says what is there."""

    parts: tuple[str | Text, ...]
    kind: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return written(self, {})


def join(form: str, *parts: str | Text) -> Text:
    """Return the form with the parts at its `{}`."""
    pieces = form.split("{}")
    assert len(pieces) == len(parts) + 1, form
    found: list[str | Text] = [pieces[0]]
    for part, piece in zip(parts, pieces[1:], strict=True):
        found += [part, piece]
    return Text(tuple(found))


def place(kind: str, text: str | Text, **about: Any) -> Text:
    """Return the text as a place of that kind."""
    return Text((text,), kind, about)


def listed(parts: list[Text], separator: str = ", ") -> Text:
    """Return the parts with a separator between them."""
    return join(separator.join(["{}"] * len(parts)), *parts)


def written(text: str | Text, instead: Mapping[Text, str]) -> str:
    """Return the text as the file has it, with other text at some places."""
    if isinstance(text, str):
        return text
    if text in instead:
        return instead[text]
    return "".join(written(part, instead) for part in text.parts)


@dataclass(frozen=True)
class Spot:
    """A place in a file, with the kinds of the places around it, the outermost first."""

    text: Text
    inside: tuple[str, ...]


def spots(text: str | Text, inside: tuple[str, ...] = ()) -> Iterator[Spot]:
    """Yield all places in a text."""
    if isinstance(text, str):
        return
    if text.kind:
        yield Spot(text, inside)
        inside = (*inside, text.kind)
    for part in text.parts:
        yield from spots(part, inside)
