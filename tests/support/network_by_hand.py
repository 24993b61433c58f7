"""The messages of random systems in plain state variables, as somebody writes a network without channels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from fencepost.encoding.language import (
    BOOL,
    Sort,
    StateSpace,
    Term,
    TermLike,
    anything,
    family,
    if_,
    implies,
    integers,
)
from fencepost.encoding.language.terms import FALSE, Family, Read, Update, all_of, any_of, lift

Index = tuple[TermLike, ...]


@dataclass(frozen=True)
class Options:
    """The options of a kind of message."""

    ends: tuple[Sort | str, Sort | str]
    """Sender and receiver: a sort of the index, or the name of a process.

    `about` is the index of that name, and `own` the constant of the message.
    """
    about: Sort | None
    says: str
    """The field: the sender gives `who`, and `kept` in a family of the state; `own` follows from the state.

    Empty if there is none.
    """
    lossy: bool
    once: bool
    ordered: bool
    derived: bool
    """Whether the sender's state says what was sent. One step then sends all messages about a value."""
    skips: bool
    """Whether a message that was sent is not sent again, and its action is enabled all the same."""
    notes: bool
    """Whether properties can read losses."""

    @property
    def over(self) -> tuple[Sort, ...]:
        """The sorts of the index of a message."""
        return tuple(sort for sort in (*self.ends, self.about) if isinstance(sort, Sort))


@dataclass(frozen=True)
class QueueOptions:
    """The options of queues, and the kinds of messages in them."""

    kinds: tuple[str, ...]
    room: int
    by_link: bool
    goes: bool
    """Whether no queue takes messages to the first node once the state says that it is gone."""


@dataclass(frozen=True)
class Sending:
    """A message that a step sends if a condition holds, with its fields."""

    kind: str
    index: Index
    when: Term
    says: Mapping[str, TermLike]


class MailState(StateSpace):
    """The kinds of messages of a network, and who sends and receives them, as its state has them."""

    node: Sort
    entry: Sort
    own: Family
    closed: Read
    kinds: Mapping[str, Options]
    queueing: QueueOptions | None

    def part(self, name: str, index: Index) -> Read:
        """Return a variable at an index. The state has a single variable as the term that reads it."""
        part = getattr(self, name)
        return part if isinstance(part, Read) else part[index]

    def own_of(self, index: Sequence[TermLike]) -> Read:
        """Return the constant of the first node of the index; of n1 if the index has no node."""
        return self.own[(self.nodes(index) or self.node.values)[0]]

    def nodes(self, index: Sequence[TermLike]) -> list[TermLike]:
        """Return the nodes of an index."""
        return [v for v in index if isinstance(v, str) or getattr(v, "type", "") == self.node.type]

    def ends(self, kind: str, index: Index) -> tuple[TermLike, TermLike]:
        """Return the sender and the receiver of a message."""
        rest, found = list(index), list[TermLike]()
        for end in self.kinds[kind].ends:
            named: dict[object, TermLike] = {"about": index[-1] if index else "", "own": self.own_of(index)}
            found.append(rest.pop(0) if isinstance(end, Sort) else named.get(end, end))
        sender, receiver = found
        return sender, receiver

    def queue_of(self, kind: str, index: Index) -> tuple[TermLike, ...]:
        """Return the processes that tell the queue of a message from the others. () if it is in no queue."""
        if self.queueing is None or kind not in self.queueing.kinds:
            return ()
        ends = self.ends(kind, index)
        return ends if self.queueing.by_link else ends[1:]


def same_queue(one: Sequence[TermLike], other: Sequence[TermLike]) -> Term:
    """Return the condition that two queues are one."""
    return all_of(*(lift(a) == b for a, b in zip(one, other, strict=True)))


class ByHand:
    """The messages of one kind.

    A message has a status: 0 before it is sent, 1 then, 2 once it was received. An initial value of a
    variable says whether it is lost, so there is no choice.
    """

    def __init__(self, s: MailState, name: str) -> None:
        """Declare the variables."""
        self.options, self._s, self._name = s.kinds[name], s, name
        over = self.options.over
        setattr(s, f"{name}_status", family(integers(0, 2), *over))
        if self.options.lossy:
            setattr(s, f"{name}_fate", family(BOOL, *over, initial=anything))
        if self.options.says == "who":
            setattr(s, f"{name}_who", family(s.node, *over))

    def _status(self, index: Index) -> Read:
        return self._s.part(f"{self._name}_status", index)

    def is_sent(self, *index: TermLike) -> Term:
        """Return the term that says: the message was sent."""
        return self._status(index) != 0

    def is_received(self, *index: TermLike) -> Term:
        """Return the term that says: the message was received."""
        return self._status(index) == 2

    def is_lost(self, *index: TermLike) -> Term:
        """Return the term that says: the message never arrives, and if losses are noted, was sent."""
        lost = self._s.part(f"{self._name}_fate", index) if self.options.lossy else FALSE
        return lost & self.is_sent(*index) if self.options.notes else lost

    def under_way(self, *index: TermLike) -> Term:
        """Return the term that says: the message can arrive."""
        return (self._status(index) == 1) & ~self.is_lost(*index)

    def said(self, field: str, *index: TermLike) -> Term:
        """Return the value of the field."""
        return self._s.own_of(index) if field == "own" else self._s.part(f"{self._name}_{field}", index)

    def send(self, sending: Sending) -> tuple[Term, list[Update]]:
        """Return what sending adds to the guard and to the updates of an action."""
        index, free, when = sending.index, [], sending.when
        if self.options.skips:
            when = when & (self._status(index) == 0)
        elif self.options.once:
            free.append(self._status(index) == 0)
        if self.options.ordered:
            later = [e for e in self._s.entry if isinstance(e, int)]
            free += [implies(lift(index[-1]) < e, ~self.is_sent(*index[:-1], e)) for e in later]
        then = [self._status(index).set(1, when=when)]
        for field in sending.says.keys() & {"who", "kept"}:
            then.append(self._s.part(f"{self._name}_{field}", index).set(sending.says[field], when=when))
        return any_of(~when, all_of(*free)), then

    def deliver(self, index: Index) -> tuple[Term, list[Update]]:
        """Return what receiving adds to the guard and to the updates of an action."""
        waiting = [self.under_way(*index)]
        if self.options.ordered:
            earlier = [e for e in self._s.entry if isinstance(e, int)]
            waiting += [implies(lift(index[-1]) > e, ~self.under_way(*index[:-1], e)) for e in earlier]
        return all_of(*waiting), [self._status(index).set(2)] if self.options.once else []

    def arrives(self, sending: Sending) -> Term:
        """Return the condition that a message of a step enters its queue."""
        lost = self._s.part(f"{self._name}_fate", sending.index) if self.options.lossy else FALSE
        return sending.when & (self._status(sending.index) == 0) & ~lost


