"""The state of a closed ledger's copies: its metadata, its bookies, and those who copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from fencepost.encoding.language.conditional_terms import implies, is_one_of
from fencepost.encoding.language.quantifiers import exists, forall
from fencepost.encoding.language.sorts import BOOL, Sort, integers
from fencepost.encoding.language.state import StateSpace, family, variable
from fencepost.encoding.language.terms import Term, TermLike, Update, any_of, lift
from fencepost.protocols.ledger_copies.parameters import CopiesParameters

NOBODY = "none"


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
        self.position = integers(1, p.write_quorum)
        self.entry = integers(1, p.entries)

        # The metadata store.
        self.ensemble = family(self.bookie, self.fragment, self.position, initial=self.named_first)
        self.lock = variable(self.holder)
        """The holder of the ledger's lock in the list of under-replicated ledgers."""

        # Bookies.
        self.copy = family(BOOL, self.bookie, self.entry, initial=self.stored_first)
        """Whether the bookie can read the entry."""
        self.live = family(BOOL, self.bookie, initial=True)
        self.collecting = family(BOOL, self.bookie)
        """Whether the collector has read, under the lock, that the metadata does not name the bookie."""

        # Bookies: deletion. The layers are off by default, and these state variables then never change.
        self.cached = family(BOOL, self.bookie, self.entry)
        """Whether the write cache and the journal have the entry, to be flushed."""
        self.flushed = family(BOOL, self.bookie, self.entry, initial=self.stored_first)
        """Whether the index of locations has the entry on disk."""
        self.dropping = family(BOOL, self.bookie)
        """Whether the write cache has the ledger among those deleted (WriteCache.deletedLedgers)."""
        self.cleaning = family(BOOL, self.bookie)
        """Whether the next clean-up removes the ledger from disk (EntryLocationIndex.deletedLedgers)."""
        self.opened = family(BOOL, self.bookie, initial=self.opened_first)
        """Whether the bookie has a handle for adds (HandleFactoryImpl.ledgers)."""
        self.refuses = family(BOOL, self.bookie)
        """Whether the bookie remembers that it has deleted the ledger."""

        # Replicators: the re-replication of one fragment, and the metadata as the replicator has read it.
        self.busy = family(BOOL, self.replicator)
        self.own_fragment = family(self.fragment, self.replicator)
        self.own_ensemble = family(self.bookie, self.replicator, self.position)
        self.is_latest = family(BOOL, self.replicator)
        """Whether the replicator's copy of the metadata has the version of the store."""
        self.failed = family(self.bookie, self.replicator)
        self.target = family(self.bookie, self.replicator)
        self.copied = family(BOOL, self.replicator, self.entry)

        # Ghosts, which only properties read.
        self.lost = family(BOOL, self.bookie)
        """Whether the bookie has lost its disks since the ledger was last found replicated."""
        self.spoilt = family(BOOL, self.replicator)
        """Whether the target has lost its disks since the re-replication began."""
        self.vouched = family(BOOL, self.fragment, self.position, initial=True)
        """Whether the bookie was copied to, or is of the writer, and has not lost its disks since."""

    def named_first(self, fragment: int, position: int) -> str:
        """Return the bookie at that position when the ledger was closed."""
        return self.parameters.first_ensemble(fragment)[position - 1]

    def stored_first(self, bookie: str, entry: int) -> bool:
        """Return whether the bookie had the entry when the ledger was closed."""
        return bookie in self.parameters.first_ensemble(self.parameters.fragment_of(entry))

    def opened_first(self, bookie: str) -> bool:
        """Return whether the writer had added entries to the bookie."""
        p = self.parameters
        return any(bookie in p.first_ensemble(f) for f in range(1, p.fragments + 1))

    def is_named(self, fragment: TermLike, bookie: TermLike) -> Term:
        """Return whether the metadata names the bookie for the fragment."""
        return exists(self.position, lambda i: self.ensemble[fragment, i] == bookie)

    def is_named_at_all(self, bookie: TermLike) -> Term:
        """Return whether the metadata names the bookie for any fragment."""
        return exists(self.fragment, lambda f: self.is_named(f, bookie))

    def in_own_ensemble(self, replicator: TermLike, bookie: TermLike) -> Term:
        """Return whether the fragment's ensemble names the bookie, as the replicator has read it."""
        return exists(self.position, lambda i: self.own_ensemble[replicator, i] == bookie)

    def belongs(self, entry: TermLike, fragment: TermLike) -> Term:
        """Return whether the entry is one of the fragment."""
        p = self.parameters
        ranges = {f: p.entries_of(f) for f in range(1, p.fragments + 1)}
        entry, fragment = lift(entry), lift(fragment)
        return any_of(*((fragment == f) & (entry >= of[0]) & (entry <= of[-1]) for f, of in ranges.items()))

    def of_each_entry(self, fragment: TermLike, holds: Callable[[Term], Term]) -> Term:
        """Return whether `holds` is true of each entry of the fragment."""
        return forall(self.entry, lambda e: implies(self.belongs(e, fragment), holds(e)))

    def passes_check(self, bookie: TermLike, fragment: TermLike) -> Term:
        """Return whether LedgerChecker finds nothing missing: it reads the first and the last entry."""
        p = self.parameters
        ends = {e for f in range(1, p.fragments + 1) for e in (p.entries_of(f)[0], p.entries_of(f)[-1])}
        return self.live[bookie] & self.of_each_entry(
            fragment, lambda e: implies(is_one_of(e, sorted(ends)), self.copy[bookie, e])
        )

    def has_copied_all(self, replicator: TermLike) -> Term:
        """Return whether the replicator has copied every entry of its fragment."""
        return self.of_each_entry(self.own_fragment[replicator], lambda e: self.copied[replicator, e])

    def begins(
        self, replicator: TermLike, fragment: TermLike, position: TermLike, target: TermLike
    ) -> list[Update]:
        """Return the updates by which a replicator reads the metadata and chooses its target."""
        return [
            self.busy[replicator].set(True),
            self.own_fragment[replicator].set(fragment),
            *(self.own_ensemble[replicator, i].set(self.ensemble[fragment, i]) for i in self.position),
            self.is_latest[replicator].set(True),
            self.failed[replicator].set(self.ensemble[fragment, position]),
            self.target[replicator].set(target),
        ]

    def ends(self, replicator: TermLike) -> list[Update]:
        """Return the updates that end a re-replication: it is forgotten, and its lock released."""
        none = self.bookie.values[0]
        return [
            self.busy[replicator].set(False),
            self.own_fragment[replicator].set(1),
            *(self.own_ensemble[replicator, i].set(none) for i in self.position),
            self.is_latest[replicator].set(False),
            self.failed[replicator].set(none),
            self.target[replicator].set(none),
            *(self.copied[replicator, e].set(False) for e in self.entry),
            self.spoilt[replicator].set(False),
            self.lock.set(NOBODY, when=self.lock == replicator),
        ]
