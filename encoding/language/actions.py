"""Actions: the steps of a system, over open parameters and with arguments, in the order of a round."""

from __future__ import annotations

import inspect
import itertools
import string
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import NoneType
from typing import Any, TypeVar

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.author_errors import (
    count_combinations,
    must_be,
    must_be_condition,
    must_be_line,
    must_be_list,
)
from fencepost.encoding.language.definedness import Part, checked
from fencepost.encoding.language.messages import Broadcast, Message, Queued, queue_changes
from fencepost.encoding.language.origins import Authored
from fencepost.encoding.language.patterns import rewritten
from fencepost.encoding.language.quantifiers import argument
from fencepost.encoding.language.sorts import Sort, Subsets, Value, show
from fencepost.encoding.language.state import Broken, StateSpace
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    Family,
    Parameter,
    Quantified,
    Read,
    Term,
    TermLike,
    Update,
    all_of,
    lift,
)


@dataclass(frozen=True)
class Action:
    """A step that may happen whenever `when` holds. All updates of `then` take effect at once.

    Without `when` it may always happen, and without `then` it only sends and receives.

    Right-hand sides read the state before the action. A variable without an update keeps its value. `actor`
    performs the action; if it is left out, the receiver of `received` does, or the sender of the first
    message, or `system`. `actor`, `received`, `sent` and `note` are for people only. But a message of a
    channel adds to the guard and to the updates. An action with `fault` costs one fault of that name.
    """

    when: Term = TRUE
    then: Sequence[Update] = ()
    actor: TermLike = ""
    received: Message | None = None
    sent: Sequence[Message | Broadcast] = ()
    note: str = ""
    fault: str | None = None

    def __post_init__(self) -> None:
        """Validate the fields. Raises ModelError."""
        must_be("when=", self.when, (Term, bool), "write a term over the state, such as ~s.closed")
        must_be_condition("when=", lift(self.when))
        must_be("then=", self.then, (list, tuple), "write a list of updates, such as [s.closed.set(True)]")
        object.__setattr__(self, "then", tuple(_flat(self.then)))
        for update in self.then:
            instead = "write s.closed.set(True); == only compares"
            if isinstance(update, Message | Broadcast):
                instead = "a message stands in sent= or in received="
            must_be("then=: one item", update, Update, instead)
        must_be(
            "received=", self.received, (Message, NoneType), "write one message, such as s.ask.deliver(…)"
        )
        must_be_list("sent=", self.sent, (Message, Broadcast), "write a list, such as [message(…)]")
        if isinstance(self.actor, str) and not self.actor:
            senders = (message.sender for message in self.sent if isinstance(message, Message))
            one = next(senders, NOBODY) if self.received is None else self.received.receiver
            object.__setattr__(self, "actor", one)
        must_be_line("note=", self.note)
        must_be("fault=", self.fault, (str, NoneType), "write the name of a fault, such as 'crashes'")
        must_be_line("fault=", self.fault or "", "write the name of a fault, such as 'crashes'")
        if self.fault == "":
            raise ModelError("fault= is ''; write the name of a fault, such as 'crashes', or leave it out")
        object.__setattr__(self, "sent", tuple(self.sent))
        self._take_over_effects()

    def _take_over_effects(self) -> None:
        """Add the guards and updates of messages of channels to those of the action. Raises ModelError."""
        at_queues: dict[bool, list[Queued]] = {True: [], False: []}
        for message in (self.received, *self.sent):
            if not isinstance(message, Message) or message.effect is None:
                continue
            if message.effect.queued is not None:
                at_queues[message.effect.is_sending].append(message.effect.queued)
            if message.effect.is_sending is (message is self.received):
                raise ModelError(
                    f"{message.kind}: write received=s.{message.kind}.deliver(…) and "
                    f"sent=[s.{message.kind}.send(…)], not the other way round"
                )
            object.__setattr__(self, "when", all_of(message.effect.guard, self.when))
            object.__setattr__(self, "then", (*message.effect.updates, *self.then))
        for fit, updates in queue_changes(next(iter(at_queues[False]), None), at_queues[True]):
            object.__setattr__(self, "when", all_of(self.when, fit))
            object.__setattr__(self, "then", (*self.then, *updates))
        sent = tuple(replace(m, effect=None) if isinstance(m, Message) else m for m in self.sent)
        object.__setattr__(self, "sent", sent)
        if self.received is not None:
            object.__setattr__(self, "received", replace(self.received, effect=None))


NOBODY = "system"
"""The actor of an action that names none, and that sends and receives nothing."""


def _flat(then: Iterable[Any]) -> Iterator[Any]:
    """Yield the updates; one of a set or of a sequence is several."""
    for item in then:
        if isinstance(item, list | tuple):
            yield from item
        else:
            yield item


