"""Messages at a queue: the guard and the updates of a step that takes one away and adds others."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.definedness import is_partial
from fencepost.encoding.language.patterns import key
from fencepost.encoding.language.terms import FALSE, Read, Term, Update, all_of, any_of, assigned, lift


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
