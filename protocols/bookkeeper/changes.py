"""Ensemble changes: a client replaces a bookie that failed it, first in the metadata, then for pending entries."""

from __future__ import annotations

from fencepost.encoding.language.system import Action, Broadcast, Message, to_each
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    Parameter,
    Term,
    TermLike,
    Update,
    Value,
    any_of,
    at_least,
    exists,
    forall,
    if_,
    implies,
)
from fencepost.protocols.bookkeeper import messages
from fencepost.protocols.bookkeeper.state import NO_BOOKIE, Ledger, Phase, Status


def _may_change(
    s: Ledger, client: Parameter, fragment: Parameter, failed: Parameter, timed_out: Term
) -> Term:
    """A write to a member of the current ensemble failed, and some bookie could replace it."""
    spare = exists(s.bookie, lambda b: ~s.in_ensemble(client, fragment, b))
    nothing_to_resend = ~exists(s.entry, lambda e: _to_resend(s, client, fragment, e))
    return (
        (s.phase[client] == Phase.ACTIVE)
        & (s.own_last_fragment[client] == fragment)
        & s.in_ensemble(client, fragment, failed)
        & timed_out
        & spare
        & (nothing_to_resend if s.parameters.resends == "one-by-one" else TRUE)
    )


def begin_change(
    s: Ledger, client: Parameter, fragment: Parameter, entry: Parameter, failed: Parameter
) -> Action:
    """A client decides to replace a bookie that failed it: from now on its LAC stands still."""
    return Action(
        when=_may_change(s, client, fragment, failed, s.may_time_out(client, entry, failed))
        & ~s.changing(client),
        then=[
            s.failed[client].set(failed),
            s.frozen_lac[client].set(s.lac(client)),
            *_forgets(s, client, entry, failed),
        ],
        actor=client,
        note="gives up waiting for {failed} to store entry {entry}, and begins to replace it",
    )


def _forgets(s: Ledger, client: Parameter, entry: Parameter, failed: Parameter) -> list[Update]:
    """The answer to a write that timed out is ignored if it comes: PerChannelBookieClient has forgotten the request."""
    return [
        s.add_answered[client, g, entry, failed].set(True, when=s.add_sent(client, g, entry, failed))
        for g in s.fragment
    ]


def read_lac_first(
    s: Ledger, client: Parameter, fragment: Parameter, entry: Parameter, failed: Parameter
) -> Action:
    """Under `racing`, the LAC at which the new fragment will start is read before acknowledging is blocked (issue 4651)."""
    return Action(
        when=_may_change(s, client, fragment, failed, s.may_time_out(client, entry, failed))
        & ~s.changing(client)
        & (s.about_to_replace[client] == NO_BOOKIE),
        then=[
            s.about_to_replace[client].set(failed),
            s.lac_read[client].set(s.lac(client)),
            *_forgets(s, client, entry, failed),
        ],
        actor=client,
        note="gives up waiting for {failed} to store entry {entry}, and reads its LAC",
    )


def block_acks(s: Ledger, client: Parameter, fragment: Parameter, failed: Parameter) -> Action:
    """Under `racing`, acknowledging is blocked only now."""
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & (s.own_last_fragment[client] == fragment)
        & (s.about_to_replace[client] == failed),
        then=[
            s.about_to_replace[client].set(NO_BOOKIE),
            s.failed[client].set(failed),
            s.frozen_lac[client].set(s.lac(client)),
        ],
        actor=client,
        note="begins to replace {failed}",
    )


def _about_to_change(s: Ledger, client: Parameter, fragment: Parameter, failed: Parameter) -> Term:
    """The client is where it would commit the replacement of that bookie."""
    if s.parameters.ensemble_change == "one-step":
        timed_out = exists(s.entry, lambda e: s.may_time_out(client, e, failed))
        return _may_change(s, client, fragment, failed, timed_out)
    return (
        (s.phase[client] == Phase.ACTIVE)
        & (s.own_last_fragment[client] == fragment)
        & (s.failed[client] == failed)
    )


def _may_commit(s: Ledger, client: Parameter) -> Term:
    """The compare-and-set on the metadata would succeed, if the change goes there at all."""
    if client.sort is s.writer:
        return s.status == Status.OPEN
    if s.parameters.recovery_metadata == "at-close":
        return TRUE
    in_step = s.last_fragment == s.own_last_fragment[client]
    return (s.status == Status.IN_RECOVERY) & ~s.overtaken[client] & in_step


def _first_of_new(s: Ledger, client: Parameter) -> Term:
    """Where the new fragment starts: above the LAC."""
    if s.parameters.lac_read_in_change == "racing":
        return s.lac_read[client] + 1
    return s.lac(client) + 1


def _goes_below(s: Ledger, client: Parameter, fragment: Parameter) -> Term:
    """The new fragment would start below the client's last one."""
    return _first_of_new(s, client) < s.own_first[client, fragment]


