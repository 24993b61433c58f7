"""The files of a deployment: the settings of each, and the values that they give together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fencepost.encoding.errors import BadInput
from fencepost.quorums.deployment import DEFAULT_MIN_RACKS
from fencepost.quorums.files.config_keys import (
    AUTORECOVERY,
    BOOKIE,
    BROKER,
    CONFIG_KEYS,
    METADATA,
    ConfigKey,
    plain,
)
from fencepost.quorums.files.facts import Fact, bare
from fencepost.quorums.files.images import Image, image_of
from fencepost.quorums.files.members import Differing
from fencepost.quorums.files.persistence import disks_of, parents_of, persistence_of
from fencepost.quorums.files.places import FOREIGN, STANDALONE, component_of, is_false, is_true
from fencepost.quorums.files.setters import DEFAULT, Setter, chosen
from fencepost.quorums.files.settings import (
    SECTION_FACTS,
    Settings,
    by_key,
    facts_of,
    members_of,
    of_members,
    settings_of,
)
from fencepost.quorums.files.texts import HINT, words_of
from fencepost.quorums.files.unread import elsewhere, misplaced, of_other_forms
from fencepost.quorums.files.walk import ConfigFile, read_config

OF_BROKERS = frozenset(
    (
        *("brokerServicePort", "clusterName", "zookeeperServers", "metadataStoreUrl"),
        *("bookkeeperEnsemble", "bookkeeperWriteQuorum", "bookkeeperAckQuorum"),
        *(key.name for key in CONFIG_KEYS.values() if key.component == BROKER),
    )
)
"""Keys that only Pulsar's brokers have."""
OF_BOOKIES = frozenset(
    (
        *("bookiePort", "journalDirectory", "zkServers", "zkLedgersRootPath", "metadataServiceUri"),
        *(key.name for key in CONFIG_KEYS.values() if key.component in (BOOKIE, AUTORECOVERY)),
    )
)
"""Keys that only bookies and auto-recovery have."""
KNOWN = OF_BROKERS | OF_BOOKIES


@dataclass(frozen=True)
class Source:
    """The settings of one file, and what it says besides."""

    settings: Settings
    prefixed: Settings
    """The settings of keys with the prefix of an image, which win over those of all files without it."""
    pulsar: bool
    """Whether the file is of Pulsar, whose bookies have db storage by default."""
    of_bookies: bool
    """Whether the file has settings of bookies or of auto-recovery. Then a missing key has its default."""
    names_daemon: bool
    """Whether the file has a section of auto-recovery's own."""
    read: tuple[str, ...]
    """The places of the keys that set a value."""
    notes: tuple[str, ...]
    """Sentences about keys that change what is durable and that no model has."""
    values: Mapping[str, Any]
    """The values of these keys, None for one that the file sets to null."""
    persistence: str = ""
    """The setting by which disks outlive their pods, in the keys of the file; empty if its form has none."""
    parents: frozenset[str] = frozenset()
    """The parents below which its sections stand, as in an umbrella chart; an empty text for the top."""
    bookie: str | None = None
    """The name of the bookie whose file of Java properties it is, empty if not said; None for other files."""
    unread: tuple[str, ...] = ()
    """The notes about keys that may be meant for the system asked about and that are not read."""
    image: Image | None = None
    """The image of its bookies, which names their release."""
    is_empty: bool = False
    """Whether the file has no key that is known; the last note says so."""


def read_source(path: Path) -> Source:
    """Return what a file says by itself. Raises BadInput, in one line."""
    file = read_config(path)
    return source_of(path, file, runs_alone([file]), frozenset())


def runs_alone(files: Sequence[ConfigFile]) -> bool:
    """Return whether the last file that says so runs Pulsar in one process."""
    said = [fact.value for file in files for fact in file.facts if SECTION_FACTS["standalone"](fact)]
    return bool(said) and is_true(said[-1])


