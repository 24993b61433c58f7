"""A counterexample prepared for display: its participants, its messages, and the changes worth a note."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property

from fencepost.encoding.concrete.receipts import is_as_sent
from fencepost.encoding.forms.falsified import Falsified, falsified, value_in
from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.patterns import families_read, same_place
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.step_properties import StepProperty
from fencepost.encoding.language.system import Liveness, Property, System
from fencepost.encoding.language.terms import TRUE, AllOf, Constant, Not, Read, Update
from fencepost.encoding.language.traces import (
    Json,
    Sending,
    Trace,
    TraceStep,
    plain,
    shown_family,
    shown_name,
)

FEW = 6
"""The most sets of fair actions that a text names one by one, if a loop is fair to all in the same way."""


@dataclass(frozen=True, eq=False)
class Travel:
    """One message sent, and the step that receives it. Two sendings are never equal."""

    message: Sending
    sent: int
    """The step that sends it."""
    received: int | None
    """The step that receives it; None if it is lost, or in flight at the end."""

    @property
    def sender(self) -> str:
        """The participant that sends it."""
        return show(self.message.sender)

    @property
    def receiver(self) -> str:
        """The participant that it is sent to."""
        return show(self.message.receiver)


@dataclass(frozen=True)
class Counterexample:
    """A trace of a system, the property that it violates, and the verdict that it supports."""

    trace: Trace
    system: System
    prop: Property
    verdict: str
    """A line for people: the property, the verdict, and its basis."""
    changed_switches: Mapping[str, Json]
    """The switches that differ from the default of the protocol's family."""
    observations: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """By the index of a step, the lines about what the real code did in it."""
    lanes: Sequence[str] = ()
    """Participants that are shown first, whether or not they do something in the trace."""

    @property
    def title(self) -> str:
        """A line with the violated property and the protocol."""
        return f"{self.trace.property} violated by {self.trace.protocol}"

    @cached_property
    def explanation(self) -> str:
        """The property's explanation, and what goes on for ever or elsewhere; empty if there is none."""
        return " ".join(filter(None, [explained(self.prop, self.trace), self.forever, self.elsewhere]))

    @cached_property
    def elsewhere(self) -> str:
        """The state of the other system that a refinement compares with, before and after the last step."""
        if not isinstance(self.prop, StepProperty) or not self.prop.there:
            return ""
        last, there = len(self.trace.steps), self.prop.there

        def state(after: int) -> dict[str, str]:
            return {name: show(value_in(term, self.trace, after)) for name, term in there.items()}

        is_step = self.prop.is_broken_in(self.trace)
        after = state(last)
        was = state(last - 1) if is_step else after
        shown = (f"{n} = {v}" if was[n] == v else f"{n}: {was[n]} → {v}" for n, v in after.items())
        said = f"Step {last} is no step" if is_step else "The initial state is none"
        return f"{said} of the other system: {', '.join(shown)}."

    @cached_property
    def forever(self) -> str:
        """How the loop of the trace goes on for ever, and how it is fair; empty without a loop."""
        loop = self.trace.loop
        if loop is None:
            return ""
        owed = f"owed since step {loop.owed}" if loop.owed else "owed from the beginning"
        then = "From then on"
        if self._held_for_ever:
            owed, then = f"false after step {loop.owed}" if loop.owed else "false at first", "In a loop"
        last = len(self.trace.steps)
        if loop.begins == last:
            goes_on = "After that nothing more happens" if last else "Nothing ever happens"
        else:
            first = loop.begins + 1
            steps = f"steps {first} to {last} are" if last > first else f"step {last} is"
            goes_on = f"{then} {steps} repeated for ever"
        said = [f"{one.name} is {one.how}" for one in loop.fair] or ["no action is fair"]
        if len(loop.fair) > FEW and len({one.how for one in loop.fair}) == 1:
            said = [f"all {len(loop.fair)} sets of fair actions are {loop.fair[0].how}"]
        fair = "; ".join(said)
        return f"{self.prop.name} is {owed}. {goes_on}. Fairness: {fair}."

    @cached_property
    def false_because(self) -> Falsified:
        """The values that make the property false in the last state."""
        loop = self.trace.loop
        until = loop.owed if loop is not None and self._held_for_ever else len(self.trace.steps)
        return falsified(self.prop, replace(self.trace, steps=self.trace.steps[:until]), self.system.state)

    @property
    def _held_for_ever(self) -> bool:
        """Whether the property must be true in all states from some state on."""
        return isinstance(self.prop, Liveness) and self.prop.for_ever

    @cached_property
    def travels(self) -> tuple[Travel, ...]:
        """The messages of the trace, in the order of sending."""
        travels: list[Travel] = []
        under_way: dict[tuple[Json, ...], list[int]] = {}
        for step in self.trace.steps:
            if step.received is not None:
                waiting = under_way[step.received.key]
                place = next(p for p in waiting if is_as_sent(step.received, travels[p].message))
                arrived = Travel(travels[place].message, travels[place].sent, step.index)
                if travels[place].received is None:
                    travels[place] = arrived
                else:
                    travels.append(arrived)
                if not arrived.message.stays:
                    waiting.remove(place)
            for message in step.sent:
                if not message.lost:
                    under_way.setdefault(message.key, []).append(len(travels))
                travels.append(Travel(message, step.index, None))
        return tuple(travels)

    @cached_property
    def arrivals(self) -> Mapping[int, Travel]:
        """The messages received, by the index of the step that receives them."""
        return {travel.received: travel for travel in self.travels if travel.received is not None}

    @cached_property
    def in_flight(self) -> tuple[Travel, ...]:
        """The messages that are neither lost nor received."""
        return tuple(t for t in self.travels if t.received is None and not t.message.lost)

    def is_late(self, travel: Travel) -> bool:
        """Return whether the receiver had already received a message that was sent later."""
        return travel.received is not None and self.trace.is_late(self.trace.steps[travel.received - 1])

    @cached_property
    def participants(self) -> tuple[str, ...]:
        """Actors, senders, receivers and changed stores: by kind in order of first action, stores last.

        In a trace without steps it is the protocol.
        """
        steps = self.trace.steps
        stores = self.system.state.stores
        found = [name for name in self.lanes if name not in stores]
        found += [show(step.actor) for step in steps]
        found += [name for travel in self.travels for name in (travel.sender, travel.receiver)]
        touched = [name for name in self.lanes if name in stores]
        touched += [store for step in steps for store in self.touched(step)]
        kinds = list(dict.fromkeys(self._kinds.get(name, (name, 0))[0] for name in found))

        def rank(name: str) -> tuple[bool, int, int]:
            kind, place = self._kinds.get(name, (name, 0))
            return (name in touched, kinds.index(kind), place)

        return tuple(dict.fromkeys([*sorted(found, key=rank), *touched])) or (self.trace.protocol,)

    @cached_property
    def _kinds(self) -> Mapping[str, tuple[str, int]]:
        """For each label of an index set its type, and its place in the largest set of that type."""
        sorts = {sort for v in self.system.variables for sort in v.family.over}
        ordered = sorted(sorts, key=lambda sort: (len(sort), sort.name))
        return {show(value): (sort.type, place) for sort in ordered for place, value in enumerate(sort)}

    @cached_property
    def _stores(self) -> Mapping[str, str]:
        """The store of each family that a store holds, by the name of the family."""
        return {name: store for store, names in self.system.state.stores.items() for name in names}

    def touched(self, step: TraceStep) -> tuple[str, ...]:
        """Return the stores that the step changes."""
        stores = [self._stores.get(family_of(name)) for name in step.changes]
        return tuple(dict.fromkeys(store for store in stores if store is not None))

    def holder(self, name: str, step: TraceStep) -> str:
        """Return the participant at which a change of that variable is noted: its store, else the actor."""
        return self._stores.get(family_of(name), show(step.actor))

    @cached_property
    def noted_families(self) -> frozenset[str]:
        """The names of the families whose changes the diagram notes: all but marks.

        A mark is a state variable that each action requires to be false before setting it, so its change says
        only that the action was taken. Marks that the property reads are noted.
        """
        families = {shown_family(v.family) for v in self.system.variables}
        return frozenset(families - _marks(self.system) | read_by(self.prop))

    def changes(self, step: TraceStep) -> Iterator[tuple[str, Json, Json]]:
        """Yield each variable that the step changes, with its value before and after."""
        before = self.trace.states[step.index - 1]
        for name, value in step.changes.items():
            yield name, before[name], value

    def notes(self, step: TraceStep) -> Mapping[str, list[str]]:
        """Return the changes worth a note, by the participant at which they are noted."""
        notes: dict[str, list[str]] = {}
        for name, before, after in self.changes(step):
            if family_of(name) in self.noted_families:
                line = f"{name}: {show(before)} → {show(after)}"
                notes.setdefault(self.holder(name, step), []).append(line)
        return notes

    @cached_property
    def shown(self) -> tuple[Variable, ...]:
        """The variables of the trace: those that may change, and the families of choices with a true one."""
        first = self.trace.initial
        chosen = {family_of(name) for name in first}
        return tuple(
            v
            for v in self.system.variables
            if shown_name(v.family, v.index) in first or (v.is_choice and v.family.name in chosen)
        )

    @cached_property
    def places(self) -> Mapping[str, Variable]:
        """The values of the trace by name: the variable, or the first one of a set or a sequence."""
        found: dict[str, Variable] = {}
        for v in self.shown:
            found.setdefault(shown_name(v.family, v.index), v)
        return found

    def value(self, variable: Variable, index: int) -> Json:
        """Return the value of a variable after that many steps; choices not in the trace are false."""
        if variable.family.whole is not None:
            return plain(self.trace.value(variable.family, *variable.index, after=index))
        state = self.trace.states[index]
        return state[variable.name] if variable.name in state else _initial_value(variable)

    def shown_value(self, variable: Variable, index: int) -> Json:
        """Return the same, but of a part of a set or a sequence the value of the whole."""
        if variable.family.whole is None:
            return self.value(variable, index)
        return self.trace.states[index][shown_name(variable.family, variable.index)]