def commit_change(
    s: Ledger, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> Action:
    """The new ensemble takes over from LAC+1 on; pending entries lose the old bookie's ack and go to the new one."""
    p = s.parameters
    then = _installs(s, client, fragment, failed, spare)
    if p.ensemble_change == "two-step":
        then += [s.failed[client].set(NO_BOOKIE)]
    if client.sort is s.writer or p.recovery_metadata == "at-once":
        following, first = fragment + 1, _first_of_new(s, client)
        ensemble = _with_spare(s, client, fragment, failed, spare)
        then += [
            s.last_fragment.set(following),
            s.first[following].set(first),
            *(s.ensemble[following, i].set(bookie) for i, bookie in ensemble.items()),
        ]
    withdrawn, sent = _withdraws_and_resends(s, client, fragment, failed, spare)
    return Action(
        when=_about_to_change(s, client, fragment, failed)
        & ~s.in_ensemble(client, fragment, spare)
        & ~_goes_below(s, client, fragment)
        & _may_commit(s, client)
        & _is_new(s, client, fragment, failed, spare),
        then=[*then, *withdrawn],
        actor=client,
        sent=sent,
        note="replaces {failed} by {spare}, from its LAC + 1 on",
    )


def _with_spare(
    s: Ledger, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> dict[Value, Term]:
    """The client's ensemble with the spare bookie at the place of the failed one, position by position."""
    current = s.own_ensemble
    return {
        i: if_(current[client, fragment, i] == failed, spare, current[client, fragment, i])
        for i in s.position
    }


def _installs(
    s: Ledger, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> list[Update]:
    """The client's copy of the metadata gets the new fragment."""
    ensemble = _with_spare(s, client, fragment, failed, spare)
    return [
        s.own_last_fragment[client].set(fragment + 1),
        s.own_first[client, fragment + 1].set(_first_of_new(s, client)),
        *(s.own_ensemble[client, fragment + 1, i].set(bookie) for i, bookie in ensemble.items()),
    ]


def _withdraws_and_resends(
    s: Ledger, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> tuple[list[Update], list[Message | Broadcast]]:
    """Pending entries of the replaced bookie lose its ack and are sent to its successor (unsetSuccessAndSendWriteRequest)."""
    following = fragment + 1
    loses_ack = {
        e: (s.lac(client) < e) & ~_acknowledged_in_passing(s, client, fragment, failed, e) for e in s.entry
    }
    withdrawn = [s.acked[client, e, failed].set(False, when=when) for e, when in loses_ack.items()]
    if s.parameters.resends == "one-by-one":
        return withdrawn, []
    due = {
        e: s.pending(client, e)
        & ~s.resent[client, following, e]
        & s.in_write_set_of(client, fragment, e, failed)
        & when
        for e, when in loses_ack.items()
    }
    return (
        [*withdrawn, *(s.resent[client, following, e].set(True, when=when) for e, when in due.items())],
        [
            messages.add(s, client, following, e, spare, lost=s.resend_lost[client, following, e], when=when)
            for e, when in due.items()
        ],
    )


def change_locally(
    s: Ledger,
    client: Parameter,
    fragment: Parameter,
    entry: Parameter,
    failed: Parameter,
    spare: Parameter,
) -> Action:
    """Under `local-first`, the writer goes on with a new ensemble that the metadata store does not know yet (issue 1591)."""
    return Action(
        when=_may_change(s, client, fragment, failed, s.may_time_out(client, entry, failed))
        & (s.failed[client] == NO_BOOKIE)
        & ~s.in_ensemble(client, fragment, spare)
        & ~_goes_below(s, client, fragment),
        then=[
            s.failed[client].set(failed),
            *_forgets(s, client, entry, failed),
            *_installs(s, client, fragment, failed, spare),
        ],
        actor=client,
        note="gives up waiting for {failed} to store entry {entry}, and goes on with {spare}",
    )


def commit_later(
    s: Ledger, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter
) -> Action:
    """Under `local-first`, the metadata store learns of the new ensemble only now."""
    following = fragment + 1
    withdrawn, sent = _withdraws_and_resends(s, client, fragment, failed, spare)
    return Action(
        when=_behind(s, client, fragment, failed)
        & s.is_newcomer(client, following, spare)
        & (s.status == Status.OPEN),
        then=[
            s.failed[client].set(NO_BOOKIE),
            s.last_fragment.set(following),
            s.first[following].set(s.own_first[client, following]),
            *(s.ensemble[following, i].set(s.own_ensemble[client, following, i]) for i in s.position),
            *withdrawn,
        ],
        actor=client,
        sent=sent,
        note="commits the replacement of {failed} by {spare}",
    )


def abandon_later(s: Ledger, client: Parameter, fragment: Parameter, failed: Parameter) -> Action:
    """Under `local-first`, the metadata store refuses the new ensemble, and the writer gives up."""
    return Action(
        when=_behind(s, client, fragment, failed) & (s.status != Status.OPEN),
        then=[s.phase[client].set(Phase.GONE)],
        actor=client,
        note="cannot commit the replacement of {failed}, and gives up",
    )


def _behind(s: Ledger, client: Parameter, fragment: Parameter, failed: Parameter) -> Term:
    """The writer has replaced the bookie in that ensemble, and the metadata store does not know."""
    return (
        (s.phase[client] == Phase.ACTIVE)
        & (s.failed[client] == failed)
        & (s.own_last_fragment[client] == fragment + 1)
    )


def _acknowledged_in_passing(
    s: Ledger, client: Parameter, fragment: Parameter, failed: Parameter, entry: TermLike
) -> Term:
    """The entry is acknowledged before the change has looked at it, with the replaced bookie's ack (issue 3005).

    Pending entries are looked at in order. One whose write set has the failed bookie loses its ack and is sent again;
    at one whose write set has not, everything complete from the head of the queue is acknowledged at once and
    leaves the queue (PendingAddOp.unsetSuccessAndSendWriteRequest calls sendAddSuccessCallbacks).
    """
    p = s.parameters
    if p.unset_acks == "before-acking" or p.ensemble == p.write_quorum:
        return FALSE

    def passed_by(e: Term | int) -> Term:
        return s.pending(client, e) & ~s.in_write_set_of(client, fragment, e, failed)

    def complete_by_then(e: Term) -> Term:
        without = at_least(p.ack_quorum, s.bookie, lambda b: (b != failed) & s.acked[client, e, b])
        looked_at = ~exists(s.entry, lambda f: (f <= e) & passed_by(f))
        return if_(looked_at, without, s.complete(client, e))

    head = forall(s.entry, lambda e: implies((s.lac(client) < e) & (e <= entry), complete_by_then(e)))
    return head & exists(s.entry, lambda f: (f < entry) & passed_by(f))


def _is_new(s: Ledger, client: Parameter, fragment: Parameter, failed: Parameter, spare: Parameter) -> Term:
    """No earlier fragment that is still there has the members of the new ensemble."""
    if s.parameters.reuse_ensembles == "yes":
        return TRUE

    def same_members(g: Term) -> Term:
        current = s.own_ensemble
        return forall(
            s.position,
            lambda i: any_of(
                (current[client, fragment, i] == failed) & s.in_ensemble(client, g, spare),
                (current[client, fragment, i] != failed)
                & exists(s.position, lambda j: current[client, g, j] == current[client, fragment, i]),
            ),
        )

    def replaced(g: Term) -> Term:
        return exists(
            s.fragment,
            lambda h: (g < h) & (h <= fragment) & (s.own_first[client, g] == s.own_first[client, h]),
        )

    return ~exists(s.fragment, lambda g: (g < fragment) & ~replaced(g) & same_members(g))


def abandon_change(s: Ledger, client: Parameter, fragment: Parameter, failed: Parameter) -> Action:
    """The ledger is not open any more: the change cannot be committed, and the client gives up."""
    return Action(
        when=_about_to_change(s, client, fragment, failed) & ~_may_commit(s, client),
        then=[s.phase[client].set(Phase.GONE)],
        actor=client,
        note="cannot commit the replacement of {failed}, and gives up",
    )


def try_invalid_fragment(s: Ledger, client: Parameter, fragment: Parameter, failed: Parameter) -> Action:
    """The new fragment would start below the last one: the client fails with it (Defect 2, ISSUE-2615)."""
    return Action(
        when=_about_to_change(s, client, fragment, failed)
        & _goes_below(s, client, fragment)
        & _may_commit(s, client),
        then=[s.tried_invalid_fragment[client].set(True), s.phase[client].set(Phase.GONE)],
        actor=client,
        note="would start a fragment at its LAC + 1, below the last one, and fails",
    )


def _to_resend(s: Ledger, client: Parameter, fragment: Parameter, entry: Term | int) -> Term:
    """A pending entry that went to an earlier ensemble only, and belongs on the newcomer of this one."""
    newcomer = exists(
        s.bookie,
        lambda b: s.is_newcomer(client, fragment, b) & s.in_write_set_of(client, fragment, entry, b),
    )
    return (
        s.pending(client, entry)
        & (s.pushed_in[client, entry] < fragment)
        & ~s.resent[client, fragment, entry]
        & newcomer
    )


def resend(s: Ledger, client: Parameter, fragment: Parameter, entry: Parameter) -> Action:
    """A pending entry goes to the newcomer of the current ensemble, lower entries first (W1SendsPendingAddOp)."""
    lower = exists(s.entry, lambda e: (e < entry) & _to_resend(s, client, fragment, e))
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & (s.own_last_fragment[client] == fragment)
        & _to_resend(s, client, fragment, entry)
        & ~lower,
        then=[s.resent[client, fragment, entry].set(True)],
        actor=client,
        sent=[
            to_each(
                s.bookie,
                lambda b: messages.add(
                    s,
                    client,
                    fragment,
                    entry,
                    b,
                    lost=s.resend_lost[client, fragment, entry],
                    when=s.is_newcomer(client, fragment, b),
                ),
            )
        ],
    )
