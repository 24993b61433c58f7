"""The files of a deployment: the settings of each, and the values that they give together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fencepost.encoding.errors import BadInput
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
from fencepost.quorums.files.images import image_of
from fencepost.quorums.files.persistence import disks_of, parents_of
from fencepost.quorums.files.places import FOREIGN, STANDALONE, component_of, is_false, is_true
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
from fencepost.quorums.files.walk import ConfigFile

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
    read: tuple[str, ...]
    """The places of the keys that set a value."""
    notes: tuple[str, ...]
    """Sentences about keys that change what is durable and that no model has."""
    values: Mapping[str, Any]
    """The values of these keys, None for one that the file sets to null."""
    unread: tuple[str, ...]
    """The notes about keys that may be meant for the system asked about and that are not read."""
    parents: frozenset[str]
    """The parents below which its sections stand, as in an umbrella chart; an empty text for the top."""
    file: ConfigFile
    """The facts of the file that count."""
    is_empty: bool
    """Whether the file has no key that is known; the last note says so."""

    @property
    def of_bookies(self) -> bool:
        """Whether the file has settings of bookies or of auto-recovery. A missing key has its default."""
        own = {fact.key for fact in self.file.facts if fact.component is None} | self.file.comments
        return bool(own & OF_BOOKIES) or any(f.component in (BOOKIE, AUTORECOVERY) for f in self.file.facts)

    @property
    def bookie(self) -> str | None:
        """The name of the bookie whose file of Java properties it is, empty if not said; else None."""
        named = [fact.value for fact in self.file.facts if fact.key in ("bookieId", "advertisedAddress")]
        return None if self.file.is_yaml or not self.of_bookies else str((named or [""])[0])


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
    is_read = used or used_too or unmodelled or image
    if not is_read and unread:
        kinds = {fact.value for fact in facts if fact.path == ("kind",)}
        raise BadInput(f"{path}: {PATCHES if PATCHED in kinds else unread[0].rstrip('.') + '; ' + HINT}")
    is_known = any(f.component not in (None, FOREIGN) or f.key in KNOWN for f in file.facts)
    is_empty = not (is_read or is_known or file.comments & KNOWN)
    if is_empty:
        notes.append(f"it {WITHOUT_KEYS}; {HINT}.")
    of_parents = [*used, *used_too, *unmodelled.values()]
    where = [fact.where for fact in (*used, *used_too)] + ([image.where] if image else [])
    return Source(
        settings,
        prefixed,
        pulsar=_is_pulsars(facts) or alone,
        read=tuple(dict.fromkeys(where)),
        notes=tuple(dict.fromkeys((*notes, *dict(places), *unread))),
        values={name: fact.value for name, fact in unmodelled.items()} | _tls(facts),
        unread=tuple(unread),
        parents=frozenset(".".join(parent) for fact in of_parents for parent in parents_of(fact)),
        file=replace(file, facts=tuple(facts)),
        is_empty=is_empty,
    )


WITHOUT_KEYS = "has no key of a broker.conf or a bk_server.conf"
"""The end of a sentence about a file of another product."""
PATCHED = "Kustomization"
PATCHES = "a resource of kind Kustomization is not read; give the output of `kustomize build`"
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