@dataclass(frozen=True)
class Logged:
    """The name of an action in logs, and the names of its arguments by the names of fields there."""

    event: str
    fields: Mapping[str, str]


def log(event: str, **fields: str) -> Callable[[Handler], Handler]:
    """Return a decorator that gives an action the name of its event in logs.

    Each of `fields` is a field of the event, with the name of the argument that it is. `fencepost follow`
    reads the log.
    """
    must_be_line("@log: the event", event, 'write @log("vote granted", to="candidate")')

    def note(handler: Handler) -> Handler:
        handler.__dict__[LOGGED] = Logged(event, fields)
        return handler

    return note


LOGGED = "__fencepost_log__"

Handler = TypeVar("Handler", bound=Callable[..., Action])


@dataclass(frozen=True, eq=False)
class Schema(Authored):
    """An action with open parameters: one text for all bookies, entries and clients."""

    name: str
    meaning: str
    parameters: tuple[Parameter, ...]
    action: Action
    written: tuple[str, int] | None = None
    """The file and the line of the handler that describes it, if there is one."""
    code: tuple[str, ...] = ()
    """The methods of the real code that it stands for, as the docstring of the handler names them."""
    logged: Logged | None = None
    """The event of a log that it is, if `@log` gives it another name."""
    fair: str | None = None
    """How the action is fair (`fairness`); None if an execution may leave it aside for ever."""
    making: int | None = None

    @property
    def unjudged(self) -> Schema:
        """The action as its author wrote it, without the updates that judge its steps."""
        written = tuple(u for u in self.action.then if not isinstance(u.target.family, Broken))
        return replace(self, action=replace(self.action, then=written))

    def makings(self) -> Iterator[int | None]:
        """Return the numbers of the makings of the action, its messages and its updates."""
        messages = (message for _, message in self.exchanged)
        return (made.making for made in (self, *messages, *self.action.then))

    def could_happen(self, but_for: Collection[Family] = ()) -> Term:
        """Return the term that says: the action is enabled for some arguments, counting no message as lost.

        State variables of the families `but_for` are taken as false in the same way.
        """

        def delivered(read: Read) -> Term:
            return FALSE if read.family.fault is not None or read.family in but_for else read

        found = rewritten(self.action.when, delivered)
        for parameter in reversed(self.parameters):
            found = Quantified("bool", "exists", parameter, found)
        return found

    @property
    def terms(self) -> Iterator[Term]:
        """The parameters of the action, its guard, and the terms of its updates."""
        yield from self.parameters
        yield self.action.when
        for update in self.action.then:
            yield from (*update.target.index, update.value, update.when, *update.over)

    @property
    def scopes(self) -> Iterator[tuple[tuple[Parameter, ...], tuple[Term, ...]]]:
        """All terms that the action reads, each group with the parameters bound beside those of the action.

        The losses that its sendings name are not read.
        """
        yield (), (self.action.when, lift(self.action.actor))
        for update in self.action.then:
            yield update.over, (*update.target.index, update.value, update.when)
        yield from ((bound, (*message.terms, message.when)) for bound, message in self.exchanged)

    @property
    def exchanged(self) -> Iterator[tuple[tuple[Parameter, ...], Message]]:
        """The messages received and sent, each with the parameters bound beside those of the action."""
        if self.action.received is not None:
            yield (), self.action.received
        yield from self.sent()

    def sent(self) -> Iterable[tuple[tuple[Parameter, ...], Message]]:
        """Yield each message that the action may send, with the parameters that a broadcast binds."""
        for sending in self.action.sent:
            if isinstance(sending, Broadcast):
                yield (sending.bound,), sending.message
            else:
                yield (), sending


def _name(handler: Callable[..., Action]) -> str:
    """Return the name of a function, or of the one that `functools.partial` made it from."""
    return str(getattr(getattr(handler, "func", handler), "__name__", type(handler).__name__))


