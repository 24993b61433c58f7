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
from fencepost.protocols.bookkeeper.today import Today
from fencepost.protocols.bookkeeper.values import Phase


class StaleAdds(Today):
    """The fragment that was current when an entry was queued."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variable of queued entries."""
        super().__init__(parameters)
        self.queued_in = family(self.pushed_in.domain, self.client, self.entry)
        """The client's last fragment when it queued the entry; kept under `when-made` only."""


def is_known_fragment(s: StaleAdds, client: TermLike, fragment: TermLike) -> Term:
    """Return whether a thread may have made an op with the fragment's ensemble, by now."""
    return fragment <= s.own_last_fragment[client]


def notes_current(s: StaleAdds, client: TermLike, entry: TermLike) -> list[Update]:
    """Return the update that keeps the fragment in which the entry is queued."""
    return [s.queued_in[client, entry].set(s.own_last_fragment[client])]


@definition
def held_by_op(s: StaleAdds, client: TermLike, entry: TermLike, position: TermLike, bookie: TermLike) -> Term:
    """Return whether the bookie has that position in the ensemble that the entry's op holds.

    The ensemble is that of the fragment in which the op was made. From the next change on it is the current
    one (PendingAddOp.ensemble).
    """
    last = s.own_last_fragment[client]
    held = if_(s.queued_in[client, entry] == last, s.pushed_in[client, entry], last)
    return exists(s.fragment, lambda f: (held == f) & s.is_at(client, f, position, bookie))


@definition
def same_place(s: StaleAdds, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Return whether the bookie has the same position in the fragment's ensemble and in the op's."""
    return exists(
        s.position,
        lambda i: s.is_at(client, fragment, i, bookie) & held_by_op(s, client, entry, i, bookie),
    )


def is_withdrawn(
    s: StaleAdds, client: TermLike, fragment: TermLike, entry: TermLike, failed: TermLike, bookie: TermLike
) -> Term:
    """Return whether a change withdraws the bookie's ack of the entry.

    It withdraws the ack of the failed position, whichever bookie the op's ensemble has there
    (ackSet.removeBookieAndCheck).
    """
    return exists(
        s.position, lambda i: s.is_at(client, fragment, i, failed) & held_by_op(s, client, entry, i, bookie)
    )


def withdrawn_acks(
    s: StaleAdds, client: TermLike, fragment: TermLike, entry: TermLike, failed: TermLike
) -> list[tuple[Read, Term]]:
    """Return the acks that a change withdraws, each with its condition: those of the failed position."""
    return [
        (s.acked[client, entry, b], is_withdrawn(s, client, fragment, entry, failed, b)) for b in s.bookie
    ]


def is_stale_failure(
    s: StaleAdds, client: TermLike, fragment: TermLike, entry: TermLike, failed: TermLike
) -> Term:
    """Return whether the writer may give up a bookie that the op holds and the current ensemble does not."""
    index = client, fragment, entry, failed
    late = s.add_sent(*index) & ~s.add_answered[index] & s.is_given_up(*index)
    return (
        (s.phase[client] == Phase.ACTIVE) & late & s.counts(*index) & ~s.still_there(client, fragment, failed)
    )


def ignore_failure(
    s: StaleAdds, client: Parameter, fragment: Parameter, entry: Parameter, failed: Parameter
) -> Action:
    """Give up a bookie that the op still holds and the current ensemble does not: nothing is sent again.

    LedgerHandle.ensembleChangeLoop finds that the metadata does not have the bookie at that position, so it
    changes nothing and sends nothing.

    Code: LedgerHandle.handleBookieFailure, LedgerHandle.ensembleChangeLoop.
    """
    return Action(
        when=is_stale_failure(s, client, fragment, entry, failed),
        then=[s.add_answered[client, fragment, entry, failed].set(True)],
        actor=client,
        note="gives up waiting for {failed} to store entry {entry}, and finds it replaced already",
    )
