"""The size of an instance: bookies and quorums, entries and clients, and limits on faults."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.language.parameters import faults, parameter
from fencepost.quorums.arithmetic import fencing_answers, negative_answers


@dataclass(frozen=True)
class Sizes:
    """The sizes. A configuration is written E/WQ/AQ, with N and L spelled out."""

    bookies: int = parameter(3, "N: bookies there are")
    ensemble: int = parameter(3, "E: bookies that a fragment of the ledger is striped over")
    write_quorum: int = parameter(3, "WQ: bookies that each entry is sent to")
    ack_quorum: int = parameter(2, "AQ: acks that make an entry acknowledged")
    entries: int = parameter(1, "L: entries that the writer may push")
    recoverers: int = parameter(1, "recovery attempts, each by a client of its own")
    fragments: int = parameter(2, "most ensembles the ledger goes through (only 1 is possible when N = E)")
    inflight: int = parameter(2, "most entries pushed and not yet acknowledged")
    silent: int = faults(0, "most bookies that stop answering for good")
    crashes: int = faults(0, "most crashes of bookies that lose data")
    restarts: int = faults(0, "most clean restarts of bookies (with a storage, or with deletions)")
    forces: int = parameter(
        0, "most calls of force by a writer with DEFERRED_SYNC; with 0 the writer has no such flag", least=0
    )
    power_losses: int = faults(0, "most losses of power of bookies (with forces)")
    readers: int = parameter(0, "clients that read the ledger without recovery", least=0)
    given_ids: int = parameter(
        0, "1 if the application gives the ids of entries, and may give one of them twice", least=0
    )
    lengths: int = parameter(
        0, "1 if a close writes the length of the ledger in bytes, an entry has one", least=0
    )
    deletions: int = parameter(
        0, "1 if the owner may delete the ledger once it is closed; with 0 nobody does", least=0
    )
    journals: int = parameter(
        0, "journals of a bookie, with a mark that flushes move; with 0 the mark is exact", least=0
    )
    other_dirs: int = parameter(
        0, "ledger directories of a bookie besides the ledger's own (with journals)", least=0
    )
    failed_flushes: int = faults(0, "most flushes that fail on a bookie (with journals)")
    full_disks: int = faults(0, "most flushes of an entry log that fail on a full disk (with a storage)")
    racks: int = parameter(
        0,
        "racks on which bookies are in turn, if each write needs acks from min(WQ, racks) of them; with 0 it "
        "needs AQ acks only",
        least=0,
    )
    disks: int = faults(0, "most disks that crashed bookies lose for good (with boot=whole)")
    reimages: int = faults(0, "most crashed bookies that come back as new ones, wiped (with boot=whole)")

    @property
    def absent_quorum(self) -> int:
        """QC: the number of negative answers that show an entry to be absent."""
        return int(negative_answers(self.ensemble, self.write_quorum, self.ack_quorum))

    @property
    def fencing_quorum(self) -> int:
        """EC: the number of fencing answers that always suffice."""
        return int(fencing_answers(self.ensemble, self.write_quorum, self.ack_quorum))

    @property
    def possible_fragments(self) -> int:
        """The number of fragments that the ledger can have: one if no bookie is spare."""
        return self.fragments if self.bookies > self.ensemble else 1
