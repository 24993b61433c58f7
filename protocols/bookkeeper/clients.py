"""What the writer and the recoverers do: adds and their answers, ensemble changes, recovery, closing."""

from __future__ import annotations

from fencepost.encoding.system import Action, Broadcast, to_each
from fencepost.encoding.terms import (
    FALSE,
    TRUE,
    Parameter,
    Term,
    Update,
    any_of,
    at_least,
    exists,
    forall,
    if_,
    implies,
)
from fencepost.protocols.bookkeeper import messages
from fencepost.protocols.bookkeeper.state import NO_BOOKIE, NOTHING, WRITER, Ledger, Phase, Status

# The writer.


def create_ledger(s: Ledger) -> Action:
    """The writer creates the ledger, open, over the first E bookies (any E would do: bookies are alike)."""
    return Action(
        when=s.status == Status.NONE,
        then=[s.status.set(Status.OPEN), s.phase[WRITER].set(Phase.ACTIVE)],
        actor=WRITER,
        note="creates the ledger, open",
    )


def push(s: Ledger, generation: Parameter, entry: Parameter) -> Action:
    """The writer sends the next entry to its write set, with its LAC (LedgerHandle.doAsyncAddEntry)."""
    in_order = forall(s.entry, lambda e: implies(e < entry, s.pushed(WRITER, e)))
    limit = s.parameters.inflight
    within_limit = ~exists(s.entry, lambda e: (e + limit == entry) & (s.lac(WRITER) < e))
    return Action(
        when=(s.phase[WRITER] == Phase.ACTIVE)
        & (s.own_generation[WRITER] == generation)
        & ~s.pushed(WRITER, entry)
        & in_order
        & within_limit,
        then=_sends(s, WRITER, generation, entry),
        actor=WRITER,
        sent=[_adds(s, WRITER, generation, entry)],
    )


def close_ledger(s: Ledger) -> Action:
    """The writer closes the ledger at its LAC, any time it likes (LedgerHandle.doAsyncCloseInternal).

    `open-only`: not if it is in recovery. In the code it may be.
    """
    in_recovery = (s.status == Status.IN_RECOVERY) if s.parameters.writer_close == "any-not-closed" else False
    lac = s.lac(WRITER)
    return Action(
        when=any_of(s.phase[WRITER] == Phase.ACTIVE, s.phase[WRITER] == Phase.CLOSING)
        & any_of(s.status == Status.OPEN, in_recovery),
        then=[
            s.status.set(Status.CLOSED),
            s.last_entry.set(lac),
            s.phase[WRITER].set(Phase.CLOSED),
            s.closed_at[WRITER].set(lac),
        ],
        actor=WRITER,
        note="closes the ledger at its LAC",
    )


def withdraw(s: Ledger) -> Action:
    """The writer finds that it cannot close the ledger any more, and gives up."""
    too_late = (s.status == Status.CLOSED) & (s.last_entry != s.lac(WRITER))
    if s.parameters.writer_close == "open-only":
        too_late = any_of(s.status == Status.CLOSED, s.status == Status.IN_RECOVERY)
    return Action(
        when=any_of(s.phase[WRITER] == Phase.ACTIVE, s.phase[WRITER] == Phase.CLOSING) & too_late,
        then=[s.phase[WRITER].set(Phase.GONE)],
        actor=WRITER,
        note="cannot close the ledger, and gives up",
    )


# Adds and their answers: the writer's entries, a recoverer's write-backs.


def _sends(s: Ledger, client: Parameter | str, generation: Parameter, entry: Parameter) -> list[Update]:
    """The entry goes to its write set in that ensemble."""
    return [s.pushed_in[client, entry].set(generation), s.pushed_lac[client, entry].set(s.lac(client))]


def _adds(s: Ledger, client: Parameter | str, generation: Parameter, entry: Parameter) -> Broadcast:
    return to_each(
        s.bookie,
        lambda b: messages.add(
            s,
            client,
            generation,
            entry,
            b,
            lac=s.lac(client),
            lost=s.add_lost[client, entry, b],
            when=s.in_write_set_of(client, generation, entry, b),
        ),
    )


def _next_answer(
    s: Ledger, client: Parameter, generation: Parameter, entry: Parameter, bookie: Parameter, refused: Term
) -> Term:
    """That answer is the next one from this bookie: of those that will arrive, the lowest entry goes first."""
    lower = exists(
        s.entry,
        lambda e: (e < entry) & exists(s.generation_, lambda g: s.answer_in_flight(client, g, e, bookie)),
    )
    return s.answer_in_flight(client, generation, entry, bookie) & refused & ~lower


