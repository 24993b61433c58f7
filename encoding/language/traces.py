"""Traces as data: executions on plain values, and their form in files.

Only what was replayed becomes a trace: `concrete.replaying` makes them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.state import named, show
from fencepost.encoding.language.terms import Family, Read
from fencepost.encoding.versions import version

SCHEMA = "fencepost.trace/2"

WALK = "fencepost.walk/1"
"""An execution that is evidence of nothing: a trace without a property."""


Json = bool | int | str


@dataclass(frozen=True)
class Sending:
    """A message in a trace: where it was sent (with `lost`), or where it was received."""

    kind: str
    sender: Json
    receiver: Json
    fields: Mapping[str, Json]
    lost: bool | None = None
    identity: tuple[Json, ...] = ()
    """What tells this sending from others of the same kind, sender and receiver."""
    choice: str | None = field(default=None, compare=False)
    """Where it was sent: the name of the choice that says whether it is lost, if one does."""

    @property
    def key(self) -> tuple[Json, ...]:
        """Equal where a message is sent and where it is received."""
        return (self.kind, self.sender, self.receiver, *self.identity)


@dataclass(frozen=True)
class TraceStep:
    """One action of a trace, and what it changed."""

    index: int
    action: str
    arguments: Mapping[str, Json]
    actor: Json
    received: Sending | None
    sent: tuple[Sending, ...]
    note: str
    changes: Mapping[str, Json]

    @property
    def name(self) -> str:
        """As people read it: `handle add(w, 1, b3)`."""
        given = ", ".join(map(show, self.arguments.values()))
        return f"{self.action}({given})" if given else self.action


@dataclass(frozen=True)
class Trace:
    """An execution that ends where `property` is violated, with everything needed to replay it."""

    protocol: str
    parameters: Mapping[str, Json]
    switches: Mapping[str, Json]
    property: str
    faults: Mapping[str, int]
    initial: Mapping[str, Json]
    steps: tuple[TraceStep, ...]
    system: str | None = None
    """The digest of the system, if the protocol is one of somebody's own."""

    @cached_property
    def subject(self) -> Subject:
        """What it is a trace of."""
        return Subject(self.protocol, self.parameters, self.switches, self.system)

    @cached_property
    def states(self) -> tuple[Mapping[str, Json], ...]:
        """What each variable holds before the first step and after each step."""
        states = [dict(self.initial)]
        for step in self.steps:
            states.append({**states[-1], **step.changes})
        return tuple(states)

    @cached_property
    def sent_at(self) -> Mapping[tuple[Json, ...], int]:
        """The index of the step in which each message was sent."""
        return {message.key: step.index for step in self.steps for message in step.sent}

    def is_late(self, step: TraceStep) -> bool:
        """The message received was overtaken: its receiver had received one that was sent after it."""
        if step.received is None or step.received.key not in self.sent_at:
            return False
        sent = self.sent_at[step.received.key]
        return any(
            earlier.received is not None
            and earlier.received.receiver == step.received.receiver
            and self.sent_at.get(earlier.received.key, -1) > sent
            for earlier in self.steps[: step.index - 1]
        )

    def value(self, of: Family | Read, *index: Value, after: int | None = None) -> Any:
        """What a variable held after that step (0: at first; at the end unless told), as a value of its domain.

        A trace leaves out what never changes: that is what it was at first.
        """
        variable = _family(of)
        shown = self.states[-1 if after is None else after].get(named(variable, index))
        if shown is None:
            return variable.initially(index)
        return next(value for value in variable.domain if plain(value) == shown)

    def last_change(
        self, of: Family | Read, *index: Value, to: Value | None = None, before: int | None = None
    ) -> TraceStep:
        """The last step that changed the variable (to that value, before that step); there must be one."""
        name, earlier = named(_family(of), index), self.steps if before is None else self.steps[: before - 1]
        changes = (step for step in reversed(earlier) if name in step.changes)
        return next(step for step in changes if to is None or step.changes[name] == plain(to))

    def changed(self, step: TraceStep, of: Family | Read) -> list[tuple[Value, ...]]:
        """The indices at which a step changed a family, in order."""
        family = _family(of)
        return [i for i in itertools.product(*family.over) if named(family, i) in step.changes]

    def in_flight(self) -> list[Sending]:
        """Messages that were sent, are not lost, and were never received."""
        received = {step.received.key for step in self.steps if step.received is not None}
        return [m for step in self.steps for m in step.sent if not m.lost and m.key not in received]

    def to_walk(self) -> dict[str, object]:
        """The form in files of an execution that violates nothing."""
        return {**{k: v for k, v in self.to_json().items() if k != "property"}, "schema": WALK}

    def to_json(self) -> dict[str, object]:
        """The form in files, which `from_json` reads."""
        return {
            "schema": SCHEMA,
            "version": version(),
            **self.subject.to_json(),
            "property": self.property,
            "faults": dict(self.faults),
            "initial": dict(self.initial),
            "steps": [_step_to_json(step) for step in self.steps],
        }


def _family(of: Family | Read) -> Family:
    """A family; of a single variable, the state space has the term that reads it."""
    return of.family if isinstance(of, Read) else of


def _step_to_json(step: TraceStep) -> dict[str, object]:
    return {
        "index": step.index,
        "action": step.action,
        "arguments": dict(step.arguments),
        "actor": step.actor,
        "received": None if step.received is None else _sending_to_json(step.received),
        "sent": [{**_sending_to_json(m), "lost": m.lost} for m in step.sent],
        "note": step.note,
        "changes": dict(step.changes),
    }


def _sending_to_json(message: Sending) -> dict[str, object]:
    return {
        "kind": message.kind,
        "from": message.sender,
        "to": message.receiver,
        "fields": dict(message.fields),
    }


def plain(value: Value) -> Json:
    """A value as JSON has it: Booleans and integers as they are, anything else by its label."""
    return value if isinstance(value, bool | int) else show(value)


@dataclass(frozen=True)
class Subject:
    """What a trace is of: the names under which a system was built."""

    protocol: str
    parameters: Mapping[str, Json]
    switches: Mapping[str, Json]
    system: str | None = None
    """The digest of the system (`canonical.digest`), if the protocol is not one that ships: then its name says little."""

    def to_json(self) -> dict[str, object]:
        """As every document has it that is about an instance."""
        return {
            "protocol": self.protocol,
            "parameters": dict(self.parameters),
            "switches": dict(self.switches),
            "system": self.system,
        }
