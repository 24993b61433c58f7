"""The files of a deployment: the settings of each, and the values that they give together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fencepost.encoding.errors import BadInput
from fencepost.quorums.chart_places import NAMED, parents_of, persistence_of
from fencepost.quorums.config_forms import HINT, READ_KINDS, VARIABLES, ConfigFile, read_config
from fencepost.quorums.config_keys import AUTORECOVERY, BOOKIE, BROKER, CONFIG_KEYS, ConfigKey, plain
from fencepost.quorums.deployment import DEFAULT_MIN_RACKS
from fencepost.quorums.facts import BOOKIES, Fact
from fencepost.quorums.helm_values import HELD_IN
from fencepost.quorums.members import Differing
from fencepost.quorums.setters import DEFAULT, Setter, chosen
from fencepost.quorums.settings import (
    Settings,
    by_key,
    facts_of,
    members_of,
    of_members,
    settings_of,
)
from fencepost.quorums.unread_keys import misplaced, of_other_forms

OF_BROKERS = frozenset(("brokerServicePort", "clusterName", "zookeeperServers", "metadataStoreUrl"))
"""Keys by which a file of Java properties is known to be a broker's, besides those of the table."""
OF_BOOKIES = frozenset(
    ("bookiePort", "journalDirectory", "zkServers", "zkLedgersRootPath", "metadataServiceUri")
)
"""Keys by which a file of Java properties is known to be a bookie's, besides those of the table."""


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


def read_source(path: Path) -> Source:
    """Return what a file says. Raises BadInput, in one line."""
    file = read_config(path)
    keys = {fact.key for fact in file.facts} | file.comments
    if not file.is_yaml and not keys & (OF_BROKERS | OF_BOOKIES | set(CONFIG_KEYS)):
        raise BadInput(f"{path}: has no key of a broker.conf or a bk_server.conf; {HINT}")
    members = members_of(file.facts)
    plain_facts = [fact for fact in file.facts if not fact.has_prefix]
    settings, used, differ = settings_of(path, plain_facts, members)
    with_prefix = [fact for fact in file.facts if fact.has_prefix or _ends(fact)]
    prefixed, used_too, differ_too = settings_of(path, with_prefix, members)
    unmodelled = _unmodelled(file, members)
    places = list(misplaced(file))
    unread = [*(said for said, unknown in places if unknown), *of_other_forms(file)]
    if not used and not used_too:
        _refuse_unread(path, file, unread)
    of_parents = [*used, *used_too, *unmodelled.values()]
    return Source(
        settings,
        prefixed,
        _is_pulsars(file),
        _is_of_bookies(file),
        any(fact.component == AUTORECOVERY and fact.key != "enabled" for fact in file.facts),
        tuple(dict.fromkeys(fact.where for fact in (*used, *used_too))),
        tuple(dict.fromkeys((*differ, *differ_too, *_notes(file, unmodelled), *dict(places), *unread))),
        {name: fact.value for name, fact in unmodelled.items()} | _tls(file.facts),
        persistence_of(file),
        frozenset(parent for fact in of_parents for parent in parents_of(fact)),
        _bookie(file),
        tuple(unread),
    )


def _refuse_unread(path: Path, file: ConfigFile, unread: Sequence[str]) -> None:
    """Raise BadInput for a file of which nothing is read although it seems to say something."""
    kinds = sorted(file.kinds)
    if kinds and not file.kinds & READ_KINDS:
        hint = "give the output of `kustomize build`" if "Kustomization" in kinds else HINT
        raise BadInput(f"{path}: a resource of kind {kinds[0]} is not read; {hint}")
    if unread:
        raise BadInput(f"{path}: {unread[0].rstrip('.')}; {HINT}")
    for fact in file.facts:
        if fact.key in ("valueFiles", "valuesFrom"):
            raise BadInput(f"{path}: {fact.where} is not read; give {_short(fact.value)} instead")
    if not file.facts and file.kinds & set(HELD_IN):
        raise BadInput(f"{path}: {kinds[0]} has no values of a chart; {HINT}")


def _ends(fact: Fact) -> bool:
    """Return whether the file sets a section to null, and with it the keys of earlier files there."""
    return fact.value is None and fact.key not in CONFIG_KEYS


PULSARS = frozenset(("components", "proxy", "pulsar_manager", "pulsar_metadata", "toolset"))
"""Sections that only charts of Pulsar have."""
OF_PULSAR = re.compile(r"org\.apache\.pulsar|metadata-store:|apachepulsar|PulsarCluster|/pulsar")
"""A part of a value that only Pulsar's files have."""


