"""Replay: given actions, run one by one on plain values.

Every trace was replayed. Replay fails if an action is not enabled, or if the property holds in the last
state.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

from fencepost.encoding.concrete.badly_defined import with_the_steps_before
from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.receipts import check_receipts
from fencepost.encoding.concrete.steps import Beginning, State
from fencepost.encoding.errors import InternalError
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.messages import Broadcast, Message
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.terms import Family, Parameter, Read, Term
from fencepost.encoding.language.traces import (
    Json,
    Sending,
    Subject,
    Trace,
    TraceStep,
    plain,
    shown_name,
)

_Part = TypeVar("_Part")


class NotAnExecution(Exception):
    """A saved or found execution that does not replay. The message says which step fails, and why."""


@dataclass(frozen=True)
class Replayer:
    """A replayer of given actions of one system on plain values."""

    system: System
    subject: Subject

    @cached_property
    def concrete(self) -> Concrete:
        """The concrete reading of the system."""
        return Concrete(self.system)

    def replay(
        self,
        prop: Property | Invariant,
        actions: Sequence[GroundAction],
        choices: Iterable[str],
        beginning: Beginning = (),
    ) -> Trace:
        """Return the trace of these actions up to the first state that violates the property.

        `choices` names the choices that are true. Raises NotAnExecution.
        """
        choices = tuple(choices)
        first = self._first(self._places(choices), beginning)
        states = self._execute(prop.name, self.concrete.predicate(~prop.holds), actions, first)
        return self.trace(prop.name, actions, choices, states[0], self.steps(actions, states))

    def record(
        self,
        name: str,
        actions: Sequence[GroundAction],
        choices: Sequence[str],
        beginning: Beginning = (),
    ) -> Trace:
        """Return the trace of all these actions under a name. Raises NotAnExecution."""
        states = self.follow(actions, choices, beginning)
        return self.trace(name, actions, choices, states[0], self.steps(actions, states))

    def trace(
        self,
        name: str,
        actions: Sequence[GroundAction],
        choices: Iterable[str],
        first: State,
        steps: tuple[TraceStep, ...],
    ) -> Trace:
        """Return the trace of these steps under a name. They may end before the last action."""
        return Trace(
            self.subject.protocol,
            self.subject.parameters,
            self.subject.switches,
            name,
            self._faults(actions[: len(steps)], self._places(choices)),
            self.shown(first),
            steps,
            self.subject.system,
            tuple(dict.fromkeys(shown_name(v.family, v.index) for v in self.system.varied)),
        )

    def reach(
        self,
        name: str,
        target: Term,
        actions: Sequence[GroundAction],
        choices: Iterable[str],
        beginning: Beginning = (),
    ) -> None:
        """Run the actions up to the first state in which `target` holds; raises NotAnExecution."""
        first = self._first(self._places(choices), beginning)
        states = self._execute(name, self.concrete.predicate(target), actions, first)
        self.steps(actions, states)

    def follow(
        self,
        actions: Sequence[GroundAction],
        choices: Iterable[str],
        beginning: Beginning = (),
    ) -> list[State]:
        """Return the states from the first one to the one after the last action. Raises NotAnExecution."""
        return self.follow_from(self._first(self._places(choices), beginning), actions)

    def state(self, values: Mapping[Variable, Value], choices: Iterable[str]) -> State:
        """Return a state, reachable or not: these values, and the one initial value of other variables."""
        beginning = [v.domain.values.index(values[v]) for v in self.system.varied]
        codes = list(self.concrete.initial(dict.fromkeys(self._places(choices), True), beginning))
        for variable, value in values.items():
            codes[variable.place] = variable.domain.values.index(value)
        return self.concrete.state(codes)

    def follow_from(self, first: State, actions: Sequence[GroundAction]) -> list[State]:
        """Return the states from this one to the one after the last action. Raises NotAnExecution."""
        states = [first]
        for number, action in enumerate(actions):
            with with_the_steps_before(actions[:number]):
                states.append(self.after(action, states))
        return states

    def steps(self, actions: Sequence[GroundAction], states: Sequence[State]) -> tuple[TraceStep, ...]:
        """Return the steps between these states, as data for people.

        Raises ModelError if a step receives a message that is not in flight.
        """
        steps = tuple(
            self.step(index, action, before, after)
            for index, (action, (before, after)) in enumerate(
                zip(actions, itertools.pairwise(states), strict=False), 1
            )
        )
        check_receipts(steps)
        return steps

    def spare_faults(
        self,
        prop: Property | Invariant,
        actions: Sequence[GroundAction],
        choices: Iterable[str],
        beginning: Beginning = (),
        keeps_steps: bool = False,
    ) -> Trace:
        """Return the trace of the same execution without the losses that the violation does not need.

        A message that is merely not delivered need not be lost. With `keeps_steps`, a loss stays if the
        property would be violated earlier without it. Raises NotAnExecution.
        """
        violated = self.concrete.predicate(~prop.holds)
        names = {v.place: v.name for v in self.system.variables}
        needed = self._places(choices)
        for place in [None, *sorted(needed)]:
            fewer = needed - {place} if place is not None else frozenset()
            with contextlib.suppress(NotAnExecution):
                states = self._execute(prop.name, violated, actions, self._first(fewer, beginning))
                if not keeps_steps or len(states) > len(actions):
                    needed = fewer
        return self.replay(prop, actions, [names[place] for place in needed], beginning)

    def _places(self, choices: Iterable[str]) -> frozenset[int]:
        places = {v.name: v.place for v in self.system.choices}
        return frozenset(places[choice] for choice in choices)

    def _execute(
        self,
        name: str,
        reached: Callable[[State], bool],
        actions: Sequence[GroundAction],
        first: State,
    ) -> list[State]:
        """Return the states up to the first that is `reached`. Raises NotAnExecution."""
        states = [first]
        for action in actions:
            if reached(states[-1]):
                return states
            with with_the_steps_before(actions[: len(states) - 1]):
                states.append(self.after(action, states))
        if not reached(states[-1]):
            raise NotAnExecution(
                f"after step {len(states) - 1}: the expected situation ({name}) is not reached"
            )
        return states

    def _first(self, chosen: frozenset[int], beginning: Beginning) -> State:
        """Return an initial state with these choices true and all others false.

        Raises NotAnExecution, and InternalError if the beginning was left out.
        """
        if len(beginning) != len(self.system.varied):
            raise InternalError(
                f"a beginning of {len(beginning)} values; {len(self.system.varied)} variables have several"
            )
        refusal = self.beginnings.refusal(beginning)
        if refusal is not None:
            raise NotAnExecution(f"not an initial state: {refusal}")
        return self.concrete.initial(dict.fromkeys(chosen, True), beginning)

    @cached_property
    def beginnings(self) -> Beginnings:
        """The initial states of the system."""
        return Beginnings(self.concrete)

    def after(self, action: GroundAction, states: Sequence[State]) -> State:
        """Return the state after the last of these. Raises NotAnExecution if the action is not enabled."""
        after = next(self.concrete.step(action).successors(states[-1]), None)
        if after is None:
            raise NotAnExecution(f"step {len(states)}, {action.name}: not enabled")
        return after

    def _faults(self, actions: Sequence[GroundAction], chosen: frozenset[int]) -> dict[str, int]:
        kinds = [self.system.variables[place].family.fault for place in chosen]
        kinds += [action.schema.action.fault for action in actions]
        return dict(Counter(kind for kind in sorted(k for k in kinds if k)))

    def shown(self, state: State) -> dict[str, Json]:
        """Return the state as a trace shows it: what may change, and the choices that are true."""
        return self.values(
            state,
            (
                v
                for v in self.system.variables
                if v.place in self._changing or (v.is_choice and state[v.place] == 1)
            ),
        )

    def values(self, state: State, variables: Iterable[Variable]) -> dict[str, Json]:
        """Return the values of variables in a state, by name; those of a set or a sequence are one."""
        found: dict[str, Json] = {}
        for v in variables:
            if (whole := v.family.whole) is None:
                found[v.name] = plain(self.concrete.value(state, v))
            elif (name := shown_name(v.family, v.index)) not in found:
                found[name] = whole.text(whole.index(v.index), partial(self._part, state))
        return found

    def _part(self, state: State, family: Family, index: tuple[Value, ...]) -> Value:
        return self.concrete.value(state, self.system.state.places[family, index])

    @cached_property
    def _changing(self) -> frozenset[int]:
        """The places of families that some action sets, or that have several initial values.

        All other families are constant.
        """
        families = {u.target.family for schema in self.system.schemas for u in schema.action.then}
        families |= {v.family for v in self.system.varied}
        return frozenset(v.place for v in self.system.variables if v.family in families)

    def call(self, action: GroundAction, state: State) -> tuple[dict[str, Json], Json]:
        """Return the arguments of an action by name, and its actor in a state, as data for people."""
        parameters, actor = action.schema.parameters, action.schema.action.actor
        given = {p.symbol: plain(v) for p, v in zip(parameters, action.arguments, strict=True)}
        if isinstance(actor, Term):
            return given, plain(self.concrete.evaluate(actor, action.environment, state))
        return given, plain(actor)

    def step(self, index: int, action: GroundAction, state: State, after: State) -> TraceStep:
        """Return the step with that index between two states, as data for people."""
        body, environment = action.schema.action, action.environment

        def value(term: Term) -> Json:
            return plain(self.concrete.evaluate(term, environment, state))

        arguments, actor = self.call(action, state)
        changed = (v for v in self.system.variables if state[v.place] != after[v.place])
        changes = self.values(after, changed)
        return TraceStep(
            index=index,
            action=action.schema.name,
            arguments=arguments,
            actor=actor,
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
            self._choice(message.lost, environment, state) if is_sent and message.lost is not None else None,
            message.stays,
        )

    def _choice(self, lost: Read, environment: Mapping[Parameter, Value], state: State) -> str:
        """Return the name of the choice that says whether a sending is lost."""
        index = tuple(self.concrete.evaluate(term, environment, state) for term in lost.index)
        return self.system.state.places[lost.family, index].name


def needed(
    parts: Sequence[_Part],
    suffices: Callable[[Sequence[_Part]], bool],
    may_go: Callable[[_Part], bool] = lambda part: True,
) -> Sequence[_Part]:
    """Return the parts of an execution without those that may go and can be left out, the last one first."""
    for at in reversed(range(len(parts))):
        fewer = [*parts[:at], *parts[at + 1 :]]
        if may_go(parts[at]) and suffices(fewer):
            parts = fewer
    return parts
