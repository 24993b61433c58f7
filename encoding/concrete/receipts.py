"""Receipts: a trace receives only messages that are in flight."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.traces import Json, Sending, TraceStep


def check_receipts(steps: Sequence[TraceStep]) -> None:
    """Raise ModelError if a step receives a message that is not in flight, or other contents than sent.

    A message is in flight if it was sent, is not lost, and was received less often than sent. One that stays
    may be received any number of times.
    """
    sent: dict[tuple[Json, ...], list[Sending]] = {}
    in_flight: dict[tuple[Json, ...], list[Sending]] = {}
    for step in steps:
        if step.received is not None:
            key = step.received.key
            fitting = [m for m in in_flight.get(key, []) if is_as_sent(step.received, m)]
            if not fitting:
                raise ModelError(_explain(step, step.received, sent.get(key, []), in_flight.get(key, [])))
            if not fitting[0].stays:
                in_flight[key].remove(fitting[0])
        for message in step.sent:
            sent.setdefault(message.key, []).append(message)
            if not message.lost:
                in_flight.setdefault(message.key, []).append(message)


def is_as_sent(received: Sending, sent: Sending) -> bool:
    """Return whether the fields of the received message have the values with which it was sent."""
    return all(sent.fields.get(name, value) == value for name, value in received.fields.items())


def _explain(
    step: TraceStep, received: Sending, sent: Sequence[Sending], in_flight: Sequence[Sending]
) -> str:
    """Return the message that says why the step cannot receive this message."""
    arguments = ", ".join(map(show, step.arguments.values()))
    about = " ".join(map(show, received.identity))
    message = f"{received.kind}{' ' if about else ''}{about} from {received.sender} to {received.receiver}"
    if not sent:
        why = "which was never sent"
    elif in_flight:
        sent_with, received_with = (
            ", ".join(f"{k}={show(v)}" for k, v in m.fields.items()) for m in (in_flight[0], received)
        )
        why = f"which was sent with {sent_with}, but is received with {received_with}"
    elif all(m.lost for m in sent):
        why = "which is lost"
    else:
        why = "which has been received before"
    return f"step {step.index}, {step.action}({arguments}) receives {message}, {why}; guard it"
