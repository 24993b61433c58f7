"""A network: each message is sent once, and received once or lost, in the order of the network.

Every sending has an identity of its own: a request carries the number of its attempt, an answer the request
it answers. An ordered network has a queue for each machine (or each link). A message that is not lost goes
to the end of its queue, and only the first message of a queue may arrive. Messages of one step to one
machine are queued in the order in which the step names them. Messages to a machine that is gone are not
queued. A queue holds a limited number of messages; a step whose messages do not fit has to wait.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fencepost.encoding.language.actions import Action
from fencepost.encoding.language.conditional_terms import if_
from fencepost.encoding.language.messages import Message, message
from fencepost.encoding.language.sorts import BOOL, Sort, integers
from fencepost.encoding.language.state import StateSpace, choice, family
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    Constant,
    Family,
    Parameter,
    Read,
    Term,
    TermLike,
    Update,
    all_of,
    lift,
)

Index = tuple[TermLike, ...]


@dataclass(frozen=True)
class End:
    """A sender or receiver: one of several machines.

    `of` finds the machine from the index of the message. It may be the name of an index, and is left out if
    there is one machine only. `gone` says whether a machine will never receive anything again.
    """

    machines: Sort
    of: str | Callable[[Index], TermLike] | None = None
    gone: Callable[[TermLike], Term] = lambda machine: FALSE


class Mail:
    """The messages of one kind, one for each combination of values of `over`.

    Each message has three Booleans: `sent` and `received`, which are state variables, and `lost`, which is
    a choice (None on a network without losses). The network declares them. Properties may refer to state
    variables only. For a kind that properties ask about, `notes_losses` adds a state variable `dropped`,
    which records losses.
    """

    sent: Family
    received: Family
    lost: Family | None = None
    dropped: Family | None = None

    def __init__(
        self, kind: str, over: Mapping[str, Sort], sender: End, receiver: End, notes_losses: bool
    ) -> None:
        """Keep the kind, its index sets and its ends; the network declares the rest."""
        self.kind, self.over, self.notes_losses = kind, dict(over), notes_losses
        self.ends = {"sender": sender, "receiver": receiver}

    def sender(self, index: Index) -> TermLike:
        """Return the machine that sends the message."""
        return self._machine("sender", index)

    def receiver(self, index: Index) -> TermLike:
        """Return the machine that receives the message."""
        return self._machine("receiver", index)

    def _machine(self, end: str, index: Index) -> TermLike:
        of = self.ends[end].of
        if of is None:
            return self.ends[end].machines.values[0]
        if callable(of):
            return of(index)
        return dict(zip(self.over, index, strict=True))[of]

    def under_way(self, *index: TermLike) -> Term:
        """Return whether the message is sent and will arrive."""
        never = self.lost if self.dropped is None else self.dropped
        return self.sent[index] & ~self.received[index] & (TRUE if never is None else ~never[index])

    def is_next(self, *index: TermLike) -> Term:
        """Return whether this attempt is the next one; the last index counts attempts."""
        *same, attempt = index
        return self.sent[(*same, lift(attempt) - 1)] & ~self.sent[index]

    def message(
        self, index: Index, says: Mapping[str, TermLike], lost: Read | None = None, when: TermLike = True
    ) -> Message:
        """Return the message as a trace shows it."""
        ends = [end.of for end in self.ends.values()]
        about = {name: term for name, term in zip(self.over, index, strict=True) if name not in ends}
        return message(self.kind, self.sender(index), self.receiver(index), about, says, lost, when)

    def to_send(self, *index: TermLike, when: TermLike = True, **says: TermLike) -> Posting:
        """Return a posting of this message, which is sent if `when` holds and it was not sent before."""
        return Posting(self, index, says, all_of(when, ~self.sent[index]))


@dataclass(frozen=True)
class Posting:
    """A message that a step sends if `when` holds (see `Mail.to_send`)."""

    mail: Mail
    index: Index
    says: Mapping[str, TermLike]
    when: Term

    @property
    def message(self) -> Message:
        """The message as a trace shows it, with its loss."""
        lost = None if self.mail.lost is None else self.mail.lost[self.index]
        return self.mail.message(self.index, self.says, lost, self.when)


class MessageEffect(NamedTuple):
    """The effect of a handler: the updates of the state and the messages sent."""

    then: list[Update]
    sends: list[Posting]


class Network:
    """The kinds of messages of a system, and the order in which they arrive.

    `room` is the largest number of messages in one queue. A `bag` ignores it.
    """

    def __init__(self, space: StateSpace, order: str, loses: bool, room: int) -> None:
        """Create a network without kinds of messages."""
        self.order = order
        self._space, self._loses = space, loses
        self._places = integers(1, room)
        self._mails: list[Mail] = []

    def kind(
        self, kind: str, sender: End, receiver: End, over: Mapping[str, Sort], notes_losses: bool = False
    ) -> Mail:
        """Declare a kind of message; `over` names the indices that identify a message."""
        mail = Mail(kind, over, sender, receiver, notes_losses)
        self._mails.append(mail)
        return mail

    @property
    def kinds(self) -> Sequence[Mail]:
        """The declared kinds of messages."""
        return self._mails

    def open(self) -> None:
        """Declare the state variables of all kinds of messages, once all kinds are known."""
        for mail in self._mails:
            sorts = tuple(mail.over.values())
            mail.sent = self._declare(f"{mail.kind} sent", family(BOOL, *sorts))
            mail.received = self._declare(f"{mail.kind} received", family(BOOL, *sorts))
            if self._loses:
                mail.lost = self._declare(f"{mail.kind} lost", choice(*sorts, fault="lost"))
            if self._loses and mail.notes_losses:
                mail.dropped = self._declare(f"{mail.kind} dropped", family(BOOL, *sorts))
        if self.order != "bag":
            self._open_queues()

    def _open_queues(self) -> None:
        """Declare a queue for each machine or each link.

        Each message has a number that is unique among messages to machines of the same kind.
        """
        machines = {end.machines.name: end.machines for mail in self._mails for end in mail.ends.values()}
        machine = Sort("machine", tuple(m for sort in machines.values() for m in sort))
        self._first: dict[Mail, int] = {}
        following = dict.fromkeys(machines, 1)
        for mail in self._mails:
            to = mail.ends["receiver"].machines.name
            self._first[mail] = following[to]
            following[to] += math.prod(map(len, self._told_apart(mail).values()))
        numbers = integers(0, max(following.values()) - 1)
        over = (machine,) if self.order == "causal" else (machine, machine)
        self._queue = self._declare("queue", family(numbers, *over, self._places))

    def _declare(self, name: str, declared: Family) -> Family:
        setattr(self._space, name.replace(" ", "_"), declared)
        return declared

    def _told_apart(self, mail: Mail) -> dict[str, Sort]:
        """Return the indices that identify a message within a queue."""
        ends = {mail.ends["receiver"].of} | ({mail.ends["sender"].of} if self.order == "link" else set())
        return {name: sort for name, sort in mail.over.items() if name not in ends}

    def _number(self, mail: Mail, index: Index) -> Term:
        """Return the number that represents the message in a queue."""
        given = dict(zip(mail.over, index, strict=True))
        number, stride = lift(self._first[mail]), 1
        for name, sort in self._told_apart(mail).items():
            number = number + _position(lift(given[name]), sort, stride)
            stride *= len(sort)
        return number

    def channel(self, mail: Mail, index: Index) -> tuple[TermLike, ...]:
        """Return the machines of the message's queue: the receiver, or sender and receiver."""
        if self.order == "link":
            return mail.sender(index), mail.receiver(index)
        return (mail.receiver(index),)

    def arrives(self, mail: Mail, index: Index) -> Term:
        """Return whether the message may be received now."""
        if self.order == "bag":
            return mail.under_way(*index)
        first = self._queue[(*self.channel(mail, index), 1)]
        return mail.under_way(*index) & (first == self._number(mail, index))

    def received(self, mail: Mail, index: Index) -> Iterable[Update]:
        """Yield the updates for receiving a message."""
        yield mail.received[index].set(True)
        if self.order == "bag":
            return
        queue = [self._queue[(*self.channel(mail, index), place)] for place in self._places]
        for place, following in zip(queue, [*queue[1:], lift(0)], strict=True):
            yield place.set(following)

    def posted(self, postings: Sequence[Posting]) -> Iterable[Update]:
        """Yield the updates for sending these messages."""
        for posting in postings:
            mail, index = posting.mail, posting.index
            yield mail.sent[index].set(True, when=posting.when)
            if mail.dropped is not None and mail.lost is not None:
                yield mail.dropped[index].set(mail.lost[index], when=posting.when)
        for group in self._by_channel(postings):
            queue = self._queue_of(group)
            end = self._length(queue)
            for posting in group:
                enters = self._enters(posting)
                for number, place in enumerate(queue):
                    value = self._number(posting.mail, posting.index)
                    yield place.set(value, when=enters & (end == number))
                end = end + if_(enters, 1, 0)

    def has_room(self, postings: Sequence[Posting]) -> Term:
        """Return whether the sent messages fit into the queues."""
        fits: Term = TRUE
        for group in self._by_channel(postings):
            entering = sum((if_(self._enters(p), 1, 0) for p in group), lift(0))
            fits = fits & (self._length(self._queue_of(group)) + entering <= len(self._places))
        return fits

    def _by_channel(self, postings: Sequence[Posting]) -> list[list[Posting]]:
        """Return the postings grouped by queue; none on a network without order."""
        groups: dict[tuple[object, ...], list[Posting]] = {}
        for posting in postings if self.order != "bag" else ():
            channel = self.channel(posting.mail, posting.index)
            groups.setdefault(tuple(map(_key, channel)), []).append(posting)
        return list(groups.values())

    def _queue_of(self, group: Sequence[Posting]) -> list[Read]:
        channel = self.channel(group[0].mail, group[0].index)
        return [self._queue[(*channel, place)] for place in self._places]

    def _length(self, queue: Sequence[Term]) -> Term:
        length: Term = lift(0)
        for number, place in enumerate(queue, 1):
            length = if_(place == 0, length, number)
        return length

    def _enters(self, posting: Posting) -> Term:
        """Return whether the message is sent, not lost, and its receiver not gone."""
        mail, index = posting.mail, posting.index
        lost = FALSE if mail.lost is None else mail.lost[index]
        return posting.when & ~lost & ~mail.ends["receiver"].gone(mail.receiver(index))

    def step(
        self,
        actor: TermLike,
        when: Term,
        then: Iterable[Update] = (),
        sends: Iterable[Posting] = (),
        note: str = "",
        fault: str | None = None,
    ) -> Action:
        """Return an action that a machine takes without a message: it starts, times out or crashes."""
        postings = list(sends)
        return Action(
            when=when & self.has_room(postings),
            then=[*then, *self.posted(postings)],
            actor=actor,
            sent=[posting.message for posting in postings],
            note=note,
            fault=fault,
        )

    def delivery(
        self,
        mail: Mail,
        index: Index,
        then: Iterable[Update] = (),
        sends: Iterable[Posting] = (),
        when: Term = TRUE,
        says: Mapping[str, TermLike] | None = None,
    ) -> Action:
        """Return the action in which a machine receives a message that says `says` and handles it."""
        postings = list(sends)
        return Action(
            when=self.arrives(mail, index) & when & self.has_room(postings),
            then=[*self.received(mail, index), *then, *self.posted(postings)],
            actor=mail.receiver(index),
            received=mail.message(index, says or {}),
            sent=[posting.message for posting in postings],
        )


def _position(term: Term, sort: Sort, stride: int) -> Term:
    """Return `stride` times the position of the value in the sort, counted from 0."""
    position: Term = lift(0)
    possible = term.sort if isinstance(term, Parameter) else sort
    for number, value in enumerate(sort.values):
        if value in possible:
            position = if_(term == value, number * stride, position)
    return position


def _key(term: TermLike) -> object:
    """Return a key that is equal for terms that denote the same machine in every state."""
    lifted = lift(term)
    return lifted.value if isinstance(lifted, Constant) else id(lifted)
