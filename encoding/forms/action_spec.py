"""The specification of one instance as text, action by action, after its switches are folded.

Each action has the conjuncts of its guard, its updates, its messages, and the methods of the real code that
it stands for. Actions of one name and one text are one entry: the writer's adds and a recoverer's.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from fencepost.encoding.errors import InternalError
from fencepost.encoding.forms.spelled_terms import (
    Call,
    TermSpelling,
    grouped,
    unmarked,
    variable,
)
from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.conditional_terms import UNDEFINED
from fencepost.encoding.language.fold import Folding, constants
from fencepost.encoding.language.messages import Message
from fencepost.encoding.language.patterns import flattened, same
from fencepost.encoding.language.sorts import Sort, show
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import FALSE, TRUE, Constant, Parameter, Term, Update, lift


@dataclass(frozen=True)
class SpecConjunct:
    """A conjunct of a guard. Its position is that of `fencepost weaken`, before folding."""

    position: int
    text: str


@dataclass(frozen=True)
class SpecUpdate:
    """An update, for all values of `each`. Without a condition it always applies."""

    each: tuple[str, ...]
    variable: str
    value: str
    condition: str | None


@dataclass(frozen=True)
class SpecMessage:
    """A message that is received or sent, for all values of `each`."""

    each: tuple[str, ...]
    kind: str
    sender: str
    receiver: str
    fields: dict[str, str]
    condition: str | None
    loss: str | None
    """The choice that says whether the message is never delivered."""


@dataclass(frozen=True)
class SpecAction:
    """An action. `parameters` have the index sets over which it happens, by name."""

    name: str
    parameters: dict[str, tuple[str, ...]]
    meaning: str
    code: tuple[str, ...]
    actor: str
    fault: str | None
    guard: tuple[SpecConjunct, ...]
    updates: tuple[SpecUpdate, ...]
    received: SpecMessage | None
    sent: tuple[SpecMessage, ...]


@dataclass(frozen=True)
class SpecDefinition:
    """A definition that the texts name, as a call and its text."""

    call: str
    meaning: str
    text: str


@dataclass(frozen=True)
class Spec:
    """The specification of an instance."""

    sets: dict[str, tuple[str, ...]]
    """The index sets by name, with their values."""
    actions: tuple[SpecAction, ...]
    definitions: tuple[SpecDefinition, ...]
    impossible: tuple[str, ...]
    """The actions whose guard is false for all arguments."""


def spec(written: System) -> Spec:
    """Return the specification of a system, which must not be folded yet."""
    return _SpecWriter(written).spec()


Sending = tuple[tuple[Parameter, ...], Message]
"""A message with the variable of its broadcast, if there is one."""


@dataclass
class _SpecWriter:
    """A writer of the specification of one system."""

    written: System
    spelling: TermSpelling = field(init=False)

    def __post_init__(self) -> None:
        self.folding = Folding(constants(self.written))
        self.spelling = TermSpelling(self.written.state, self.folding)

    def spec(self) -> Spec:
        """Return the specification."""
        actions: list[SpecAction] = []
        impossible: list[str] = []
        for schema in (schema.unjudged for schema in self.written.schemas):
            if self.folding.term(lift(schema.action.when)) is FALSE:
                impossible.append(self._header(schema))
            else:
                _add(actions, self._action(schema))
        state = vars(self.written.state).items()
        sets = {name: tuple(map(show, sort)) for name, sort in state if isinstance(sort, Sort)}
        return Spec(sets, tuple(actions), tuple(self._definitions()), tuple(impossible))

    def _header(self, schema: Schema) -> str:
        return f"{schema.name}({', '.join(self.spelling.sort(p.sort) for p in schema.parameters)})"

    def _plain(self, term: Term) -> str:
        return unmarked(self.spelling.text(term))

    def _action(self, schema: Schema) -> SpecAction:
        action = self.folding.action(schema.action)
        received = None if action.received is None else replace(action.received, lost=None)
        self.spelling.taken = [parameter.symbol for parameter in schema.parameters]
        return SpecAction(
            schema.name,
            {p.symbol: (self.spelling.sort(p.sort),) for p in schema.parameters},
            schema.meaning,
            schema.code,
            self._plain(lift(action.actor)),
            action.fault,
            tuple(self._guard(schema.action.when)),
            tuple(self._updates(action.then)),
            None if received is None else next(self._messages([((), received)])),
            tuple(self._messages(replace(schema, action=action).sent())),
        )

    def _guard(self, when: Term) -> Iterator[SpecConjunct]:
        for position, part in enumerate(flattened(lift(when)), 1):
            folded = self.folding.term(part)
            if folded is not TRUE:
                yield from (SpecConjunct(position, self._plain(own)) for own in flattened(folded))

    def _updates(self, updates: Sequence[Update]) -> Iterator[SpecUpdate]:
        for row in grouped([self._update(update) for update in updates]):
            variable, value, condition = row.texts
            yield SpecUpdate(row.each, variable, value, condition or None)

    def _update(self, update: Update) -> tuple[str, str, str]:
        target, spelling = update.target, self.spelling
        hints = (spelling.sort(sort) for sort in target.family.over)
        index = [spelling.text(term, hint) for term, hint in zip(target.index, hints, strict=True)]
        name = "badly defined" if target.family is UNDEFINED else target.family.name
        condition = "" if same(update.when, TRUE) else spelling.text(update.when)
        return f"{name}[{', '.join(index)}]" if index else name, spelling.text(update.value), condition

    def _messages(self, sendings: Iterable[Sending]) -> Iterator[SpecMessage]:
        listed = list(sendings)
        fields = {message.kind: (*message.about, *message.says) for _, message in listed}
        for row in grouped([self._message(*sending) for sending in listed]):
            kind, bound, sender, receiver, condition, loss, *values = row.texts
            each = (bound, *row.each) if bound else row.each
            told = dict(zip(fields[kind], values, strict=True))
            yield SpecMessage(each, kind, sender, receiver, told, condition or None, loss or None)

    def _message(self, bound: tuple[Parameter, ...], message: Message) -> tuple[str, ...]:
        """Return the texts of a message. The variable of a broadcast is named after its index set."""
        sorts = {p: self.spelling.sort(p.sort) for p in bound}
        names = {p: sort + "2" * (sort in self.spelling.taken) for p, sort in sorts.items()}
        given = {id(parameter): variable(name) for parameter, name in names.items()}

        def text(term: Term, hint: str = "") -> str:
            return self.spelling.text(term, hint, given)

        return (
            message.kind,
            ", ".join(n if n == sorts[p] else f"{n} in {sorts[p]}" for p, n in names.items()),
            text(message.sender, "sender"),
            text(message.receiver, "receiver"),
            "" if same(message.when, TRUE) else text(message.when),
            "" if message.lost is None else text(self.folding.term(message.lost)),
            *(text(term, name) for name, term in message.about.items()),
            *(text(term) for term in message.says.values()),
        )

    def _definitions(self) -> Iterator[SpecDefinition]:
        """Yield the definitions that the texts name, and those that the definitions name."""
        bodies: dict[int, _Body] = {}
        while ahead := [call for key, call in self.spelling.used.items() if key not in bodies]:
            bodies |= {id(call.term): self._body(call) for call in ahead}
        by_name: dict[str, list[_Body]] = {}
        for body in bodies.values():
            by_name.setdefault(body.call.name, []).append(body)
        for _, found in sorted(by_name.items()):
            yield from self._variants(found)

    def _body(self, call: Call) -> _Body:
        """Return the marked text of a definition, with the names of its parameters for arguments."""
        self.spelling.taken = call.symbols
        for kinds in ((Term,), (Parameter,)):
            open_ones = {
                symbol: argument
                for argument, symbol in zip(call.arguments, call.symbols, strict=True)
                if isinstance(argument, kinds) and not isinstance(argument, Constant)
            }
            is_general = len(set(map(id, open_ones.values()))) == len(call.arguments)
            mark = _MARK if is_general else ""
            given = {id(a): variable(f"{mark}{symbol}{mark}") for symbol, a in open_ones.items()}
            if (text := self.spelling.body(call, given)) is not None:
                return _Body(call, text, frozenset(open_ones), is_general)
        raise InternalError(f"{call.name}: its text has parameters that are no arguments")

    def _variants(self, bodies: Sequence[_Body]) -> Iterator[SpecDefinition]:
        """Yield the texts of one definition, without those that are a general text at other arguments."""
        general: dict[str, list[_Body]] = {}
        for body in bodies:
            if body.is_general:
                general.setdefault(unmarked(body.text), []).append(body)
        special = [
            body
            for body in bodies
            if not body.is_general and unmarked(body.text) not in {self._at(text, body) for text in general}
        ]
        meaning, several = _meaning(bodies[0].call), len(general) + bool(special) > 1
        for text, own in general.items():
            yield SpecDefinition(self._stated(own, several), meaning, text.replace(_MARK, ""))
        rows = dict.fromkeys((self._stated([body], several), body.text) for body in special)
        for row in grouped(list(rows)):
            yield SpecDefinition(row.texts[0], meaning, row.texts[1])

    def _at(self, text: str, body: _Body) -> str:
        """Return a general text at the arguments of a call."""
        for symbol, argument in zip(body.call.symbols, body.call.arguments, strict=True):
            own = symbol if symbol in body.open_ones else self._plain(argument)
            text = text.replace(f"{_MARK}{symbol}{_MARK}", own)
        return text

    def _stated(self, bodies: Sequence[_Body], several: bool) -> str:
        """Return a definition with its parameters, and their index sets if it has several texts."""
        given = []
        for place, symbol in enumerate(bodies[0].call.symbols):
            arguments = [body.call.arguments[place] for body in bodies]
            sorts = {self.spelling.sort(a.sort): None for a in arguments if isinstance(a, Parameter)}
            if symbol not in bodies[0].open_ones:
                given.append(self.spelling.text(arguments[0], symbol))
            elif several and sorts and list(sorts) != [symbol]:
                given.append(f"{symbol} in {' or '.join(sorts)}")
            else:
                given.append(symbol)
        return f"{bodies[0].call.name}({', '.join(given)})"


class _Body(NamedTuple):
    """The marked text of a definition as one call has it.

    `open_ones` are the parameters that stand in it for arguments. It is general if all do, each for another.
    """

    call: Call
    text: str
    open_ones: frozenset[str]
    is_general: bool


_MARK = "\4"
"""The mark around a parameter of a definition in its general text."""


def _meaning(call: Call) -> str:
    """Return the first line of the docstring of a definition, without its verb."""
    text = (inspect.getdoc(call.method) or "").split("\n")[0].removeprefix("Return ")
    return text[:1].upper() + text[1:]


def _add(actions: list[SpecAction], new: SpecAction) -> None:
    """Add an action, or its index sets to the action before with the same text."""
    for place, old in enumerate(actions):
        if replace(old, parameters=new.parameters) == new and list(old.parameters) == list(new.parameters):
            both = {
                name: tuple(dict.fromkeys((*sets, *new.parameters[name])))
                for name, sets in old.parameters.items()
            }
            actions[place] = replace(old, parameters=both)
            return
    actions.append(new)
