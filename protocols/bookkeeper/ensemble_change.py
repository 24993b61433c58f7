"""The fourth chapter of today's protocol: a client replaces a failed bookie, then resends pending entries."""

from __future__ import annotations

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.messages import Broadcast, Message
from fencepost.encoding.language.quantifiers import exists, forall
from fencepost.encoding.language.sorts import BOOL, Value
from fencepost.encoding.language.state import family
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Read, Term, TermLike, Update, lift
from fencepost.protocols.bookkeeper.adds import Adds, add
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.values import NO_BOOKIE, Phase, Status


class EnsembleChanges(Adds):
    """The ensemble changes of each client."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables."""
        super().__init__(parameters)
        # Ensemble changes.

        self.tried_invalid_fragment = family(BOOL, self.client)

    def may_time_out(self, client: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the client may stop waiting for the bookie's ack of the entry."""
        return exists(self.fragment, lambda f: self.is_late(client, f, entry, bookie))

    def is_late(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the client may time out while it waits for the answer to this sending."""
        index = client, fragment, entry, bookie
        return self.add_sent(*index) & ~self.add_answered[index] & self.is_given_up(*index)

    def has_failed(self, client: Parameter, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the client may treat the write as failed (notifyWriteFailed).

        The write timed out, or a fenced bookie refused it and the writer went on.
        """

        def refused(f: Term) -> Term:
            index = (client, f, entry, bookie)
            heard = self.add_answered[index] & self.add_refused[index]
            return heard & self.still_there(client, f, bookie)

        late = self.may_time_out(client, entry, bookie)
        return late | exists(self.fragment, refused) if client.sort is self.writer else late

    def is_given_up(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the client may time out while this ack is outstanding: always, lost or late."""
        return lift(True)

    def may_change(self, client: TermLike, fragment: TermLike, failed: TermLike, has_failed: Term) -> Term:
        """Return whether a write to a member of the current ensemble failed and a spare bookie exists."""
        spare = exists(self.bookie, lambda b: self.may_stand_in(client, fragment, failed, b))
        return (
            (self.phase[client] == Phase.ACTIVE)
            & (self.own_last_fragment[client] == fragment)
            & self.in_ensemble(client, fragment, failed)
            & has_failed
            & spare
            & self.has_resent(client, fragment)
        )

    def may_stand_in(self, client: TermLike, fragment: TermLike, failed: TermLike, spare: TermLike) -> Term:
        """Return whether the placement policy may choose the bookie: it is not in the ensemble."""
        return ~self.in_ensemble(client, fragment, spare)

    def has_resent(self, client: TermLike, fragment: TermLike) -> Term:
        """Return whether the last change is over: it is, since the commit also resends pending entries."""
        return TRUE

    def about_to_change(self, client: TermLike, fragment: TermLike, failed: TermLike) -> Term:
        """Return whether the client has begun to replace that bookie and may commit now."""
        return (
            (self.phase[client] == Phase.ACTIVE)
            & (self.own_last_fragment[client] == fragment)
            & (self.failed[client] == failed)
        )

    def publishes_changes(self, client: Parameter) -> TermLike:
        """Return whether the client's change goes to the metadata store at once.

        The writer's does. A recoverer publishes its changes when it closes the ledger.
        """
        return client.sort is self.writer

    def may_commit(self, client: Parameter) -> Term:
        """Return whether the compare-and-set on the metadata would succeed, if there is one."""
        return self.status == Status.OPEN if client.sort is self.writer else TRUE

    def may_abandon(self, client: TermLike) -> Term:
        """Return whether the client may give up a change that cannot be committed."""
        return TRUE

    def when_refused(self, client: TermLike, failed: TermLike) -> list[Update]:
        """Return the updates of a client whose change is refused: it does nothing any more."""
        return [self.phase[client].set(Phase.GONE)]

    def said_when_refused(self) -> str:
        """Return the note on a client whose change is refused."""
        return "gives up"

    def lac_at_failure(self, client: TermLike, entry: TermLike) -> Term:
        """Return the LAC at which a change begins once a write of the entry has failed."""
        return self.lac(client)

    def on_change(self, client: Parameter, called: Term) -> list[Update]:
        """Return more updates for a change that ends.

        `called` is whether its end acknowledges the complete entries at the head of the queue.
        """
        return []

    def may_resend(self, client: TermLike, fragment: TermLike, entry: TermLike) -> Term:
        """Return whether the entry was not sent again because of that fragment."""
        return ~self.resent[client, fragment, entry]

    def on_resend(self, client: TermLike, fragment: TermLike, entry: TermLike, when: Term) -> list[Update]:
        """Return the updates for an entry that is sent again."""
        return [self.resent[client, fragment, entry].set(True, when=when)]

    def calls_at_commit(self, client: TermLike, fragment: TermLike, failed: TermLike) -> Term:
        """Return whether a pending entry has its write set elsewhere, so that the commit acknowledges."""
        return exists(
            self.entry,
            lambda e: self.pending(client, e) & ~self.in_write_set_of(client, fragment, e, failed),
        )

    def first_of_new(self, client: TermLike) -> Term:
        """Return the first entry of the new fragment: the lowest one that moves."""
        return self.moves_above(client) + 1

    def moves_above(self, client: TermLike) -> Term:
        """Return the last entry that an ensemble change leaves where it is: the LAC."""
        return self.lac(client)

    def goes_below(self, client: TermLike, fragment: TermLike) -> Term:
        """Return whether the new fragment would start below the client's last one."""
        return self.first_of_new(client) < self.own_first[client, fragment]

    def is_new_ensemble(
        self, client: TermLike, fragment: TermLike, failed: TermLike, spare: TermLike
    ) -> Term:
        """Return whether the ensemble with the spare bookie may be used: always.

        An earlier ensemble may have had the same members.
        """
        return TRUE

    def is_withdrawn(
        self, client: TermLike, fragment: TermLike, entry: TermLike, failed: TermLike, bookie: TermLike
    ) -> Term:
        """Return whether a change withdraws the bookie's ack of the entry: the failed one's."""
        return lift(bookie) == failed

    def withdrawn_acks(
        self, client: TermLike, fragment: TermLike, entry: TermLike, failed: TermLike
    ) -> list[tuple[Read, Term]]:
        """Return the acks of the entry that a change withdraws, each with its condition."""
        return [(self.acked[client, entry, failed], TRUE)]

    def acknowledged_in_passing(
        self, client: TermLike, fragment: TermLike, failed: TermLike, entry: TermLike
    ) -> Term:
        """Return whether the change acknowledges the entry with the replaced bookie's ack (issue 3005).

        The change goes through pending entries in order. An entry whose write set contains the failed
        bookie loses that ack and is sent again. At an entry whose write set does not contain it, all
        complete entries at the head of the queue are acknowledged at once
        (PendingAddOp.unsetSuccessAndSendWriteRequest calls sendAddSuccessCallbacks).
        """
        p = self.parameters
        if p.ensemble == p.write_quorum:
            return FALSE

        def passed_by(e: Term | int) -> Term:
            return self.pending(client, e) & ~self.in_write_set_of(client, fragment, e, failed)

        def complete_by_then(e: Term) -> Term:
            def stays(b: Term) -> Term:
                return ~self.is_withdrawn(client, fragment, e, failed, b) & self.acked[client, e, b]

            without = self.are_enough(client, e, stays)
            looked_at = ~exists(self.entry, lambda other: (other <= e) & passed_by(other))
            return if_(looked_at, without, self.complete(client, e))

        head = forall(
            self.entry, lambda e: implies((self.lac(client) < e) & (e <= entry), complete_by_then(e))
        )
        return head & exists(self.entry, lambda other: (other < entry) & passed_by(other))


# Ensemble changes: a client replaces a failed bookie in the metadata, then resends pending entries.


def begin_change(
    s: EnsembleChanges, client: Parameter, fragment: Parameter, entry: Parameter, failed: Parameter
) -> Action:
    """Begin to replace a bookie that failed the client: the client's LAC stands still from now on.

    Code: PendingAddOp.writeComplete, LedgerHandle.handleBookieFailure, LedgerHandle.ensembleChangeLoop,
    ReadOnlyLedgerHandle.handleBookieFailure.
    """
    return Action(
        when=s.may_change(client, fragment, failed, s.has_failed(client, entry, failed))
        & ~s.changing(client),
        then=[
            s.failed[client].set(failed),
            s.frozen_lac[client].set(s.lac_at_failure(client, entry)),
            *forgets(s, client, entry, failed),
        ],
        actor=client,
        note="gives up waiting for {failed} to store entry {entry}, and begins to replace it",
    )


def forgets(s: EnsembleChanges, client: Parameter, entry: Parameter, failed: Parameter) -> list[Update]:
    """Return the updates by which the client ignores the late answer to a timed-out write.

    PerChannelBookieClient has forgotten the request.
    """
    return [
        s.add_answered[client, f, entry, failed].set(True, when=s.add_sent(client, f, entry, failed))
        for f in s.fragment
    ]


def commit_change(
    s: EnsembleChanges, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> Action:
    """Commit the new ensemble from LAC+1 on, and resend pending entries to the new bookie.

    Pending entries lose the ack of the old bookie.

    Code: LedgerHandle.ensembleChangeLoop, LedgerHandle.unsetSuccessAndSendWriteRequest,
    PendingAddOp.unsetSuccessAndSendWriteRequest, ReadOnlyLedgerHandle.handleBookieFailure.
    """
    withdrawn, sent = withdraws_and_resends(s, client, fragment, failed, spare)
    return Action(
        when=s.about_to_change(client, fragment, failed)
        & s.may_stand_in(client, fragment, failed, spare)
        & ~s.goes_below(client, fragment)
        & s.may_commit(client)
        & s.is_new_ensemble(client, fragment, failed, spare),
        then=[
            *installs(s, client, fragment, failed, spare),
            s.failed[client].set(NO_BOOKIE),
            *publishes(s, client, fragment, failed, spare),
            *withdrawn,
            *s.on_change(client, s.calls_at_commit(client, fragment, failed)),
        ],
        actor=client,
        sent=sent,
        note="replaces {failed} by {spare}, from its LAC + 1 on",
    )


def with_spare(
    s: EnsembleChanges, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> dict[Value, Term]:
    """Return the client's ensemble with the spare bookie in the failed one's position."""
    current = s.own_ensemble
    return {
        i: if_(current[client, fragment, i] == failed, spare, current[client, fragment, i])
        for i in s.position
    }


def installs(
    s: EnsembleChanges, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> list[Update]:
    """Return the updates that put the new fragment into the client's copy of the metadata."""
    ensemble = with_spare(s, client, fragment, failed, spare)
    return [
        s.own_last_fragment[client].set(fragment + 1),
        s.own_first[client, fragment + 1].set(s.first_of_new(client)),
        *(s.own_ensemble[client, fragment + 1, i].set(bookie) for i, bookie in ensemble.items()),
    ]


def publishes(
    s: EnsembleChanges, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> list[Update]:
    """Return the updates that put the new fragment into the metadata store, if it goes there now."""
    ensemble = with_spare(s, client, fragment, failed, spare)
    when = s.publishes_changes(client)
    return [
        s.last_fragment.set(fragment + 1, when=when),
        s.first[fragment + 1].set(s.first_of_new(client), when=when),
        *(s.ensemble[fragment + 1, i].set(bookie, when=when) for i, bookie in ensemble.items()),
    ]


def withdraws_and_resends(
    s: EnsembleChanges, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> tuple[list[Update], list[Message | Broadcast]]:
    """Return the updates and messages that move pending entries to the new bookie.

    Each pending entry loses the replaced bookie's ack and is sent to the new one
    (unsetSuccessAndSendWriteRequest).
    """
    following = fragment + 1
    loses_ack = {
        e: (s.moves_above(client) < e) & ~s.acknowledged_in_passing(client, fragment, failed, e)
        for e in s.entry
    }
    due = {
        e: s.pending(client, e)
        & s.may_resend(client, following, e)
        & s.in_write_set_of(client, fragment, e, failed)
        & when
        for e, when in loses_ack.items()
    }
    return (
        [
            *(
                ack.set(False, when=when & at)
                for e, when in loses_ack.items()
                for ack, at in s.withdrawn_acks(client, fragment, e, failed)
            ),
            *(u for e, when in due.items() for u in s.on_resend(client, following, e, when)),
        ],
        [
            add(s, *sent, lost=s.loss_of(*sent, again=True), when=when)
            for e, when in due.items()
            for sent in [(client, following, e, spare)]
        ],
    )


def abandon_change(s: EnsembleChanges, client: Parameter, fragment: Parameter, failed: Parameter) -> Action:
    """Give up an ensemble change that cannot be committed because the ledger is no longer open.

    Code: LedgerHandle.ensembleChangeLoop, LedgerHandle.handleUnrecoverableErrorDuringAdd.
    """
    return Action(
        when=s.about_to_change(client, fragment, failed) & ~s.may_commit(client) & s.may_abandon(client),
        then=s.when_refused(client, failed),
        actor=client,
        note=f"cannot commit the replacement of {{failed}}, and {s.said_when_refused()}",
    )


def try_invalid_fragment(
    s: EnsembleChanges, client: Parameter, fragment: Parameter, failed: Parameter
) -> Action:
    """Fail because the new fragment would start below the last one (Defect 2, ISSUE-2615).

    Code: LedgerHandle.ensembleChangeLoop, ReadOnlyLedgerHandle.closeRecovered.
    """
    return Action(
        when=s.about_to_change(client, fragment, failed)
        & s.goes_below(client, fragment)
        & s.may_commit(client),
        then=[s.tried_invalid_fragment[client].set(True), s.phase[client].set(Phase.GONE)],
        actor=client,
        note="would start a fragment at its LAC + 1, below the last one, and fails",
    )
