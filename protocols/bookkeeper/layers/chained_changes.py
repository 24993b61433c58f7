"""Ensemble changes of the writer that follow one another in one chain, with one comparison at the end.

`LedgerHandle.handleBookieFailure` begins no change while one is under way (`changingEnsemble`). It notes
the failure in `delayedWriteFailedBookies`. When the change is in the metadata, `ensembleChangeLoop` looks
for noted failures. If there is one, the loop runs again with the same `origEnsemble`. If there is none, the
chain ends: `EnsembleUtils.diffEnsemble(origEnsemble, getCurrentEnsemble())` gives the positions that differ,
and `PendingAddOp.unsetSuccessAndSendWriteRequest` withdraws their acks and sends again to them.

A position may lose its bookie in one change of the chain and get it back in a later one, because
`EnsembleUtils.replaceBookiesInEnsemble` leaves out only the current ensemble and the bookies that fail now.
Nothing is withdrawn at such a position, and nothing is sent again:

- A write to it that had failed is forgotten. Its add waits for ever if it needs that ack.
- An add that was made during the chain has gone to the bookie in between. The ack of that bookie still
  counts, because an add keeps acks by position. The metadata does not name the bookie any more.

A noted failure of a bookie that the chain has replaced already makes a change that replaces nothing. Such an
idle change lengthens the chain.

The rules apply under `chained_changes=one-difference` with three fragments or more. Mended (`each-alone`),
each change is compared with the ensemble before it and ends before the next begins.

The code replaces all noted bookies in one change. In the model one is replaced after the other, as if the
others had failed a little later. An add that was made with the last ensemble of a chain is not sent again.
The code sends it again to the same bookies.
"""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_, implies
from fencepost.encoding.language.messages import Broadcast, Message, to_each
from fencepost.encoding.language.quantifiers import at_least, exists, forall
from fencepost.encoding.language.sorts import BOOL, Value, optional
from fencepost.encoding.language.state import choice, definition, family
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
from fencepost.protocols.bookkeeper.adds import add
from fencepost.protocols.bookkeeper.ensemble_change import installs, publishes, with_spare
from fencepost.protocols.bookkeeper.layers.late_acks import LateAcks
from fencepost.protocols.bookkeeper.layers.old_rules import OldRules
from fencepost.protocols.bookkeeper.layers.refused_changes import RefusedChanges
from fencepost.protocols.bookkeeper.layers.stale_adds import StaleAdds
from fencepost.protocols.bookkeeper.parameters import BookKeeperParameters
from fencepost.protocols.bookkeeper.rules import rule
from fencepost.protocols.bookkeeper.values import NO_BOOKIE, WRITER, Phase

Ensemble = Mapping[Value, TermLike]


class ChainedChanges(LateAcks, RefusedChanges, StaleAdds, OldRules):
    """The failures noted during a change, the ensembles that adds hold, and acks by position."""

    def __init__(self, parameters: BookKeeperParameters) -> None:
        """Declare the state variables of chains; they change under `one-difference` only."""
        super().__init__(parameters)
        self.held = family(self.pushed_in.domain, self.client, self.entry)
        """The fragment whose ensemble the last chain gave to the entry's op; 0 if none did."""
        self.ack_at = family(optional(self.bookie, NO_BOOKIE), self.client, self.entry, self.position)
        """The bookie whose ack stands at that position of the entry's op (PendingAddOp.ackSet)."""
        self.noted = family(self.failed.domain, self.client, self.position)
        """The bookie that failed at that position during a change (delayedWriteFailedBookies)."""
        self.followed = family(BOOL, self.client, self.fragment)
        """Whether the chain went on after the change to that fragment."""
        if parameters.has_chains:
            self.sent_again_lost = choice(self.client, self.fragment, self.entry, self.bookie, fault="lost")


