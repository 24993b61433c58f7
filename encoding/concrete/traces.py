"""Traces: executions replayed on plain values, and their form in files.

Nothing becomes a trace without being replayed: `replay` runs the actions one by one on the concrete reading
and fails where one is not enabled, or where the property holds at the end.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fencepost.encoding.concrete.compiling import Concrete, State
from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.language.state import Variable, show
from fencepost.encoding.language.system import Broadcast, GroundAction, Invariant, Message, Property, System
from fencepost.encoding.language.terms import Parameter, Term, Value
from fencepost.encoding.versions import version

SCHEMA = "fencepost.trace/2"

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

    @cached_property
    def subject(self) -> Subject:
        """What it is a trace of."""
        return Subject(self.protocol, self.parameters, self.switches)

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

    def last_change(self, variable: str, to: Json | None = None, before: int | None = None) -> TraceStep:
        """The last step that changed the variable (to that value, before that step); there must be one."""
        earlier = self.steps if before is None else self.steps[: before - 1]
        changes = (step for step in reversed(earlier) if variable in step.changes)
        return next(step for step in changes if to is None or step.changes[variable] == to)

    def in_flight(self) -> list[Sending]:
        """Messages that were sent, are not lost, and were never received."""
        received = {step.received.key for step in self.steps if step.received is not None}
        return [m for step in self.steps for m in step.sent if not m.lost and m.key not in received]

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

    def to_json(self) -> dict[str, object]:
        """As every document has it that is about an instance."""
        return {
            "protocol": self.protocol,
            "parameters": dict(self.parameters),
            "switches": dict(self.switches),
        }


class NotAnExecution(Exception):
    """A step cannot happen, or the property holds at the end. The message says where and why."""


@dataclass(frozen=True)
class Replayer:
    """Runs given actions on plain values."""

    system: System
    subject: Subject

    @cached_property
    def concrete(self) -> Concrete:
        """The system on plain values."""
        return Concrete(self.system)

    def warm_up(self) -> Iterator[GroundAction]:
        """Compile one action after another, for whoever has nothing better to do just now."""
        for action in self.system.ground_actions:
            self.concrete.step(action)
            yield action

    def replay(
        self, prop: Property | Invariant, actions: Sequence[GroundAction], choices: Iterable[str]
    ) -> Trace:
        """The trace of these actions, up to the first state that violates the property.

        `choices` names the choices that are true. Raises NotAnExecution.
        """
        chosen = self._places(choices)
        states = self._execute(prop.name, self.concrete.predicate(~prop.holds), actions, chosen)
        steps = self.steps(actions, states)
        return Trace(
            self.subject.protocol,
            self.subject.parameters,
            self.subject.switches,
            prop.name,
            self._faults(actions[: len(steps)], chosen),
            self._shown(states[0]),
            steps,
        )

    def reach(self, name: str, target: Term, actions: Sequence[GroundAction], choices: Iterable[str]) -> None:
        """Run the actions up to the first state in which `target` holds; raises NotAnExecution."""
        states = self._execute(name, self.concrete.predicate(target), actions, self._places(choices))
        self.steps(actions, states)

    def follow(
        self,
        actions: Sequence[GroundAction],
        choices: Iterable[str],
        start: Mapping[Variable, Value] | None = None,
    ) -> list[State]:
        """The states from the first one to the one after the last action; raises NotAnExecution.

        With `start`, the first one has these values instead of the initial ones.
        """
        first = bytearray(self._first(self._places(choices)))
        for variable, value in (start or {}).items():
            first[variable.place] = variable.domain.values.index(value)
        states = [bytes(first)]
        for action in actions:
            states.append(self.after(action, states))
        return states

    def steps(self, actions: Sequence[GroundAction], states: Sequence[State]) -> tuple[TraceStep, ...]:
        """The steps from each of these states to the next, for people.

        Raises ModelError if one receives what is not under way to it.
        """
        steps = tuple(
            self._step(index, action, before, after)
            for index, (action, (before, after)) in enumerate(
                zip(actions, itertools.pairwise(states), strict=False), 1
            )
        )
        check_receipts(steps)
        return steps

    def spare_faults(
        self, prop: Property | Invariant, actions: Sequence[GroundAction], choices: Iterable[str]
    ) -> Trace:
        """The same execution with as few losses as it needs: what is merely not delivered is not lost."""
        violated = self.concrete.predicate(~prop.holds)
        names = {v.place: v.name for v in self.system.variables}
        needed = self._places(choices)
        for place in [None, *sorted(needed)]:
            fewer = needed - {place} if place is not None else frozenset()
            with contextlib.suppress(NotAnExecution):
                self._execute(prop.name, violated, actions, fewer)
                needed = fewer
        return self.replay(prop, actions, [names[place] for place in needed])

    def _places(self, choices: Iterable[str]) -> frozenset[int]:
        places = {v.name: v.place for v in self.system.choices}
        return frozenset(places[choice] for choice in choices)

    def _execute(
        self,
        name: str,
        reached: Callable[[State], bool],
        actions: Sequence[GroundAction],
        chosen: frozenset[int],
    ) -> list[State]:
        """The states from the first one to the first that is `reached`; raises NotAnExecution."""
        states = [self._first(chosen)]
        for action in actions:
            if reached(states[-1]):
                return states
            states.append(self.after(action, states))
        if not reached(states[-1]):
            raise NotAnExecution(
                f"after step {len(states) - 1}: the situation looked for ({name}) is not there"
            )
        return states

    def _first(self, chosen: frozenset[int]) -> State:
        """The first state, with these choices true and all others false."""
        return self.concrete.initial(dict.fromkeys(chosen, True))

    def after(self, action: GroundAction, states: Sequence[State]) -> State:
        """The state after the last of these; raises NotAnExecution if the action is not enabled there."""
        after = next(self.concrete.step(action).successors(states[-1]), None)
        if after is None:
            raise NotAnExecution(f"step {len(states)}, {action.name}: not enabled")
        return after

    def _faults(self, actions: Sequence[GroundAction], chosen: frozenset[int]) -> dict[str, int]:
        kinds = [self.system.variables[place].family.fault for place in chosen]
        kinds += [action.schema.action.fault for action in actions]
        return dict(Counter(kind for kind in sorted(k for k in kinds if k)))

    def _shown(self, state: State) -> dict[str, Json]:
        return {
            v.name: plain(self.concrete.value(state, v))
            for v in self.system.variables
            if v.place in self._changing or (v.is_choice and state[v.place] == 1)
        }

    @cached_property
    def _changing(self) -> frozenset[int]:
        """The places of families that some action sets: the others are constants."""
        families = {u.target.family for schema in self.system.schemas for u in schema.action.then}
        return frozenset(v.place for v in self.system.variables if v.family in families)

    def _step(self, index: int, action: GroundAction, state: State, after: State) -> TraceStep:
        body, environment = action.schema.action, action.environment

        def value(term: Term) -> Json:
            return plain(self.concrete.evaluate(term, environment, state))

        arguments = {
            p.name: plain(v) for p, v in zip(action.schema.parameters, action.arguments, strict=True)
        }
        changes = {
            v.name: plain(self.concrete.value(after, v))
            for v in self.system.variables
            if state[v.place] != after[v.place]
        }
        return TraceStep(
            index=index,
            action=action.schema.name,
            arguments=arguments,
            actor=value(body.actor) if isinstance(body.actor, Term) else plain(body.actor),
            received=None
            if body.received is None
            else self._sending(body.received, environment, state, False),
            sent=tuple(self._sent(action, state)),
            note=body.note.format(**arguments),
            changes=changes,
        )

    def _sent(self, action: GroundAction, state: State) -> Iterator[Sending]:
        for sending in action.schema.action.sent:
            if isinstance(sending, Broadcast):
                for value in sending.bound.sort:
                    environment = {**action.environment, sending.bound: value}
                    if self.concrete.evaluate(sending.message.when, environment, state):
                        yield self._sending(sending.message, environment, state, True)
            elif self.concrete.evaluate(sending.when, action.environment, state):
                yield self._sending(sending, action.environment, state, True)

    def _sending(
        self, message: Message, environment: Mapping[Parameter, Value], state: State, is_sent: bool
    ) -> Sending:
        def value(term: Term) -> Json:
            return plain(self.concrete.evaluate(term, environment, state))

        about = {name: value(term) for name, term in message.about.items()}
        says = {name: value(term) for name, term in message.says.items()}
        lost = None
        if is_sent:
            lost = message.lost is not None and bool(self.concrete.evaluate(message.lost, environment, state))
        return Sending(
            message.kind,
            value(message.sender),
            value(message.receiver),
            {**about, **says},
            lost,
            tuple(about.values()),
        )


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


def check_saved(saved: Mapping[str, Any], system: System, subject: Subject, prop: Property) -> Trace:
    """Replay a trace read from a file and compare it with what the file says, step by step.

    Raises NotAnExecution with the first difference, BadInput if the file does not have the form of a trace.
    """
    replayer = Replayer(system, subject)
    actions = []
    for number, step in enumerate(_list(saved, "steps"), 1):
        name, arguments = str(_get(step, "action")), _object(step, "arguments")
        action = system.find(name, [show(a) for a in arguments.values()])
        if action is None:
            given = ", ".join(f"{k}={show(v)}" for k, v in arguments.items())
            raise NotAnExecution(f"step {number}: {name}({given}) is not an action of {subject.protocol}")
        actions.append(action)
    known = {v.name for v in system.choices}
    choices = [name for name, value in _get(saved, "initial").items() if name in known and value is True]
    trace = replayer.replay(prop, actions, choices)
    _compare("initial", _get(saved, "initial"), trace.initial)
    replayed = trace.to_json()["steps"]
    assert isinstance(replayed, list)
    if len(replayed) < len(actions):
        raise NotAnExecution(f"step {len(replayed)}: {prop.name} is violated here already; the file goes on")
    for number, (ours, theirs) in enumerate(zip(replayed, saved["steps"], strict=True), 1):
        for key in ours:
            _compare(f"step {number}, {key}", theirs.get(key), ours[key])
        _no_more(f"step {number}", theirs, ours)
    _compare("faults", _get(saved, "faults"), dict(trace.faults))
    return trace


def _get(mapping: Any, key: str) -> Any:
    if not isinstance(mapping, Mapping) or key not in mapping:
        raise BadInput(f"{key}: missing in the trace; a trace has it, see docs/formats.md")
    return mapping[key]


def _list(mapping: Any, key: str) -> list[Any]:
    value = _get(mapping, key)
    if not isinstance(value, list):
        raise BadInput(f"{key}: must be a list in a trace; see docs/formats.md")
    return value


def _object(mapping: Any, key: str) -> Mapping[str, Any]:
    value = _get(mapping, key)
    if not isinstance(value, Mapping):
        raise BadInput(f"{key}: must be an object in a trace; see docs/formats.md")
    return value


def _compare(where: str, theirs: object, ours: object) -> None:
    if theirs != ours:
        raise NotAnExecution(
            f"{where}: the file says {json.dumps(theirs)}, replaying gives {json.dumps(ours)}"
        )


def _no_more(where: str, theirs: Mapping[str, object], ours: Mapping[str, object]) -> None:
    unknown = [key for key in theirs if key not in ours]
    if unknown:
        raise BadInput(f"{unknown[0]}: unknown key in {where} of the trace; valid: {', '.join(ours)}")
