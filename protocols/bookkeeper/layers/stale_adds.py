"""Adds that are made with the ensemble of one moment and queued at a later one.

`LedgerHandle.asyncAddEntry` makes a PendingAddOp with the ensemble of that moment. In `doAsyncAddEntry` the
caller's thread may wait for the throttler before it queues the op. An ensemble change that begins and is
committed meanwhile resends only queued entries, so the op keeps the old ensemble, and is sent to it. The next
change gives the op the current ensemble and sends it only to the bookie that is new then.

A thread may have called at any time since the ledger was created. Making an op changes no state, so the model
has no step for it: an entry may be queued with the ensemble of any fragment up to the current one. The rules
apply under `add_ensemble=when-made`.
"""

from __future__ import annotations

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.state import definition, family
from fencepost.encoding.language.terms import Parameter, Read, Term, TermLike, Update
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import rule
from fencepost.protocols.bookkeeper.today import Today
from fencepost.protocols.bookkeeper.values import Phase


class StaleAdds(Today):
    """The fragment that was current when an entry was queued."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variable of queued entries."""
        super().__init__(parameters)
        self.queued_in = family(self.pushed_in.domain, self.client, self.entry)
        """The client's last fragment when it queued the entry; kept under `when-made` only."""


@rule("add_ensemble", "when-made")
class AddsKeepTheirEnsembles(StaleAdds):
    """An entry may be queued with the ensemble of an earlier moment."""

    def may_queue_in(self, client: TermLike, fragment: TermLike) -> Term:
        """Return whether a thread may have made an op with the fragment's ensemble, by now."""
        return fragment <= self.own_last_fragment[client]

    def on_queue(self, client: TermLike, fragment: TermLike, entry: TermLike) -> list[Update]:
        """Return the update that keeps the fragment in which the entry is queued."""
        return [self.queued_in[client, entry].set(self.own_last_fragment[client])]

    @definition
    def held_by_op(self, client: TermLike, entry: TermLike, position: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie has that position in the ensemble that the entry's op holds.

        The ensemble is that of the fragment in which the op was made. From the next change on it is the
        current one (PendingAddOp.ensemble).
        """
        last = self.own_last_fragment[client]
        held = if_(self.queued_in[client, entry] == last, self.pushed_in[client, entry], last)
        return exists(self.fragment, lambda f: (held == f) & self.is_at(client, f, position, bookie))

    @definition
    def same_place(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie has the same position in the fragment's ensemble and in the op's."""
        return exists(
            self.position,
            lambda i: self.is_at(client, fragment, i, bookie) & self.held_by_op(client, entry, i, bookie),
        )

    counts = same_place

    def is_withdrawn(
        self, client: TermLike, fragment: TermLike, entry: TermLike, failed: TermLike, bookie: TermLike
    ) -> Term:
        """Return whether a change withdraws the bookie's ack of the entry.

        It withdraws the ack of the failed position, whichever bookie the op's ensemble has there
        (ackSet.removeBookieAndCheck).
        """
        return exists(
            self.position,
            lambda i: self.is_at(client, fragment, i, failed) & self.held_by_op(client, entry, i, bookie),
        )

    def withdrawn_acks(
        self, client: TermLike, fragment: TermLike, entry: TermLike, failed: TermLike
    ) -> list[tuple[Read, Term]]:
        """Return the acks that a change withdraws, each with its condition: those of the failed position."""
        return [
            (self.acked[client, entry, b], self.is_withdrawn(client, fragment, entry, failed, b))
            for b in self.bookie
        ]


def ignore_failure(
    s: StaleAdds, client: Parameter, fragment: Parameter, entry: Parameter, failed: Parameter
) -> Action:
    """Give up a bookie that the op still holds and the current ensemble does not: nothing is sent again.

    LedgerHandle.ensembleChangeLoop finds that the metadata does not have the bookie at that position, so it
    changes nothing and sends nothing.

    Code: LedgerHandle.handleBookieFailure, LedgerHandle.ensembleChangeLoop.
    """
    index = client, fragment, entry, failed
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & s.is_late(*index)
        & s.counts(*index)
        & ~s.still_there(client, fragment, failed),
        then=[s.add_answered[index].set(True)],
        actor=client,
        note="gives up waiting for {failed} to store entry {entry}, and finds it replaced already",
    )
