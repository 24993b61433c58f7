"""Documents with one value changed, one key more, one less, or one line out of place."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

Document = Any


def edits(documents: list[Document]) -> Iterator[tuple[str, list[Document]]]:
    """Yield each edit of one place with its name: of each value, each key and each line."""
    for at in range(len(documents)):
        for path, value in _places(documents[at]):
            for name, changed in _changes(value):
                yield f"line {at + 1} {'.'.join(map(str, path))} {name}", _with(documents, (at, *path), changed)
            if path:
                yield f"line {at + 1} without {'.'.join(map(str, path))}", _with(documents, (at, *path), None, 0)
        yield f"without line {at + 1}", [*documents[:at], *documents[at + 1 :]]
        yield f"line {at + 1} twice", [*documents[: at + 1], *documents[at:]]
        if at:
            yield f"line {at + 1} before", [*documents[: at - 1], documents[at], documents[at - 1], *documents[at + 1 :]]


def _places(value: Document, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Document]]:
    yield path, value
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in inside:
        yield from _places(part, (*path, name))


def _changes(value: Document) -> Iterator[tuple[str, Document]]:
    """Yield values of the same type that differ, and values of another type."""
    match value:
        case bool():
            yield "flipped", not value
        case int():
            yield "one more", value + 1
        case str():
            yield "longer", value + "1"
            yield "of another digit", "".join(str((int(c) + 1) % 10) if c.isdigit() else c for c in value)
        case dict():
            yield "with a key more", {**value, "more": 1}
        case list():
            yield "with an item more", [*value, "more"]
    for other in (None, [], {}, 7, "word"):
        if type(other) is not type(value):
            yield f"as {other!r}", other


def _with(documents: list[Document], path: tuple[Any, ...], value: Document, keep: int = 1) -> list[Document]:
    changed = copy.deepcopy(documents)
    inside: Any = changed
    for part in path[:-1]:
        inside = inside[part]
    if keep:
        inside[path[-1]] = value
    else:
        del inside[path[-1]]
    return changed
