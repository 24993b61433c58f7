"""Places in the files of charts and operators: what stands above a section, and the keys of persistence."""

from __future__ import annotations

from fencepost.quorums.config_forms import ConfigFile
from fencepost.quorums.config_keys import BOOKIE, plain
from fencepost.quorums.facts import SECTIONS, Fact

NAMED = ("services", "containers")
"""Sections below which a name is that of a service or a container, and not a section of a chart."""

CHARTS_PERSISTENCE = (
    "volumes.persistence and bookkeeper.volumes.persistence to true in the values of Pulsar's chart"
)
"""The setting of Pulsar's chart by which disks outlive their pods, as actions against losses name it."""


CLAIMS = {
    "PulsarCluster": "spec.global.persistence to true",
    "BookkeeperCluster": (
        "spec.storage.journalVolumeClaimTemplate and spec.storage.ledgerVolumeClaimTemplate to claims of "
        "volumes that outlive their pods"
    ),
    "BookKeeperCluster": (
        "spec.storage.journal.volumeClaimTemplate and spec.storage.ledger.volumeClaimTemplate to claims of "
        "volumes that outlive their pods"
    ),
}
"""The same in the resources of kaap, Pravega's operator and StreamNative's, by their kind."""


def persistence_of(file: ConfigFile) -> str:
    """Return the same in the keys of this file or of its form; an empty text if it is of no such form."""
    given = [fact for fact in file.facts if fact.is_persistence]
    off = [fact.where for fact in given if plain(fact.value) == "false"]
    if given:
        return f"{' and '.join(dict.fromkeys(off or [fact.where for fact in given]))} to true"
    for kind in CLAIMS.keys() & file.kinds:
        return CLAIMS[kind]
    parents = [parent for fact in file.facts if fact.component == BOOKIE for parent in parents_of(fact)]
    if not parents:
        return ""
    above = f"{parents[0]}." if parents[0] else ""
    if above == "kaap.cluster.":
        return f"{above}{CLAIMS['PulsarCluster']}"
    if {"extra", "default_storage"} & {name for fact in file.facts for name in fact.path[:-1]}:
        return f"{above}persistence to true"  # DataStax's chart
    return f"{above}volumes.persistence and {above}bookkeeper.volumes.persistence to true"


def parents_of(fact: Fact) -> list[str]:
    """Return what stands above the section of a chart to which a fact belongs; nothing outside a section."""
    names = [SECTIONS.get(name.lower()) for name in fact.path[:-1]]
    if fact.component not in names or fact.path[0] in (*NAMED, "data"):
        return []
    above = fact.path[: names.index(fact.component)]
    return [".".join(above[:-1] if above[-1:] == ("spec",) else above)]
