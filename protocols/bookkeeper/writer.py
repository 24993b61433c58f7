"""The writer, and what it shares with a recoverer: adds, their answers, ensemble changes."""

from __future__ import annotations

from fencepost.encoding.system import Action, Message, message, to_each
from fencepost.encoding.terms import Parameter, exists, forall, implies
from fencepost.protocols.bookkeeper.state import WRITER, Ledger, Phase, Status

STORE = "store"


def add(s: Ledger, client: Parameter, generation: Parameter, entry: Parameter, bookie: Parameter) -> Message:
    """An add on its way to a bookie."""
    return message(
        "add",
        client,
        bookie,
        about={"entry": entry, "fragment": generation},
        says={"content": s.content_sent(client, entry), "lac": s.pushed_lac[client, entry]},
        lost=s.add_lost[client, generation, entry, bookie],
    )


def create_ledger(s: Ledger) -> Action:
    """The writer creates the ledger, open, over the first E bookies (any E would do: bookies are alike)."""
    return Action(
        when=s.status == Status.NONE,
        then=[s.status.set(Status.OPEN), s.phase[WRITER].set(Phase.ACTIVE)],
        actor=WRITER,
        note="the ledger is open",
    )


def push(s: Ledger, generation: Parameter, entry: Parameter) -> Action:
    """The writer sends the next entry to its write set, with its LAC (LedgerHandle.doAsyncAddEntry)."""
    p = s.parameters
    in_order = forall(s.entry, lambda e: implies(e < entry, s.pushed(WRITER, e)))
    within_limit = ~exists(s.entry, lambda e: (e + p.inflight == entry) & (s.lac(WRITER) < e))
    return Action(
        when=(s.phase[WRITER] == Phase.ACTIVE)
        & (s.own_generation[WRITER] == generation)
        & ~s.pushed(WRITER, entry)
        & in_order
        & within_limit,
        then=[
            s.pushed_in[WRITER, entry].set(generation),
            s.pushed_lac[WRITER, entry].set(s.lac(WRITER)),
        ],
        actor=WRITER,
        sent=[to_each(s.bookie, lambda b: _sent_add(s, WRITER, generation, entry, b))],
    )


def _sent_add(
    s: Ledger, client: object, generation: Parameter, entry: Parameter, bookie: Parameter
) -> Message:
    return message(
        "add",
        client,  # type: ignore[arg-type]
        bookie,
        about={"entry": entry, "fragment": generation},
        says={"content": s.content_sent(client, entry), "lac": s.lac(client)},  # type: ignore[arg-type]
        lost=s.add_lost[client, generation, entry, bookie],  # type: ignore[index]
        when=s.in_write_set_of(client, generation, entry, bookie),  # type: ignore[arg-type]
    )