def receive_ack(
    s: Ledger, client: Parameter, generation: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """A bookie has stored the entry: counted if the bookie still stands where it was sent (PendingAddOp.writeComplete)."""
    ok = ~s.add_refused[client, generation, entry, bookie]
    return Action(
        when=(s.phase[client] == Phase.ACTIVE) & _next_answer(s, client, generation, entry, bookie, ok),
        then=[
            s.add_answered[client, generation, entry, bookie].set(True),
            s.acked[client, entry, bookie].set(True, when=s.still_there(client, generation, bookie)),
        ],
        actor=client,
        received=messages.add_answer(s, client, generation, entry, bookie, False),
    )


def receive_fenced(
    s: Ledger, client: Parameter, generation: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """A bookie refused the entry: the writer drops its pending adds, and in the code closes the ledger."""
    refused = s.add_refused[client, generation, entry, bookie]
    closes = s.parameters.writer_close == "any-not-closed"
    return Action(
        when=(s.phase[client] == Phase.ACTIVE) & _next_answer(s, client, generation, entry, bookie, refused),
        then=[
            s.add_answered[client, generation, entry, bookie].set(True),
            s.phase[client].set(Phase.CLOSING if closes else Phase.GONE),
        ],
        actor=client,
        received=messages.add_answer(s, client, generation, entry, bookie, True),
        note="is fenced out: drops its pending entries",
    )


# Ensemble changes.


def _may_change(
    s: Ledger, client: Parameter, generation: Parameter, failed: Parameter, timed_out: Term
) -> Term:
    """A write to a member of the current ensemble failed, and some bookie could replace it."""
    spare = exists(s.bookie, lambda b: ~s.in_ensemble(client, generation, b))
    nothing_to_resend = ~exists(s.entry, lambda e: _to_resend(s, client, generation, e))
    return (
        (s.phase[client] == Phase.ACTIVE)
        & (s.own_generation[client] == generation)
        & s.in_ensemble(client, generation, failed)
        & timed_out
        & spare
        & (nothing_to_resend if s.parameters.resends == "one-by-one" else TRUE)
    )


def begin_change(
    s: Ledger, client: Parameter, generation: Parameter, entry: Parameter, failed: Parameter
) -> Action:
    """A client decides to replace a bookie that failed it: from now on its LAC stands still.

    The answer to the write that timed out is ignored if it comes (PerChannelBookieClient has forgotten the request).
    """
    return Action(
        when=_may_change(s, client, generation, failed, s.may_time_out(client, entry, failed))
        & ~s.changing(client),
        then=[
            s.failed[client].set(failed),
            s.frozen_lac[client].set(s.lac(client)),
            *(
                s.add_answered[client, g, entry, failed].set(True, when=s.add_sent(client, g, entry, failed))
                for g in s.generation_
            ),
        ],
        actor=client,
        note="gives up waiting for {failed} to store entry {entry}, and begins to replace it",
    )


def _about_to_change(s: Ledger, client: Parameter, generation: Parameter, failed: Parameter) -> Term:
    """The client is where it would commit the replacement of that bookie."""
    if s.parameters.ensemble_change == "one-step":
        timed_out = exists(s.entry, lambda e: s.may_time_out(client, e, failed))
        return _may_change(s, client, generation, failed, timed_out)
    return (
        (s.phase[client] == Phase.ACTIVE)
        & (s.own_generation[client] == generation)
        & (s.failed[client] == failed)
    )


def _may_commit(s: Ledger, client: Parameter) -> Term:
    """The compare-and-set on the metadata would succeed, if the change goes there at all."""
    if client.sort is s.writer:
        return s.status == Status.OPEN
    if s.parameters.recovery_metadata == "at-close":
        return TRUE
    in_step = s.generation == s.own_generation[client]
    return (s.status == Status.IN_RECOVERY) & ~s.overtaken[client] & in_step


def _goes_below(s: Ledger, client: Parameter, generation: Parameter) -> Term:
    """The new fragment would start below the client's last one."""
    return s.lac(client) + 1 < s.own_first[client, generation]


def commit_change(
    s: Ledger, client: Parameter, generation: Parameter, failed: Parameter, spare: Parameter
) -> Action:
    """The new ensemble takes over from LAC+1 on; pending entries lose the old bookie's ack and go to the new one."""
    p = s.parameters
    following, first = generation + 1, s.lac(client) + 1
    current = s.own_ensemble
    ensemble = {
        i: if_(current[client, generation, i] == failed, spare, current[client, generation, i])
        for i in s.position
    }
    loses_ack = {
        e: (s.lac(client) < e) & ~_acknowledged_in_passing(s, client, generation, failed, e) for e in s.entry
    }
    then = [
        s.own_generation[client].set(following),
        s.own_first[client, following].set(first),
        *(s.own_ensemble[client, following, i].set(bookie) for i, bookie in ensemble.items()),
        *(s.acked[client, e, failed].set(False, when=when) for e, when in loses_ack.items()),
    ]
    if p.ensemble_change == "two-step":
        then += [s.failed[client].set(NO_BOOKIE)]
    if client.sort is s.writer or p.recovery_metadata == "at-once":
        then += [
            s.generation.set(following),
            s.first[following].set(first),
            *(s.ensemble[following, i].set(bookie) for i, bookie in ensemble.items()),
        ]
    sent = []
    if p.resends == "with-change":
        due = {
            e: s.pending(client, e)
            & ~s.resent[client, following, e]
            & s.in_write_set_of(client, generation, e, failed)
            & when
            for e, when in loses_ack.items()
        }
        then += [s.resent[client, following, e].set(True, when=when) for e, when in due.items()]
        sent = [
            messages.add(s, client, following, e, spare, lost=s.resend_lost[client, following, e], when=when)
            for e, when in due.items()
        ]
    return Action(
        when=_about_to_change(s, client, generation, failed)
        & ~s.in_ensemble(client, generation, spare)
        & ~_goes_below(s, client, generation)
        & _may_commit(s, client)
        & _is_new(s, client, generation, failed, spare),
        then=then,
        actor=client,
        sent=sent,
        note="replaces {failed} by {spare}, from its LAC + 1 on",
    )


def _acknowledged_in_passing(
    s: Ledger, client: Parameter, generation: Parameter, failed: Parameter, entry: int
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
        return s.pending(client, e) & ~s.in_write_set_of(client, generation, e, failed)

    def complete_by_then(e: Term) -> Term:
        without = at_least(p.ack_quorum, s.bookie, lambda b: (b != failed) & s.acked[client, e, b])
        looked_at = ~exists(s.entry, lambda f: (f <= e) & passed_by(f))
        return if_(looked_at, without, s.complete(client, e))

    head = forall(s.entry, lambda e: implies((s.lac(client) < e) & (e <= entry), complete_by_then(e)))
    return head & exists(s.entry, lambda f: (f < entry) & passed_by(f))


def _is_new(s: Ledger, client: Parameter, generation: Parameter, failed: Parameter, spare: Parameter) -> Term:
    """No earlier fragment that is still there has the members of the new ensemble."""
    if s.parameters.reuse_ensembles == "yes":
        return TRUE

    def same_members(g: Term) -> Term:
        current = s.own_ensemble
        return forall(
            s.position,
            lambda i: any_of(
                (current[client, generation, i] == failed) & s.in_ensemble(client, g, spare),
                (current[client, generation, i] != failed)
                & exists(s.position, lambda j: current[client, g, j] == current[client, generation, i]),
            ),
        )

    def replaced(g: Term) -> Term:
        return exists(
            s.generation_,
            lambda h: (g < h) & (h <= generation) & (s.own_first[client, g] == s.own_first[client, h]),
        )

    return ~exists(s.generation_, lambda g: (g < generation) & ~replaced(g) & same_members(g))


def abandon_change(s: Ledger, client: Parameter, generation: Parameter, failed: Parameter) -> Action:
    """The ledger is not open any more: the change cannot be committed, and the client gives up."""
    return Action(
        when=_about_to_change(s, client, generation, failed) & ~_may_commit(s, client),
        then=[s.phase[client].set(Phase.GONE)],
        actor=client,
        note="cannot commit the replacement of {failed}, and gives up",
    )


def try_invalid_fragment(s: Ledger, client: Parameter, generation: Parameter, failed: Parameter) -> Action:
    """The new fragment would start below the last one: the client fails with it (Defect 2, ISSUE-2615)."""
    return Action(
        when=_about_to_change(s, client, generation, failed)
        & _goes_below(s, client, generation)
        & _may_commit(s, client),
        then=[s.tried_invalid_fragment[client].set(True), s.phase[client].set(Phase.GONE)],
        actor=client,
        note="would start a fragment at its LAC + 1, below the last one, and fails",
    )


def _to_resend(s: Ledger, client: Parameter, generation: Parameter, entry: Term | int) -> Term:
    """A pending entry that went to an earlier ensemble only, and belongs on the newcomer of this one."""
    newcomer = exists(
        s.bookie,
        lambda b: s.is_newcomer(client, generation, b) & s.in_write_set_of(client, generation, entry, b),
    )
    return (
        s.pending(client, entry)
        & (s.pushed_in[client, entry] < generation)
        & ~s.resent[client, generation, entry]
        & newcomer
    )


def resend(s: Ledger, client: Parameter, generation: Parameter, entry: Parameter) -> Action:
    """A pending entry goes to the newcomer of the current ensemble, lower entries first (W1SendsPendingAddOp)."""
    lower = exists(s.entry, lambda e: (e < entry) & _to_resend(s, client, generation, e))
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & (s.own_generation[client] == generation)
        & _to_resend(s, client, generation, entry)
        & ~lower,
        then=[s.resent[client, generation, entry].set(True)],
        actor=client,
        sent=[
            to_each(
                s.bookie,
                lambda b: messages.add(
                    s,
                    client,
                    generation,
                    entry,
                    b,
                    lost=s.resend_lost[client, generation, entry],
                    when=s.is_newcomer(client, generation, b),
                ),
            )
        ],
    )


# Recovery.


def begin_recovery(s: Ledger, client: Parameter) -> Action:
    """A recoverer puts the ledger in recovery and sends fencing reads to the last ensemble."""
    p = s.parameters
    copies = [
        update
        for g in s.later_generations
        for update in (
            s.own_first[client, g].set(s.first[g]),
            *(s.own_ensemble[client, g, i].set(s.ensemble[g, i]) for i in s.position),
        )
    ]
    others = (r for r in s.recoverer if p.recovery_start == "bump")
    overtakes = [s.overtaken[r].set(True, when=(client != r) & (s.phase[r] != Phase.IDLE)) for r in others]
    return Action(
        when=(s.phase[client] == Phase.IDLE)
        & any_of(s.status == Status.OPEN, s.status == Status.IN_RECOVERY),
        then=[
            s.status.set(Status.IN_RECOVERY),
            s.phase[client].set(Phase.ACTIVE),
            s.base[client].set(s.generation),
            s.own_generation[client].set(s.generation),
            *copies,
            *overtakes,
        ],
        actor=client,
        sent=[
            to_each(
                s.bookie,
                lambda b: messages.fence(
                    s,
                    client,
                    b,
                    when=exists(s.position, lambda i: _in_last_ensemble(s, i, b)),
                ),
            )
        ],
        note="puts the ledger in recovery"
        if p.recovery_start == "join"
        else "puts the ledger in recovery, anew",
    )


def _in_last_ensemble(s: Ledger, position: Term, bookie: Parameter) -> Term:
    return exists(s.generation_, lambda g: (g == s.generation) & (s.ensemble[g, position] == bookie))


def receive_fence_answer(s: Ledger, client: Parameter, bookie: Parameter) -> Action:
    """A bookie is fenced and tells its LAC; once enough are, further answers are ignored."""
    if s.parameters.fence_answers == "until-covered":
        still_counts = ~s.covered(client)
    else:
        still_counts = ~exists(s.read_entry, lambda e: s.read_sent[client, e])
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & s.fence_handled[client, bookie]
        & ~s.fence_answer_lost[client, bookie]
        & ~s.fence_answered[client, bookie]
        & still_counts,
        then=[s.fence_answered[client, bookie].set(True)],
        actor=client,
        received=messages.fence_answer(s, client, bookie, s.fence_lac[client, bookie]),
    )


def send_reads(s: Ledger, client: Parameter, entry: Parameter) -> Action:
    """Once fencing is covered, the recoverer reads the entries above its start one after another."""
    reached = forall(
        s.read_entry, lambda e: implies((s.start(client) < e) & (e < entry), s.positive(client, e))
    )
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & s.covered(client)
        & (s.start(client) < entry)
        & ~s.read_sent[client, entry]
        & reached,
        then=[s.read_sent[client, entry].set(True)],
        actor=client,
        sent=[
            to_each(s.bookie, lambda b: messages.read(s, client, entry, b, when=s.read_to(client, entry, b)))
        ],
    )


