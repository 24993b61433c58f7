"""The drive of recoverers' actions; the table in `actions` describes it in words."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.encoding.language.traces import Json, TraceStep
from fencepost.protocols.bookkeeper.values import WRITER
from fencepost.realcode.drive.code import Code


def begin_recovery(code: Code, step: TraceStep) -> None:
    """Open the ledger for recovery, and let its metadata calls go."""
    client = step.arguments["client"]
    code.ask("open", client=client)
    code.ask("metadata", client=client)


def change_of_recoverer(code: Code, step: TraceStep, spare: Json) -> None:
    """Time out the add that the model's change began with: the code replaces the bookie at once."""
    client, failed = step.arguments["client"], step.arguments["failed"]
    began = [
        s for s in code.steps[: step.index] if s.action == "begin change" and s.arguments["client"] == client
    ]
    code.ask("place", client=client, bookie=spare)
    code.time_out(code.latest("add", client, began[-1].arguments["entry"], failed))


def try_invalid_fragment(code: Code, step: TraceStep) -> None:
    """Let the recoverer run until it reports, because it notices the fragment only when it closes."""
    client = step.arguments["client"]
    if client == WRITER:
        code.ask("metadata", client=WRITER)
        return
    change_of_recoverer(code, step, code.spare_from(step.index - 1, client))
    code.notes.append("and is driven on, until it reports")
    run_on(code, client)


def abandon_recovery(code: Code, step: TraceStep) -> None:
    """Time out every read of the last entry that was not answered."""
    client = step.arguments["client"]
    answered = {
        ("read", client, s.arguments["bookie"], s.arguments["entry"])
        for s in code.steps[: step.index]
        if s.action == "receive read answer" and s.arguments["client"] == client
    }
    last = max(key[3] for key in code.under_way if key[:2] == ("read", client))
    for key in list(code.under_way):
        if key[:2] == ("read", client) and key[3] == last and key[:4] not in answered:
            code.time_out(key)


def run_on(code: Code, client: Json, silent: Sequence[str] = ()) -> None:
    """Deliver all requests of the client and hand on the answers, except to silent bookies."""
    for _ in range(100):
        waiting = [r for r in code.unclaimed if r["client"] == client and r["to"] not in silent]
        if not waiting:
            code.ask("metadata", client=client)
            if not [r for r in code.unclaimed if r["client"] == client and r["to"] not in silent]:
                return
            continue
        code.unclaimed.remove(waiting[0])
        answer = code.ask("deliver", id=waiting[0]["id"])["answer"]
        code.notes.append(f"{waiting[0]['to']} answers {answer}")
        code.ask("hand", id=waiting[0]["id"])


def drive_on(code: Code) -> None:
    """Deliver everything that recoverers wait for, except from silent bookies: can recovery finish?"""
    silent = [str(s.arguments["bookie"]) for s in code.steps if s.action == "fall silent"]
    for step in _changes_under_way(code):
        change_of_recoverer(code, step, code.spare_from(step.index - 1, step.arguments["client"]))
    for letter, request in list(code.under_way.items()):
        _, client, bookie, _, _ = letter
        if client == WRITER or bookie in silent or request in code.handed:
            continue
        if request not in code.delivered:
            code.let_go(letter)
        code.hand(letter)
    for client in {str(s.arguments["client"]) for s in code.steps if s.action == "begin recovery"}:
        run_on(code, client, silent)


def _changes_under_way(code: Code) -> list[TraceStep]:
    """Return the ensemble changes that recoverers have begun and not committed."""
    begun: dict[Json | None, TraceStep] = {}
    for step in code.steps:
        client = step.arguments.get("client")
        if step.action == "begin change" and client != WRITER:
            begun[client] = step
        elif step.action in ("commit change", "try invalid fragment"):
            begun.pop(client, None)
    return list(begun.values())
