"""The files of a deployment, joined: overlays of other forms, and files of single bookies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fencepost.encoding.errors import BadInput
from fencepost.quorums.config_keys import CONFIG_KEYS
from fencepost.quorums.members import COMPARED, weakest
from fencepost.quorums.setters import latest
from fencepost.quorums.settings import default_of
from fencepost.quorums.sources import Files, Source, read_source


def read_files(names: Iterable[str]) -> Files:
    """Return the files in the order of their last mention. Raises BadInput."""
    sources = {name: read_source(Path(name)) for name in latest(names)}
    return Files(_as_bookies(_joined(sources)))


def _joined(sources: Mapping[str, Source]) -> dict[str, Source]:
    """Return the files, with a note on each that is joined to one whose sections stand below a parent.

    Raises BadInput if the sections of two files stand below different parents.
    """
    found: dict[str, Source] = {}
    for name, source in sources.items():
        for earlier, other in found.items():
            if not source.parents or not other.parents or source.parents & other.parents:
                continue
            mine, theirs = (min(parents) for parents in (source.parents, other.parents))
            if mine and theirs:
                raise BadInput(
                    f"{name}: its sections stand below {mine}, and those of {earlier} below {theirs}, so "
                    "they are not values of one cluster; give the files of one cluster"
                )
            here, there = (f"below {parent}" if parent else "at the top" for parent in (mine, theirs))
            stand = f"{here}, and those of {earlier} {there}"
            note = f"Its sections stand {stand}: both are read as values of one cluster, and {name} wins."
            source = replace(source, notes=(*source.notes, note))
        found[name] = source
    return found


def _as_bookies(sources: Mapping[str, Source]) -> dict[str, Source]:
    """Return the files, each setting only in the file of the bookie whose value is the weakest.

    Several files of Java properties are of single bookies if they name different bookies, or if their names
    differ only in digits or folders.
    """
    names = [name for name, source in sources.items() if source.bookie is not None]
    shapes = Counter(map(_shape, names))
    bookies = {sources[name].bookie for name in names} - {""}
    several = [n for n in names if shapes[_shape(n)] > 1 or (len(bookies) > 1 and sources[n].bookie)]
    found = dict(sources)
    if len(several) < 2:
        return found
    notes = [f"{', '.join(several)} are read as the files of single bookies of one cluster."]
    for key in CONFIG_KEYS.values():
        if key.sets in COMPARED:
            notes += _weakened(found, several, str(key.sets), key.name)
        elif key.known:
            _unusual(found, several, key.name)
    last = several[-1]
    found[last] = replace(found[last], notes=(*found[last].notes, *notes))
    return found


def _shape(name: str) -> str:
    return re.sub(r"[0-9]+", "", Path(name).name)


def _weakened(sources: dict[str, Source], names: Sequence[str], field: str, key: str) -> list[str]:
    """Leave a setting only in the file that has the weakest value. Return a note if the files differ."""
    own = {name: getattr(sources[name].settings, field) for name in names}
    default = default_of(field)
    said = {name: default if value is None else value for name, value in own.items()}
    said = {name: value for name, value in said.items() if value is not None}
    if len(set(said.values())) < 2:
        return []
    value, note = weakest(field, key, said)
    has_it = [name for name in names if own[name] == value] or ([] if value == default else list(names[-1:]))
    for name in names:
        kept: Any = value if name in has_it[:1] else None
        sources[name] = replace(sources[name], settings=replace(sources[name].settings, **{field: kept}))
    return [note] if note else []


def _unusual(sources: dict[str, Source], names: Sequence[str], name: str) -> None:
    """Give all files the value of a key that no model has and that the user must hear of, if one has it."""
    key = CONFIG_KEYS[name]
    said = {file: sources[file].values.get(name) for file in names}
    unusual = [value for value in said.values() if value is not None and key.is_unusual(value)]
    if not unusual:
        return
    counts = len(unusual) == len(names) if key.protects else True
    for file in names:
        others = {other: value for other, value in sources[file].values.items() if other != name}
        sources[file] = replace(sources[file], values=others | ({name: unusual[0]} if counts else {}))
