"""Receipts: nothing is received in a trace that is not under way."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.state import show
from fencepost.encoding.language.traces import Json, Sending, TraceStep


def check_receipts(steps: Sequence[TraceStep]) -> None:
    """Raise ModelError unless each step receives a message that is under way: sent earlier as it is received.

    A message that is lost is not under way, nor is one that was received as often as it was sent.
    """
    sent: dict[tuple[Json, ...], list[Sending]] = {}
    under_way: dict[tuple[Json, ...], list[Sending]] = {}
    for step in steps:
        if step.received is not None:
            key = step.received.key
            fitting = [m for m in under_way.get(key, []) if is_as_sent(step.received, m)]
            if not fitting:
                raise ModelError(_unexpected(step, step.received, sent.get(key, []), under_way.get(key, [])))
            under_way[key].remove(fitting[0])
        for message in step.sent:
            sent.setdefault(message.key, []).append(message)
            if not message.lost:
                under_way.setdefault(message.key, []).append(message)


def is_as_sent(received: Sending, sent: Sending) -> bool:
    """What the message says where it is received it said where it was sent."""
    return all(sent.fields.get(name, value) == value for name, value in received.fields.items())


def _unexpected(
    step: TraceStep, received: Sending, sent: Sequence[Sending], under_way: Sequence[Sending]
) -> str:
    """Why the step should not receive that message."""
    arguments = ", ".join(map(show, step.arguments.values()))
    about = " ".join(map(show, received.identity))
    message = f"{received.kind}{' ' if about else ''}{about} from {received.sender} to {received.receiver}"
    if not sent:
        why = "which was never sent"
    elif under_way:
        said, says = (
            ", ".join(f"{k}={show(v)}" for k, v in m.fields.items()) for m in (under_way[0], received)
        )
        why = f"which was sent with {said}, with {says}"
    elif all(m.lost for m in sent):
        why = "which is lost"
    else:
        why = "which has been received before"
    return f"step {step.index}, {step.action}({arguments}) receives {message}, {why}; guard it"
