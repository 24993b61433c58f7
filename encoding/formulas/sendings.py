"""The send-once rule: a condition on protocols under which a loss can be a choice made before the first step.

One choice stands for the loss of one sending. So no execution may send twice with the same choice. This is
proved from the text, for every execution of every instance. All actions that send with a choice require that
one and the same state variable is still unset, they set it, and no action unsets it. Within one action, no
two messages may share a choice. If a kind of message can be lost, every sending of the kind must name its
choice.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import GroundAction, Schema
from fencepost.encoding.language.fold import is_false, simplified
from fencepost.encoding.language.messages import Message
from fencepost.encoding.language.patterns import conjuncts, plain_index, rebuilt, same, same_place, subterms
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.sorts import Value, show
from fencepost.encoding.language.state import named
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import (
    TRUE,
    Binder,
    Constant,
    Equal,
    Family,
    If,
    In,
    Joined,
    Leaf,
    Not,
    Pair,
    Parameter,
    Quantified,
    Read,
    Term,
    Update,
    all_of,
    any_of,
    children,
    lift,
    node,
)


@dataclass(frozen=True)
class _Mark:
    """A state variable that marks a sending as done, once it no longer has the value `unset`.

    For each index of the family, `index` has the position of the equal index of the choice.
    """

    family: Family
    unset: Value
    index: tuple[object, ...]


def sent_at_most_once(system: System) -> None:
    """Raise ModelError unless every sending that can be lost is proved to happen at most once."""
    _every_loss_is_named(system)
    _receivers_read_the_loss(system)
    marks: dict[Family, set[_Mark]] = {}
    first: dict[Family, str] = {}
    for schema in system.schemas:
        if is_false(schema.action.when):  # it never happens
            continue
        _one_loss_each(schema)
        for _, message in schema.sent():
            if message.lost is None:
                continue
            choice = message.lost.family
            found = _permanent_marks(system, schema, message, choice)
            before = first.setdefault(choice, schema.name)
            marks[choice] = marks.get(choice, found) & found
            if not marks[choice]:
                raise ModelError(
                    f"{before} and {schema.name} send {message.kind} with one loss, {choice.name}, and no "
                    "state variable keeps one of them from sending after the other: give the loss another "
                    "index, such as who sends, or guard both by one state variable that both set for good"
                )


def _every_loss_is_named(system: System) -> None:
    """Raise ModelError if an action reads a loss that no sending names, or a sending names none of its kind.

    Messages of a kind can be lost if another sending of the kind names a loss, or if an action that receives
    the kind reads a choice. The loss of a message that the action itself sends does not count, because a
    queue reads it.
    """
    by_choice = {
        schema.action.received.kind: f"{read.family.name}, which {schema.name} reads"
        for schema, read in _choices_read(system)
        if schema.action.received is not None and not _sends_with(schema, read)
    }
    sendings = [(schema.name, message) for schema in system.schemas for _, message in schema.sent()]
    named = {
        m.kind: f"{m.lost.family.name}, which {name} names" for name, m in sendings if m.lost is not None
    }
    for name, message in sendings:
        loss = named.get(message.kind, by_choice.get(message.kind))
        if message.lost is None and loss is not None:
            raise ModelError(
                f"{name} sends {message.kind} without a loss, and messages of that kind can be lost "
                f"({loss}): name it with lost=, or give this message a kind of its own"
            )
    for schema, read in _choices_read(system):
        if not any(m.lost is not None and m.lost.family is read.family for _, m in sendings):
            raise ModelError(
                f"{schema.name} reads {line(read)}, and no sending names this loss: name it with lost= in "
                "the message that is lost; a fault that is no loss of a message is an action with fault="
            )


def _sends_with(schema: Schema, choice: Read) -> bool:
    """Return whether a message that the action sends names this choice as its loss."""
    return any(message.lost is not None and same_place(message.lost, choice) for _, message in schema.sent())


def _receivers_read_the_loss(system: System) -> None:
    """Raise ModelError for an action whose guard reads a loss, and which may receive a lost message.

    If the losses of all messages that it may receive are true, a part of its guard must be false, or depend
    on the state alone.
    """
    readers = {schema: line(read) for schema, read in _choices_read(system)}
    kinds = {s.action.received.kind for s in readers if s.action.received is not None}
    losses = _losses_by_message(system, kinds)
    unknown = [identity for identity in losses if () in identity]
    for schema, read in readers.items():
        message = schema.action.received
        if message is None or is_false(schema.action.when):
            continue
        own = {sent.lost.family for _, sent in schema.sent() if sent.lost is not None}
        choosing = [
            c
            for c in conjuncts(schema.action.when)
            if any(_is_choice(t) and t.family not in own for t in subterms(c))
        ]
        for given in _arguments(schema.parameters):
            identity = _identity(message, given)
            candidates = losses if () in identity else [identity, *unknown]
            lost = {p for c in candidates if _may_equal(c, identity) for p in losses.get(c, ())}
            if choosing and lost and not any(_may_exclude(c, given, lost) for c in choosing):
                action = GroundAction(schema, tuple(given.values()))
                loss = min(named(*place) for place in lost)
                raise ModelError(
                    f"{action.name} reads {read}, and may receive {message.kind} when its loss "
                    f"{loss} is true: add the negation of that loss "
                    "to the guard, or name with lost= in the sending the loss that the receiver reads"
                )


_Place: TypeAlias = tuple[Family, tuple[Value, ...]]
_Identity: TypeAlias = tuple[tuple[Value, ...] | str, ...]


def _losses_by_message(system: System, kinds: Collection[str]) -> dict[_Identity, set[_Place]]:
    """Return the losses that the sendings of these kinds name, by what identifies a message."""
    found: dict[_Identity, set[_Place]] = {}
    for schema in system.schemas:
        for bound, message in schema.sent():
            if message.lost is None or message.kind not in kinds:
                continue
            for given in _arguments((*schema.parameters, *bound)):
                index = [plain_index(term, given) for term in message.lost.index]
                values = [i or s.values for i, s in zip(index, message.lost.family.over, strict=True)]
                places = ((message.lost.family, place) for place in itertools.product(*values))
                found.setdefault(_identity(message, given), set()).update(places)
    return found


def _arguments(parameters: Sequence[Parameter]) -> Iterator[dict[Parameter, Value]]:
    """Yield all combinations of values of the parameters; none if a sort has any size."""
    if all(p.sort.counted for p in parameters):
        for values in itertools.product(*(p.sort for p in parameters)):
            yield dict(zip(parameters, values, strict=True))


def _identity(message: Message, given: Mapping[Parameter, Value]) -> _Identity:
    """Return what identifies a message. A part that depends on the state is an empty tuple."""
    about = (part for name in sorted(message.about) for part in (name, message.about[name]))
    terms = (message.sender, message.receiver, *about)
    return message.kind, *(t if isinstance(t, str) else plain_index(t, given) for t in terms)


def _may_equal(one: _Identity, other: _Identity) -> bool:
    """Return whether the two may be one message: whether their known parts are equal."""
    return len(one) == len(other) and all(
        a == b or a == () or b == () for a, b in zip(one, other, strict=True)
    )


def _may_exclude(term: Term, given: Mapping[Parameter, Value], lost: Collection[_Place]) -> bool:
    """Return whether the term is false with these losses true, or reads one of them beside the state."""
    left, before = _with_losses(term, given, lost), _with_losses(term, given, ())
    fewer = sum(map(_is_choice, subterms(left))) < sum(map(_is_choice, subterms(before)))
    reads_state = any(isinstance(t, Read) and not _is_choice(t) for t in subterms(left))
    return is_false(left) or (reads_state and fewer)


def _with_losses(term: Term, given: Mapping[Parameter, Value], lost: Collection[_Place]) -> Term:
    """Return the term for these arguments, simplified, with these losses true."""
    match node(term):
        case Parameter() as own:
            return lift(given[own]) if own in given else own
        case Quantified(quantifier="forall" | "exists" as quantifier, bound=bound, body=body):
            join = all_of if quantifier == "forall" else any_of
            return simplified(join(*(_with_losses(body, {**given, bound: v}, lost) for v in bound.sort)))
        case Constant() | Read() | Not() | Joined() | Pair() | If() | Binder() | In():
            pass
    made = rebuilt(term, tuple(_with_losses(part, given, lost) for part in children(term)))
    if _is_choice(made):
        place = made.family, tuple(i.value for i in made.index if isinstance(i, Constant))
        unknown = len(place[1]) < len(made.index) and any(family is made.family for family, _ in lost)
        return TRUE if place in lost or unknown else made
    return simplified(made)


def _is_choice(term: Term) -> TypeGuard[Read]:
    """Return whether the term reads a choice."""
    return isinstance(term, Read) and term.family.fault is not None


def _choices_read(system: System) -> Iterator[tuple[Schema, Read]]:
    """Yield each action that reads a choice, in its guard, updates or messages, with what it reads."""
    for schema in system.schemas:
        for term in subterms(*(term for _, terms in schema.scopes for term in terms)):
            if _is_choice(term):
                yield schema, term


def _one_loss_each(schema: Schema) -> None:
    """Raise ModelError unless all messages that one step of the action sends have losses of their own."""
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
        if not _have_different_losses(one, other):
            assert one.lost is not None
            raise ModelError(
                f"{schema.name} may send {one.kind} and {other.kind} with one loss, {one.lost.family.name}: "
                "give each a loss of its own, or an index that tells them apart"
            )


def _have_different_losses(one: Message, other: Message) -> bool:
    """Return whether the two have different losses for all arguments, or are never sent together."""
    assert one.lost is not None and other.lost is not None
    if one.lost.family is not other.lost.family:
        return True
    pairs = zip(one.lost.index, other.lost.index, strict=True)
    if any(isinstance(a, Constant) and isinstance(b, Constant) and a.value != b.value for a, b in pairs):
        return True
    return any(_excludes(a, b) for a in conjuncts(one.when) for b in conjuncts(other.when))


def _excludes(one: Term, other: Term) -> bool:
    """Return whether one of the two is the negation of the other."""
    return any(isinstance(a, Not) and a.operand is b for a, b in ((one, other), (other, one)))


def _permanent_marks(system: System, schema: Schema, message: Message, choice: Family) -> set[_Mark]:
    """Return the marks of a sending that no action unsets. Raises ModelError if there are none."""
    repeats = f"{schema.name} may send {message.kind} more than once with one loss, {choice.name}"
    found = list(_marks(schema, message))
    if not found and (finer := list(_set_when_sent(schema, message))):
        raise ModelError(
            f"{repeats}: {line(finer[0])} allows it once for each of its indices, "
            f"and {choice.name} lacks some of these; give the loss all of them"
        )
    if not found:
        raise ModelError(
            f"{repeats}: guard it by a state variable that it sets for good, give the loss another index, "
            "or make it an action"
        )
    unset_by = {mark: _unset_by(system, mark) for mark in found}
    kept = {mark for mark, by in unset_by.items() if by is None}
    if not kept:
        mark, by = next(iter(unset_by.items()))
        raise ModelError(
            f"{repeats}: {by} may set {mark.family.name} back to {show(mark.unset)}; "
            "let no action do that, give the loss another index, or make it an action"
        )
    return kept


def _marks(schema: Schema, message: Message) -> Iterator[_Mark]:
    """Yield the marks of this sending: state variables, indexed like the choice, that it requires unset."""
    assert message.lost is not None
    for variable, unset in _set_when_sent(schema, message).items():
        index = _positions_in(variable, message.lost)
        if index is not None:
            yield _Mark(variable.family, unset, index)


def _set_when_sent(schema: Schema, message: Message) -> Mapping[Read, Value]:
    """Return the state variables that this sending requires unset, and sets, with their unset values."""
    required = [*conjuncts(schema.action.when), *conjuncts(message.when)]
    found: dict[Read, Value] = {}
    for update in schema.action.then:
        unset = next(
            (v for v in (_required_value(c, update.target) for c in required) if v is not None), None
        )
        if unset is not None and _is_made_with(update, message):
            found[update.target] = unset
    return found


def _required_value(conjunct: Term, target: Read) -> Value | None:
    """Return the value that the conjunct requires of the target, or None."""
    match node(conjunct):
        case Not(operand=Read() as read) if same_place(read, target):
            return False
        case Equal(left=Read() as read, right=Constant(value=value)) if same_place(read, target):
            return value
        case Leaf() | Read() | Not() | Joined() | Pair() | If() | Binder() | In():
            return None


def _positions_in(target: Read, choice: Read) -> tuple[object, ...] | None:
    """Return the position of each index of the target in the index of the choice; None if one is missing.

    If an index has several positions, as equal constants do, its own position counts.
    """
    found: list[object] = []
    for own, term in enumerate(target.index):
        places = [i for i, other in enumerate(choice.index) if same(term, other)]
        if not places:
            return None
        found.append(own if own in places else places[0])
    return tuple(found)


def _is_made_with(update: Update, message: Message) -> bool:
    """Return whether the update is made whenever the message is sent."""
    given = {id(conjunct) for conjunct in conjuncts(message.when)}
    return all(
        id(c) in given or (isinstance(c, Constant) and c.value is True) for c in conjuncts(update.when)
    )


def _unset_by(system: System, mark: _Mark) -> str | None:
    """Return the name of an action that may unset the mark, or None."""
    for schema in system.schemas:
        for update in schema.action.then:
            if update.target.family is mark.family and mark.unset in _range(update.value, mark.family):
                return schema.name
    return None


def _range(term: Term, family: Family) -> tuple[Value, ...]:
    """Return the values that a term may have, as far as its text tells."""
    match node(term):
        case Constant(value=value):
            return (value,)
        case Parameter(sort=sort):
            return sort.values
        case If(then=then, otherwise=otherwise):
            return (*_range(then, family), *_range(otherwise, family))
        case Read() | Not() | Joined() | Pair() | Binder() | In():
            return family.domain.values
