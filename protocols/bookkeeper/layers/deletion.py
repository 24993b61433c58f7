"""Deletion of a closed ledger, while an old writer may still have its handle.

The owner deletes the metadata (`BookKeeper.asyncDeleteLedger`). Each bookie finds that later and deletes its
copies, and with them the fence (`ScanAndCompareGarbageCollector.gc`). An add that arrives afterwards makes
the ledger anew on the bookie, without a fence. So an old writer gets acks for a ledger that is gone.

Since 4.16.7 and 4.17.2 (PR 4462) a bookie remembers each ledger that it has deleted while the ledger's handle
was open, and refuses its adds (`HandleFactoryImpl.markIfConflictWritingOccurs`). The memory ends with the
process and after seven days. A handle is open if an add or a fence has arrived since the bookie started.

The rules apply with `deletions` above 0. A closed ledger is deleted; a bookie restarts without losing
anything on disk, as often as `restarts` says. A recoverer's late write-back is stored also by a bookie that
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
from fencepost.protocols.bookkeeper.values import Status


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

    def noted_when_added(self, bookie: TermLike, stores: TermLike) -> list[Update]:
        """Open the bookie's handle of the ledger, if the add is not refused."""
        return [*super().noted_when_added(bookie, stores), self.opened[bookie].set(True, when=stores)]

    def noted_when_fenced(self, client: TermLike, bookie: TermLike) -> list[Update]:
        """Open the bookie's handle of the ledger (BookieImpl.fenceLedger)."""
        return [*super().noted_when_fenced(client, bookie), self.opened[bookie].set(True)]

    def noted_when_read(
        self, client: TermLike, entry: TermLike, bookie: TermLike, content: Term
    ) -> list[Update]:
        """Open the bookie's handle of the ledger, if the read fences."""
        noted = super().noted_when_read(client, entry, bookie, content)
        return [*noted, self.opened[bookie].set(True, when=self.fenced_by_reading())]


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
        ],
        actor=bookie,
        note="deletes its copies of the ledger and the fence, because the metadata is gone",
    )


def restart(s: Deletion, bookie: Parameter) -> Action:
    """Restart a bookie, which keeps what is on disk and forgets what is in memory.

    Code: BookieImpl.shutdown, BookieImpl.start.
    """
    forgets = [s.remembers[bookie].set(False)] if s.parameters.deletion_memory != "for-good" else []
    return Action(
        when=(s.status != Status.NONE) & s.serves(bookie) & (s.restarted < s.parameters.restarts),
        then=[
            s.restarted.set(s.restarted + 1),
            s.opened[bookie].set(False),
            *forgets,
            *drops_requests(s, bookie),
        ],
        actor=bookie,
        note="restarts, and forgets what was in memory",
        fault="restarts",
    )


def deletions(s: Deletion) -> Iterator[Schema | Group]:
    """Yield the actions of deletion."""
    yield each(delete_ledger, s)
    yield each(collect, s, s.bookie)
    if s.parameters.restarts:
        yield each(restart, s, s.bookie)
