"""The drive of the writer's actions and of ensemble changes; the table in `actions` has the words."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.encoding.language.traces import Json, TraceStep
from fencepost.protocols.bookkeeper.values import NO_BOOKIE, WRITER
from fencepost.realcode.drive.code import Code, NoSeam
from fencepost.realcode.drive.forces import hold_syncs
from fencepost.realcode.drive.recoverers import change_of_recoverer


def create(code: Code, step: TraceStep) -> None:
    """Create the ledger over the first bookies."""
    p = code.parameters
    ensemble = ",".join(f"b{i}" for i in range(1, p.ensemble + 1))
    kind = {"deferred": "yes"} if p.forces else {"ids": "given"} if p.given_ids else {}
    if p.forces:
        hold_syncs(code)
    code.ask("create", client=WRITER, ensemble=ensemble, wq=p.write_quorum, aq=p.ack_quorum, **kind)


def push(code: Code, step: TraceStep) -> None:
    """Push an entry, and place the new bookie if this push begins a change.

    A thread that gives the same id a second time looks for it now, and waits for the throttle.
    """
    entry = step.arguments["entry"]
    if any(s.action == "queue second add" and s.arguments["entry"] == entry for s in code.steps):
        _make(code, entry, again="yes")
    following = next(iter(code.steps[step.index :]), None)
    if following is not None and following.action == "begin change" and _was_noted(code, following):
        code.ask("place", client=WRITER, bookie=code.spare_from(following.index - 1))
    code.pushed.add(entry)
    code.ask("push", client=WRITER, content=entry, **_given_id(code, entry))
    if code.holds_worker and not code.unclaimed:
        raise NoSeam("in this release the worker sends the adds, and it is held while an idle change ends")


def _was_noted(code: Code, change: TraceStep) -> bool:
    """Return whether the bookie refused an entry that has AQ acks.

    The writer then replaces the bookie with its next add.
    """
    a = change.arguments
    told = ("receive fenced", WRITER, a["entry"], a["failed"])
    return any(
        (s.action, *(s.arguments.get(name) for name in ("client", "entry", "bookie"))) == told
        for s in code.steps[: change.index]
    )


def make_waiting(code: Code, change: TraceStep) -> None:
    """Make the adds that are queued later with the ensemble which this change replaces.

    The code takes the ensemble when it makes an add, so they are made just before the change.
    """
    for later in code.steps[change.index :]:
        if later.action == "push" and later.arguments["fragment"] == change.arguments["fragment"]:
            _make(code, later.arguments["entry"])


def _make(code: Code, entry: Json, **again: Json) -> None:
    code.ask("make", client=WRITER, content=entry, **_given_id(code, entry), **again)
    code.notes.append(f"a thread makes the add of entry {entry}, and waits")


def _given_id(code: Code, entry: Json) -> dict[str, Json]:
    return {"entry": entry} if code.parameters.given_ids else {}


SECOND = "second add"
"""The kind of the request that adds an id a second time."""


def queue_second_add(code: Code, step: TraceStep) -> None:
    """Let the thread go on that has looked for the id, and note its requests."""
    entry = step.arguments["entry"]
    code.pushed.add(f"again {entry}")
    code.ask("push", client=WRITER, content=entry, again="yes")
    for request in [r for r in code.unclaimed if (r["client"], r["kind"]) == (WRITER, "add")]:
        code.unclaimed.remove(request)
        code.under_way[SECOND, WRITER, request["to"], 0, 0] = request["id"]


def ignore_failure(code: Code, step: TraceStep) -> None:
    """Time out a write to a bookie that the add's ensemble still has."""
    a = step.arguments
    code.time_out(("add", WRITER, a["failed"], a["entry"], a["fragment"]))


def begin_change(code: Code, step: TraceStep) -> None:
    """Time out the writer's add, unless the change happens with another step."""
    a = step.arguments
    if a["client"] != WRITER:
        return  # a recoverer changes its ensemble in one step, at the commit
    if _was_noted(code, step):
        return  # the push before began it
    code.ask("place", client=WRITER, bookie=code.spare_from(step.index - 1))
    code.time_out(code.latest("add", WRITER, a["entry"], a["failed"]))


def commit_and_continue(code: Code, step: TraceStep) -> None:
    """Let the metadata write of one change of the chain go; the next change begins.

    An idle change ends when the worker runs the next callback, so the worker is held until the model's
    change ends.
    """
    _one_noted(code, step)
    make_waiting(code, step)
    if _is_idle(code, step):
        code.hold_worker(True)
    else:
        _place_next(code, step)
    code.ask("metadata", client=WRITER, calls=1)