def source_of(path: Path, file: ConfigFile, alone: bool, given: Collection[str]) -> Source:
    """Return what a file says. `given` has the names of the files and resources that are given with it.

    If Pulsar runs `alone`, in one process, its keys count and the sections of its components do not.
    """
    facts = _in_one_process(file.facts) if alone else list(file.facts)
    members = members_of(facts)
    plain_facts = [fact for fact in facts if not fact.has_prefix]
    settings, used, differ = settings_of(path, plain_facts, members)
    with_prefix = [fact for fact in facts if fact.has_prefix or _ends(fact)]
    prefixed, used_too, differ_too = settings_of(path, with_prefix, members)
    places = list(misplaced(facts))
    unread = [*(said for said, unknown in places if unknown), *of_other_forms(facts)]
    unmodelled, image = _unmodelled(facts, members), image_of(facts)
    notes = [*file.notes, *differ, *differ_too, *_notes(facts, unmodelled), *elsewhere(facts, given)]
    of_file = [fact for fact in file.facts if SECTION_FACTS["standalone"](fact) and is_true(fact.value)]
    if alone and of_file:
        ones: Any = {size: 1 for size in SIZES if getattr(settings, size) is None}
        settings = replace(settings, **ones)
        used = [*of_file, *used]
        notes.append(f"{of_file[0].where}={plain(of_file[0].value)}: {ALONE}")
    is_read = used or used_too or image or unmodelled
    if not is_read and unread:
        _refuse(path, file, unread[0])
    is_empty = not (is_read or file.comments & KNOWN or _is_ours(facts))
    if is_empty:
        notes.append(f"it has no key of a broker.conf or a bk_server.conf; {HINT}.")
    of_parents = [*used, *used_too, *unmodelled.values()]
    where = [fact.where for fact in (*used, *used_too)] + ([image.where] if image else [])
    return Source(
        settings,
        prefixed,
        _is_pulsars(facts) or alone,
        _is_of_bookies(file),
        any(fact.component == AUTORECOVERY and fact.key != "enabled" for fact in facts),
        tuple(dict.fromkeys(where)),
        tuple(dict.fromkeys((*notes, *dict(places), *unread))),
        {name: fact.value for name, fact in unmodelled.items()} | _tls(facts),
        persistence_of(facts),
        frozenset(".".join(parent) for fact in of_parents for parent in parents_of(fact)),
        _bookie(file),
        tuple(unread),
        image,
        is_empty,
    )


SIZES = ("ensemble", "write_quorum", "ack_quorum", "bookies")
ALONE = (
    "one process is broker, bookie and metadata, so there is one bookie and one copy of each entry; the "
    "sections of bookies and brokers are not read."
)


