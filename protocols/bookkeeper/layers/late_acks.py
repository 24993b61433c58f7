"""Entries that an ensemble change blocked, and that are acknowledged at the next answer to an add.

While a change is under way, `LedgerHandle.sendAddSuccessCallbacks` does nothing (`changingEnsemble`). The end
of a change does not call it. It is called

- by each answer to an add that has AQ acks then, and by each failed write of such an add
  (`PendingAddOp.writeComplete`);
- by the end of a change, for each pending add whose write set does not have the replaced position
  (`PendingAddOp.unsetSuccessAndSendWriteRequest`).

A change that replaces a bookie sends each other pending add again, so an answer follows. A change that
replaces nothing sends nothing. It comes from an add that still holds a bookie which was replaced already
(`add_ensemble=when-made`): `handleBookieFailure` sets `changingEnsemble`, `MetadataUpdateLoop` finds
nothing to do, and a task on the ledger's thread ends the change. Acks that this thread handles before the
task complete entries and acknowledge none. If they were the last ones, these entries wait for ever. A chain
of changes that ends with the ensemble before it has the same effect (`chained_changes=one-difference`).

The rules apply under `acks_after_change=next-answer`. The answer to an add that is acknowledged already
counts as a call. The code ignores it if its bookie was replaced before the add was acknowledged.
"""

from __future__ import annotations

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.sorts import BOOL
from fencepost.encoding.language.state import family
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    Parameter,
    Term,
    TermLike,
    Update,
    all_of,
    any_of,
    lift,
)
from fencepost.protocols.bookkeeper.layers import stale_adds
from fencepost.protocols.bookkeeper.layers.old_rules import OldRules
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import also, only_if, rule
from fencepost.protocols.bookkeeper.values import NO_BOOKIE, WRITER, Phase


class LateAcks(stale_adds.StaleAdds, OldRules):
    """The LAC that stands still after an ensemble change, and changes that replace nothing."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables; `waiting` changes under `next-answer` only."""
        super().__init__(parameters)
        self.waiting = family(BOOL, self.client)
        """Whether no call of sendAddSuccessCallbacks has followed the last ensemble change."""
        self.idle = family(BOOL, self.client)
        """Whether the change under way replaces nothing, because the bookie is replaced already."""

    def completes(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the entry has AQ acks together with this one."""
        return self.are_enough(client, entry, lambda b: self.acked[client, entry, b] | (b == bookie))

    def may_end_idle(self, client: TermLike, fragment: TermLike) -> Term:
        """Return whether a change that replaces nothing may end by itself."""
        return TRUE


def is_heard(s: LateAcks, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Return whether an answer of the bookie counts, or comes for an add that is acknowledged already."""
    return any_of(s.counts(client, fragment, entry, bookie), lift(entry) <= s.lac(client))


@rule("acks_after_change", "next-answer", lambda p: p.possible_fragments > 1)
class AcksAtNextAnswer(LateAcks):
    """The end of an ensemble change acknowledges nothing."""

    def stands_still(self, client: TermLike) -> Term:
        """Return whether the LAC stands still: during a change, and after it until the next call."""
        return any_of(self.changing(client), self.waiting[client])

    def lac_at_failure(self, client: TermLike, entry: TermLike) -> Term:
        """Return the LAC once a write of the entry has failed: the failure of a complete add is a call."""
        calls = self.waiting[client] & self.complete(client, entry)
        return if_(calls, self.highest_acked(client), self.lac(client))

    def on_change(self, client: Parameter, called: Term) -> list[Update]:
        """Return the update of a change that ends: the LAC stands still unless the end called."""
        return waits_after_change(self, client, called)

    def on_ack(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> list[Update]:
        """Return the update for an answer: it is a call if the add has AQ acks then."""
        index = client, fragment, entry, bookie
        calls = any_of(self.complete(client, entry), self.completes(*index)) & is_heard(self, *index)
        return [*super().on_ack(*index), self.waiting[client].set(False, when=calls)]

    def on_refusal(
        self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
    ) -> list[Update]:
        """Return the update for a refusal: it is a call if the add has AQ acks already."""
        calls = self.complete(client, entry) & is_heard(self, client, fragment, entry, bookie)
        return [self.waiting[client].set(False, when=calls)]


@only_if(lambda p: p.has_late_acks or p.has_chains)
class IdleChanges(LateAcks):
    """A change under way may replace nothing."""

    def about_to_change(self, client: TermLike, fragment: TermLike, failed: TermLike) -> Term:
        """Return whether the client has begun to replace that bookie and may commit now."""
        return super().about_to_change(client, fragment, failed) & ~self.idle[client]


def waits_after_change(s: LateAcks, client: Parameter, called: Term) -> list[Update]:
    """Return the update of a change that ends: the writer's LAC stands still unless the end called."""
    return [s.waiting[client].set(~called)] if client.sort is s.writer else []


def ignore_failure(
    s: LateAcks, client: Parameter, fragment: Parameter, entry: Parameter, failed: Parameter
) -> Action:
    """Give up a bookie that is replaced already: the change begins, and will replace nothing.

    No change begins if the add has AQ acks, or if one is under way (`delayedWriteFailedBookies`).

    Code: LedgerHandle.handleBookieFailure, LedgerHandle.ensembleChangeLoop.
    """
    complete = s.complete(client, entry)
    begins = all_of(~complete, ~s.changing(client), s.about_to_replace[client] == NO_BOOKIE)
    return also(
        stale_adds.ignore_failure(s, client, fragment, entry, failed),
        s.waiting[client].set(False, when=complete),
        s.failed[client].set(failed, when=begins),
        s.idle[client].set(True, when=begins),
        s.frozen_lac[client].set(s.lac(client), when=begins),
    )


def end_idle_change(s: LateAcks, client: Parameter, fragment: Parameter) -> Action:
    """End a change that replaced nothing: nothing is sent again, and no entry is acknowledged.

    Code: LedgerHandle.ensembleChangeLoop.
    """
    return Action(
        when=all_of(
            s.phase[client] == Phase.ACTIVE,
            s.own_last_fragment[client] == fragment,
            s.failed[client] != NO_BOOKIE,
            s.idle[client],
            s.may_end_idle(client, fragment),
        ),
        then=[
            s.failed[client].set(NO_BOOKIE),
            s.idle[client].set(False),
            *waits_after_change(s, client, FALSE),
        ],
        actor=client,
        note="ends an ensemble change that replaced nothing",
    )


def may_be_called(s: LateAcks, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
    """Return whether an answer to the writer's add may come that leads to a call."""
    index = WRITER, fragment, entry, bookie
    return s.add_sent(*index) & ~s.add_answered[index] & is_heard(s, *index)
