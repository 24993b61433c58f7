"""Setups of BookKeeper that a user asks about, and the conditions that a loss may put to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from operator import eq, gt

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
    pulsar: bool = False
    """Whether the clients are Pulsar's brokers, which throttle no adds unless told to."""

    @property
    def unsynced(self) -> bool:
        """Whether a crash of a machine can lose entries and fences without a check afterwards.

        The check of dataIntegrityChecking runs only with journalWriteData=false (EmbeddedServer).
        """
        return not self.sync and (self.journal or not self.checks)

    @cached_property
    def traits(self) -> frozenset[str]:
        """The conditions that this setup meets, by their names in the tables of losses."""
        letters = self.letters
        own = (trait for trait, expression in SIZES.items() if holds(expression, letters))
        return self.features | {*own, *(trait for trait, is_met in SETTINGS.items() if is_met(self))}

    @property
    def letters(self) -> dict[str, int]:
        """The sizes by their letters: E, WQ, AQ and N."""
        return dict(zip(("E", "WQ", "AQ", "N"), (*self.configuration.sizes, self.bookies), strict=True))

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of the model. It has one spare bookie at most, which stands for all."""
        ensemble, write_quorum, ack_quorum = self.configuration.sizes
        quorums = {"ensemble": ensemble, "write_quorum": write_quorum, "ack_quorum": ack_quorum}
        return {"bookies": min(self.bookies, ensemble + 1), **quorums}


SIGNS: Mapping[str, Callable[[int, int], bool]] = {">": gt, "=": eq}


def holds(expression: str, letters: Mapping[str, int]) -> bool:
    """Return whether an expression over sizes holds, such as `N > E` or `E + AQ > WQ + 1`."""
    left, sign, right = re.split(r" ([>=]) ", expression)

    def value(terms: str) -> int:
        return sum(letters[term] if term in letters else int(term) for term in terms.split(" + "))

    return SIGNS[sign](value(left), value(right))


SIZES: Mapping[str, str] = {
    "spare": "N > E",
    "no-spare": "N = E",
    "one-spare": "N = E + 1",
    "striped": "E > WQ",
    "unstriped": "E = WQ",
    "one-ack": "AQ = 1",
    "two-acks": "AQ > 1",
    "striped-or-two-acks": "E + AQ > WQ + 1",
    "no-slack": "AQ = WQ",
}
"""The conditions on sizes. The expression is what is evaluated and what is printed."""


def _stores_in(storage: str, setup: Setup) -> bool:
    return setup.storage == storage


SETTINGS: Mapping[str, Callable[[Setup], bool]] = {
    "journal": lambda setup: setup.journal,
    "no-journal": lambda setup: not setup.journal,
    "checks": lambda setup: setup.checks,
    "no-checks": lambda setup: not setup.checks,
    **{name: partial(_stores_in, name) for name in STORAGES},
    "index-files": lambda setup: STORAGES[setup.storage].index == "files",
    "unsynced": lambda setup: setup.unsynced,
    "no-throttle": lambda setup: setup.pulsar and "throttle" not in setup.features,
}
"""The conditions on the settings that are fields of a setup."""

TRAITS: Mapping[str, str] = {
    **SIZES,
    "journal": "journal on",
    "no-journal": "journal off",
    "checks": "dataIntegrityChecking on",
    "no-checks": "dataIntegrityChecking off",
    **{name: storage.class_name for name, storage in STORAGES.items()},
    "index-files": f"{' or '.join(name for name, one in STORAGES.items() if one.index == 'files')} storage",
    "unsynced": "journalSyncData off",
    "no-throttle": "bookkeeperClientThrottleValue=0",
    "deferred-sync": "writers with DEFERRED_SYNC",
    "readers": "readers without recovery",
    "batch-reads": "clients with batch reads (useV2WireProtocol, batchReadAsync)",
    "given-ids": "ids given by the application (LedgerHandleAdv)",
    "several-ledger-directories": "several ledgerDirectories",
    "several-journal-directories": "several journalDirectories",
    "racks": "enforceMinNumFaultDomainsForWrite",
    "reused-ids": "ids of deleted ledgers used again",
    "delayed-change": "delayEnsembleChange",
}
"""The conditions that a loss may put to a setup, in words."""
