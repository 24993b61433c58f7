"""The state of a closed ledger's copies: its metadata, its bookies, and those who copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import ClassVar

from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.quantifiers import at_least, exists, forall
from fencepost.encoding.language.sorts import BOOL, Sort, integers, members
from fencepost.encoding.language.state import StateSpace, family, variable
from fencepost.encoding.language.terms import TRUE, Term, TermLike, Update, any_of, lift
from fencepost.protocols.ledger_copies.parameters import CopiesParameters

NOBODY = "none"

MOST_WRITES = 2
"""Re-replications that write the metadata of one ledger, if the id is used again."""


class Life(Enum):
    """The ledger that the metadata store has under the id."""

    OLD = "old"
    """The first ledger, closed."""
    DELETED = "deleted"
    """None: the owner has deleted the first ledger."""
    OPEN = "open"
    """The new ledger, which its writer has not closed."""
    CLOSED = "closed"
    """The new ledger, closed."""


class Copies(StateSpace):
    """A closed ledger. Its fragments and entries do not change, its ensembles do.

    A version of the metadata is used once. So it is enough to know of each replicator whether its own copy
    has the version of the store.
    """

    stores: ClassVar[Mapping[str, tuple[str, ...]]] = {"zk": ("ensemble", "lock")}

    def __init__(self, parameters: CopiesParameters) -> None:
        """Declare the sorts and the state variables."""
        p = self.parameters = parameters
        bookies = tuple(f"b{i}" for i in range(1, p.bookies + 1))
        self.worker_names = tuple(f"w{i}" for i in range(1, p.workers + 1))
        self.operator_names = tuple(f"o{i}" for i in range(1, p.operators + 1))
        replicators = (*self.worker_names, *self.operator_names)
        self.holder = Sort("holder", (NOBODY, *replicators, *bookies))
        """Those who can hold the lock: a replicator, or a bookie that collects."""
        self.bookie = Sort("bookie", bookies, part_of="holder")
        self.replicator = Sort("replicator", replicators, part_of="holder")
        self.fragment = integers(1, p.fragments)
        self.position = integers(1, p.ensemble)
        self.stripe = integers(1, p.ensemble if p.is_striped else 1)
        """The positions that have entries of their own: all of them if E > WQ, one otherwise."""
        self.entry = integers(1, p.entries)

        # Constants: striping.
        self.is_stored = family(BOOL, self.position, self.entry, initial=p.stores)
        """Whether the entry goes to that position of its fragment's ensemble."""
        self.is_checked = family(BOOL, self.position, self.entry, initial=self.checked_first)
        """Whether the entry is the first or the last one at the position (LedgerChecker reads these two)."""
        self.is_moved = family(BOOL, self.stripe, self.entry, initial=self.moved_first)
        """Whether a re-replication of the position copies the entry."""

        # The metadata store.
        self.ensemble = family(
            self.bookie, self.fragment, self.position, initial=lambda f, i: p.first_ensemble(f)[i - 1]
        )
        self.lock = variable(self.holder)
        """The holder of the ledger's lock in the list of under-replicated ledgers."""

        # Bookies.
        self.copy = family(BOOL, self.bookie, self.entry, initial=self.stored_first)
        """Whether the bookie can read the entry."""
        self.live = family(BOOL, self.bookie, initial=True)
        self.collecting = family(BOOL, self.bookie)
        """Whether the collector has read, under the lock, that the metadata does not name the bookie."""

        # Bookies: deletion. The layers are off by default, and these state variables then never change.
        self.cached = family(
            BOOL, self.bookie, self.entry, initial=lambda b, e: self.has_memtable and self.stored_first(b, e)
        )
        """Whether the write cache or the memtable, and the journal, have the entry, to be flushed."""
        self.flushed = family(
            BOOL,
            self.bookie,
            self.entry,
            initial=lambda b, e: not self.has_memtable and self.stored_first(b, e),
        )
        """Whether the index of locations has the entry on disk."""
        self.dropping = family(BOOL, self.bookie)
        """Whether the write cache has the ledger among those deleted (WriteCache.deletedLedgers)."""
        self.cleaning = family(BOOL, self.bookie)
        """Whether the next clean-up removes the ledger from disk (EntryLocationIndex.deletedLedgers)."""
        self.opened = family(BOOL, self.bookie, initial=self.opened_first)
        """Whether the bookie has a handle for adds (HandleFactoryImpl.ledgers)."""
        self.refuses = family(BOOL, self.bookie)
        """Whether the bookie remembers that it has deleted the ledger."""
        self._declare_keys()
        self._declare_reuse()

        # Replicators: the re-replication of one fragment, and the metadata as the replicator has read it.
        self.busy = family(BOOL, self.replicator)
        self.own_fragment = family(self.fragment, self.replicator)
        self.own_ensemble = family(self.bookie, self.replicator, self.position)
        self.is_latest = family(BOOL, self.replicator)
        """Whether the replicator's copy of the metadata has the version of the store."""
        self.own_stripe = family(self.stripe, self.replicator)
        """The position of the bookie to replace, where the replicator read it first."""
        self.failed = family(self.bookie, self.replicator)
        self.target = family(self.bookie, self.replicator)
        self.copied = family(BOOL, self.replicator, self.entry)

        if self.may_end:
            self.keeps = family(BOOL, self.replicator)
            """Whether it removes the lock at its end, whoever has it.

            Source: ZkLedgerUnderreplicationManager.heldLocks. While sessions last there is no such
            variable: those who have the lock remove it.
            """

        # Ghosts, which only properties read.
        self.lost = family(BOOL, self.bookie)
        """Whether the bookie has lost its disks since the ledger was last found replicated."""
        self.spoilt = family(BOOL, self.replicator)
        """Whether the target has lost its disks since the re-replication began."""
        self.vouched = family(BOOL, self.fragment, self.position, initial=True)
        """Whether the bookie was copied to, or is of the writer, and has not lost its disks since."""

    def _declare_keys(self) -> None:
        """Declare the state variables of the ledger's key. There are none with `key_record=at-return`."""
        if not self.records_keys_once:
            return
        self.key_cached = family(BOOL, self.bookie, initial=self.opened_first)
        """Whether the bookie has the key of the ledger in memory (BookieImpl.masterKeyCache)."""
        self.key_journaled = family(
            BOOL, self.bookie, initial=lambda b: self.has_memtable and self.opened_first(b)
        )
        """Whether the journal has a record of the key since the last flush."""
        self.key_stored = family(
            BOOL, self.bookie, initial=lambda b: not self.has_memtable and self.opened_first(b)
        )
        """Whether the storage has the key on disk."""

    def _declare_reuse(self) -> None:
        """Declare the state variables of a new ledger with the same id. There are none with `reuse=never`."""
        if not self.reuses:
            return
        self.life = variable(members(Life))
        """The ledger that the metadata store has."""
        self.writes = variable(integers(0, MOST_WRITES))
        """The version of the metadata: re-replications that have written it since the ledger was closed."""
        self.took = family(BOOL, self.bookie, self.entry)
        """Whether the bookie has answered the writer of the new ledger that it has the entry."""
        self.is_new = family(BOOL, self.bookie, self.entry)
        """Whether the entry that the bookie reads is the new ledger's."""
        self.cached_new = family(BOOL, self.bookie, self.entry)
        """Whether the entry in the write cache or in the memtable is the new ledger's."""
        self.flushed_new = family(BOOL, self.bookie, self.entry)
        """Whether the entry on disk is the new ledger's."""
        self.read_old = family(BOOL, self.bookie, self.entry)
        """Whether the read cache of DbLedgerStorage has the old ledger's entry."""
        self.fence = family(BOOL, self.bookie, initial=self.fenced_first)
        """Whether the bookie has the fence of the old ledger."""
        self.kept_fence = family(BOOL, self.bookie, initial=self.fenced_first)
        """Whether a restart after a deletion brings the fence back, from DbLedgerStorage or the journal."""
        self.condemned = family(BOOL, self.bookie)
        """Whether the collector has found the ledger on the bookie and not in the metadata."""
        self.returned = family(BOOL, self.bookie)
        """Whether the bookie has been told of the new ledger (the mend `lives=told-apart`)."""
        self.collects_new = family(BOOL, self.bookie)
        """Whether the collector of over-replicated ledgers has read the metadata of the new ledger."""
        self.own_new = family(BOOL, self.replicator)
        """Whether the replicator has read the metadata of the new ledger."""
        self.own_writes = family(integers(0, MOST_WRITES), self.replicator)
        """The version of the metadata that the replicator has read."""

    @property
    def reuses(self) -> bool:
        """Whether the id may be used again."""
        return self.parameters.reuse != "never"

    @property
    def tells_apart(self) -> bool:
        """Whether requests, deletions and writes of metadata name the creation of a ledger with a used id."""
        return self.reuses and self.parameters.lives == "told-apart"

    @property
    def has_memtable(self) -> bool:
        """Whether the bookies have SortedLedgerStorage, whose memtable matters if the id is used again."""
        return self.reuses and self.parameters.storage == "memtable"

    @property
    def is_buffered(self) -> bool:
        """Whether entries are in memory and in the journal before a flush writes them."""
        return self.parameters.storage == "write-cache" or self.has_memtable

    @property
    def records_keys_once(self) -> bool:
        """Whether a ledger that comes back to a bookie may have no key in the journal."""
        return self.is_buffered and self.parameters.key_record == "once"

    def finds_key(self, bookie: TermLike) -> Term:
        """Return whether a restart finds the key; without it the replay passes over the entries."""
        if not self.records_keys_once:
            return TRUE
        return self.key_journaled[bookie] | self.key_stored[bookie]

    def fenced_first(self, bookie: str) -> bool:
        """Return whether a recovery has fenced the first ledger on the bookie."""
        return self.parameters.closed_by == "recovery" and self.opened_first(bookie)

    def exists(self) -> Term:
        """Return whether the metadata store has a closed ledger of that id. Always, without reuse."""
        return (self.life == Life.OLD) | (self.life == Life.CLOSED) if self.reuses else TRUE

    def is_created_again(self) -> Term:
        """Return whether the id belongs to the new ledger."""
        return (self.life == Life.OPEN) | (self.life == Life.CLOSED)

    def is_acked(self, entry: TermLike) -> Term:
        """Return whether AQ bookies have answered the writer of the new ledger about the entry."""
        return at_least(self.parameters.ack_quorum, self.bookie, lambda b: self.took[b, entry])

    def stored_first(self, bookie: str, entry: int) -> bool:
        """Return whether the bookie had the entry when the ledger was closed."""
        p = self.parameters
        ensemble = p.first_ensemble(p.fragment_of(entry))
        return bookie in ensemble and p.stores(ensemble.index(bookie) + 1, entry)

    def checked_first(self, position: int, entry: int) -> bool:
        """Return whether the entry is the first or the last one of its fragment at the position."""
        stored = self.parameters.stored_at(position, entry)
        return bool(stored) and entry in (stored[0], stored[-1])

    def moved_first(self, position: int, entry: int) -> bool:
        """Return whether the entry is between the first and the last one of its fragment at the position.

        LedgerFragmentReplicator.replicateFragmentInternal copies those between that go elsewhere too.
        """
        stored = self.parameters.stored_at(position, entry)
        return bool(stored) and stored[0] <= entry <= stored[-1]

    def opened_first(self, bookie: str) -> bool:
        """Return whether the writer had added entries to the bookie."""
        return any(self.stored_first(bookie, e) for e in range(1, self.parameters.entries + 1))

    def is_named(self, fragment: TermLike, bookie: TermLike) -> Term:
        """Return whether the metadata names the bookie for the fragment."""
        return exists(self.position, lambda i: self.ensemble[fragment, i] == bookie)

    def is_named_at_all(self, bookie: TermLike) -> Term:
        """Return whether the metadata names the bookie for any fragment."""
        return exists(self.fragment, lambda f: self.is_named(f, bookie))

    def is_due(self, fragment: TermLike, bookie: TermLike, entry: TermLike) -> Term:
        """Return whether the entry belongs on the bookie, by the metadata of its fragment."""
        return exists(
            self.position, lambda i: self.is_stored[i, entry] & (self.ensemble[fragment, i] == bookie)
        )

    def is_read_from(self, replicator: TermLike, bookie: TermLike, entry: TermLike) -> Term:
        """Return whether the replicator asks the bookie for the entry, by the metadata that it has read."""
        return exists(
            self.position, lambda i: self.is_stored[i, entry] & (self.own_ensemble[replicator, i] == bookie)
        )

    def moves(self, replicator: TermLike, entry: TermLike) -> Term:
        """Return whether the replicator copies the entry."""
        moved = exists(self.stripe, lambda i: (self.own_stripe[replicator] == i) & self.is_moved[i, entry])
        return self.belongs(entry, self.own_fragment[replicator]) & moved

    def is_own(self, replicator: TermLike, position: TermLike) -> Term:
        """Return whether the replicator found its bookie at that position, or at any if all have the same."""
        return (self.own_stripe[replicator] == position) if self.parameters.is_striped else TRUE

    def in_own_ensemble(self, replicator: TermLike, bookie: TermLike) -> Term:
        """Return whether the fragment's ensemble names the bookie, as the replicator has read it."""
        return exists(self.position, lambda i: self.own_ensemble[replicator, i] == bookie)

    def belongs(self, entry: TermLike, fragment: TermLike) -> Term:
        """Return whether the entry is one of the fragment."""
        p = self.parameters
        ranges = {f: p.entries_of(f) for f in range(1, p.fragments + 1)}
        entry, fragment = lift(entry), lift(fragment)
        return any_of(*((fragment == f) & (entry >= of[0]) & (entry <= of[-1]) for f, of in ranges.items()))

    def passes_check(self, bookie: TermLike, fragment: TermLike, position: TermLike) -> Term:
        """Return whether LedgerChecker finds nothing missing on the bookie at that position.

        It reads the first and the last entry that the position has.
        """

        def is_found(e: Term) -> Term:
            has = self.copy[bookie, e]
            if self.tells_apart:
                return has & (self.is_new[bookie, e] == (self.life == Life.CLOSED))
            return has

        return self.live[bookie] & forall(
            self.entry,
            lambda e: implies(self.belongs(e, fragment) & self.is_checked[position, e], is_found(e)),
        )

    def of_each_moved(self, replicator: TermLike, holds: Callable[[Term], Term]) -> Term:
        """Return whether `holds` is true of each entry that the replicator copies."""
        return forall(self.entry, lambda e: implies(self.moves(replicator, e), holds(e)))

    def has_copied_all(self, replicator: TermLike) -> Term:
        """Return whether the replicator has copied every entry that it is to copy."""
        return self.of_each_moved(replicator, lambda e: self.copied[replicator, e])

    def begins(
        self, replicator: TermLike, fragment: TermLike, position: TermLike, target: TermLike
    ) -> list[Update]:
        """Return the updates by which a replicator reads the metadata and chooses its target."""
        return [
            self.busy[replicator].set(True),
            self.own_fragment[replicator].set(fragment),
            *(self.own_ensemble[replicator, i].set(self.ensemble[fragment, i]) for i in self.position),
            self.is_latest[replicator].set(True),
            *self.reads_version(replicator),
            self.own_stripe[replicator].set(position if self.parameters.is_striped else 1),
            self.failed[replicator].set(self.ensemble[fragment, position]),
            self.target[replicator].set(target),
        ]

    def reads_version(self, replicator: TermLike) -> list[Update]:
        """Return the updates by which a replicator reads the version of the metadata."""
        if not self.reuses:
            return []
        return [
            self.own_new[replicator].set(self.life == Life.CLOSED),
            self.own_writes[replicator].set(self.writes),
        ]

    def ends(self, replicator: TermLike) -> list[Update]:
        """Return the updates that end a re-replication: it is forgotten, and its lock released."""
        none = self.bookie.values[0]
        return [
            self.busy[replicator].set(False),
            self.own_fragment[replicator].set(1),
            *(self.own_ensemble[replicator, i].set(none) for i in self.position),
            self.is_latest[replicator].set(False),
            self.own_stripe[replicator].set(1),
            self.failed[replicator].set(none),
            self.target[replicator].set(none),
            *(self.copied[replicator, e].set(False) for e in self.entry),
            self.spoilt[replicator].set(False),
            *(
                [self.own_new[replicator].set(False), self.own_writes[replicator].set(0)]
                if self.reuses
                else []
            ),
            *self.unlocks(replicator),
        ]

    def locks(self, replicator: TermLike) -> list[Update]:
        """Return the updates by which a replicator takes the lock."""
        return [self.lock.set(replicator), *([self.keeps[replicator].set(True)] if self.may_end else [])]

    def unlocks(self, replicator: TermLike) -> list[Update]:
        """Return the updates by which a replicator that ends releases its lock, or removes another's."""
        is_own = self.lock == replicator
        if not self.may_end:
            return [self.lock.set(NOBODY, when=is_own)]
        keeps = self.keeps[replicator]
        return [self.lock.set(NOBODY, when=is_own | keeps), keeps.set(False)]

    @property
    def may_end(self) -> bool:
        """Whether a session may end before the work."""
        return self.parameters.session != "kept"

    @property
    def notices_loss(self) -> bool:
        """Whether writes of metadata check the lock, and a copy ends a collection under way (a mend)."""
        return self.parameters.session == "lost-and-noticed"

    def may_write(self, replicator: TermLike) -> Term:
        """Return whether the replicator still has its lock, if that is checked and it takes one."""
        if not self.notices_loss:
            return TRUE
        unlocked = self.operator_names if self.parameters.recover_lock == "no" else ()
        return any_of(self.lock == replicator, *(lift(replicator) == o for o in unlocked))
