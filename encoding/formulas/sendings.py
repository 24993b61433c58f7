"""What a protocol text must satisfy for its losses to be choices made up front.

One choice stands for one sending, so no sending may happen twice in one execution with the same choice. It
is shown from the text, for every execution of every instance: all actions that send with a choice demand
that one and the same fact is not yet so, make it so, and no action ever undoes it. Within one action, no two
messages may have one choice, and every sending of a kind of message that can be lost names its choice.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.messages import Message
from fencepost.encoding.language.patterns import conjuncts, same, same_place, subterms
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.state import show
from fencepost.encoding.language.system import Schema, System
from fencepost.encoding.language.terms import (
    Constant,
    Equal,
    Family,
    If,
    Not,
    Parameter,
    Read,
    Term,
    Update,
)


@dataclass(frozen=True)
class _Mark:
    """A fact that marks a sending as done: a variable that is no longer `unset`.

    `index` says for each index of the fact which index of the choice it is; a constant stands for itself.
    """

    fact: Family
    unset: Value
    index: tuple[object, ...]


def sent_at_most_once(system: System) -> None:
    """Raise ModelError unless every sending that can be lost is shown to happen at most once."""
    _every_loss_is_named(system)
    marks: dict[Family, set[_Mark]] = {}
    first: dict[Family, str] = {}
    for schema in system.schemas:
        _one_loss_each(schema)
        for _, message in schema.sent():
            if message.lost is None:
                continue
            choice = message.lost.family
            found = _kept_marks(system, schema, message, choice)
            before = first.setdefault(choice, schema.name)
            marks[choice] = marks.get(choice, found) & found
            if not marks[choice]:
                raise ModelError(
                    f"{before} and {schema.name} send {message.kind} with one loss, {choice.name}, and no fact keeps "
                    "one of them from sending when the other has: give the loss another index, such as who sends, or "
                    "guard both by one fact that both make true for good"
                )


def _every_loss_is_named(system: System) -> None:
    """Raise ModelError for a sending without a loss although messages of its kind can be lost.

    They can if another sending of the kind names a loss, or if an action that receives the kind reads a choice.
    """
    by_choice = {
        kind: f"{read.family.name}, which {name} reads" for name, kind, read in _choices_at_receipt(system)
    }
    sendings = [(schema.name, message) for schema in system.schemas for _, message in schema.sent()]
    named = {
        m.kind: f"{m.lost.family.name}, which {name} names" for name, m in sendings if m.lost is not None
    }
    for name, message in sendings:
        loss = named.get(message.kind, by_choice.get(message.kind))
        if message.lost is None and loss is not None:
            raise ModelError(
                f"{name} sends {message.kind} without a loss, and messages of that kind can be lost ({loss}): "
                "name it with lost=, or give this message a kind of its own"
            )


def _choices_at_receipt(system: System) -> Iterator[tuple[str, str, Read]]:
    """Each action that receives a message under a guard that reads a choice, with the kind of the message."""
    for schema in system.schemas:
        if schema.action.received is not None:
            for term in subterms(schema.action.when):
                if isinstance(term, Read) and term.family.fault is not None:
                    yield schema.name, schema.action.received.kind, term


def _one_loss_each(schema: Schema) -> None:
    """Raise ModelError unless all messages that one happening of the action sends have losses of their own."""
    losable = [(bound, message) for bound, message in schema.sent() if message.lost is not None]
    for bound, message in losable:
        assert message.lost is not None
        for parameter in bound:
            if not any(term is parameter for term in message.lost.index):
                raise ModelError(
                    f"{schema.name} sends {message.kind} to each {parameter.sort.name} with one loss, "
                    f"{line(message.lost)}: give the loss an index for the {parameter.sort.name}"
                )
    for (_, one), (_, other) in itertools.combinations(losable, 2):
        if not _apart(one, other):
            assert one.lost is not None
            raise ModelError(
                f"{schema.name} may send {one.kind} and {other.kind} with one loss, {one.lost.family.name}: "
                "give each a loss of its own, or an index that tells them apart"
            )


def _apart(one: Message, other: Message) -> bool:
    """The two have different losses whatever the arguments, or are never sent together, as their texts tell."""
    assert one.lost is not None and other.lost is not None
    if one.lost.family is not other.lost.family:
        return True
    pairs = zip(one.lost.index, other.lost.index, strict=True)
    if any(isinstance(a, Constant) and isinstance(b, Constant) and a.value != b.value for a, b in pairs):
        return True
    return any(_excludes(a, b) for a in conjuncts(one.when) for b in conjuncts(other.when))


def _excludes(one: Term, other: Term) -> bool:
    """One of the two denies the other."""
    match one, other:
        case Not(operand=operand), _ if operand is other:
            return True
        case _, Not(operand=operand):
            return operand is one
    return False


def _kept_marks(system: System, schema: Schema, message: Message, choice: Family) -> set[_Mark]:
    """The marks of a sending that last; raises ModelError if there is none."""
    repeats = f"{schema.name} may send {message.kind} more than once with one loss, {choice.name}"
    found = list(_marks(schema, message))
    if not found and (finer := list(_facts(schema, message))):
        raise ModelError(
            f"{repeats}: {line(finer[0])} allows it once for each of its indices, and {choice.name} has not all of these; "
            "give the loss the others too"
        )
    if not found:
        raise ModelError(
            f"{repeats}: guard it by a fact that it makes true for good, give the loss another index, or make it an action"
        )
    undone = {mark: _undone_by(system, mark) for mark in found}
    kept = {mark for mark, by in undone.items() if by is None}
    if not kept:
        mark, by = next(iter(undone.items()))
        raise ModelError(
            f"{repeats}: {by} may set {mark.fact.name} back to {show(mark.unset)}; let no action do that, give the loss "
            "another index, or make it an action"
        )
    return kept


def _marks(schema: Schema, message: Message) -> Iterator[_Mark]:
    """The facts that this sending demands not to be so, and makes so, for each choice."""
    assert message.lost is not None
    for fact, unset in _facts(schema, message).items():
        index = _index_in(fact, message.lost)
        if index is not None:
            yield _Mark(fact.family, unset, index)


def _facts(schema: Schema, message: Message) -> Mapping[Read, Value]:
    """What this sending demands to be still unset, and sets; with the unset value."""
    demanded = [*conjuncts(schema.action.when), *conjuncts(message.when)]
    facts: dict[Read, Value] = {}
    for update in schema.action.then:
        unset = next((v for v in (_denied(c, update.target) for c in demanded) if v is not None), None)
        if unset is not None and _happens_with(update, message):
            facts[update.target] = unset
    return facts


def _denied(conjunct: Term, target: Read) -> Value | None:
    """The value that the conjunct says the target still has."""
    match conjunct:
        case Not(operand=Read() as read) if same_place(read, target):
            return False
        case Equal(left=Read() as read, right=Constant(value=value)) if same_place(read, target):
            return value
    return None


def _index_in(target: Read, choice: Read) -> tuple[object, ...] | None:
    """Where in the index of the choice each index of the target stands; None if one does not.

    If it stands in several places, as equal constants do, the one where it has the same place counts.
    """
    found: list[object] = []
    for own, term in enumerate(target.index):
        places = [i for i, other in enumerate(choice.index) if same(term, other)]
        if not places:
            return None
        found.append(own if own in places else places[0])
    return tuple(found)


def _happens_with(update: Update, message: Message) -> bool:
    """Whenever the message is sent, the update is made."""
    given = {id(conjunct) for conjunct in conjuncts(message.when)}
    return all(
        id(c) in given or (isinstance(c, Constant) and c.value is True) for c in conjuncts(update.when)
    )


def _undone_by(system: System, mark: _Mark) -> str | None:
    """An action that may give the fact its unset value again, by name; None if there is none."""
    for schema in system.schemas:
        for update in schema.action.then:
            if update.target.family is mark.fact and mark.unset in _values(update.value, mark.fact):
                return schema.name
    return None


def _values(term: Term, family: Family) -> tuple[Value, ...]:
    """The values a term may have, as far as its text tells."""
    match term:
        case Constant(value=value):
            return (value,)
        case Parameter(sort=sort):
            return sort.values
        case If(then=then, otherwise=otherwise):
            return (*_values(then, family), *_values(otherwise, family))
    return family.domain.values