def each(
    handler: Callable[..., Action], state: StateSpace, *over: Sort | Subsets, fair: str | None = None
) -> Schema:
    """Return the action that `handler(state, …)` describes, for each combination of values of `over`.

    Its name is the handler's name, its arguments have the names of the handler's parameters, and its meaning
    is the first line of the docstring. A paragraph `Code: Class.method, …` names the code that it stands for.
    With `fair="weak"` or `"strong"` it is fair for each combination (see `fairness`). Raises ModelError.
    """
    for sort in over:
        where = f"each({_name(handler)}): an index set"
        must_be(where, sort, (Sort, Subsets), "write a sort of the state, such as s.entry")
    must_be_line("the name of an action", _name(handler), "give its function a name of printable characters")
    names = list(inspect.signature(handler).parameters)[1:]
    pairs = [argument(sort, name) for name, sort in zip(names, over, strict=False)]
    parameters = tuple(parameter for parameter, _ in pairs)
    text = inspect.getdoc(handler) or ""
    meaning = text.split("\n")[0]
    if len(names) != len(over):
        raise ModelError(
            f"{_name(handler)} takes {', '.join(names) or 'no arguments'}, "
            f"but {len(over)} index sets are given"
        )
    action = handler(state, *(given for _, given in pairs))
    must_be(f"{_name(handler)}: the result", action, Action, "return Action(when=…, then=[…], actor=…)")
    count_combinations(_name(handler), (parameter.sort for parameter in parameters))
    for _, field_name, _, _ in string.Formatter().parse(action.note):
        if field_name is not None and field_name not in names:
            raise ModelError(
                f"{_name(handler)}: its note names {{{field_name}}}, which is not an argument; "
                f"valid: {', '.join(names)}"
            )
    code = getattr(inspect.unwrap(handler), "__code__", None)
    written = None if code is None else (code.co_filename, code.co_firstlineno)
    logged = getattr(inspect.unwrap(getattr(handler, "func", handler)), LOGGED, None)
    for key, name in logged.fields.items() if logged is not None else ():
        if name not in names:
            raise ModelError(
                f"{_name(handler)}: @log: {key}={name!r}: is no argument; valid: {', '.join(names) or 'none'}"
            )
    name = _name(handler).replace("_", " ")
    schema = Schema(name, meaning, parameters, action, written, _code_places(text), logged, fair)
    actor = Part((), TRUE, (lift(action.actor),))
    messages = (Part(bound, message.when, message.terms) for bound, message in schema.exchanged)
    when, then = checked(lift(action.when), action.then, [actor, *messages])
    return replace(schema, action=replace(action, when=when, then=then))


def _code_places(text: str) -> tuple[str, ...]:
    """Return the places in the real code that a docstring names after `Code:`."""
    for paragraph in text.split("\n\n"):
        if paragraph.startswith(PLACES):
            places = " ".join(paragraph.removeprefix(PLACES).split())
            return tuple(place.strip() for place in places.removesuffix(".").split(",") if place.strip())
    return ()


PLACES = "Code:"
"""The beginning of the paragraph of a docstring that names methods of the real code, with commas between."""


@dataclass(frozen=True)
class Group:
    """Actions whose slots are grouped by the value of one of their parameters, value by value."""

    by: str
    members: tuple[Schema | Group, ...]


def changed(item: Schema | Group, change: Callable[[Schema], Schema]) -> Schema | Group:
    """Return the action, or the group of actions, with each action changed."""
    if isinstance(item, Group):
        return replace(item, members=tuple(changed(member, change) for member in item.members))
    return change(item)


def in_turn(by: str, *members: Schema | Group) -> Group:
    """Return the group of all `members` for the first value of parameter `by`, then the second, and so on.

    This is the causal order of exchanges that follow one another: reads of entry 1, then reads of entry 2.
    """
    return Group(by, members)


def slots(item: Schema | Group, given: Mapping[str, Value]) -> Iterable[tuple[Schema, tuple[Value, ...]]]:
    """Yield the ground actions of a schema or group in slot order, with some arguments given by name."""
    if isinstance(item, Schema):
        choices = [(given[p.symbol],) if p.symbol in given else tuple(p.sort) for p in item.parameters]
        fits = all(v in p.sort for c, p in zip(choices, item.parameters, strict=True) for v in c)
        yield from ((item, arguments) for arguments in itertools.product(*choices) if fits)
        return
    ranges = [list(_range(member, item.by)) for member in item.members]
    if not all(ranges):
        raise ModelError(
            f"in_turn {item.by}: every action in it needs an argument of that name, and one action has none"
        )
    typed = {(type(value), value): value for value in itertools.chain(*ranges)}  # 1 is equal to True
    for value in typed.values():
        for member in item.members:
            yield from slots(member, {**given, item.by: value})


def leaves(items: Iterable[Schema | Group]) -> Iterator[Schema]:
    """Yield the actions, including those in groups."""
    for item in items:
        if isinstance(item, Schema):
            yield item
        else:
            yield from leaves(item.members)


def _range(item: Schema | Group, name: str) -> Iterable[Value]:
    """Return the values that a parameter of that name takes."""
    if isinstance(item, Group):
        return (v for member in item.members for v in _range(member, name))
    return (v for p in item.parameters if p.symbol == name for v in p.sort)


@dataclass(frozen=True)
class GroundAction:
    """A schema with its arguments."""

    schema: Schema
    arguments: tuple[Value, ...]

    @cached_property
    def name(self) -> str:
        """The name that people read: `handle add(w, 1, b3)`."""
        given = ", ".join(map(show, self.arguments))
        return f"{self.schema.name}({given})" if given else self.schema.name

    @property
    def environment(self) -> dict[Parameter, Value]:
        """The values of the parameters."""
        return dict(zip(self.schema.parameters, self.arguments, strict=True))