@rule("chained_changes", "one-difference", lambda p: p.possible_fragments > 2)
class Chains(ChainedChanges):
    """Adds keep their ensembles and acks by position until a chain has ended. A recoverer has no chains."""

    @definition
    def answers_op(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether an answer counts: its bookie has the same position in the ensemble of the op."""
        same = exists(
            self.position,
            lambda i: self.is_at(client, fragment, i, bookie) & op_has(self, client, entry, i, bookie),
        )
        return if_(lift(WRITER) == client, same, self.still_there(client, fragment, bookie))

    counts = answers_op

    def on_ack(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> list[Update]:
        """Return the updates that keep an ack at the position of the bookie."""
        index = client, fragment, entry, bookie
        counts, acks = self.counts(*index), self.ack_at
        kept = [
            acks[client, entry, i].set(bookie, when=counts & self.is_at(client, fragment, i, bookie))
            for i in self.position
        ]
        return [*super().on_ack(*index), *kept]

    def complete(self, client: TermLike, entry: TermLike) -> Term:
        """Return whether AQ positions of the writer's op have an ack."""
        few = self.parameters.ack_quorum
        acks = at_least(few, self.position, lambda i: self.ack_at[client, entry, i] != NO_BOOKIE)
        return if_(lift(WRITER) == client, acks, super().complete(client, entry))

    def completes(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether the entry has AQ acks, by position, together with this one."""

        def acked(i: Term) -> Term:
            return (self.ack_at[client, entry, i] != NO_BOOKIE) | self.is_at(client, fragment, i, bookie)

        return at_least(self.parameters.ack_quorum, self.position, acked)

    def has_failed(self, client: Parameter, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether a write of the writer's op has failed at a position that is still the bookie's."""
        if client.sort is not self.writer:
            return super().has_failed(client, entry, bookie)
        return exists(
            self.fragment,
            lambda f: self.still_there(client, f, bookie) & _fails_op(self, client, f, entry, bookie),
        )

    def is_lost(self, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike) -> Term:
        """Return whether this sending is lost. The end of a chain may send an entry to several bookies."""
        first = self.pushed_in[client, entry] == fragment
        again = if_(
            lift(WRITER) == client,
            self.sent_again_lost[client, fragment, entry, bookie],
            self.resend_lost[client, fragment, entry],
        )
        return if_(first, self.add_lost[client, entry, bookie], again)

    def is_newcomer(self, client: TermLike, fragment: TermLike, bookie: TermLike) -> Term:
        """Return whether the bookie's position differs from the ensemble before the chain."""

        def had_another(g: Term, i: Term) -> Term:
            return began_at(self, client, fragment, g) & ~self.is_at(client, g, i, bookie)

        return exists(
            self.position,
            lambda i: (
                self.is_at(client, fragment, i, bookie) & exists(self.fragment, lambda g: had_another(g, i))
            ),
        )

    def may_end_idle(self, client: TermLike, fragment: TermLike) -> Term:
        """Return whether a change that replaces nothing may end by itself: it is in no chain."""
        return _nothing_noted(self, client) & ~self.followed[client, fragment]


# The add that is pending: its ensemble and its acks (PendingAddOp).


def op_has(
    s: ChainedChanges, client: TermLike, entry: TermLike, position: TermLike, bookie: TermLike
) -> Term:
    """Return whether the bookie has that position in the ensemble that the entry's op holds."""
    held, pushed = s.held[client, entry], s.pushed_in[client, entry]
    return exists(
        s.fragment, lambda f: (if_(held == 0, pushed, held) == f) & s.is_at(client, f, position, bookie)
    )


# The comparison at the end of a chain (diffEnsemble).


@definition
def began_at(s: ChainedChanges, client: TermLike, fragment: TermLike, origin: TermLike) -> Term:
    """Return whether the chain with that fragment began at the ensemble of the fragment `origin`."""
    return (
        (lift(origin) < fragment)
        & ~s.followed[client, origin]
        & forall(s.fragment, lambda f: implies((origin < f) & (f < fragment), s.followed[client, f]))
    )


@definition
def differs_from_origin(
    s: ChainedChanges, client: TermLike, fragment: TermLike, position: TermLike, bookie: TermLike
) -> Term:
    """Return whether the ensemble before the chain has another bookie at that position."""
    return exists(
        s.fragment,
        lambda g: began_at(s, client, fragment, g) & (s.own_ensemble[client, g, position] != bookie),
    )


def _ends(
    s: ChainedChanges, client: Parameter, fragment: TermLike, last: Ensemble
) -> tuple[list[Update], list[Message | Broadcast]]:
    """Return the updates and messages with which a chain ends at that fragment, whose ensemble is `last`."""
    differs = {i: differs_from_origin(s, client, fragment, i, last[i]) for i in s.position}
    places = {e: [i for i in s.position if _stands_in(s, e, i)] for e in s.entry}
    moved = {
        e: s.pending(client, e)
        & (s.pushed_in[client, e] != fragment)
        & ~s.resent[client, fragment, e]
        & ~_acknowledged_in_passing(s, client, e, differs)
        & any_of(*(differs[i] for i in places[e]))
        for e in s.entry
    }

    def loses_ack(e: Value, b: Value) -> Term:
        return moved[e] & any_of(*(differs[i] & (s.ack_at[client, e, i] == b) for i in places[e]))

    def again(e: Value) -> Broadcast:
        def sent(b: Parameter) -> Message:
            new = any_of(*(differs[i] & (lift(last[i]) == b) for i in places[e]))
            lost = s.sent_again_lost[client, fragment, e, b]
            return add(s, client, fragment, e, b, lost=lost, when=moved[e] & new)

        return to_each(s.bookie, sent)

    return [
        s.failed[client].set(NO_BOOKIE),
        s.idle[client].set(False),
        *(
            s.held[client, e].set(fragment, when=s.pending(client, e) & any_of(*differs.values()))
            for e in s.entry
        ),
        *(s.acked[client, e, b].set(False, when=loses_ack(e, b)) for e in s.entry for b in s.bookie),
        *(
            s.ack_at[client, e, i].set(NO_BOOKIE, when=moved[e] & differs[i])
            for e in s.entry
            for i in places[e]
        ),
        *(s.resent[client, fragment, e].set(True, when=moved[e]) for e in s.entry),
        *s.on_change(client, _calls(s, client, differs)),
    ], [again(e) for e in s.entry]


def _calls(s: ChainedChanges, client: Parameter, differs: Mapping[Value, Term]) -> Term:
    """Return whether the end of a chain passes a position outside a pending entry's write set."""
    return any_of(
        *(s.pending(client, e) & differs[i] for e in s.entry for i in s.position if not _stands_in(s, e, i))
    )


def _stands_in(s: ChainedChanges, entry: Value, position: Value) -> bool:
    """Return whether the position belongs to the entry's write set."""
    return bool(s.in_write_set.first((entry, position)))


def _acknowledged_in_passing(
    s: ChainedChanges, client: Parameter, entry: Value, differs: Mapping[Value, Term]
) -> Term:
    """Return whether the end of the chain acknowledges the entry with acks that it withdraws (issue 3005).

    The code goes through pending entries in order, and through the positions that differ. At the first such
    position outside an entry's write set, all complete entries at the head of the queue are acknowledged.
    """
    if s.parameters.unset_acks != "while-acking" or s.parameters.ensemble == s.parameters.write_quorum:
        return FALSE
    pairs = [(e, i) for e in s.entry for i in s.position]

    def passed_by(e: Value, i: Value) -> Term:
        return s.pending(client, e) & differs[i] & lift(not _stands_in(s, e, i))

    def stays(e: Value, i: Value) -> Term:
        earlier = any_of(*(passed_by(f, j) for f, j in pairs[: pairs.index((e, i))]))
        kept = ~differs[i] | earlier | lift(not _stands_in(s, e, i))
        return (s.ack_at[client, e, i] != NO_BOOKIE) & kept

    def complete_by_then(e: Value) -> Term:
        def at(place: Term) -> Term:
            return any_of(*((place == i) & stays(e, i) for i in s.position))

        return at_least(s.parameters.ack_quorum, s.position, at)

    upto = s.entry.values[: s.entry.values.index(entry) + 1]
    head = all_of(*(implies(s.lac(client) < e, complete_by_then(e)) for e in upto))
    return head & any_of(*(passed_by(e, i) for e, i in pairs))


# The actions of a chain.


def _fails_op(
    s: ChainedChanges, client: TermLike, fragment: TermLike, entry: TermLike, bookie: TermLike
) -> Term:
    index = client, fragment, entry, bookie
    refused = s.add_answered[index] & s.add_refused[index]
    return (s.is_late(*index) | refused) & s.counts(*index)


def note_failure(
    s: ChainedChanges, client: Parameter, fragment: Parameter, entry: Parameter, failed: Parameter
) -> Action:
    """Note a bookie that fails the writer while an ensemble change is under way (handleBookieFailure).

    Code: LedgerHandle.handleBookieFailure.
    """
    index = client, fragment, entry, failed
    begun = any_of(s.changing(client), s.about_to_replace[client] != NO_BOOKIE)
    unknown = exists(
        s.position, lambda i: s.is_at(client, fragment, i, failed) & (s.noted[client, i] != failed)
    )
    return Action(
        when=all_of(
            s.phase[client] == Phase.ACTIVE, begun, s.dropped[client] == 0, _fails_op(s, *index), unknown
        ),
        then=[
            s.add_answered[index].set(True),
            *(s.noted[client, i].set(failed, when=s.is_at(client, fragment, i, failed)) for i in s.position),
        ],
        actor=client,
        note="gives up waiting for {failed} to store entry {entry}, and notes that during its change",
    )


def commit_change(
    s: ChainedChanges, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> Action:
    """Commit the new ensemble from LAC+1 on with no failure noted, and end the chain.

    Code: LedgerHandle.ensembleChangeLoop, LedgerHandle.unsetSuccessAndSendWriteRequest,
    PendingAddOp.unsetSuccessAndSendWriteRequest.
    """
    updates, sent = _ends(s, client, fragment + 1, with_spare(s, client, fragment, failed, spare))
    return Action(
        when=_may_commit(s, client, fragment, failed, spare) & _nothing_noted(s, client),
        then=[
            *installs(s, client, fragment, failed, spare),
            *publishes(s, client, fragment, failed, spare),
            *updates,
        ],
        actor=client,
        sent=sent,
        note="replaces {failed} by {spare}, from its LAC + 1 on",
    )


def commit_and_continue(
    s: ChainedChanges,
    client: Parameter,
    fragment: Parameter,
    failed: Parameter,
    spare: Parameter,
    position: Parameter,
) -> Action:
    """Commit the new ensemble, and go on with a bookie whose failure was noted: nothing is sent again yet.

    Code: LedgerHandle.ensembleChangeLoop.
    """
    ensemble = with_spare(s, client, fragment, failed, spare)
    return Action(
        when=_may_commit(s, client, fragment, failed, spare) & (s.noted[client, position] != NO_BOOKIE),
        then=[
            *installs(s, client, fragment, failed, spare),
            *publishes(s, client, fragment, failed, spare),
            s.followed[client, fragment + 1].set(True),
            *_takes(s, client, position, ensemble),
        ],
        actor=client,
        note="replaces {failed} by {spare}, and goes on with the failure noted at position {position}",
    )


def continue_change(s: ChainedChanges, client: Parameter, fragment: Parameter, position: Parameter) -> Action:
    """Find a bookie replaced already, and go on with another one whose failure was noted.

    Code: LedgerHandle.ensembleChangeLoop.
    """
    ensemble = {i: s.own_ensemble[client, fragment, i] for i in s.position}
    return Action(
        when=_is_idle(s, client, fragment) & (s.noted[client, position] != NO_BOOKIE),
        then=_takes(s, client, position, ensemble),
        actor=client,
        note="finds the bookie replaced already, and goes on with the failure noted at position {position}",
    )


def end_change(s: ChainedChanges, client: Parameter, fragment: Parameter) -> Action:
    """Find a bookie replaced already with no failure noted, and end the chain.

    Code: LedgerHandle.ensembleChangeLoop.
    """
    ensemble = {i: s.own_ensemble[client, fragment, i] for i in s.position}
    updates, sent = _ends(s, client, fragment, ensemble)
    # An idle change belongs to a chain, unless it began alone (late_acks.end_idle_change).
    in_chain = s.followed[client, fragment] if s.parameters.has_late_acks else TRUE
    return Action(
        when=_is_idle(s, client, fragment) & _nothing_noted(s, client) & in_chain,
        then=[*updates, s.followed[client, fragment].set(False)],
        actor=client,
        sent=sent,
        note="finds the bookie replaced already, and ends its ensemble change",
    )


def _may_commit(
    s: ChainedChanges, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> Term:
    return all_of(
        s.about_to_change(client, fragment, failed),
        s.in_ensemble(client, fragment, failed),
        ~s.in_ensemble(client, fragment, spare),
        ~s.goes_below(client, fragment),
        s.may_commit(client),
        s.is_new_ensemble(client, fragment, failed, spare),
    )


def _is_idle(s: ChainedChanges, client: Parameter, fragment: Parameter) -> Term:
    """Return whether the change under way replaces nothing."""
    return (
        (s.phase[client] == Phase.ACTIVE)
        & (s.own_last_fragment[client] == fragment)
        & (s.failed[client] != NO_BOOKIE)
        & s.idle[client]
    )


def _nothing_noted(s: ChainedChanges, client: TermLike) -> Term:
    return forall(s.position, lambda i: s.noted[client, i] == NO_BOOKIE)


def _takes(s: ChainedChanges, client: Parameter, position: Parameter, ensemble: Ensemble) -> list[Update]:
    """Return the updates by which the chain goes on with the failure that was noted at that position."""
    failed = s.noted[client, position]
    there = any_of(*((position == i) & (lift(bookie) == failed) for i, bookie in ensemble.items()))
    return [
        s.failed[client].set(failed),
        s.noted[client, position].set(NO_BOOKIE),
        s.idle[client].set(~there),
    ]