class QueuesByHand:
    """Queues. Each message has a place in its queue: 1 is the first one, and 0 says that it is not there."""

    def __init__(self, s: MailState, options: QueueOptions, kinds: Mapping[str, ByHand]) -> None:
        """Declare the variables."""
        self._s, self._options, self._kinds = s, options, kinds
        self._all = [(name, index) for name in options.kinds for index in product(*s.kinds[name].over)]
        for name in options.kinds:
            setattr(s, f"{name}_place", family(integers(0, options.room), *s.kinds[name].over))

    def _place(self, message: tuple[str, Index]) -> Read:
        return self._s.part(f"{message[0]}_place", message[1])

    def changes(
        self, received: tuple[str, Index] | None, sent: Sequence[Sending]
    ) -> tuple[Term, list[Update]]:
        """Return the guard and the updates of a step at the queues."""
        taken = received if received and received[0] in self._options.kinds else None
        added = [sending for sending in sent if sending.kind in self._options.kinds]
        entering = [
            (s, self._enters(s), self._length(self._s.queue_of(s.kind, s.index), taken)) for s in added
        ]
        places = []
        for number, (sending, enters, place) in enumerate(entering):
            queue = self._s.queue_of(sending.kind, sending.index)
            for earlier, entered, _ in entering[:number]:
                is_one = same_queue(queue, self._s.queue_of(earlier.kind, earlier.index))
                place = place + if_(is_one & entered, 1, 0)
            places.append((sending, enters, place + 1))
        fit = [implies(enters, place <= self._options.room) for _, enters, place in places]
        first = [] if taken is None else [self._place(taken) == 1]
        updates = list(self._moves(taken, places)) if taken or places else []
        return all_of(*first, *fit), updates

    def _enters(self, sending: Sending) -> Term:
        receiver = self._s.ends(sending.kind, sending.index)[1]
        gone = (lift(receiver) == "n1") & self._s.closed if self._options.goes else FALSE
        return self._kinds[sending.kind].arrives(sending) & ~gone

    def _length(self, queue: Sequence[TermLike], taken: tuple[str, Index] | None) -> Term:
        """Return the number of messages in a queue, without the received one."""
        length = lift(0)
        for message in self._all:
            inside = (self._place(message) > 0) & same_queue(queue, self._s.queue_of(*message))
            length = length + if_(inside, 1, 0)
        return length if taken is None else length - if_(same_queue(queue, self._s.queue_of(*taken)), 1, 0)

    def _moves(
        self, taken: tuple[str, Index] | None, places: Sequence[tuple[Sending, Term, Term]]
    ) -> Iterator[Update]:
        """Yield the update of each message that a step can move."""
        for message in self._all:
            after: Term = self._place(message)
            if taken is not None:
                here = same_queue(self._s.queue_of(*message), self._s.queue_of(*taken))
                after = if_(here & (after > 0), after - 1, after)
            for sending, enters, place in places:
                if sending.kind == message[0]:
                    after = if_(same_queue(sending.index, message[1]) & enters, place, after)
            yield self._place(message).set(after)


class NetworkByHand:
    """All messages of a system."""

    def __init__(self, s: MailState) -> None:
        """Declare the variables."""
        self.kinds = {name: ByHand(s, name) for name in s.kinds}
        self._queues = QueuesByHand(s, s.queueing, self.kinds) if s.queueing else None

    def step(self, received: tuple[str, Index] | None, sent: Sequence[Sending]) -> tuple[Term, list[Update]]:
        """Return the guard and the updates of a step that receives a message and sends others."""
        parts = [self.kinds[sending.kind].send(sending) for sending in sent]
        if received is not None:
            parts.append(self.kinds[received[0]].deliver(received[1]))
        if self._queues is not None:
            parts.append(self._queues.changes(received, sent))
        return all_of(*(guard for guard, _ in parts)), [u for _, updates in parts for u in updates]
