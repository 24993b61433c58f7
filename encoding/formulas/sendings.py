"""What a protocol text must satisfy for its losses to be choices made up front.

One choice stands for one sending, so no sending may happen twice in one execution with the same choice. It
is shown from the text, for every execution of every instance: all actions that send with a choice demand
that one and the same fact is not yet so, make it so, and no action ever undoes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.messages import Message
from fencepost.encoding.language.patterns import conjuncts, same, same_place
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.system import Schema, System
from fencepost.encoding.language.terms import Constant, Equal, Family, Not, Parameter, Read, Term, Update


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
    marks: dict[Family, set[_Mark]] = {}
    for schema in system.schemas:
        for _, message in schema.sent():
            if message.lost is None:
                continue
            found = {mark for mark in _marks(schema, message) if _is_kept(system, mark)}
            choice = message.lost.family
            marks[choice] = marks.get(choice, found) & found
            if not marks[choice]:
                raise ModelError(
                    f"{schema.name} may send {message.kind} more than once with one loss, {choice.name}: guard it "
                    "by a fact that it makes true for good, give the loss another index, or make it an action"
                )


def _marks(schema: Schema, message: Message) -> Iterator[_Mark]:
    """The facts that this sending demands not to be so, and makes so."""
    assert message.lost is not None
    demanded = [*conjuncts(schema.action.when), *conjuncts(message.when)]
    for update in schema.action.then:
        unset = next((v for v in (_denied(c, update.target) for c in demanded) if v is not None), None)
        index = _index_in(update.target, message.lost)
        if unset is not None and index is not None and _happens_with(update, message):
            yield _Mark(update.target.family, unset, index)


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


def _is_kept(system: System, mark: _Mark) -> bool:
    """No action gives the fact its unset value again."""
    updates = [u for schema in system.schemas for u in schema.action.then if u.target.family is mark.fact]
    return all(mark.unset not in _values(update.value, mark.fact) for update in updates)


def _values(term: Term, family: Family) -> tuple[Value, ...]:
    """The values a term may have, as far as its text tells."""
    match term:
        case Constant(value=value):
            return (value,)
        case Parameter(sort=sort):
            return sort.values
    return family.domain.values