def _initial_value(variable: Variable) -> Json:
    """Return the initial value of a variable that a trace leaves out; there is only one."""
    return plain(variable.family.first(variable.index))


def family_of(name: str) -> str:
    """Return the family in the name of a variable: `stored` for `stored[b1, 2]`."""
    return name.partition("[")[0]


def read_by(prop: Property) -> frozenset[str]:
    """Return the names of the families that the property reads."""
    return frozenset(map(shown_family, families_read(prop.holds)))


def _marks(system: System) -> set[str]:
    """Return the families whose variables each action requires to be false before it sets them to true."""
    marks: dict[str, bool] = {}
    for schema in system.schemas:
        for update in schema.action.then:
            name = shown_family(update.target.family)
            marks[name] = marks.get(name, True) and _is_mark(update, schema.action)
    return {name for name, is_mark in marks.items() if is_mark}


def _is_mark(update: Update, action: Action) -> bool:
    parts = action.when.operands if isinstance(action.when, AllOf) else (action.when,)
    sets = isinstance(update.value, Constant) and update.value.value is True
    operands = [p.operand for p in parts if isinstance(p, Not)]
    return sets and any(isinstance(read, Read) and same_place(read, update.target) for read in operands)


OF_PATH = Property("path", "a path violates nothing", TRUE, TRUE, "it is a path")
"""The property of a path from the explorer, which violates nothing."""