def continue_change(code: Code, step: TraceStep) -> None:
    """Let the worker find that the bookie is replaced already, and begin the change of the noted one."""
    _one_noted(code, step)
    if _is_idle(code, step):
        raise NoSeam(
            "two idle changes follow each other, and the harness cannot hold the worker between them"
        )
    _place_next(code, step)
    code.hold_worker(False)


def end_change(code: Code, step: TraceStep) -> None:
    """Let the worker find that the bookie is replaced already, and end the chain."""
    code.hold_worker(False)


AT_REST = (
    "the harness waits until the client's threads are at rest, so no ack comes between the beginning and the "
    "end of a change that replaces nothing"
)


def end_idle_change(code: Code, step: TraceStep) -> None:
    """Do nothing if the change began in the step before; the code has ended it there."""
    if code.steps[step.index - 2].action != "ignore failure":
        raise NoSeam(AT_REST)


def _place_next(code: Code, step: TraceStep) -> None:
    code.ask("place", client=WRITER, bookie=code.spare_from(step.index))


def _is_idle(code: Code, step: TraceStep) -> bool:
    """Return whether the change that begins with this step replaces nothing."""
    return bool(_last_value(code, step, f"idle[{WRITER}]", False))


def _one_noted(code: Code, step: TraceStep) -> None:
    """Raise NoSeam if another failure stays noted: the code replaces all noted bookies in one change."""
    places = range(1, code.parameters.ensemble + 1)
    if any(_last_value(code, step, f"noted[{WRITER}, {i}]", NO_BOOKIE) != NO_BOOKIE for i in places):
        raise NoSeam("two failures are noted, and the code replaces both bookies in one change")


def _last_value(code: Code, step: TraceStep, name: str, first: Json) -> Json:
    """Return the value of a state variable after the step."""
    set_by = (s.changes[name] for s in reversed(code.steps[: step.index]) if name in s.changes)
    return next(set_by, first)


def commit_change(code: Code, step: TraceStep) -> None:
    """Let the metadata write of the change go; a recoverer changes only now."""
    if step.arguments["client"] == WRITER:
        make_waiting(code, step)
        code.ask("metadata", client=WRITER)
    else:
        change_of_recoverer(code, step, step.arguments["spare"])


def deliver_all(code: Code) -> None:
    """Deliver everything that is under way and hand on every answer, until nothing is left.

    Requests to silent bookies and to bookies that are down stay held.
    """
    silent = {s.arguments["bookie"] for s in code.steps if s.action == "fall silent"}
    clients = {WRITER, *(s.arguments["client"] for s in code.steps if s.action == "begin recovery")}
    waiting = {request: letter[2] for letter, request in code.under_way.items() if request not in code.handed}
    waiting |= _sent_beside(code)
    while waiting:
        for request, bookie in waiting.items():
            if bookie in silent or not code.seen["bookies"][str(bookie)]["up"]:
                continue
            if request not in code.delivered:
                code.notes.append(f"{bookie} answers {code.ask('deliver', id=request)['answer']}")
            code.ask("hand", id=request)
        for client in sorted(clients):
            code.ask("metadata", client=client)
        waiting = _sent_beside(code)


def _sent_beside(code: Code) -> dict[int, Json]:
    """Take the requests that the code has sent and the model has not, each with its bookie."""
    found = {request["id"]: request["to"] for request in code.unclaimed}
    code.unclaimed.clear()
    return found


def abandon_change(code: Code, step: TraceStep) -> None:
    """Let the metadata write go, which fails."""
    code.ask("metadata", client=step.arguments["client"])


def close(code: Code, step: TraceStep) -> None:
    """Close the ledger, unless the writer does so itself, and let the metadata write go."""
    if not _was_fenced_out(code, step):
        code.ask("close", client=WRITER)
    change = _own_change(code.steps[: step.index])
    code.ask("metadata", client=WRITER, **({"after": 1} if change else {}))


def _was_fenced_out(code: Code, step: TraceStep) -> bool:
    """Return whether a needed bookie refused an entry: the writer then closes the ledger itself."""
    return any(
        s.action == "receive fenced" and f"phase[{WRITER}]" in s.changes for s in code.steps[: step.index]
    )


CHANGES = ("begin change", "commit change", "abandon change", "end change")


def _own_change(steps: Sequence[TraceStep]) -> bool:
    """Return whether the writer has begun an ensemble change and not ended it."""
    of_writer = [s.action for s in steps if s.action in CHANGES and s.arguments["client"] == WRITER]
    return bool(of_writer) and of_writer[-1] == "begin change"