def _in_one_process(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts that count if Pulsar runs in one process: its own, and those of no component."""
    off = (BOOKIE, BROKER, AUTORECOVERY, METADATA)
    own = [f for f in facts if f.component not in off and not f.is_persistence and f.section != "components"]
    return [replace(fact, component=None) if fact.component == STANDALONE else fact for fact in own]


def _refuse(path: Path, file: ConfigFile, unread: str) -> None:
    """Raise BadInput for a file of which nothing is read although it has a key in another form."""
    if any(fact.path == ("kind",) and fact.value == "Kustomization" for fact in file.facts):
        raise BadInput(
            f"{path}: a resource of kind Kustomization is not read; give the output of `kustomize build`"
        )
    raise BadInput(f"{path}: {unread.rstrip('.')}; {HINT}")


def _ends(fact: Fact) -> bool:
    """Return whether the file sets a section to null, and with it the keys of earlier files there."""
    return fact.value is None and fact.key not in CONFIG_KEYS


PULSARS = frozenset(
    ("components", "proxy", "pulsar_manager", "pulsar_metadata", "toolset", "bookkeeper", "bookie")
)
"""Sections of charts and operators of Pulsar."""
OF_PULSAR = re.compile(r"org\.apache\.pulsar|metadata-store:|apachepulsar|PulsarCluster|/pulsar")
"""A part of a value that only Pulsar's files have."""


def _is_pulsars(facts: Sequence[Fact]) -> bool:
    """Return whether a file is one of Pulsar: a broker's keys, a chart's sections, or a class of Pulsar."""
    if any(fact.key == "zookeeperUri" for fact in facts):  # of Pravega's operators and charts
        return False
    return any(
        (fact.component in (BROKER, None) and bare(fact.path[-1]) in OF_BROKERS)
        or any(component_of(name) == BROKER for name in fact.path[:-1])
        or "pulsar" in fact.key.lower()
        or any(name.startswith("PULSAR_") for name in fact.path)
        or (not {"services", "containers"} & set(fact.path) and PULSARS & {*map(str.lower, fact.path[:-1])})
        or OF_PULSAR.search(words_of(fact.value))
        for fact in facts
    )


def _is_ours(facts: Sequence[Fact]) -> bool:
    """Return whether a file has a section of Pulsar or BookKeeper, or a key by which theirs are known."""
    return any(fact.component not in (None, FOREIGN) or fact.key in KNOWN for fact in facts)


def _is_of_bookies(file: ConfigFile) -> bool:
    """Return whether the file has a section for bookies or for auto-recovery, or is a bookie's file."""
    return any(
        fact.component in (BOOKIE, AUTORECOVERY) or (fact.component is None and fact.key in OF_BOOKIES)
        for fact in file.facts
    ) or bool(OF_BOOKIES & file.comments)


def _bookie(file: ConfigFile) -> str | None:
    """Return the name that a bookie has in its own file of Java properties; None for another file."""
    if file.is_yaml or not _is_of_bookies(file):
        return None
    names = [fact.value for fact in file.facts if fact.key in ("bookieId", "advertisedAddress")]
    return str(names[0]) if names else ""


# Keys that no model has.


def _notes(facts: Sequence[Fact], unmodelled: Mapping[str, Fact]) -> Iterator[str]:
    """Yield a sentence for each thing that is known of keys that no model has, and their places."""
    by_sentence: dict[str, list[str]] = {}
    for name, fact in unmodelled.items():
        key = CONFIG_KEYS[name]
        if fact.value is not None and key.is_unusual(fact.value):
            value = ", ".join(map(plain, fact.value)) if isinstance(fact.value, list) else plain(fact.value)
            by_sentence.setdefault(key.known, []).append(f"{fact.where}={value}")
    for sentence, keys in by_sentence.items():
        yield f"{', '.join(keys)}: {sentence}"
    for fact in disks_of(facts):
        if is_false(fact.value):
            yield f"{fact.where}=false: {FORMATTED if fact.section == 'volumes' else EMPTIED}"
    for fact in facts:
        if fact.section == "components" and fact.key == "oxia" and is_true(fact.value):
            yield f"{fact.where}=true: {OXIA}"
        if fact.path == ("kind",) and fact.component == BOOKIE and fact.value == "DaemonSet":
            yield "A DaemonSet runs one bookie on each node; give their number with -n."


FORMATTED = (
    "at each start of its pod the chart formats the bookie and deletes its cookie, so #4812 happens at each "
    "restart."
)
EMPTIED = "a bookie that restarts has lost its disks."
OXIA = (
    "Oxia has the metadata of ledgers, in place of ZooKeeper. No model has the metadata store, so the "
    "answer is the same."
)


def _unmodelled(facts: Sequence[Fact], members: Sequence[str]) -> dict[str, Fact]:
    """Return the keys that no model has, with the fact that counts for each."""
    named = by_key(facts)
    found = {
        key.name: _that_counts(key, facts_of(key, named), members)
        for key in CONFIG_KEYS.values()
        if key.known
    }
    return {name: fact for name, fact in found.items() if fact} | _volumes(facts)


def _that_counts(key: ConfigKey, facts: Sequence[Fact], members: Sequence[str]) -> Fact | None:
    """Return the fact that counts for all bookies: one that the user must hear of, if a member has it.

    A key that protects must be set for all members.
    """
    by_member = of_members(facts, members, None)
    given = list(by_member.values()) or list(facts[-1:])
    unusual = [fact for fact in given if fact.value is not None and key.is_unusual(fact.value)]
    if key.protects and len(unusual) < max(len(members if by_member else ()), len(given)):
        return next((fact for fact in given if fact not in unusual), None)
    return unusual[0] if unusual else next(iter(given), None)


TLS = ("tls.enabled", "tls.bookie.enabled")
"""The keys of Pulsar's chart that together set `tlsProviderFactoryClass`, at the end of their path."""


def _tls(facts: Sequence[Fact]) -> dict[str, Any]:
    """Return the values of a chart's keys of TLS. Sections of other components have their own."""
    found = {}
    for fact in facts:
        names = fact.path[-3:] if fact.component == BOOKIE else fact.path[-2:]
        said = ".".join("bookie" if component_of(name) == BOOKIE else name for name in names)
        if said in TLS and fact.component in (BOOKIE, None):
            found[said] = fact.value
    return found


VOLUMES = {"ledgers": "ledgerDirectories", "journal": "journalDirectories"}
"""The key that a chart sets to the paths of several volumes, by their section."""


def _volumes(facts: Sequence[Fact]) -> dict[str, Fact]:
    """Return the directories that a chart gives to bookies with several volumes (useMultiVolumes)."""
    found, listed = {}, {fact.path: fact.value for fact in facts if fact.path[-1] == "multiVolumes"}
    for fact in facts:
        if fact.section in VOLUMES and fact.key == "useMultiVolumes" and is_true(fact.value):
            volumes = listed.get((*fact.path[:-1], "multiVolumes"))
            volumes = volumes if isinstance(volumes, list) else ["volume 0", "volume 1"]
            paths = [str(v.get("mountPath", "")) if isinstance(v, dict) else str(v) for v in volumes]
            found[VOLUMES[fact.section]] = Fact(BOOKIE, fact.path, paths)
    return found


# All files together.


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
        named = True in said or any(source.names_daemon for source in self.sources.values())
        return bool(in_bookies is not False or named)

    @property
    def image(self) -> tuple[Image | None, Setter]:
        """The image of the bookies in the last file that names one, and this file; None if none does."""
        said = {name: source.image for name, source in self.sources.items()}
        return chosen("", None, said, None)

    def without(self, key: str) -> str:
        """Return a clause that says which files lack a key, and what they have in its place."""
        found = [note for note in self.notes if key in note]
        found = found or [f"{name}: {s.notes[-1][3:]}" for name, s in self.sources.items() if s.is_empty]
        return "; ".join(
            [f"no {key} of a broker in {', '.join(self.sources)}", *(note.rstrip(".") for note in found)]
        )

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
        return all(
            self._value(field, True)
            for field in ("chart_persistence", "volumes_persistence", "bookie_persistence")
        )

    def persistence(self) -> str:
        """Return the setting by which disks outlive their pods, in the keys of these files; empty if none."""
        said = {name: source.persistence for name, source in self.sources.items() if source.persistence}
        fields = ("chart_persistence", "volumes_persistence", "bookie_persistence")
        off = {setter.name for value, setter in map(self.chosen, fields) if value is False}
        names = [name for name in said if name in off] or list(said)[-1:]
        return ", and ".join(f"{said[name]} in {name}" for name in names)

    @property
    def unmodelled(self) -> dict[str, Any]:
        """The values of keys that no model has, of the last file that has each."""
        said: dict[str, Any] = {}
        for source in self.sources.values():
            said |= source.values
        if not all(plain(said.get(key)) == "true" for key in TLS):
            said.pop(TLS[-1], None)
        return {key: value for key, value in said.items() if value is not None}


def _known_to(release: str, source: Source) -> Source:
    def number(release: str) -> list[int]:
        return [int(part) for part in release.split(".")]

    later = [key for key in CONFIG_KEYS.values() if key.since and number(release) < number(key.since)]
    layers = source.settings, source.prefixed
    fields = [key for key in later if key.sets and any(getattr(own, key.sets) is not None for own in layers)]
    values = [key for key in later if key.name in source.values]
    unknown = {key.name for key in values}
    notes = [
        f"{key.name} has no effect: BookKeeper {release} does not know it ({key.since} and later do)."
        for key in (*fields, *values)
    ]
    settings, prefixed = (replace(own, **{str(key.sets): None for key in fields}) for own in layers)
    return replace(
        source,
        settings=settings,
        prefixed=prefixed,
        notes=(*source.notes, *notes),
        values={name: value for name, value in source.values.items() if name not in unknown},
    )