def _is_pulsars(file: ConfigFile) -> bool:
    """Return whether the file is one of Pulsar: a broker's keys, a chart's sections, or a class of Pulsar."""
    of_broker = {key.name for key in CONFIG_KEYS.values() if key.component == BROKER} | OF_BROKERS
    return any(
        fact.component == BROKER
        or (fact.component is None and fact.key in of_broker)
        or fact.path[-1].startswith("PULSAR_")
        or (fact.path[0] not in NAMED and (PULSARS | {*BOOKIES}) & {name.lower() for name in fact.path[:-1]})
        or OF_PULSAR.search(str(fact.value))
        for fact in file.facts
    )


def _is_of_bookies(file: ConfigFile) -> bool:
    """Return whether the file has a section for bookies or for auto-recovery, or is a bookie's file."""
    own = {k.name for k in CONFIG_KEYS.values() if k.component in (BOOKIE, AUTORECOVERY)} | OF_BOOKIES
    return any(
        fact.component in (BOOKIE, AUTORECOVERY) or (fact.component is None and fact.key in own)
        for fact in file.facts
    ) or bool(own & file.comments)


def _bookie(file: ConfigFile) -> str | None:
    """Return the name that a bookie has in its own file of Java properties; None for another file."""
    if file.is_yaml or not _is_of_bookies(file):
        return None
    named = by_key(file.facts)
    names = [fact.value for key in ("bookieId", "advertisedAddress") for fact in named.get(key, ())]
    return str(names[0]) if names else ""


# Keys that no model has.


def _notes(file: ConfigFile, unmodelled: Mapping[str, Fact]) -> Iterator[str]:
    """Yield a sentence for each thing that is known of keys that no model has, and their places."""
    yield from file.notes
    by_sentence: dict[str, list[str]] = {}
    for name, fact in unmodelled.items():
        key = CONFIG_KEYS[name]
        if fact.value is not None and key.is_unusual(fact.value):
            by_sentence.setdefault(key.known, []).append(f"{fact.where}={_short(fact.value)}")
    for sentence, keys in by_sentence.items():
        yield f"{', '.join(keys)}: {sentence}"
    for fact in file.facts:
        if fact.is_persistence and plain(fact.value) == "false":
            yield f"{fact.where}=false: {FORMATTED if fact.section == 'volumes' else EMPTIED}"
        if fact.key in ELSEWHERE and fact.section not in VARIABLES and fact.value:
            yield f"{fact.where} is not read; {ELSEWHERE[fact.key].format(_short(fact.value))}."
        if "forceSync=no" in str(fact.value):
            yield f"{fact.where} has forceSync=no: {CONFIG_KEYS['forceSync'].known}"


ELSEWHERE = {
    "env_file": "give {} with --from too",
    "envFrom": "give the ConfigMap {} with --from too",
    "volumes": "it mounts {}; give that with --from too",
    "extends": "give what `docker compose config` prints, which has all variables of the service",
    "valueFiles": "give {} with --from too, before this file",
    "valuesFrom": "give {} as files with --from too, before this file",
}
"""What to do about a key that names settings elsewhere."""

FORMATTED = (
    "at each start of its pod the chart formats the bookie and deletes its cookie, so #4812 happens at each "
    "restart."
)
EMPTIED = "a bookie that restarts has lost its disks."


def _short(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(map(_short, value.values()))
    return ", ".join(map(_short, value)) if isinstance(value, list) else plain(value)


def _unmodelled(file: ConfigFile, members: Sequence[str]) -> dict[str, Fact]:
    """Return the keys that no model has, with the fact that counts for each."""
    named = by_key(file.facts)
    found = {
        key.name: _that_counts(key, facts_of(key, named), members)
        for key in CONFIG_KEYS.values()
        if key.known
    }
    return {name: fact for name, fact in found.items() if fact} | _volumes(file.facts)


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
        said = ".".join("bookie" if name.lower() in BOOKIES else name for name in names)
        if said in TLS and fact.component in (BOOKIE, None):
            found[said] = fact.value
    return found


VOLUMES = {"ledgers": "ledgerDirectories", "journal": "journalDirectories"}
"""The key that a chart sets to the paths of several volumes, by their section."""


def _volumes(facts: Sequence[Fact]) -> dict[str, Fact]:
    """Return the directories that a chart gives to bookies with several volumes (useMultiVolumes)."""
    found, listed = {}, {fact.path: fact.value for fact in facts if fact.path[-1] == "multiVolumes"}
    for fact in facts:
        if fact.section in VOLUMES and fact.key == "useMultiVolumes" and plain(fact.value) == "true":
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
        if self._value("autorecovery", True) is False or self._value("autorecovery_pods", 1) == 0:
            return in_bookies is True
        named = self._value("autorecovery") or any(source.names_daemon for source in self.sources.values())
        return bool(in_bookies is not False or named)

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
