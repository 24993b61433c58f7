"""The files of a deployment that `advise` reads: broker.conf, Helm values and bk_server.conf."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.encoding.documents import SETTINGS, parse_yaml, read_text, shown
from fencepost.encoding.errors import BadInput
from fencepost.quorums.settings import HINT, PREFIX, QUORUMS, REPLICAS, Settings, properties, read_settings

JOURNAL, SYNC, CHECKS = "journalWriteData", "journalSyncData", "dataIntegrityChecking"
STORAGE, SORTED = "ledgerStorageClass", "sortedLedgerStorageEnabled"
OF_BOOKIES = (JOURNAL, SYNC, CHECKS, STORAGE, SORTED)
UNMODELLED = (
    "skipReplayJournalInvalidRecord",
    "journalChannelProvider",
    "dataIntegrityStampMissingCookies",
    "forceSync",
    "walSyncData",
)
"""Keys of bookies and of the metadata store that may change what is durable, and that no model has."""
STORAGES = {
    "SortedLedgerStorage": "sorted",
    "InterleavedLedgerStorage": "interleaved",
    "DbLedgerStorage": "db",
}
"""The storage of each Java class that stores a bookie's entries."""
BROKER = "broker.configData."
"""The prefix of the broker's keys in Helm values."""


@dataclass(frozen=True)
class Source:
    """The settings of one file, None for those that it does not have, and its keys."""

    settings: Settings | None
    journal: bool | None
    sync: bool | None
    checks: bool | None
    storage: str | None
    sorted_storage: bool | None
    """Whether sorted storage is on. If it is off, the storage is interleaved."""
    read: tuple[str, ...]
    ignored: tuple[str, ...]


def read_source(path: Path) -> Source:
    """Return the settings of a broker.conf, of Helm values (.yaml, .yml) or of a bk_server.conf.

    Raises BadInput, in one line.
    """
    text = read_text(path, HINT, SETTINGS)
    helm = path.suffix in (".yaml", ".yml")
    keys: Mapping[str, Any] = _flat(parse_yaml(text, str(path), HINT)) if helm else properties(text)
    in_place = [key for key in keys if not helm or key_name(key) not in QUORUMS or key.startswith(BROKER)]
    last = {key_name(key): key for key in sorted(in_place, key=lambda key: PREFIX in key)}
    of_pulsar = any(name in last for name in QUORUMS) or (helm and REPLICAS in keys)
    if not of_pulsar and not set(OF_BOOKIES) & set(last):
        raise BadInput(
            f"{path}: has none of {', '.join((*QUORUMS, *OF_BOOKIES))}; {HINT}, or a bk_server.conf"
        )
    settings = read_settings(path) if of_pulsar else None
    wanted = {last[name] for name in (*QUORUMS, *OF_BOOKIES) if name in last}
    read = tuple(k for k in keys if k in wanted or (k == REPLICAS and helm))
    return Source(
        settings,
        _flag(path, last.get(JOURNAL), keys),
        _flag(path, last.get(SYNC), keys),
        _flag(path, last.get(CHECKS), keys),
        _storage(path, last.get(STORAGE), keys),
        _flag(path, last.get(SORTED), keys),
        read,
        tuple(k for k in keys if k not in read),
    )


def key_name(key: str) -> str:
    """Return the last part of a key's path without the prefix, as Pulsar's images set it."""
    return key.rpartition(".")[2].removeprefix(PREFIX)


def _flat(values: object, before: str = "") -> dict[str, Any]:
    """Return the leaves of a document by path, joined with dots."""
    if not isinstance(values, dict):
        return {before: values} if before else {}
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= _flat(value, f"{before}.{name}" if before else str(name))
    return found


def _flag(path: Path, key: str | None, keys: Mapping[str, Any]) -> bool | None:
    if key is None:
        return None
    said = str(keys[key]).strip().lower()
    if said not in ("true", "false"):
        raise BadInput(f"{path}: {key} is {shown(keys[key])}; it must be true or false")
    return said == "true"


def _storage(path: Path, key: str | None, keys: Mapping[str, Any]) -> str | None:
    if key is None:
        return None
    name = str(keys[key]).strip().rpartition(".")[2]
    if name not in STORAGES:
        raise BadInput(f"{path}: {key} is {shown(keys[key])}; known are {', '.join(STORAGES)}")
    return STORAGES[name]
