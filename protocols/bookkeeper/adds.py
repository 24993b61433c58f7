"""Adds and their answers: the writer's entries, a recoverer's write-backs."""

from __future__ import annotations

from fencepost.encoding.language.system import Action, Broadcast, to_each
from fencepost.encoding.language.terms import Parameter, Term, Update, exists
from fencepost.protocols.bookkeeper import messages
from fencepost.protocols.bookkeeper.state import Ledger, Phase


def sends(s: Ledger, client: Parameter | str, fragment: Parameter, entry: Parameter) -> list[Update]:
    """The entry goes to its write set in that ensemble."""
    return [
        s.pushed_in[client, entry].set(fragment),
        s.pushed_lac[client, entry].set(s.carried_lac(client)),
    ]


def adds(s: Ledger, client: Parameter | str, fragment: Parameter, entry: Parameter) -> Broadcast:
    return to_each(
        s.bookie,
        lambda b: messages.add(
            s,
            client,
            fragment,
            entry,
            b,
            lac=s.carried_lac(client),
            lost=s.add_lost[client, entry, b],
            when=s.in_write_set_of(client, fragment, entry, b),
        ),
    )


def _next_answer(
    s: Ledger, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter, refused: Term
) -> Term:
    """That answer is the next one from this bookie: of those that will arrive, the lowest entry goes first."""
    lower = exists(
        s.entry,
        lambda e: (e < entry) & exists(s.fragment, lambda g: s.answer_in_flight(client, g, e, bookie)),
    )
    return s.answer_in_flight(client, fragment, entry, bookie) & refused & ~lower


def receive_ack(
    s: Ledger, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """A bookie has stored the entry: counted if the bookie still stands where it was sent (PendingAddOp.writeComplete)."""
    ok = ~s.add_refused[client, fragment, entry, bookie]
    return Action(
        when=(s.phase[client] == Phase.ACTIVE) & _next_answer(s, client, fragment, entry, bookie, ok),
        then=[
            s.add_answered[client, fragment, entry, bookie].set(True),
            s.acked[client, entry, bookie].set(True, when=s.still_there(client, fragment, bookie)),
        ],
        actor=client,
        received=messages.add_answer(s, client, fragment, entry, bookie, False),
    )


def receive_fenced(
    s: Ledger, client: Parameter, fragment: Parameter, entry: Parameter, bookie: Parameter
) -> Action:
    """A bookie refused the entry: the writer drops its pending adds, and in the code closes the ledger."""
    refused = s.add_refused[client, fragment, entry, bookie]
    closes = s.parameters.writer_close == "any-not-closed"
    return Action(
        when=(s.phase[client] == Phase.ACTIVE) & _next_answer(s, client, fragment, entry, bookie, refused),
        then=[
            s.add_answered[client, fragment, entry, bookie].set(True),
            s.phase[client].set(Phase.CLOSING if closes else Phase.GONE),
        ],
        actor=client,
        received=messages.add_answer(s, client, fragment, entry, bookie, True),
        note="is fenced out: drops its pending entries",
    )
