"""The sizes of an instance of `ledger-copies`, and the rules of the code and of its mends."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.language.parameters import parameter, require, switch
from fencepost.quorums.stripes import Configuration

_REPLICATOR = "LedgerFragmentReplicator.updateEnsembleInfo, MetadataUpdateLoop.writeLoop"


@dataclass(frozen=True)
class CopiesParameters:
    """One instance. The first value of each rule is the mend, and the last one the code."""

    bookies: int = parameter(3, "bookies, among them those that are spare")
    ensemble: int = parameter(2, "E: bookies of an ensemble")
    write_quorum: int = parameter(2, "WQ: bookies of an ensemble that store an entry, round robin")
    ack_quorum: int = parameter(2, "AQ: copies without which an entry is not acknowledged")
    entries: int = parameter(1, "entries of the ledger, all acknowledged")
    fragments: int = parameter(1, "fragments of the ledger; each has an ensemble of its own")
    workers: int = parameter(1, "replication workers of auto-recovery", least=0)
    operators: int = parameter(1, "operators who call `bookkeeper shell recover`", least=0)

    recover_lock: str = switch(
        ("yes", "no"),
        "`recover` takes the lock of under-replicated ledgers as a replication worker does, or no lock",
        "BookKeeperAdmin.recoverLedger takes none in any release; the first value is a mend",
    )
    update_checks: str = switch(
        ("as-read", "old-bookie"),
        "a re-replication writes the metadata only in the version in which it chose its target, or in any "
        "version whose ensemble still has the bookie to replace",
        f"{_REPLICATOR}; the first value is a mend",
    )
    session: str = switch(
        ("kept", "lost-and-noticed", "lost"),
        "the ZooKeeper session that holds a lock lasts as long as the work, or may end before. If it is "
        "noticed, the metadata are written together with a check of the lock, and a bookie that takes a copy "
        "ends its collection of the ledger",
        "ZkLedgerUnderreplicationManager: the lock is an ephemeral node; the second value is a mend",
    )
    collector: str = switch(
        ("yes", "no"),
        "bookies delete over-replicated ledgers and deleted ones, or never do",
        "ScanAndCompareGarbageCollector.removeOverReplicatedledgers; "
        "gcOverreplicatedLedgerWaitTime, a setting, is one day by default",
    )
    storage: str = switch(
        ("at-once", "write-cache", "memtable"),
        "a bookie stores and deletes entries at once, or has the write cache of DbLedgerStorage, or the "
        "memtable of SortedLedgerStorage (which matters with `reuse` alone)",
        "SingleDirectoryDbLedgerStorage, EntryMemTable; a setting, so the last value is no fault",
    )
    deletion_mark: str = switch(
        ("until-return", "until-checkpoint", "until-swap"),
        "the write cache drops entries of a deleted ledger until the ledger comes back, until the next "
        "checkpoint, or until the next checkpoint that has entries to write",
        "WriteCache.deletedLedgers: until-checkpoint from 4.7.0 to 4.15.0, until-swap since 4.15.1 "
        "(PR 3341); the first value is a mend",
    )
    remembers_deleted: str = switch(
        ("no", "yes"),
        "a bookie that has deleted the ledger takes copies of it again, or refuses them until it restarts",
        "HandleFactoryImpl.recentlyFencedAndDeletedLedgers (PR 4462): yes in 4.16.7, and since 4.17.2, for "
        "seven days; the first value is also a mend, by which re-replication passes",
    )
    key_record: str = switch(
        ("at-return", "once"),
        "a bookie journals the master key of a ledger with the first add after each deletion, or once while "
        "it runs (which matters with a write cache or a memtable)",
        "BookieImpl.addEntryInternal: up to 4.15.5 masterKeyCache keeps the ledgers that were deleted, since "
        "4.16.0 it does not (PR 3522)",
    )
    reuse: str = switch(
        ("never", "collected", "at-once"),
        "the owner deletes the ledger and creates another with the same id and password: never, after each "
        "bookie has deleted the old one, or at once",
        "BookKeeper.createLedgerAdv with a ledger id; a habit of the owner, so the last value is no fault",
    )
    closed_by: str = switch(
        ("writer", "recovery"),
        "the first ledger was closed by its writer, or by a recovery, which fences it on its bookies "
        "(which matters with `reuse` alone)",
        "LedgerHandle.doAsyncCloseInternal, LedgerRecoveryOp; both happen in every release",
    )
    lives: str = switch(
        ("told-apart", "by-id"),
        "requests, deletions and writes of metadata name the creation of the ledger, or its id alone "
        "(which matters with `reuse` alone)",
        "HandleFactoryImpl.getHandle, AbstractZkLedgerManager.writeLedgerMetadata; the first value is a mend",
    )
    read_cache: str = switch(
        ("cleared", "kept"),
        "a bookie with DbLedgerStorage that deletes a ledger removes its entries from the read cache, or "
        "keeps them (which matters with `reuse` alone)",
        "SingleDirectoryDbLedgerStorage.deleteLedger leaves ReadCache alone; the first value is a mend",
    )

    def __post_init__(self) -> None:
        """Check the sizes. Raises BadInput."""
        sizes = {name: getattr(self, name) for name in ("ack_quorum", "write_quorum", "ensemble", "bookies")}
        ordered = self.ack_quorum <= self.write_quorum <= self.ensemble <= self.bookies
        rule = "ack_quorum <= write_quorum <= ensemble <= bookies"
        require(rule, ordered, sizes, "copies go to several bookies")
        counts = {"fragments": self.fragments, "entries": self.entries}
        require("fragments <= entries", self.fragments <= self.entries, counts, "each fragment has an entry")
        spare = self.fragments == 1 or self.bookies > self.ensemble
        require(
            "bookies > ensemble if fragments > 1",
            spare,
            {**sizes, **counts},
            "without a spare bookie the ensemble cannot change",
        )
        people = {"workers": self.workers, "operators": self.operators}
        require("workers + operators >= 1", self.workers + self.operators >= 1, people, "somebody copies")

    def fragment_of(self, entry: int) -> int:
        """Return the fragment of an entry. The fragments are about equally long."""
        return 1 + (entry - 1) * self.fragments // self.entries

    def entries_of(self, fragment: int) -> tuple[int, ...]:
        """Return the entries of a fragment, in order."""
        return tuple(e for e in range(1, self.entries + 1) if self.fragment_of(e) == fragment)

    def first_ensemble(self, fragment: int) -> tuple[str, ...]:
        """Return the bookies that the writer gave the fragment: each fragment begins one bookie later."""
        return tuple(f"b{(fragment - 1 + i) % self.bookies + 1}" for i in range(self.ensemble))

    @property
    def is_striped(self) -> bool:
        """Whether an entry is not on every bookie of its ensemble: E > WQ."""
        return self.ensemble > self.write_quorum

    def stores(self, position: int, entry: int) -> bool:
        """Return whether the entry goes to that position of its ensemble (RoundRobinDistributionSchedule)."""
        stripes = Configuration(self.ensemble, self.write_quorum, self.ack_quorum)
        return position - 1 in stripes.write_set(entry)

    def stored_at(self, position: int, entry: int) -> tuple[int, ...]:
        """Return the entries at that position of the ensemble that has the entry, in order."""
        return tuple(e for e in self.entries_of(self.fragment_of(entry)) if self.stores(position, e))
