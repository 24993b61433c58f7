"""The drive of readers without recovery.

A reader's requests are held like those of other clients, and so are the changes of the metadata of which it
is told. The answers about the LAC reach it when the model's opening ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fencepost.encoding.language.traces import Json, TraceStep
from fencepost.realcode.drive.code import Code, NoSeam, Parted


def open_for_reading(code: Code, step: TraceStep) -> None:
    """Open the ledger without recovery, and let its read of the metadata go."""
    reader = step.arguments["reader"]
    protocol = {"protocol": "v2"} if code.parameters.way_to_read != "none" else {}
    code.ask("open", client=reader, recovery="no", changes="held", **protocol)
    code.ask("metadata", client=reader)


def hear_lac(code: Code, step: TraceStep) -> None:
    """Let a bookie answer about the LAC: to the opening, which gets it at its end, or to an open reader."""
    reader, bookie = str(step.arguments["reader"]), step.arguments["bookie"]
    if reader in code.seen["lacs"]:
        known = code.seen["readers"][reader]
        if known["closed"] or bookie not in known["fragments"][-1]["ensemble"]:
            raise NoSeam(
                "an open reader asks the last ensemble that it knows for the LAC, unless the ledger is closed"
            )
        code.ask("read-lac", client=reader)
        _, request = _answered(code, reader, "read-lac", bookie)
        code.ask("hand", id=request)
    else:
        code.told_lacs.setdefault(reader, []).append(_answered(code, reader, "read-lac", bookie))


def end_opening(code: Code, step: TraceStep) -> None:
    """Hand the answers about the LAC to the reader, the highest LAC first.

    The handle takes no more answers once it has enough of them.
    """
    for _, request in sorted(code.told_lacs.pop(str(step.arguments["reader"]), []), reverse=True):
        code.ask("hand", id=request)


def learn_metadata(code: Code, step: TraceStep) -> None:
    """Tell the reader's handle of the changed metadata."""
    code.ask("learn", client=step.arguments["reader"])


def report_absent(code: Code, step: TraceStep) -> None:
    """Read the entry, and let each bookie that is asked answer."""
    reader = str(step.arguments["reader"])
    code.ask("read", client=reader, entry=step.arguments["entry"])
    for request in [r for r in code.unclaimed if r["client"] == reader and r["kind"] == "read"]:
        code.unclaimed.remove(request)
        code.notes.append(f"{request['to']} answers {code.ask('deliver', id=request['id'])['answer']}")
        code.ask("hand", id=request["id"])


def read_entries(code: Code, step: TraceStep) -> None:
    """Read the entry, or a batch from it on; of the write set, which is asked at once, one bookie answers."""
    a, in_batches = step.arguments, code.parameters.way_to_read == "batch"
    batch = {"batch": code.parameters.entries} if in_batches else {}
    code.ask("read", client=a["reader"], entry=a["entry"], **batch)
    _, request = _answered(code, str(a["reader"]), "batch-read" if in_batches else "read", a["bookie"])
    code.ask("hand", id=request)


def _answered(code: Code, reader: str, kind: str, bookie: Json) -> tuple[int, int]:
    """Let the bookie answer the reader's last request; return the LAC that it tells and the request."""

    def fits(request: Mapping[str, Any]) -> bool:
        return (request["client"], request["kind"], request["to"]) == (reader, kind, bookie)

    asked = [request for request in code.unclaimed if fits(request)]
    if not asked:
        raise Parted(f"{reader} has not sent {kind} to {bookie}")
    code.unclaimed.remove(asked[-1])
    answer = code.ask("deliver", id=asked[-1]["id"])["answer"]
    code.notes.append(f"{bookie} answers {answer}")
    return int(code.look()["bookies"][str(bookie)]["lac"]), int(asked[-1]["id"])
