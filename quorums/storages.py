"""The storages of a bookie, one row each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class BookieStorage:
    """A storage, as the model and the real code are told of it."""

    java_class: str
    """The class that a bookie is started with; `ledgerStorageClass` may leave its package out."""
    second_copy: Literal["dropped", "replaces"]
    """The effect of a second add of an entry that is in memory (the same in 4.13.0, 4.17.3 and 4.17.4)."""
    index: Literal["files", "table"]
    """Where fence and key of a ledger are: in the header of its index file, or in a table of all ledgers."""
    copies: Literal["write-cache", "memtable", "at-once"]
    """The storage of `ledger-copies` that stands for it. A memtable matters for used ids only."""
    driven_at_first: bool = False
    """Whether a cell of `seen.toml` that names no storage is about it. Cells name all other storages."""

    @property
    def class_name(self) -> str:
        """The class without its package."""
        return self.java_class.rpartition(".")[2]


_BOOKIE = "org.apache.bookkeeper.bookie"
STORAGES = {
    "sorted": BookieStorage(f"{_BOOKIE}.SortedLedgerStorage", "dropped", "files", "memtable", True),
    "interleaved": BookieStorage(f"{_BOOKIE}.InterleavedLedgerStorage", "replaces", "files", "at-once", True),
    "db": BookieStorage(f"{_BOOKIE}.storage.ldb.DbLedgerStorage", "replaces", "table", "write-cache", True),
}
"""InterleavedLedgerStorage is the oldest one, and DbLedgerStorage is Pulsar's default."""

DEFAULT = "sorted"
"""The storage of a bookie that sets none."""

OF_CLASS = {storage.class_name: name for name, storage in STORAGES.items()}
"""The storage of each Java class, without its package."""
