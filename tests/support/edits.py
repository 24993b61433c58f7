"""Documents with one value changed, one key more, one less, or one line out of place."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

Document = Any
Edit = Callable[[], list[Document]]

OTHERS: tuple[Any, ...] = (None, [], {}, 7, "word")
"""A value of each type."""


def edits(documents: list[Document]) -> Iterator[tuple[str, Edit]]:
    """Yield each edit of one place with its name: of each value, each key and each line."""
    for at in range(len(documents)):
        before, this, after = documents[:at], documents[at], documents[at + 1 :]
        for path, value in _places(this):
            place = f"line {at + 1} {'.'.join(map(str, path))}"
            for name, changed in _changes(value):
                yield f"{place} {name}", partial(_with, documents, (at, *path), changed)
            if path:
                yield f"{place} left out", partial(_with, documents, (at, *path), None, keep=False)
        yield f"without line {at + 1}", partial(list, [*before, *after])
        yield f"line {at + 1} twice", partial(list, [*before, this, this, *after])
        if before and before[-1] != this:
            yield f"line {at + 1} one line higher", partial(list, [*before[:-1], this, before[-1], *after])


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
            if any(c.isdigit() for c in value):
                yield "of another digit", "".join(str((int(c) + 1) % 10) if c.isdigit() else c for c in value)
        case dict():
            yield "with a key more", {**value, "more": 1}
        case list():
            yield "with an item more", [*value, "more"]
    for other in OTHERS:
        if type(other) is not type(value):
            yield f"as {other!r}", other


def _with(
    documents: list[Document], path: tuple[Any, ...], value: Document, keep: bool = True
) -> list[Document]:
    changed = list(documents)
    changed[path[0]] = copy.deepcopy(documents[path[0]])
    inside: Any = changed
    for part in path[:-1]:
        inside = inside[part]
    if keep:
        inside[path[-1]] = value
    else:
        del inside[path[-1]]
    return changed
