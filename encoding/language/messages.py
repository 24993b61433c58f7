"""Messages as people see them: what an action receives and sends, and what it changes at queues."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.author_errors import must_be_condition, must_be_line
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.definedness import is_partial
from fencepost.encoding.language.origins import Authored
from fencepost.encoding.language.patterns import key
from fencepost.encoding.language.quantifiers import bind
from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    Parameter,
    Read,
    Term,
    TermLike,
    Update,
    all_of,
    any_of,
    assigned,
    lift,
)


@dataclass(frozen=True)
class Queued:
    """A message that a step receives from a queue, or adds to it if `enters` holds.

    `places` are those of the queue, the first one first, and `number` stands for the message in them. A place
    without a message has the number 0.
    """

    places: tuple[Read, ...]
    number: Term
    enters: Term = FALSE

    @property
    def is_first(self) -> Term:
        """The condition that the message is the first one of its queue."""
        return self.places[0] == self.number


@dataclass(frozen=True)
class ChannelStep:
    """The part of an action that a message of a channel brings with it: a part of the guard, and updates.

    `is_sending` says whether the message is sent or received. `queued` is its entry in a queue.
    """

    is_sending: bool
    guard: Term
    updates: tuple[Update, ...]
    queued: Queued | None = None


@dataclass(frozen=True)
class Message(Authored):
    """A message as people see it. It has no effect on the state: the updates of the action have.

    The message of a channel has an `effect`, which the action takes over when it is made.
    `kind`, `sender`, `receiver` and `about` identify one sending. They are equal at the sender and at the
    receiver. `says` has the other fields of the message, also equal at both ends. `lost` reads the choice
    that says whether this sending is never delivered. `when` restricts the sending. A message that `stays`
    may be received again.

    A trace is refused if it receives a message that was not sent, is lost, or was received before
    (`concrete.receipts`).
    """

    kind: str
    sender: Term
    receiver: Term
    about: Mapping[str, Term] = field(default_factory=dict)
    says: Mapping[str, Term] = field(default_factory=dict)
    lost: Read | None = None
    when: Term = TRUE
    stays: bool = False
    effect: ChannelStep | None = None
    making: int | None = field(default=None, compare=False, repr=False)

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms that say what is sent to whom, if `when` holds, and the index of the loss."""
        index = () if self.lost is None else self.lost.index
        return (self.sender, self.receiver, *self.about.values(), *self.says.values(), *index)


def message(
    kind: str,
    sender: TermLike,
    receiver: TermLike,
    about: Mapping[str, TermLike] | None = None,
    says: Mapping[str, TermLike] | None = None,
    lost: Read | None = None,
    when: TermLike = True,
    stays: bool = False,
    effect: ChannelStep | None = None,
) -> Message:
    """Return a `Message`. Plain values may stand for terms.

    Raises ModelError if `lost` is no choice, or `when` is no condition.
    """
    if lost is not None and not (isinstance(lost, Read) and lost.family.fault is not None):
        raise ModelError(f"{kind}: lost= is no loss; write lost=s.write_lost[…], a choice of the state")
    for name in (kind, *(about or ()), *(says or ())):
        must_be_line("a name in a message", name, "write a word of printable characters")
    must_be_condition(f"{kind}: when=", lift(when))
    lifted = [{name: lift(value) for name, value in (terms or {}).items()} for terms in (about, says)]
    return Message(kind, lift(sender), lift(receiver), lifted[0], lifted[1], lost, lift(when), stays, effect)


@dataclass(frozen=True)
class Broadcast:
    """One message for each value of `bound`."""

    bound: Parameter
    message: Message


def to_each(sort: Sort, body: Callable[[Any], Message]) -> Broadcast:
    """Return a broadcast of one message for each value of `sort`. Raises ModelError for one of a channel."""
    bound = bind(sort)
    sent = body(bound)
    if sent.effect is not None:
        raise ModelError(
            f"to_each sends {sent.kind}, which belongs to a channel; "
            f"write sent=[s.{sent.kind}.send(x) for x in s.{sort.name}]"
        )
    return Broadcast(bound, sent)


@dataclass
class _Changes:
    """The messages of one step at one queue."""

    taken: Queued | None
    added: list[Queued]

    @property
    def _left(self) -> Sequence[Term]:
        """The numbers in the queue once the received message is taken away."""
        places = (self.taken or self.added[0]).places
        return [*places[1:], lift(0)] if self.taken else places

    @property
    def fit(self) -> Term:
        """The condition that the queue has room for all messages that enter it."""
        if not self.added:
            return lift(True)
        entering = sum((if_(message.enters, 1, 0) for message in self.added), lift(0))
        fit = number_in(self._left) + entering <= len(self._left)
        return any_of(all_of(*(~message.enters for message in self.added)), fit) if is_partial(fit) else fit

    @property
    def updates(self) -> Iterator[Update]:
        """The updates of the queue. Messages enter it in the order in which the step names them."""
        end, filled = number_in(self._left), [FALSE for _ in self._left]
        for message in self.added:
            for number, place in enumerate(message.places):
                here = message.enters & (end == number)
                filled[number] = any_of(filled[number], here)
                yield assigned(place, message.number, here)
            end = end + if_(message.enters, 1, 0)
        if self.taken:
            for place, following, full in zip(self.taken.places, self._left, filled, strict=True):
                yield assigned(place, following, True if full is FALSE else ~full)


def queue_changes(received: Queued | None, sent: Sequence[Queued]) -> Iterator[tuple[Term, Iterator[Update]]]:
    """Yield the condition that the messages fit, and the updates, of each queue of a step.

    Two queues that are one for some arguments are badly defined there: the step sets a place twice.
    """
    by_queue: dict[Hashable, _Changes] = {}
    if received is not None:
        by_queue[key(received.places[0])] = _Changes(received, [])
    for message in sent:
        by_queue.setdefault(key(message.places[0]), _Changes(None, [])).added.append(message)
    for changes in by_queue.values():
        yield changes.fit, changes.updates


def number_in(places: Sequence[Term]) -> Term:
    """Return how many of the places of a queue have a message."""
    length: Term = lift(0)
    for number, place in enumerate(places, 1):
        length = if_(place == 0, length, number)
    return length
