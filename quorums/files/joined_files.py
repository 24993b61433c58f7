"""The files of a deployment, and the values that they give together."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fencepost.encoding.errors import BadInput
from fencepost.quorums.deployment import DEFAULT_MIN_RACKS
from fencepost.quorums.files.config_keys import AUTORECOVERY, BOOKIE, CONFIG_KEYS
from fencepost.quorums.files.images import Image, image_of
from fencepost.quorums.files.members import COMPARED, WEAKER, Differing
from fencepost.quorums.files.persistence import persistence_of
from fencepost.quorums.files.places import is_true
from fencepost.quorums.files.setters import DEFAULT, Setter, chosen, latest
from fencepost.quorums.files.settings import DISKS, QUORUMS
from fencepost.quorums.files.sources import TLS, WITHOUT_KEYS, Source, runs_alone, source_of
from fencepost.quorums.files.texts import HINT, VARIABLES
from fencepost.quorums.files.walk import YAML, ConfigFile, read_config
from fencepost.quorums.stripes import Configuration


@dataclass(frozen=True)
class Files:
    """The files of a deployment, in the order in which a later one wins."""

    sources: Mapping[str, Source]

    def chosen(
        self, field: str, flag: str = "", option: Any = None, default: Any = None
    ) -> tuple[Any, Setter]:
        """Return the value of a field of the settings and its setter: option, last file or default.

        Raises BadInput if the bookies of a file differ and none of their values is the weakest.
        """
        said = {name: getattr(source.settings, field, None) for name, source in self.sources.items()}
        prefixed = {name: getattr(source.prefixed, field, None) for name, source in self.sources.items()}
        value, setter = chosen(flag, option, prefixed, None)
        if setter == DEFAULT:
            value, setter = chosen(flag, option, said, default)
        if isinstance(value, Differing):
            raise BadInput(f"{setter.name}: {value.message}")
        return value, setter

    def _value(self, field: str, default: Any = None) -> Any:
        return self.chosen(field, default=default)[0]

    def known_to(self, release: str) -> Files:
        """Return the files without the keys that this release does not know. A note names each of them."""
        return Files({name: _known_to(release, source) for name, source in self.sources.items()})

    @property
    def notes(self) -> list[str]:
        """The notes of all files."""
        return [note for source in self.sources.values() for note in source.notes]

    @property
    def pulsar(self) -> bool:
        """Whether some file is of Pulsar."""
        return any(source.pulsar for source in self.sources.values())

    @property
    def autorecovery(self) -> bool:
        """Whether auto-recovery runs: in pods of its own or in the bookies. It does if no file denies it."""
        in_bookies = self._value("bookie_daemon")
        said = [self._value(field) for field in ("autorecovery", "extra_autorecovery")]
        is_off = False in said and True not in said  # a chart joins the two with *or*
        if is_off or self._value("autorecovery_pods", 1) == 0:
            return in_bookies is True
        named = True in said or any(map(_names_daemon, self.sources.values()))
        return bool(in_bookies is not False or named)

    @property
    def image(self) -> tuple[Image | None, Setter]:
        """The image of the bookies in the last file that names one, and this file; None if none does."""
        said = {name: image_of(source.file.facts) for name, source in self.sources.items()}
        return chosen("", None, said, None)

    def without(self, key: str) -> str:
        """Return a clause that says which files lack a key, and what they have in its place."""
        named = [note.rstrip(".") for note in self.notes if key in note]
        empty = [f"{name}: {WITHOUT_KEYS}" for name, source in self.sources.items() if source.is_empty]
        lacking = [f"no {key} of a broker in {', '.join(self.sources)}"]
        return "; ".join(empty if len(empty) == len(self.sources) else lacking + (named or empty))

    @property
    def enforcing_policy(self) -> Setter | None:
        """The setter that turns both policies off under which Pulsar enforces racks; None if one is on."""
        aware, setter = self.chosen("rack_aware", default=True)
        return None if aware or self._value("region_aware", False) else setter

    @property
    def recovery_racks(self) -> int | None:
        """The racks that auto-recovery keeps in a write set: 1 if it enforces none; None if no file says."""
        if self._value("recovery_enforces", False):
            return int(self._value("recovery_min_racks", DEFAULT_MIN_RACKS))
        return 1 if any(source.of_bookies for source in self.sources.values()) else None

    @property
    def persistent(self) -> bool:
        """Whether the disks of bookies outlive their pods."""
        return all(self._value(field, True) for field in DISKS)

    def persistence(self) -> str:
        """Return the setting by which disks outlive their pods, in the keys of these files; empty if none."""
        found = {name: persistence_of(source.file.facts) for name, source in self.sources.items()}
        said = {name: setting for name, setting in found.items() if setting}
        off = {setter.name for value, setter in map(self.chosen, DISKS) if value is False}
        names = [name for name in said if name in off] or list(said)[-1:]
        return ", and ".join(f"{said[name]} in {name}" for name in names)

    @property
    def unmodelled(self) -> dict[str, Any]:
        """The values of keys that no model has, of the last file that has each."""
        said: dict[str, Any] = {}
        for source in self.sources.values():
            said |= source.values
        if not all(is_true(said.get(key)) for key in TLS):
            said.pop(TLS[-1], None)
        return {key: value for key, value in said.items() if value is not None}


@dataclass
class AskedValues:
    """The files that were read, and the setter of each value that was asked for."""

    said: Files
    set_by: dict[str, Setter] = field(default_factory=dict)

    def value(self, name: str, flag: str, option: object, default: object = None) -> Any:
        """Return the value of an option, else that of the last file that has it, else the default."""
        found, self.set_by[name] = self.said.chosen(name, flag, option, default)
        return found

    def sizes(
        self, ensemble: int | None, write_quorum: int | None, ack_quorum: int | None, needed: str
    ) -> Configuration:
        """Return E, WQ and AQ; raises BadInput for one that is missing, with those `needed`."""
        found = []
        options = zip(QUORUMS.items(), ("-e", "-w", "-a"), (ensemble, write_quorum, ack_quorum), strict=True)
        for (name, key), flag, option in options:
            size = self.value(name, flag, option)
            if size is None:
                missing = f"{self.said.without(key)};" if self.said.sources else f"no {flag}:"
                raise BadInput(f"{missing} give {needed}, or --from FILE that has them")
            found.append(int(size))
        return Configuration(*found)


def _names_daemon(source: Source) -> bool:
    """Return whether a file has a section of auto-recovery's own."""
    return any(fact.component == AUTORECOVERY and fact.key != "enabled" for fact in source.file.facts)


