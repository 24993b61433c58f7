"""Deletion of a closed ledger, while an old writer may still have its handle.

The owner deletes the metadata (`BookKeeper.asyncDeleteLedger`). Each bookie finds that later and deletes its
copies, and with them the fence (`ScanAndCompareGarbageCollector.gc`). An add that arrives afterwards makes
the ledger anew on the bookie, without a fence. So an old writer gets acks for a ledger that is gone.

Since 4.16.7 and 4.17.2 (PR 4462) a bookie remembers each ledger that it has deleted while the ledger's handle
was open, and refuses its adds (`HandleFactoryImpl.markIfConflictWritingOccurs`). The memory ends with the
process and after seven days. A handle is open if an add or a fence has arrived since the bookie started.
While the bookie remembers, a fencing read finds no ledger and sets no fence.

The rules apply with `deletions` above 0. A closed ledger is deleted; a bookie restarts cleanly, as often as
`restarts` says. A clean restart keeps entries. It keeps the fence only if the bookie has stored an entry of
the ledger since its last flush: a flush without entries to write leaves fences out, and the journal's mark
passes them. With `flush_headers=always` it keeps every fence. That is the same for each storage since
4.15.1; before, DbLedgerStorage keeps them all. A recoverer's late write-back is stored also by a bookie that
remembers the deletion; the code refuses it, and the recoverer fails.
"""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.encoding.language.actions import Action, Group, Schema, each
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.sorts import BOOL
from fencepost.encoding.language.state import family, variable
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Term, TermLike, Update, lift
from fencepost.protocols.bookkeeper.layers.crashes import drops_requests, forgets_entries
from fencepost.protocols.bookkeeper.layers.durability import Durability
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import only_if
from fencepost.protocols.bookkeeper.values import Phase, Status


class Deletion(Durability):
    """Whether the ledger is deleted, and what each bookie remembers of it."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables of deletion. There are none unless `deletions` is above 0."""
        super().__init__(parameters)
        if not parameters.deletions:
            return
        self.deleted = variable(BOOL)
        """Whether the owner has deleted the metadata of the closed ledger."""
        self.opened = family(BOOL, self.bookie)
        """Whether the bookie has a handle of the ledger for adds (HandleFactoryImpl.ledgers)."""
        self.remembers = family(BOOL, self.bookie)
        """Whether the bookie remembers that it has deleted the ledger."""


@only_if(lambda p: p.deletions > 0)
class LedgerWithOwner(Deletion):
    """Bookies refuse adds of a ledger that they remember, and open handles of one that they do not know."""

    def is_deleted(self) -> Term:
        """Return whether the ledger is deleted."""
        return lift(self.deleted)

    def refuses_adds(self, bookie: TermLike) -> Term:
        """Return whether the bookie refuses adds of a writer, also because it remembers the deletion."""
        return super().refuses_adds(bookie) | self.remembers[bookie]

    def takes_fence(self, bookie: TermLike) -> Term:
        """Return whether the bookie opens a handle of the ledger, which it does not once it remembers."""
        return ~self.remembers[bookie]

    def may_adopt_close(self) -> Term:
        """Return whether the metadata still say that the ledger is closed."""
        return super().may_adopt_close() & ~self.deleted

    def on_add(self, bookie: TermLike, stores: TermLike) -> list[Update]:
        """Open the bookie's handle of the ledger, if the add is not refused."""
        noted = super().on_add(bookie, stores)
        return [
            *noted,
            self.opened[bookie].set(True, when=stores),
            self.unflushed[bookie].set(True, when=stores),
        ]

    def on_fence(self, client: TermLike, bookie: TermLike) -> list[Update]:
        """Open the bookie's handle of the ledger (BookieImpl.fenceLedger)."""
        noted = super().on_fence(client, bookie)
        return [*noted, self.opened[bookie].set(True, when=self.takes_fence(bookie))]

    def on_read(self, client: TermLike, entry: TermLike, bookie: TermLike, content: Term) -> list[Update]:
        """Open the bookie's handle of the ledger, if the read fences."""
        noted = super().on_read(client, entry, bookie, content)
        fences = self.fenced_by_reading() & self.takes_fence(bookie)
        return [*noted, self.opened[bookie].set(True, when=fences)]


def delete_ledger(s: Deletion) -> Action:
    """Delete the metadata of the closed ledger.

    Code: BookKeeper.asyncDeleteLedger, LedgerDeleteOp.initiate.
    """
    return Action(
        when=(s.status == Status.CLOSED) & ~s.deleted,
        then=[s.deleted.set(True)],
        actor="owner",
        note="deletes the ledger",
    )


def collect(s: Deletion, bookie: Parameter) -> Action:
    """Delete the copies of the ledger on a bookie, and its fence, because the metadata is gone.

    Code: ScanAndCompareGarbageCollector.gc, HandleFactoryImpl.markIfConflictWritingOccurs.
    """
    knows = s.fenced[bookie] | exists(s.entry, lambda e: s.has(bookie, e))
    remembered = {"until-restart": s.opened[bookie], "none": FALSE, "for-good": TRUE}
    return Action(
        when=s.deleted & s.serves(bookie) & knows,
        then=[
            *forgets_entries(s, bookie),
            s.fenced[bookie].set(False),
            s.remembers[bookie].set(True, when=remembered[s.parameters.deletion_memory]),
            s.opened[bookie].set(False),
            s.unflushed[bookie].set(False),
        ],
        actor=bookie,
        note="deletes its copies of the ledger and the fence, because the metadata is gone",
    )


def restart(s: Deletion, bookie: Parameter) -> Action:
    """Restart a bookie cleanly. It forgets what is in memory, and a fence that its flush leaves out.

    Code: BookieImpl.shutdown, BookieImpl.start, InterleavedLedgerStorage.flush,
    SingleDirectoryDbLedgerStorage.checkpoint.
    """
    flushed = s.unflushed[bookie] | (s.parameters.flush_headers == "always")
    forgets = [s.remembers[bookie].set(False)] if s.parameters.deletion_memory != "for-good" else []
    return Action(
        when=(s.status != Status.NONE) & s.serves(bookie) & (s.restarted < s.parameters.restarts),
        then=[
            s.restarted.set(s.restarted + 1),
            s.opened[bookie].set(False),
            s.fenced[bookie].set(False, when=~flushed),
            s.unflushed[bookie].set(False),
            *forgets,
            *drops_requests(s, bookie),
        ],
        actor=bookie,
        note="restarts, and forgets what was in memory",
        fault="restarts",
    )


def fail_recovery(s: Deletion, client: Parameter, entry: Parameter) -> Action:
    """Fail recovery, because the ledger that it wants to close is deleted.

    Code: ReadOnlyLedgerHandle.closeRecovered, MetadataUpdateLoop.run.
    """
    return Action(
        when=s.has_recovered(client, entry) & s.deleted,
        then=[s.phase[client].set(Phase.GONE)],
        actor=client,
        note="finds the ledger deleted, and gives up",
    )


def deletions(s: Deletion) -> Iterator[Schema | Group]:
    """Yield the actions of deletion."""
    yield each(delete_ledger, s)
    yield each(collect, s, s.bookie)
    yield each(fail_recovery, s, s.recoverer, s.read_entry)
    if s.parameters.restarts:
        yield each(restart, s, s.bookie)
