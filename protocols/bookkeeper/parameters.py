"""The parameters of one instance, and the presets.

A preset is today's code, a release, a published specification or a proposal.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from fencepost.encoding.language.parameters import faults, parameter, require
from fencepost.protocols.bookkeeper import switches
from fencepost.quorums.arithmetic import fencing_answers, negative_answers
from fencepost.quorums.storages import STORAGES

LOSE_ENTRIES = ("both", "entries", "entries-and-bare-fences")
"""The values of `lose` with which a crash loses the entries of a bookie."""

LOSE_BARE_FENCES = ("bare-fences", "entries-and-bare-fences")
"""The values of `lose` with which a crash loses bare fences and keeps other fences.

A bare fence was set before the bookie stored anything of the ledger.
"""


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


@dataclass(frozen=True)
class BookKeeperParameters(switches.Switches, Sizes):
    """Sizes and rules. The defaults of the rules are those of today's code.

    Raises BadInput unless 1 <= AQ <= WQ <= E <= N, and for a rule that changes nothing on the instance.
    """

    def __post_init__(self) -> None:
        """Check the sizes, and refuse rules that change nothing on this instance."""
        require(
            "1 <= ack_quorum <= write_quorum <= ensemble <= bookies",
            1 <= self.ack_quorum <= self.write_quorum <= self.ensemble <= self.bookies,
            {name: getattr(self, name) for name in ("ack_quorum", "write_quorum", "ensemble", "bookies")},
            "for example ack_quorum=2, write_quorum=3, ensemble=3, bookies=4",
        )
        of_storage = self.storage != "any"
        self._forbid_unused("crashes", self.crashes > 0, switches.CRASHES, "set crashes=1")
        flushes = self.loses_fences or self.deletions * self.restarts > 0
        rest = tuple(name for name in switches.DURABILITY if name != "flush_headers")
        self._forbid_unused("a storage", of_storage, ("full_disks",), "set storage=db")
        without = "a storage whose disks are not full" if self.full_disks else "a storage"
        self._forbid_unused(without, self.loses_fences, rest, "set storage=db")
        self._forbid_unused("a storage or restarts", flushes, ("flush_headers",), "set storage=sorted")
        self._forbid_unused("full_disks", self.full_disks > 0, switches.FULL_DISKS, "set full_disks=1")
        caches = "full_disks and restarts with storage=db"
        self._forbid_unused(caches, self.restarts_with_caches, switches.CACHE_ASIDE, "set all three")
        may_restart = of_storage or self.deletions > 0
        self._forbid_unused("a storage or deletions", may_restart, ("restarts",), "set storage=db")
        goes_down = self.crashes + self.restarts + self.full_disks > 0
        self._forbid_unused("crashes, restarts or full_disks", goes_down, ("storage",), "set crashes=1")
        changed = {name: getattr(self, name) for name in switches.CRASHES if not self._is_default(name)}
        require(
            f"{', '.join(changed)} and a storage exclude each other: the storage decides what a crash loses",
            not (of_storage and changed),
            {"storage": self.storage, **changed},
            "leave out one of them",
        )
        self._forbid_unused(
            "a writer with DEFERRED_SYNC", self.forces > 0, switches.DEFERRED_SYNC, "set forces=1"
        )
        other = self.turned_on("crashes", "restarts")
        require(
            "forces has losses of power, and excludes other crashes and restarts",
            not (self.forces and other),
            {"forces": self.forces, **other},
            "set power_losses instead",
        )
        self._forbid_unused("readers", self.readers > 0, switches.READERS, "set readers=1")
        down = self.turned_on("forces", "crashes", "restarts")
        require(
            f"readers and {', '.join(down)} exclude each other: bookies keep what readers look for",
            not (self.readers and down),
            {"readers": self.readers, **down},
            "leave out one of them",
        )
        in_batches = self.way_to_read == "batch"
        self._forbid_unused("batch reads", in_batches, ("batch_read",), "set way_to_read=batch")
        self._forbid_unused("given ids", self.given_ids > 0, ("id_check",), "set given_ids=1")
        self._forbid_unused("lengths", self.lengths > 0, ("recovered_length",), "set lengths=1")
        require(
            "way_to_read=batch needs E = WQ: the client reads striped ledgers one entry at a time",
            not in_batches or self.ensemble == self.write_quorum,
            {"ensemble": self.ensemble, "write_quorum": self.write_quorum},
            "set write_quorum to the ensemble",
        )
        require(
            "given_ids <= 1 needs 2 entries or more",
            self.given_ids <= min(1, self.entries - 1),
            {"given_ids": self.given_ids, "entries": self.entries},
            "set entries=2",
        )
        added = self.turned_on("given_ids", "lengths")
        others = self.turned_on("crashes", "restarts", "forces", "deletions", "journals")
        require(
            f"{', '.join(added)} and {', '.join(others)} exclude each other",
            not (added and others),
            {**added, **others},
            "leave out one of them",
        )
        self._forbid_unused("deletions", self.deletions > 0, switches.DELETION, "set deletions=1")
        beside = self.turned_on("crashes", "forces", "readers")
        require(
            f"deletions and {', '.join(beside)} exclude each other",
            not (self.deletions and (beside or of_storage)),
            {"deletions": self.deletions, **beside, "storage": self.storage},
            "leave out one of them",
        )
        require("deletions <= 1", self.deletions <= 1, {"deletions": self.deletions}, "a ledger has one end")
        of_mark = tuple(
            name for name in switches.JOURNAL_MARK if name != "failed_flush" or not self.has_caches
        )
        self._forbid_unused("journals", self.journals > 0, of_mark, "set journals=1")
        others = self.turned_on("restarts", "forces", "readers", "deletions", *changed)
        require(
            f"journals and {', '.join(others)} exclude each other: the mark decides what a crash loses",
            not (self.journals and (others or of_storage)),
            {"journals": self.journals, **others, "storage": self.storage},
            "leave out one of them",
        )
        self._forbid_unused("racks", self.racks > 0, switches.FAULT_DOMAINS, "set racks=2")
        require(
            "racks and chained_changes=one-difference exclude each other with three fragments or more",
            not (self.racks and self.has_chains),
            {"racks": self.racks, "chained_changes": self.chained_changes, "fragments": self.fragments},
            "set fragments=2",
        )
        self._forbid_unused("boot", self.boot == "whole", switches.BOOT, "set boot=whole")

    def turned_on(self, *names: str) -> dict[str, object]:
        """Return those of the parameters that are not 0, with their values."""
        return {name: getattr(self, name) for name in names if getattr(self, name)}

    def _is_default(self, name: str) -> bool:
        (default,) = (f.default for f in fields(self) if f.name == name)
        return bool(getattr(self, name) == default)

    def _forbid_unused(self, rule: str, used: bool, names: tuple[str, ...], remedy: str) -> None:
        idle = {name: getattr(self, name) for name in names if not self._is_default(name)}
        require(f"{', '.join(idle)} without {rule} changes nothing", used or not idle, idle, remedy)

    @property
    def _crashes_forget(self) -> bool:
        """Whether `lose` says what a crash loses, and not a storage or the journal's mark."""
        return self.crashes > 0 and self.storage == "any" and not self.journals

    @property
    def loses_fences(self) -> bool:
        """Whether a storage decides about fences and keys. With full disks it decides about entries."""
        return self.storage != "any" and not self.full_disks

    @property
    def adds_to(self) -> str:
        """The place to which an add brings an entry. With `at-once` it is the entry log's buffer."""
        return STORAGES[self.storage].copies

    @property
    def has_caches(self) -> bool:
        """Whether a full disk may set aside one of two write caches."""
        return self.full_disks > 0 and self.storage != "any" and self.adds_to == "write-cache"

    @property
    def restarts_with_caches(self) -> bool:
        """Whether a clean restart may find a write cache that was set aside."""
        return self.has_caches and self.restarts > 0

    @property
    def crashes_lose_entries(self) -> bool:
        """Whether a crash alone loses the entries of a bookie."""
        return self._crashes_forget and self.lose in LOSE_ENTRIES

    @property
    def crashes_lose_fences(self) -> bool:
        """Whether a crash alone loses a fence that nothing else made durable."""
        return self._crashes_forget and self.lose in ("both", "fences", *LOSE_BARE_FENCES)

    @property
    def copies_may_vanish(self) -> bool:
        """Whether a bookie may come back without its entries, for any reason."""
        return self.crashes_lose_entries or self.disks > 0 or self.reimages > 0

    @property
    def has_chains(self) -> bool:
        """Whether ensemble changes may follow one another in a chain that is compared once.

        With two fragments no position loses its bookie and gets it back, so the comparison changes nothing.
        """
        return self.chained_changes == "one-difference" and self.possible_fragments > 2

    @property
    def has_late_acks(self) -> bool:
        """Whether entries that an ensemble change blocked are acknowledged at the next answer."""
        return self.acks_after_change == "next-answer" and self.possible_fragments > 1

    @property
    def has_second_adds(self) -> bool:
        """Whether the queue may have two adds of one id that the application gave."""
        return self.given_ids > 0 and self.id_check == "before-queue"

    @property
    def boots_in_steps(self) -> bool:
        """Whether a crashed bookie goes through the whole boot sequence."""
        return self.crashes > 0 and self.boot == "whole"


TODAY = BookKeeperParameters(bookies=4)
"""The code of the newest release that was read, with the open bugs of the client mended.

They would otherwise appear in every verdict. One bookie is spare, so that ensembles can change.
"""

NO_JOURNAL = BookKeeperParameters(crashes=1)
"""Today's code without the journal, as BP-46 proposes it: one crash, then fence and limbo."""

V4_13 = BookKeeperParameters(recovery_reads_fence="no", recovery_floor="zero")
"""The code of release 4.13, with two defects.

The instance is that of Vanlightly's configuration: N=3, 3/3/2, one entry.
"""

V4_13_TLA = replace(
    V4_13,
    recovery_floor="fragment",
    positive_read="ack-quorum",
    read_decision="all-answers",
    recovery_metadata="at-once",
    recovery_start="bump",
    writer_close="open-only",
    timeouts="lost-only",
    reuse_ensembles="no",
    coverage="count",
    unset_acks="before-acking",
    ensemble_change="one-step",
    resends="one-by-one",
    recovery_writes="after-reading",
    fence_answers="until-first-read",
)
"""BookKeeperProtocol_v4_13.tla as published, for a step-by-step comparison with TLC."""
