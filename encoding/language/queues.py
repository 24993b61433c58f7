"""Queues: messages of several channels arrive at a process in the order in which they were sent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.channels import Channel, Process
from fencepost.encoding.language.conditional_terms import if_, undefined
from fencepost.encoding.language.messages import Queued, number_in
from fencepost.encoding.language.refused_operators import RefusesPython
from fencepost.encoding.language.sorts import Sort, Value, explain_no_sort, integers
from fencepost.encoding.language.terms import (
    FALSE,
    Family,
    Parameter,
    Read,
    Term,
    TermLike,
    all_of,
    any_of,
    as_type,
    assigned,
    lift,
)
from fencepost.encoding.language.wholes import Composite


class Queues(RefusesPython, Composite[Family]):
    """A queue for each process: the messages of these channels arrive in the order sent to it.

    A number stands for each message of a queue.

    - `process` has all senders and receivers.
    - `room`: a queue holds so many messages at most. A step whose messages do not fit is not enabled,
      and every verdict says so.
    - `by_link`: each sender and receiver have a queue of their own.
    - `gone`: a function from a process to the term that says that no queue takes messages to it any more.

    A message that is lost takes no room. Messages of one step enter in the order in which it names them.
    Raises ModelError.
    """

    name = ""
    suffixes = ("",)

    def __init__(
        self,
        process: Sort,
        channels: Iterable[Channel],
        *,
        room: int,
        by_link: bool = False,
        gone: Callable[[Term], TermLike] | None = None,
    ) -> None:
        """Give each message a number, from 1 for each process, and make the variables."""
        if not isinstance(process, Sort):
            raise ModelError(f"queues: {explain_no_sort(process)}")
        if type(room) is not int or room < 1:
            raise ModelError(f"queues: room={room!r:.80} is no number of messages; write 1 or more")
        self._process, self._by_link, self._gone = process, by_link, gone
        self._places, self._first = integers(1, room), dict[Channel, int]()
        following = dict.fromkeys(process.values, 1)
        for channel in channels:
            _must_fit(channel, process)
            channel.queued = self._queued_of(channel)
            receivers = _process_names(channel.receiver)
            self._first[channel] = max(following[name] for name in receivers)
            count = math.prod(len(channel.over[position]) for position in self._told_apart(channel))
            following |= dict.fromkeys(receivers, self._first[channel] + count)
        self._following = following
        self.over = (process, process) if by_link else (process,)
        domain = integers(0, max(following.values()) - 1)
        self.compose(Family(domain, (*self.over, self._places), None, None))

    def form(self, index: tuple[Value, ...]) -> Term:
        """Return the condition that the messages stand first, and are those of their receiver."""
        places = self._reads(index)
        in_front = (any_of(one != 0, other == 0) for one, other in itertools.pairwise(places))
        return all_of(*in_front, *(place < self._following[index[-1]] for place in places))

    @property
    def caps(self) -> Mapping[str, int]:
        """The bound on executions: how many messages a queue holds."""
        return {self.name: len(self._places)}

    def length(self, *queue: TermLike) -> Term:
        """Return the number of messages in a queue: of a process, or of a sender and a receiver."""
        return number_in(self._reads(queue))

    def drop(self, *queue_and_place: TermLike) -> Any:
        """Return the updates that take the message at a place, from 1, out of a queue: one item of `then`.

        The message is never received then. A step that drops where there is none is badly defined.
        """
        *queue, given = queue_and_place
        places, place = self._reads(queue), as_type(given, "int")
        there = all_of(place >= 1, place <= number_in(places))
        moved = zip(places, [*places[1:], lift(0)], self._places, strict=True)
        return (
            undefined(f"drops a message that {self.name} does not have", ~there),
            *(assigned(own, following, place <= number) for own, following, number in moved),
        )

    def _reads(self, queue: Sequence[TermLike]) -> tuple[Read, ...]:
        return tuple(self.families[0][(*queue, place)] for place in self._places)

    def _queued_of(self, channel: Channel) -> Callable[[tuple[TermLike, ...], Term], Queued]:
        """Return the function from a message, and the condition that it arrives, to its entry in a queue."""

        def queued(index: tuple[TermLike, ...], arrives: Term) -> Queued:
            receiver = as_type(channel.receiver.of(*index), self._process.type)
            queue = (channel.sender.of(*index), receiver) if self._by_link else (receiver,)
            places = self._reads(queue)
            gone = FALSE if self._gone is None else as_type(self._gone(receiver), "bool")
            return Queued(places, self._number(channel, index), arrives & ~gone)

        return queued

    def _told_apart(self, channel: Channel) -> Iterator[int]:
        """Yield the positions of the indices that tell the messages of one queue apart."""
        fixed = [channel.receiver.position, channel.sender.position if self._by_link else None]
        yield from (position for position in range(len(channel.over)) if position not in fixed)

    def _number(self, channel: Channel, index: tuple[TermLike, ...]) -> Term:
        number, stride = lift(self._first[channel]), 1
        for position in self._told_apart(channel):
            number = number + _position(lift(index[position]), channel.over[position], stride)
            stride *= len(channel.over[position])
        return number


queues = Queues
"""The name by which authors declare queues."""


def _must_fit(channel: Channel, process: Sort) -> None:
    """Raise ModelError for a channel whose messages cannot be in these queues."""
    if not isinstance(channel, Channel):
        raise ModelError(f"queues: {channel!r:.80} is no channel; write [s.ask, s.answer]")
    if channel.queued is not None:
        raise ModelError(f"queues: {channel.kind} is in a queue already; name it once")
    if channel.order is not None or not channel.once:
        option = "once=False" if channel.order is None else f"order={channel.order!r}"
        raise ModelError(f"queues: {channel.kind} has {option}, and a queue has its own order; leave it out")
    for name in (*_process_names(channel.sender), *_process_names(channel.receiver)):
        if name not in process:
            raise ModelError(
                f"queues: {name} of {channel.kind} is not in {process.name}; add it to that sort"
            )


def _process_names(process: Process) -> tuple[Value, ...]:
    return process.names.values if isinstance(process.names, Sort) else (process.names,)


def _position(term: Term, sort: Sort, stride: int) -> Term:
    """Return `stride` times the position of the value in the sort, counted from 0."""
    position: Term = lift(0)
    possible = term.sort if isinstance(term, Parameter) else sort
    for number, value in enumerate(sort.values):
        if value in possible:
            position = if_(term == value, number * stride, position)
    return position
