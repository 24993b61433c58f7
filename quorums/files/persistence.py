"""The keys of charts and operators by which disks outlive their pods, and those of them that are ours."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.quorums.files.config_keys import AUTORECOVERY, BOOKIE, BROKER, METADATA
from fencepost.quorums.files.facts import Fact
from fencepost.quorums.files.places import component_of, is_false

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


def parents_of(fact: Fact) -> list[tuple[str, ...]]:
    """Return what stands above the section of a chart to which a fact belongs; nothing outside a section."""
    if {"services", "containers", "data", "emptyDir"} & set(fact.path):
        return []
    for number, name in enumerate(fact.path[:-1]):
        if component_of(name) == fact.component:
            above = fact.path[:number]
            return [above[:-1] if above[-1:] == ("spec",) else above]
    return []


def disks_of(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts that say of bookies, or of all components of their chart, whether disks outlive pods.

    A key of a whole chart is ours if bookies, brokers or their metadata stand in the same chart, if the chart
    is named after Pulsar, or if it is the file's only one. The disks of other charts are not ours.
    """
    ours = (BOOKIE, BROKER, METADATA, AUTORECOVERY)
    charts = {(f.member, root) for f in facts if f.component in ours for root in parents_of(f)}

    def is_ours(fact: Fact) -> bool:
        if fact.component == BOOKIE:
            return True
        root = tuple(name for name in fact.path if name not in ("spec", "global", "volumes", "persistence"))
        root = root[:-1] if fact.key == "enabled" else root
        return (
            (fact.member, root) in charts
            or "pulsar" in "".join(root[-1:]).lower()
            or (not root and not charts)
        )

    return [fact for fact in facts if fact.is_persistence and is_ours(fact)]


def persistence_of(facts: Sequence[Fact]) -> str:
    """Return the setting by which disks outlive their pods, in the keys of a file; empty if it is unknown."""
    given = disks_of(facts)
    off = [fact.where for fact in given if is_false(fact.value)]
    if off and all(".emptyDir." in where for where in off):
        return "spec.volumeClaimTemplates to claims in place of emptyDir"
    if given:
        return f"{' and '.join(dict.fromkeys(off or [fact.where for fact in given]))} to true"
    for fact in facts:
        if fact.path == ("kind",) and fact.value in CLAIMS:
            return CLAIMS[fact.value]
    parents = [
        ".".join((*root, "")) for fact in facts if fact.component == BOOKIE for root in parents_of(fact)
    ]
    if not parents:
        return ""
    if parents[0] == "kaap.cluster.":
        return f"{parents[0]}{CLAIMS['PulsarCluster']}"
    if {"extra", "default_storage"} & {name for fact in facts for name in fact.path[:-1]}:
        return f"{parents[0]}persistence to true"  # DataStax's chart
    return f"{parents[0]}volumes.persistence and {parents[0]}bookkeeper.volumes.persistence to true"
