"""Kinds of slips that people make in Python's names, operators and values, one at a time, at every place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from support.slips.files import File
from support.slips.texts import Spot, Text, spots


@dataclass(frozen=True)
class Slip:
    """A file with a slip. `meant` is the text that says in the language what this one says to a reader.

    `must_refuse` is set if no text of the language says it: the file has to be refused.
    """

    kind: str
    text: str
    meant: str
    must_refuse: bool = False


@dataclass(frozen=True)
class Edit:
    """Other text at some places of a file."""

    instead: Mapping[Text, str]
    must_refuse: bool = False
    meant: Mapping[Text, str] | None = None


Maker = Callable[[File, Spot], Iterator[Edit]]
KINDS: dict[str, tuple[str, Maker]] = {}
"""The kinds by name: the kind of place, and what can be wrong there."""


def slip(name: str, at: str) -> Callable[[Maker], Maker]:
    """Return a decorator that adds a kind of slip."""

    def add(maker: Maker) -> Maker:
        KINDS[name] = (at, maker)
        return maker

    return add


def slips(kind: str, file: File) -> Iterator[Slip]:
    """Yield the file with that slip, at each place and in each form."""
    at, maker = KINDS[kind]
    free = set(_free(file))
    for spot in file.spots:
        if spot.text.kind == at:
            for edit in maker(file, spot):
                text = file.with_(edit.instead)
                meant = text if edit.meant is None else file.with_(edit.meant)
                yield Slip(kind, text, meant, edit.must_refuse and spot.text not in free)


def _free(file: File) -> Iterator[Text]:
    """Yield the places in definitions that nothing calls, or that are called with a plain label.

    Whatever stands there may be read by no one, or may compare two labels, which is Python's own matter.
    """
    whole = str(file.text)
    for spot in file.spots:
        call = f"s.{spot.text.about['name']}(" if spot.text.kind == "definition" else ""
        if call and (call not in whole or f'{call}"' in whole):
            yield from (inner.text for inner in spots(spot.text))


def spot_of(file: File, kind: str) -> Text:
    """Return the only place of that kind."""
    (found,) = [spot.text for spot in file.spots if spot.text.kind == kind]
    return found


def instead(text: Text, *others: str, must: bool = False) -> Iterator[Edit]:
    for other in others:
        yield Edit({text: other}, must)


def is_compared(spot: Spot) -> bool:
    """Return whether the place is a side of an equality, and not an index within it."""
    return bool(spot.inside) and spot.inside[-1] == "equal"
