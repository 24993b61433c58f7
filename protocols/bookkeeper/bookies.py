"""What a bookie does: one handler for each request."""

from __future__ import annotations

from fencepost.encoding.language.system import Action
from fencepost.encoding.language.terms import (
    FALSE,
    Parameter,
    Term,
    Update,
    at_least,
    exists,
    forall,
    if_,
    maximum,
)
from fencepost.protocols.bookkeeper import messages
from fencepost.protocols.bookkeeper.state import NOTHING, Ledger


def handle_add(
    s: Ledger, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """A bookie stores an entry unless the ledger is fenced there, and answers either way (BookieImpl.addEntry).

    A recovery add is stored even if the ledger is fenced (recoveryAddEntry). Of one client's adds that will
    arrive, the lowest entry goes first.
    """
    lower = exists(
        s.entry,
        lambda e: (e < entry) & exists(s.fragment, lambda g: s.add_in_flight(client, g, e, bookie)),
    )
    index = client, fragment, entry, bookie
    refused = s.fenced[bookie] if client.sort is s.writer else FALSE
    if s.parameters.fence_atomic == "no" and client.sort is s.writer:
        refused = refused & ~s.add_admitted[index]
    if s.parameters.limbo_answers_unknown and client.sort is s.writer:
        refused = refused | s.limbo[bookie]
    return Action(
        when=s.serves(bookie) & s.add_in_flight(*index) & ~lower,
        then=[
            s.add_handled[index].set(True),
            s.add_refused[index].set(refused),
            s.stored[bookie, entry].set(s.content_sent(client, entry), when=~refused),
            s.stored_lac[bookie, entry].set(s.pushed_lac[client, entry], when=~refused),
        ],
        actor=bookie,
        received=messages.add(s, client, fragment, entry, bookie),
        sent=[messages.add_answer(s, client, fragment, entry, bookie, refused)],
    )


def fall_silent(s: Ledger, bookie: Parameter) -> Action:
    """A bookie stops answering for good."""
    others = at_least(s.parameters.silent, s.bookie, lambda b: s.silent[b])
    return Action(
        when=~s.silent[bookie] & ~others,
        then=[s.silent[bookie].set(True)],
        actor=bookie,
        note="stops answering",
        fault="silent",
    )


def admit_add(
    s: Ledger, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """Under `fence_atomic=no`, a bookie sees that the ledger is not fenced, and stores the entry later (issue 4701)."""
    index = client, fragment, entry, bookie
    return Action(
        when=s.serves(bookie) & s.add_in_flight(*index) & ~s.add_admitted[index] & ~s.fenced[bookie],
        then=[s.add_admitted[index].set(True)],
        actor=bookie,
        note="finds that the ledger is not fenced",
    )


def handle_fence(s: Ledger, client: Parameter, bookie: Parameter) -> Action:
    """A bookie fences the ledger, which it need not know yet, and tells the LAC of its highest entry."""
    lac = _lac(s, bookie)
    return Action(
        when=s.serves(bookie) & s.fence_in_flight(client, bookie),
        then=[
            s.fenced[bookie].set(True),
            s.fence_handled[client, bookie].set(True),
            s.fence_lac[client, bookie].set(lac),
            *_notes_entries(s, client, bookie),
            *_notes_what_a_crash_could_do(s, client, bookie),
        ],
        actor=bookie,
        received=messages.fence(s, client, bookie),
        sent=[messages.fence_answer(s, client, bookie, lac, _in_limbo(s, bookie))],
    )


def _in_limbo(s: Ledger, bookie: Parameter) -> Term:
    return s.limbo[bookie] if s.parameters.crashes else FALSE


def _notes_what_a_crash_could_do(s: Ledger, client: Parameter, bookie: Parameter) -> list[Update]:
    """In limbo the code answers that it does not know; and a fence that no entry precedes may not outlive a crash."""
    p = s.parameters
    bare = p.crashes > 0 and p.lose == "bare-fences"
    empty = forall(s.entry, lambda e: s.stored[bookie, e] == NOTHING)
    return [
        *([s.fence_unknown[client, bookie].set(s.limbo[bookie])] if p.limbo_answers_unknown else []),
        *([s.bare_fence[bookie].set(True, when=~s.fenced[bookie] & empty)] if bare else []),
    ]


def _notes_entries(s: Ledger, client: Parameter, bookie: Parameter) -> list[Update]:
    """Whether the answer is OK or NoSuchEntry, for the coverage rule that asks."""
    if not s.parameters.coverage_asks_for_entries:
        return []
    has_some = exists(s.entry, lambda e: s.stored[bookie, e] != NOTHING)
    return [s.fence_found_entries[client, bookie].set(has_some)]


def _lac(s: Ledger, bookie: Parameter) -> Term:
    """The LAC that came with the highest entry stored; 0 if none is."""

    def is_highest(e: Term) -> Term:
        higher = exists(s.entry, lambda f: (e < f) & (s.stored[bookie, f] != NOTHING))
        return (s.stored[bookie, e] != NOTHING) & ~higher

    return maximum(s.entry, lambda e: if_(is_highest(e), s.stored_lac[bookie, e], 0))


def handle_read(s: Ledger, client: Parameter, entry: Parameter, bookie: Parameter) -> Action:
    """A bookie answers a recovery read with the entry or NoSuchEntry; since 4.14 it fences the ledger first.

    In limbo it answers that it does not know where it would have answered NoSuchEntry (BP-46).
    """
    content = maximum(s.entry, lambda e: if_(e == entry, s.stored[bookie, e], NOTHING))
    fences = s.parameters.recovery_reads_fence == "yes"
    unknown = _in_limbo(s, bookie) & (content == NOTHING)
    return Action(
        when=s.serves(bookie) & s.read_in_flight(client, entry, bookie),
        then=[
            *([s.fenced[bookie].set(True)] if fences else []),
            s.read_handled[client, entry, bookie].set(True),
            s.read_content[client, entry, bookie].set(content),
            *([s.read_unknown[client, entry, bookie].set(unknown)] if s.parameters.crashes else []),
        ],
        actor=bookie,
        received=messages.read(s, client, entry, bookie),
        sent=[messages.read_answer(s, client, entry, bookie, content, unknown)],
    )