def explained(prop: Property, trace: Trace) -> str:
    """Return the property's explanation of a trace. If it fails, return the failure as text.

    The author's code gets a copy: a state that it changes stays as it was replayed.
    """
    if prop.explain is None:
        return ""
    try:
        sentence: object = prop.explain(deepcopy(trace))
        if not isinstance(sentence, str):
            raise TypeError(f"explain returned {sentence!r:.80}; return a sentence")
        return sentence
    except Exception as error:  # noqa: BLE001 - the code is of the protocol's author
        return f"(Its explanation failed: {type(error).__name__}: {error})"


def action_line(step: TraceStep) -> str:
    """Return the action with its arguments and its note: `push (entry 1): …`.

    The argument that equals the actor is left out. If several do, for example a node 1 and an entry 1, all
    stay.
    """
    name = call_line(step.action, step.arguments, step.actor)
    return f"{name}: {step.note}" if step.note else name


def call_line(action: str, arguments: Mapping[str, Json], actor: Json) -> str:
    """Return an action with its arguments, as `action_line` does, without a note."""
    actors = [name for name, value in arguments.items() if value == actor]
    left_out = actors if len(actors) == 1 else []
    given = pairs({name: value for name, value in arguments.items() if name not in left_out})
    return f"{action} ({given})" if given else action


def message_line(message: Sending) -> str:
    """Return a message with its fields: `add [entry 1, fragment 1]`."""
    return f"{message.kind} [{pairs(message.fields)}]" if message.fields else message.kind


def pairs(values: Mapping[str, Json]) -> str:
    """Return names and values: `entry 1, lac 0`."""
    return ", ".join(f"{name} {show(value)}" for name, value in values.items())


def gathered(sent: Sequence[Sending]) -> Mapping[str, list[str]]:
    """Return the receivers of messages that differ only in these, by message; lost messages are marked."""
    gathered: dict[str, list[str]] = {}
    for message in sent:
        receiver = f"{show(message.receiver)} (LOST)" if message.lost else show(message.receiver)
        gathered.setdefault(message_line(message), []).append(receiver)
    return gathered


def identifiers(names: Sequence[str], reserved: Collection[str] = ()) -> Mapping[str, str]:
    """Return for each name a word of its own; reserved words are avoided, in capital letters too."""
    words: dict[str, str] = {}
    for name in names:
        word = re.sub(r"\W+", "_", name)
        while word in words.values() or word.lower() in reserved:
            word += "_"
        words[name] = word
    return words
