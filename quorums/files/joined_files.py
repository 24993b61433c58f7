"""The files of a deployment, joined: overlays of other forms, and files of single bookies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from fencepost.encoding.errors import BadInput
from fencepost.quorums.files.config_keys import BOOKIE
from fencepost.quorums.files.members import COMPARED, WEAKER, Differing
from fencepost.quorums.files.setters import latest
from fencepost.quorums.files.sources import Files, Source, runs_alone, source_of
from fencepost.quorums.files.texts import HINT, VARIABLES
from fencepost.quorums.files.walk import YAML, ConfigFile, read_config


def read_files(names: Iterable[str]) -> Files:
    """Return the files in the order of their last mention; a folder is its files by name. Raises BadInput."""
    found = {name: read_config(Path(name)) for given in latest(names) for name in _files_of(given)}
    alone = runs_alone(list(found.values()))
    facts = [fact for file in found.values() for fact in file.facts]
    given = {Path(name).name for name in found} | {fact.member for fact in facts}
    sources = {name: source_of(Path(name), file, alone, given) for name, file in found.items()}
    return Files(_as_bookies(_joined(sources), found))


def _files_of(name: str) -> list[str]:
    """Return the files that a name stands for: those of a folder that are read by their names, or itself."""
    if not Path(name).is_dir():
        return [name]
    found = sorted(str(one) for one in Path(name).rglob("*") if one.suffix in FORMS and one.is_file())
    if not found:
        raise BadInput(f"{name}: cannot be read (it is a folder without a file {' '.join(FORMS)}); {HINT}")
    return found


FORMS = (*YAML, *VARIABLES)
"""The ends of the names of files that are read of a folder."""


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


def _as_bookies(sources: dict[str, Source], files: Mapping[str, ConfigFile]) -> dict[str, Source]:
    """Return the files, each setting only in the file of the bookie whose value is the weakest.

    Several files of Java properties are of single bookies if they name different bookies, or if their names
    differ only in digits or folders.
    """
    names = [name for name, source in sources.items() if source.bookie is not None]
    shapes = Counter(map(_shape, names))
    bookies = {sources[name].bookie for name in names} - {""}
    several = [n for n in names if shapes[_shape(n)] > 1 or (len(bookies) > 1 and sources[n].bookie)]
    if len(several) < 2:
        return sources
    facts = [
        replace(fact, component=BOOKIE, member=name, is_whole=True)
        for name in several
        for fact in files[name].facts
    ]
    last = several[-1]
    whole = source_of(Path(last), ConfigFile(tuple(facts), is_yaml=False), alone=False, given=())
    notes = [f"{', '.join(several)} are read as the files of single bookies of one cluster."]
    notes += [note for note in whole.notes if note.endswith(WEAKER)]
    own = {name: sources[name].settings for name in several}
    for name in several:
        weakest = {field: getattr(whole.settings, field) for field in COMPARED}
        given = {
            field: value if getattr(own[name], field) == value or isinstance(value, Differing) else None
            for field, value in weakest.items()
        }
        sources[name] = replace(sources[name], settings=replace(own[name], **given), values=whole.values)
    return sources | {last: replace(sources[last], notes=(*sources[last].notes, *notes))}


def _shape(name: str) -> str:
    return re.sub(r"[0-9]+", "", Path(name).name)