def receive_read_answer(s: Ledger, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """A bookie has the entry or not; answers after the read is decided are ignored."""
    content = s.read_content[client, entry, bookie]
    then = [
        s.read_answered[client, entry, bookie].set(True),
        s.found[client, entry].set(content, when=content != NOTHING),
    ]
    if s.parameters.read_decision == "all-answers":
        then += [s.read_over[client, entry].set(True, when=_all_in(s, client, entry, bookie))]
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & s.read_handled[client, entry, bookie]
        & ~s.read_answer_lost[client, entry, bookie]
        & ~s.read_answered[client, entry, bookie]
        & ~s.positive(client, entry)
        & ~s.negative(client, entry),
        then=then,
        actor=client,
        received=messages.read_answer(s, client, entry, bookie, content),
    )


def _all_in(s: Ledger, client: Parameter, entry: Parameter, last: Parameter) -> Term:
    """With this answer all WQ are in; a lost one counts as in only if this answer is positive (4.13 TLA+)."""

    def lost(b: Term) -> Term:
        request, answer = s.read_lost[client, entry, b], s.read_answer_lost[client, entry, b]
        return request | (s.read_handled[client, entry, b] & answer)

    positive = s.read_content[client, entry, last] != NOTHING

    def is_in(b: Term) -> Term:
        return (b == last) | s.read_answered[client, entry, b] | (positive & lost(b))

    return forall(s.bookie, lambda b: implies(s.read_to(client, entry, b), is_in(b)))


