"""What a protocol text must satisfy for its losses to be choices made up front."""

from __future__ import annotations

from fencepost.encoding.errors import ModelError
from fencepost.encoding.state import Family
from fencepost.encoding.system import Message, Schema, System
from fencepost.encoding.terms import All, Constant, Not, Parameter, Read, Term, Update


def sent_at_most_once(system: System) -> None:
    """Raise ModelError unless no sending with a loss chosen up front can happen twice in one execution.

    One choice stands for one sending. That is shown from the text of the action that sends: its guard
    demands that some fact is not yet true, it makes the fact true, no action ever makes it anything else,
    and the fact is told apart by everything that tells the choice apart, the recipients of a broadcast aside.
    """
    for schema in system.schemas:
        for broadcast, message in schema.sent():
            if message.lost is not None and not _once(system, schema, broadcast, message):
                raise ModelError(
                    f"{schema.name} may send {message.kind} twice with one loss ({message.lost.family.name}): "
                    "guard it by a fact that it makes true for good, add an index, or make the loss an action"
                )


def _once(system: System, schema: Schema, broadcast: tuple[Parameter, ...], message: Message) -> bool:
    """Some fact, true for good, marks this sending as done."""
    assert message.lost is not None
    return any(
        _is_new(schema, update) and _never_undone(system, update.target.family, update)
        for update in schema.action.then
    )


def _is_new(schema: Schema, update: Update) -> bool:
    """The guard demands that the variable does not hold yet what the update gives it."""
    guard = schema.action.when
    conjuncts = guard.operands if isinstance(guard, All) else (guard,)
    return any(_denies(conjunct, update.target) for conjunct in conjuncts)


def _denies(conjunct: Term, target: Read) -> bool:
    return isinstance(conjunct, Not) and isinstance(conjunct.operand, Read) and _same(conjunct.operand, target)


def _never_undone(system: System, family: Family, update: Update) -> bool:
    return all(
        isinstance(u.value, Constant) and u.value.value is True
        for schema in system.schemas
        for u in schema.action.then
        if u.target.family is family
    )


def _same(left: Read, right: Read) -> bool:
    return left.family is right.family and all(
        a is b or (isinstance(a, Constant) and isinstance(b, Constant) and a.value == b.value)
        for a, b in zip(left.index, right.index, strict=True)
    )
