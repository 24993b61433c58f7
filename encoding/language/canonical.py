"""A ground system as one text, equal in every process for equal systems, and the digest of this text.

The text is made from the terms, so it also covers what a protocol file imports. Notes and meanings are left
out: they change nothing that can happen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import fields
from enum import Enum

from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.messages import Broadcast, Message
from fencepost.encoding.language.sorts import Sort, Value
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Family, Parameter, Term, Update, lift


def digest(system: System) -> str:
    """Return the SHA-256 of the canonical text.

    It is equal for equal terms, sorts, initial values, properties and invariants.
    """
    found = hashlib.sha256()
    for line in lines(system):
        found.update(f"{line}\n".encode("utf-8", "backslashreplace"))
    return found.hexdigest()


def lines(system: System) -> Iterator[str]:
    """Yield the text line by line. A term or sort has its own line before the first line that names it."""
    return _Writer().system(system)


class _Writer:
    """A writer of the text. It numbers terms and sorts by their first use; equal ones share a number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._parameters: dict[Parameter, int] = {}
        self._terms: dict[int, int] = {}
        self._kept: list[Term] = []
        self._new: list[str] = []

    def system(self, system: System) -> Iterator[str]:
        for variable, values in zip(system.variables, system.firsts, strict=True):
            first = _value_text(values[0]) if len(values) == 1 else f"one of {_row(values)}"
            yield from self._line(f"variable {self._variable(variable)} = {first}")
        if system.beginning is not None:
            yield from self._line(f"beginning {self._term(system.beginning)}")
        numbers: dict[Schema, int] = {}
        for schema in system.schemas:
            numbers[schema] = len(numbers)
            yield from self._line(f"action {numbers[schema]} {self._schema(schema)}")
        for action in system.ground_actions:
            yield from self._line(f"slot {numbers[action.schema]} {_row(action.arguments)}")
        for prop in system.properties:
            traps = " ".join(f"{name!r}:{self._term(term)}" for name, term in prop.traps.items())
            terms = f"{self._term(prop.holds)} {self._term(prop.witness)}"
            yield from self._line(f"property {prop.name!r} {terms} {traps}")
        for live in system.liveness:
            terms = f"{self._term(live.witness)} {self._term(live.holds)} {live.at_first}"
            terms += " for ever" * live.for_ever
            yield from self._line(f"liveness {live.name!r} {terms}")
        for invariant in system.invariants:
            yield from self._line(f"invariant {invariant.name!r} {self._term(invariant.holds)}")
        yield from self._line(f"rounds {system.default_rounds}")

    def _line(self, text: str) -> Iterator[str]:
        """Yield the lines of the terms that this text names first, and then the text."""
        yield from self._new
        self._new.clear()
        yield text

    def _number(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self._numbers)
            self._new.append(text)
        return self._numbers[text]

    def _sort(self, sort: Sort) -> int:
        return self._number(f"sort {sort.name!r} {sort.part_of!r} {_row(sort.listed or ())}")

    def _variable(self, variable: Variable) -> str:
        place = f"{self._family(variable.family)}[{_row(variable.index)}]"
        return f"{place} {self._sort(variable.domain)}"

    def _family(self, family: Family) -> str:
        fault = "" if family.fault is None else f"~{family.fault!r}"
        return f"{family.name}{fault}"

    def _schema(self, schema: Schema) -> str:
        action = schema.action
        bound = ",".join(f"{p.symbol}:{self._parameter(p)}" for p in schema.parameters)
        updates = ";".join(map(self._update, action.then))
        sent = ";".join(map(self._sending, action.sent))
        received = "" if action.received is None else self._message(action.received)
        terms = f"when {self._term(action.when)} then {updates} actor {self._term(lift(action.actor))}"
        fair = "" if schema.fair is None else f" fair {schema.fair!r}"
        return (
            f"{schema.name!r}({bound}) {terms} received {received} sent {sent} fault {action.fault!r}{fair}"
        )

    def _update(self, update: Update) -> str:
        return ":".join(str(self._term(term)) for term in (update.target, update.value, update.when))

    def _sending(self, sending: Message | Broadcast) -> str:
        if isinstance(sending, Broadcast):
            return f"each {self._parameter(sending.bound)} {self._message(sending.message)}"
        return self._message(sending)

    def _message(self, message: Message) -> str:
        fields = (f"{n!r}:{self._term(t)}" for n, t in [*message.about.items(), *message.says.items()])
        ends = f"{self._term(message.sender)}>{self._term(message.receiver)}"
        lost = "" if message.lost is None else self._term(message.lost)
        return f"{message.kind!r} {ends} {','.join(fields)} lost {lost} when {self._term(message.when)}"

    def _parameter(self, parameter: Parameter) -> int:
        """Return the number of a parameter.

        Parameters are told apart by identity, because the names of bound ones differ from run to run.
        """
        number = self._parameters.setdefault(parameter, len(self._parameters))
        return self._number(f"parameter {number} {self._sort(parameter.sort)}")

    def _term(self, term: Term) -> int:
        if id(term) not in self._terms:
            self._kept.append(term)  # a term that is kept keeps its id
            self._terms[id(term)] = (
                self._parameter(term)
                if isinstance(term, Parameter)
                else self._number(f"{type(term).__name__} {' '.join(self._parts(term))}")
            )
        return self._terms[id(term)]

    def _parts(self, term: Term) -> Iterator[str]:
        for field in fields(term):
            if field.compare:
                yield self._part(getattr(term, field.name))

    def _part(self, part: object) -> str:
        match part:
            case Term():
                return f"#{self._term(part)}"
            case Family():
                return self._family(part)
            case Sort():
                return f"sort#{self._sort(part)}"
            case tuple():
                return f"({' '.join(map(self._part, part))})"
        return _value_text(part)


def _row(values: Iterable[Value]) -> str:
    return ",".join(map(_value_text, values))


def _value_text(value: Value | object) -> str:
    """Return a plain value as unambiguous text: `True` differs from `1`, a label from a number."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}={value.value!r}"
    return repr(value)
