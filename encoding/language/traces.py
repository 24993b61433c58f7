"""Traces as data: executions on plain values, and their form in files.

Only replay makes traces (`concrete.replay`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fencepost.encoding.language.bounded_sequences import SequenceVariable
from fencepost.encoding.language.record_values import RecordVariable
from fencepost.encoding.language.sets import SetVariable
from fencepost.encoding.language.sorts import Value, show
from fencepost.encoding.language.state import named
from fencepost.encoding.language.terms import Family, Read
from fencepost.encoding.language.wholes import Whole
from fencepost.encoding.versions import version

SCHEMA = "fencepost.trace/2"
"""The form of a trace in a file."""

PATH_SCHEMA = "fencepost.path/2"
"""The form of an execution that violates nothing: a trace without a property."""

Json = bool | int | str

Declared = Family | Read | Whole[Family] | SetVariable | SequenceVariable | RecordVariable
"""A family, or a single variable as its state space has it."""


@dataclass(frozen=True)
class Sending:
    """A message in a trace, at its sender (`lost` is set) or at its receiver (`lost` is None)."""

    kind: str
    sender: Json
    receiver: Json
    fields: Mapping[str, Json]
    lost: bool | None = None
    identity: tuple[Json, ...] = ()
    """The values that tell this sending from others of the same kind, sender and receiver."""
    choice: str | None = field(default=None, compare=False)
    """The name of the choice that says whether the sending is lost, at the sender, if there is a choice."""
    stays: bool = field(default=False, compare=False)
    """Whether the message may be received again."""

    @property
    def key(self) -> tuple[Json, ...]:
        """A key that is equal at the sender and at the receiver."""
        return (self.kind, self.sender, self.receiver, *self.identity)


@dataclass(frozen=True)
class TraceStep:
    """One action of a trace, with the state variables that it changed."""

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
        """The name that people read: `handle add(w, 1, b3)`."""
        given = ", ".join(map(show, self.arguments.values()))
        return f"{self.action}({given})" if given else self.action


@dataclass(frozen=True)
class FairInLoop:
    """A set of actions of which some one is fair, and how a loop is fair to it."""

    name: str
    how: str


@dataclass(frozen=True)
class Loop:
    """The part of a trace that goes on for ever. It begins after the step `begins`, and has all later steps.

    A loop without steps stands still. The property is owed since the state after the step `owed`.
    """

    begins: int
    owed: int
    fair: tuple[FairInLoop, ...]

    def to_json(self) -> dict[str, object]:
        """Return the form in files."""
        fair = [{"name": one.name, "how": one.how} for one in self.fair]
        return {"begins": self.begins, "owed": self.owed, "fair": fair}


@dataclass(frozen=True)
class Trace:
    """An execution that ends in a state that violates `property`, with all data to replay it."""

    protocol: str
    parameters: Mapping[str, Json]
    switches: Mapping[str, Json]
    property: str
    faults: Mapping[str, int]
    initial: Mapping[str, Json]
    steps: tuple[TraceStep, ...]
    system: str | None = None
    """The digest of the system; None if the protocol ships."""
    varied: tuple[str, ...] = ()
    """The names of the state variables that have several initial values."""
    loop: Loop | None = None
    """The steps that are repeated for ever, if the trace violates a property of liveness."""

    @cached_property
    def beginning(self) -> Mapping[str, Json]:
        """The initial values of the variables that have several."""
        return {name: self.initial[name] for name in self.varied}

    @cached_property
    def subject(self) -> Subject:
        """The instance that the trace belongs to."""
        return Subject(self.protocol, self.parameters, self.switches, self.system)

    @cached_property
    def states(self) -> tuple[Mapping[str, Json], ...]:
        """The values of all variables before the first step and after each step."""
        states = [dict(self.initial)]
        for step in self.steps:
            states.append({**states[-1], **step.changes})
        return tuple(states)

    @cached_property
    def sent_at(self) -> Mapping[tuple[Json, ...], int]:
        """The index of the step in which each message was sent."""
        return {message.key: step.index for step in self.steps for message in step.sent}

    def keeps_within(self, budgets: Mapping[str, int]) -> bool:
        """Return whether the trace needs no more faults of each kind than allowed."""
        return all(self.faults.get(fault, 0) <= most for fault, most in budgets.items())

    def is_late(self, step: TraceStep) -> bool:
        """Return whether the receiver had already received a message that was sent after this one."""
        if step.received is None or step.received.key not in self.sent_at:
            return False
        sent = self.sent_at[step.received.key]
        return any(
            earlier.received is not None
            and earlier.received.receiver == step.received.receiver
            and self.sent_at.get(earlier.received.key, -1) > sent
            for earlier in self.steps[: step.index - 1]
        )

    def value(self, of: Declared, *index: Value, after: int | None = None) -> Any:
        """Return the value of a variable after a step: 0 is the initial state, None the last one.

        A trace leaves out variables that never change and have one initial value.
        """
        state, variable = self.states[-1 if after is None else after], _family(of)
        if isinstance(variable, Whole):
            shown = state.get(named(variable, index))
            return variable.plain(str(shown) if shown is not None else variable.text(index, Family.first))
        shown = state.get(shown_name(variable, index))
        if shown is None:
            return variable.first(index)
        if variable.whole is not None:
            return variable.whole.part(str(shown), variable, index)
        return next(value for value in variable.domain if plain(value) == shown)

    def last_change(
        self, of: Declared, *index: Value, to: Value | None = None, before: int | None = None
    ) -> TraceStep:
        """Return the last step that changed the variable, to a value and before a step if these are given.

        There must be such a step.
        """
        name, earlier = (
            self._shown_name(of, index),
            self.steps if before is None else self.steps[: before - 1],
        )
        changes = (step for step in reversed(earlier) if name in step.changes)
        return next(step for step in changes if to is None or self.value(of, *index, after=step.index) == to)

    @staticmethod
    def _shown_name(of: Declared, index: tuple[Value, ...]) -> str:
        family = _family(of)
        return shown_name(family, index) if isinstance(family, Family) else named(family, index)

    def changed(self, step: TraceStep, of: Declared) -> list[tuple[Value, ...]]:
        """Return the indices at which a step changed a family, in order."""
        family = _family(of)
        return [i for i in itertools.product(*family.over) if self._shown_name(family, i) in step.changes]

    def in_flight(self) -> list[Sending]:
        """Return the messages that were sent, are not lost, and were never received."""
        received = {step.received.key for step in self.steps if step.received is not None}
        return [m for step in self.steps for m in step.sent if not m.lost and m.key not in received]

    def to_path_json(self) -> dict[str, object]:
        """Return the form in files of an execution that violates nothing."""
        return {**{k: v for k, v in self.to_json().items() if k != "property"}, "schema": PATH_SCHEMA}

    def to_json(self) -> dict[str, object]:
        """Return the form in files, which `concrete.saved_traces` reads."""
        return {
            "schema": SCHEMA,
            "version": version(),
            **self.subject.to_json(),
            "property": self.property,
            "faults": dict(self.faults),
            "initial": dict(self.initial),
            "steps": [_step_to_json(step) for step in self.steps],
            **({} if self.loop is None else {"loop": self.loop.to_json()}),
        }


def shown_family(family: Family) -> str:
    """Return the name under which a trace shows a family: of the parts of sets, that of the sets."""
    return family.name if family.whole is None else family.whole.name


def shown_name(family: Family, index: tuple[Value, ...]) -> str:
    """Return the name under which a trace shows a variable: of a part of a set, that of the set."""
    return named(family if family.whole is None else family.whole, shown_index(family, index))


def shown_index(family: Family, index: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the index under which a trace shows a variable: of a part of a set, that of the set."""
    return index if family.whole is None else family.whole.index(index)


def _family(of: Declared) -> Family | Whole[Family]:
    """Return the family. A single variable is given as the term that reads it."""
    if isinstance(of, SetVariable | SequenceVariable | RecordVariable):
        return of.whole
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


def plain(value: object) -> Json:
    """Return a value for JSON: Booleans and integers as they are, other values as their labels."""
    return value if isinstance(value, bool | int) else show(value)


@dataclass(frozen=True)
class Subject:
    """The names under which the system of a trace was built."""

    protocol: str
    parameters: Mapping[str, Json]
    switches: Mapping[str, Json]
    system: str | None = None
    """The digest of the system (`canonical.digest`); None if the protocol ships."""

    def to_json(self) -> dict[str, object]:
        """Return the keys that every document about an instance has."""
        return {
            "protocol": self.protocol,
            "parameters": dict(self.parameters),
            "switches": dict(self.switches),
            "system": self.system,
        }