def _known_to(release: str, source: Source) -> Source:
    def number(release: str) -> list[int]:
        return [int(part) for part in release.split(".")]

    later = [key for key in CONFIG_KEYS.values() if key.since and number(release) < number(key.since)]
    layers = source.settings, source.prefixed
    set_ = [key for key in later if key.sets and any(getattr(own, key.sets) is not None for own in layers)]
    unknown = set_ + [key for key in later if key.name in source.values]
    notes = [
        f"{key.name} has no effect: BookKeeper {release} does not know it ({key.since} and later do)."
        for key in unknown
    ]
    none: Any = {key.sets: None for key in set_}
    settings, prefixed = (replace(own, **none) for own in layers)
    values = {name: value for name, value in source.values.items() if CONFIG_KEYS.get(name) not in unknown}
    notes = [*source.notes, *notes]
    return replace(source, settings=settings, prefixed=prefixed, notes=tuple(notes), values=values)


# Reading and joining.


def read_files(names: Iterable[str]) -> Files:
    """Return the files in the order of their last mention; of a folder, its files. Raises BadInput."""
    found = {name: read_config(Path(name)) for given in latest(names) for name in _files_of(given)}
    alone = runs_alone(list(found.values()))
    facts = [fact for file in found.values() for fact in file.facts]
    given = {Path(name).name for name in found} | {fact.member for fact in facts}
    sources = {name: source_of(Path(name), file, alone, given) for name, file in found.items()}
    return Files(_as_bookies(_joined(sources), found))


def _files_of(name: str) -> list[str]:
    """Return the files of a name: those of a folder that are read by their names, else itself."""
    if name == "-":
        return ["/dev/stdin"]
    if not os.path.isdir(name):  # unlike that of a Path, False for a name that is too long
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
