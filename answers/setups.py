"""Setups of BookKeeper that a user asks about, and the words for their conditions."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.quorums.storages import STORAGES
from fencepost.quorums.stripes import Configuration


@dataclass(frozen=True)
class Setup:
    """A deployment of BookKeeper: configuration, number of bookies, release, and settings of the bookies.

    The settings are whether data is journaled, whether it is checked after a crash, and the storage.
    """

    configuration: Configuration
    bookies: int
    release: str
    journal: bool = True
    checks: bool = False
    storage: str = "sorted"
    sync: bool = True
    """Whether a bookie answers only after the fsync of its journal (journalSyncData)."""
    features: frozenset[str] = frozenset()
    """Settings that some loss needs and that are no field, such as `several-ledger-directories`."""

    @property
    def unsynced(self) -> bool:
        """Whether a crash of a machine can lose entries and fences without a check afterwards.

        The check of dataIntegrityChecking runs only with journalWriteData=false (EmbeddedServer).
        """
        return not self.sync and (self.journal or not self.checks)

    @property
    def traits(self) -> frozenset[str]:
        """The words of `risks.toml` that describe this setup."""
        ensemble, write_quorum, ack_quorum = self.configuration.sizes
        held = {
            "spare": self.bookies > ensemble,
            "striped": ensemble > write_quorum,
            "two-acks": ack_quorum > 1,
            "journal": self.journal,
            "no-journal": not self.journal,
            "checks": self.checks,
            "no-checks": not self.checks,
            "db": self.storage == "db",
            "sorted": self.storage == "sorted",
            "index-files": STORAGES[self.storage].index == "files",
            "unsynced": self.unsynced,
        }
        return self.features | {trait for trait, holds in held.items() if holds}

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of the model. It has one spare bookie at most, which stands for all."""
        ensemble, write_quorum, ack_quorum = self.configuration.sizes
        quorums = {"ensemble": ensemble, "write_quorum": write_quorum, "ack_quorum": ack_quorum}
        return {"bookies": min(self.bookies, ensemble + 1), **quorums}


TRAITS = {
    "spare": "N > E",
    "striped": "E > WQ",
    "two-acks": "AQ > 1",
    "journal": "journal on",
    "no-journal": "journal off",
    "checks": "dataIntegrityChecking on",
    "no-checks": "dataIntegrityChecking off",
    "db": "DbLedgerStorage",
    "sorted": "SortedLedgerStorage",
    "index-files": "sorted or interleaved storage",
    "unsynced": "journalSyncData off",
    "deferred-sync": "writers with DEFERRED_SYNC",
    "readers": "readers without recovery",
    "several-ledger-directories": "several ledgerDirectories",
    "several-journal-directories": "several journalDirectories",
    "racks": "enforceMinNumFaultDomainsForWrite",
    "reused-ids": "ids of deleted ledgers used again",
}
"""The conditions that a bug may need of a setup, in words."""
