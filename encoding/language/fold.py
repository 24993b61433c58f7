"""Constant folding: state variables that no action changes are replaced by their values.

A protocol has layers, such as crashes, with state variables of their own. In an instance that does not use a
layer, no action changes these variables. They are constants there. Folding works out the terms over them, so
that no reading, trace or page shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from fencepost.encoding.language.actions import Action, Schema, changed
from fencepost.encoding.language.messages import Broadcast, Message
from fencepost.encoding.language.patterns import is_within, mapped, same
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    AllOf,
    AnyOf,
    AtLeast,
    Binder,
    Constant,
    Equal,
    Family,
    If,
    In,
    Joined,
    Leaf,
    Less,
    Not,
    Pair,
    Plus,
    Quantified,
    Read,
    Term,
    Update,
    all_of,
    any_of,
    lift,
    node,
)


def folded(system: System, folding: Folding | None = None) -> System:
    """Return the same system with every read of a constant family replaced by its value, and simplified.

    A family is constant if it has one initial value, the same at every index, and no action that may happen
    gives it another value. An update that may be badly defined is kept, and so is a read, because the
    readings report them. Executions, states and the names of actions stay the same.
    """
    folding = folding or Folding(constants(system))
    return replace(
        system,
        actions=tuple(changed(item, folding.schema) for item in system.actions),
        properties=tuple(map(folding.property, system.properties)),
        liveness=tuple(map(folding.property, system.liveness)),
        invariants=tuple(map(folding.invariant, system.invariants)),
        beginning=None if system.beginning is None else folding.term(system.beginning),
    )


def constants(system: System) -> Mapping[Family, Term]:
    """Return the constant families with their values, as a greatest fixed point.

    The first candidates are all families of one initial value. A family is dropped if some action changes it,
    or may set it badly, under the assumption that the other candidates are constant.
    """
    found = {
        v.family: lift(system.firsts[v.place][0])
        for v in system.variables
        if not v.is_choice and not callable(v.family.initial) and len(system.firsts[v.place]) == 1
    }
    while True:
        folding = Folding(found)
        dropped = {
            update.target.family
            for schema in system.schemas
            if any(update.target.family in found for update in schema.action.then)
            if not is_false(folding.term(schema.action.when))
            for update in schema.action.then
            if update.target.family in found
            and (folding.changes(update) or not folding.is_well_defined(update, schema.action))
        }
        if not dropped:
            return found
        found = {family: value for family, value in found.items() if family not in dropped}


SomeProperty = TypeVar("SomeProperty", bound=Property)


@dataclass(frozen=True)
class Folding:
    """A rewriting of terms for given constants. A term that occurs twice is rewritten once."""

    constants: Mapping[Family, Term]
    known: dict[Term, Term] = field(default_factory=dict)

    def changes(self, update: Update) -> bool:
        """Return whether the update may give a constant family another value."""
        value, constant = self.term(update.value), self.constants[update.target.family]
        return not is_false(self.term(update.when)) and not same(value, constant)

    def is_well_defined(self, update: Update, action: Action) -> bool:
        """Return whether the update sets a variable that exists, and no other update sets the same one."""
        others = (u for u in action.then if u is not update and u.target.family is update.target.family)
        return self._is_inside(update.target) and all(
            is_false(self.term(other.when)) or self._differ(update.target, other.target) for other in others
        )

    def _is_inside(self, read: Read) -> bool:
        """Return whether the index of the read is in its sorts, whatever the state."""
        return all(
            not sort.counted or is_within(self.term(term), sort)
            for term, sort in zip(read.index, read.family.over, strict=True)
        )

    def _differ(self, one: Read, other: Read) -> bool:
        """Return whether two reads are never of the same variable, as their constant indices tell."""
        pairs = zip(map(self.term, one.index), map(self.term, other.index), strict=True)
        return any(isinstance(a, Constant) and isinstance(b, Constant) and not same(a, b) for a, b in pairs)

    def schema(self, schema: Schema) -> Schema:
        """Return the action with its arguments, folded."""
        return replace(schema, action=self.action(schema.action))

    def action(self, action: Action) -> Action:
        """Return the action, folded."""
        return replace(
            action,
            when=self.term(lift(action.when)),
            then=tuple(self.updates(action.then)),
            received=None if action.received is None else self.message(action.received),
            sent=tuple(self.sendings(action.sent)),
        )

    def updates(self, updates: Iterable[Update]) -> Iterable[Update]:
        """Yield the updates that may change something, folded."""
        for update in updates:
            when = self.term(update.when)
            if update.target.family not in self.constants and not is_false(when):
                target = mapped(update.target, self.term)
                assert isinstance(target, Read)
                yield Update(target, self.term(update.value), when)

    def sendings(self, sent: Iterable[Message | Broadcast]) -> Iterable[Message | Broadcast]:
        """Yield the messages that may be sent, folded."""
        for sending in sent:
            if isinstance(sending, Broadcast):
                message = self.message(sending.message)
                kept: Message | Broadcast = replace(sending, message=message)
            else:
                kept = message = self.message(sending)
            if not is_false(message.when):
                yield kept

    def message(self, message: Message) -> Message:
        """Return the message, folded."""
        return replace(
            message,
            about={name: self.term(term) for name, term in message.about.items()},
            says={name: self.term(term) for name, term in message.says.items()},
            when=self.term(message.when),
        )

    def property(self, prop: SomeProperty) -> SomeProperty:
        """Return the property, folded."""
        traps = {name: self.term(trap) for name, trap in prop.traps.items()}
        return replace(prop, holds=self.term(prop.holds), witness=self.term(prop.witness), traps=traps)

    def invariant(self, invariant: Invariant) -> Invariant:
        """Return the invariant, folded."""
        return replace(invariant, holds=self.term(invariant.holds))

    def term(self, term: Term) -> Term:
        """Return the term, folded: the term itself if nothing in it is constant."""
        known = self.known.get(term)
        if known is None:
            known = self.known[term] = self._folded(term)
        return known

    def _folded(self, term: Term) -> Term:
        if isinstance(term, Read):
            constant = self.constants.get(term.family)
            return mapped(term, self.term) if constant is None or not self._is_inside(term) else constant
        return simplified(mapped(term, self.term))


def simplified(term: Term) -> Term:
    """Return the term simplified by its constant operands, which may make it a constant."""
    match node(term):
        case Not(operand=Constant(value=value)):
            return _truth(not value)
        case Not(operand=Not(operand=operand)):
            return operand
        case AllOf(operands=operands) if any(isinstance(o, Constant | AllOf) for o in operands):
            return FALSE if any(map(is_false, operands)) else all_of(*operands)
        case AnyOf(operands=operands) if any(isinstance(o, Constant | AnyOf) for o in operands):
            return TRUE if any(map(is_true, operands)) else any_of(*operands)
        case Equal(left=Constant(value=left), right=Constant(value=right)):
            return _truth(left == right)
        case Less(left=Constant(value=int() as left), right=Constant(value=int() as right)):
            return _truth(left < right)
        case Plus(left=Constant(value=int() as left), right=Constant(value=int() as right), sign=sign):
            return lift(left + sign * right)
        case If(condition=Constant(value=value), then=then, otherwise=otherwise):
            return then if value else otherwise
        case In(member=Constant(value=member), chosen=Constant(value=chosen), sort=sort):
            return _truth(member in sort.parts[chosen])
        case Quantified(quantifier="count", bound=bound, body=Constant(value=value)):
            return lift(len(bound.sort) if value else 0) if bound.sort.counted else term
        case Quantified(body=Constant() as body):
            return body
        case AtLeast(count=count, bound=bound, body=Constant(value=value)) if bound.sort.counted:
            return _truth(count <= (len(bound.sort) if value else 0))
        case Leaf() | Read() | Not() | Joined() | Pair() | If() | Binder() | In():
            return term


def is_true(term: Term) -> bool:
    """Return whether the term is the constant for true."""
    return isinstance(term, Constant) and term.value is True


def is_false(term: Term) -> bool:
    """Return whether the term is the constant for false."""
    return isinstance(term, Constant) and term.value is False


def _truth(value: object) -> Term:
    return TRUE if value else FALSE
