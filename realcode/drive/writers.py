"""What is done for the actions of the writer, and for ensemble changes; the table in `actions` has it in words."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.encoding.language.traces import TraceStep
from fencepost.protocols.bookkeeper.metadata import WRITER
from fencepost.realcode.drive.code import Code
from fencepost.realcode.drive.recoverers import change_of_recoverer


def create(code: Code, step: TraceStep) -> None:
    p = code.parameters
    ensemble = ",".join(f"b{i}" for i in range(1, p.ensemble + 1))
    code.ask("create", client=WRITER, ensemble=ensemble, wq=p.write_quorum, aq=p.ack_quorum)


def push(code: Code, step: TraceStep) -> None:
    following = next(iter(code.steps[step.index :]), None)
    if following is not None and following.action == "begin change" and _was_noted(code, following):
        code.ask("place", client=WRITER, bookie=code.spare_after(following))
    code.ask("push", client=WRITER, content=step.arguments["entry"])


def _was_noted(code: Code, change: TraceStep) -> bool:
    """The bookie refused an entry that has AQ acks: the writer, told so, replaces it with the next add."""
    a = change.arguments
    told = ("receive fenced", WRITER, a["entry"], a["failed"])
    return any(
        (s.action, *(s.arguments.get(name) for name in ("client", "entry", "bookie"))) == told
        for s in code.steps[: change.index]
    )


def begin_change(code: Code, step: TraceStep) -> None:
    a = step.arguments
    if a["client"] != WRITER:
        return  # a recoverer changes its ensemble in one go: at the commit
    if _was_noted(code, step):
        return  # the push before began it
    code.ask("place", client=WRITER, bookie=code.spare_after(step))
    code.time_out(code.latest("add", WRITER, a["entry"], a["failed"]))


def commit_change(code: Code, step: TraceStep) -> None:
    if step.arguments["client"] == WRITER:
        code.ask("metadata", client=WRITER)
    else:
        change_of_recoverer(code, step, step.arguments["spare"])


def abandon_change(code: Code, step: TraceStep) -> None:
    code.ask("metadata", client=step.arguments["client"])


def close(code: Code, step: TraceStep) -> None:
    if not _was_fenced_out(code, step):
        code.ask("close", client=WRITER)
    change = _own_change(code.steps[: step.index])
    code.ask("metadata", client=WRITER, **({"after": 1} if change else {}))


def _was_fenced_out(code: Code, step: TraceStep) -> bool:
    """A bookie that the writer needs has refused an entry: it closes the ledger of itself."""
    return any(
        s.action == "receive fenced" and f"phase[{WRITER}]" in s.changes for s in code.steps[: step.index]
    )


CHANGES = ("begin change", "commit change", "abandon change")


def _own_change(steps: Sequence[TraceStep]) -> bool:
    """The writer has begun an ensemble change and not ended it: that write of metadata is held."""
    of_writer = [s.action for s in steps if s.action in CHANGES and s.arguments["client"] == WRITER]
    return bool(of_writer) and of_writer[-1] == "begin change"