def write_back(s: Ledger, client: Parameter, generation: Parameter, entry: Parameter) -> Action:
    """An entry that was read goes to the recoverer's current ensemble, not to the one it was read from."""
    in_order = forall(s.entry, lambda e: implies((s.start(client) < e) & (e < entry), s.pushed(client, e)))
    after_reading = s.parameters.recovery_writes == "after-reading"
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & (s.own_generation[client] == generation)
        & s.positive(client, entry)
        & ~s.pushed(client, entry)
        & in_order
        & (s.reading_ended(client) if after_reading else TRUE),
        then=_sends(s, client, generation, entry),
        actor=client,
        sent=[_adds(s, client, generation, entry)],
    )


def abandon_recovery(s: Ledger, client: Parameter) -> Action:
    """A recovery read stays unknown, or a failed bookie cannot be replaced: recovery fails."""
    undecided = exists(
        s.read_entry,
        lambda e: s.read_sent[client, e] & ~s.positive(client, e) & ~s.negative(client, e),
    )
    return Action(
        when=(s.phase[client] == Phase.ACTIVE) & undecided,
        then=[s.phase[client].set(Phase.GONE)],
        actor=client,
        note="cannot tell whether the entry is there, and gives up",
    )


def finish_recovery(s: Ledger, client: Parameter, entry: Parameter) -> Action:
    """Reading ended at `entry` and everything below is written back: the ledger is closed just below it (closeRecovered)."""
    then = [
        s.status.set(Status.CLOSED),
        s.last_entry.set(entry - 1),
        s.phase[client].set(Phase.CLOSED),
        s.closed_at[client].set(entry - 1),
    ]
    if s.parameters.recovery_metadata == "at-close":
        then += [s.generation.set(s.own_generation[client])]
        for g in s.later_generations:
            then += [s.first[g].set(s.own_first[client, g])]
            then += [s.ensemble[g, i].set(s.own_ensemble[client, g, i]) for i in s.position]
    return Action(
        when=_has_recovered(s, client, entry) & (s.status == Status.IN_RECOVERY) & ~s.overtaken[client],
        then=then,
        actor=client,
        note="closes the ledger before entry {entry}, which is not there",
    )


def _has_recovered(s: Ledger, client: Parameter, entry: Parameter) -> Term:
    """The read of that entry was negative, and every entry below it has AQ acks again."""
    return (
        (s.phase[client] == Phase.ACTIVE)
        & s.negative(client, entry)
        & forall(s.entry, lambda e: implies((s.start(client) < e) & (e < entry), s.complete(client, e)))
        & ~s.changing(client)
    )


def adopt_close(s: Ledger, client: Parameter, entry: Parameter) -> Action:
    """Someone else closed the ledger first: the recoverer adopts that and reports success."""
    return Action(
        when=_has_recovered(s, client, entry) & (s.status == Status.CLOSED),
        then=[s.phase[client].set(Phase.CLOSED), s.closed_at[client].set(s.last_entry)],
        actor=client,
        note="finds the ledger closed, and adopts that",
    )
