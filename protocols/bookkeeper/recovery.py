"""What a recoverer does: it fences, reads forward, writes back what it finds, and closes the ledger."""

from __future__ import annotations

from fencepost.encoding.language.system import Action, to_each
from fencepost.encoding.language.terms import FALSE, TRUE, Parameter, Term, any_of, exists, forall, implies
from fencepost.protocols.bookkeeper import messages
from fencepost.protocols.bookkeeper.adds import adds, sends
from fencepost.protocols.bookkeeper.state import NOTHING, Ledger, Phase, Status


def begin_recovery(s: Ledger, client: Parameter) -> Action:
    """A recoverer puts the ledger in recovery and sends fencing reads to the last ensemble."""
    p = s.parameters
    copies = [
        update
        for g in s.later_fragments
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
            s.base[client].set(s.last_fragment),
            s.own_last_fragment[client].set(s.last_fragment),
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
    return exists(s.fragment, lambda g: (g == s.last_fragment) & (s.ensemble[g, position] == bookie))


def receive_fence_answer(s: Ledger, client: Parameter, bookie: Parameter) -> Action:
    """A bookie is fenced and tells its LAC; once enough are, further answers are ignored."""
    if s.parameters.fence_answers == "until-covered":
        still_counts = ~s.covered(client)
    else:
        still_counts = ~exists(s.read_entry, lambda e: s.read_sent[client, e])
    unknown = s.fence_unknown[client, bookie] if s.parameters.limbo_answers_unknown else FALSE
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & s.fence_handled[client, bookie]
        & ~s.fence_answer_lost[client, bookie]
        & ~s.fence_answered[client, bookie]
        & still_counts,
        then=[s.fence_answered[client, bookie].set(True)],
        actor=client,
        received=messages.fence_answer(s, client, bookie, s.fence_lac[client, bookie], unknown),
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
    unknown = s.read_unknown[client, entry, bookie] if s.parameters.crashes else FALSE
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
        received=messages.read_answer(s, client, entry, bookie, content, unknown),
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


def write_back(s: Ledger, client: Parameter, fragment: Parameter, entry: Parameter) -> Action:
    """An entry that was read goes to the recoverer's current ensemble, not to the one it was read from."""
    in_order = forall(s.entry, lambda e: implies((s.start(client) < e) & (e < entry), s.pushed(client, e)))
    after_reading = s.parameters.recovery_writes == "after-reading"
    return Action(
        when=(s.phase[client] == Phase.ACTIVE)
        & (s.own_last_fragment[client] == fragment)
        & s.positive(client, entry)
        & ~s.pushed(client, entry)
        & in_order
        & (s.reading_ended(client) if after_reading else TRUE),
        then=sends(s, client, fragment, entry),
        actor=client,
        sent=[adds(s, client, fragment, entry)],
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
        then += [s.last_fragment.set(s.own_last_fragment[client])]
        for g in s.later_fragments:
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
