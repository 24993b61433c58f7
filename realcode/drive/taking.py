"""One step of a trace, taken on the code."""

from __future__ import annotations

from fencepost.encoding.language.traces import TraceStep
from fencepost.protocols.bookkeeper.values import WRITER
from fencepost.realcode.drive.actions import DRIVEN
from fencepost.realcode.drive.code import KINDS, Code, NoSeam, Parted
from fencepost.realcode.harness_session import CodeFailed
from fencepost.realcode.left_out import UNDRIVABLE

OF_WORKER = (
    "handle add",
    "receive ack",
    "receive second ack",
    "receive fenced",
    "ignore failure",
    "abandon change",
    "close ledger",
    "withdraw",
)
"""The actions of the writer that its worker thread does. It also takes the answer of each add."""


def take(code: Code, step: TraceStep) -> list[str]:
    """Drive one step and return the code's actions in it. Raises Parted or NoSeam."""
    code.notes = []
    if code.holds_worker and step.action in OF_WORKER and step.arguments.get("client", WRITER) == WRITER:
        raise NoSeam("the worker that does it is held, while an idle change ends")
    drive = DRIVEN.get(step.action)
    if drive is None:
        raise NoSeam(UNDRIVABLE.get(step.action, "no release that can be driven has this action"))
    try:
        drive.do(code, step)
        for message in step.sent:
            if message.kind in KINDS:
                code.claim(message)
        code.refuse_more()
    except CodeFailed as failure:
        raise Parted(f"the code fails: {failure}") from failure
    return code.notes
