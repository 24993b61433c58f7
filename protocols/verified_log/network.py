"""How messages travel: sent once, received once or lost, in any order or in the order in which they were sent.

Every sending has an identity of its own: a request says which attempt it is, an answer what it answers. A
network that keeps an order stamps each message with the number of steps that have sent something to its
receiver (on its link); it lets a message arrive only when those stamped lower are received or lost, so that
to skip one is to lose it. Of messages that one step sends to one machine, those of the kind declared first
arrive first; of one kind, in any order.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fencepost.encoding.state import Family, StateSpace, choice, family
from fencepost.encoding.system import Action, Message, message
from fencepost.encoding.terms import (
    BOOL,
    FALSE,
    TRUE,
    Constant,
    Parameter,
    Read,
    Sort,
    Term,
    TermLike,
    Update,
    all_of,
    any_of,
    exists,
    integers,
    lift,
)

Index = tuple[TermLike, ...]


@dataclass(frozen=True)
class End:
    """A sender or receiver: one of these machines, which `of` tells from the index of the message.

    `of` may be the name of an index, or left out if there is one machine only.
    """

    machines: Sort
    of: str | Callable[[Index], TermLike] | None = None


class Mail:
    """The messages of one kind, one for each combination of values of `over`.

    Facts about each: it is `sent`, it is `received`; the choice that it is `lost` (None on a network without
    losses); and its `stamp` (None on a network without order). The network declares them. Where properties ask
    what is still under way, it `notes_losses`: a fact says of each message sent whether it is `dropped`, since
    a property may look at facts only.
    """

    sent: Family
    received: Family
    lost: Family | None = None
    stamp: Family | None = None
    dropped: Family | None = None

    def __init__(
        self, kind: str, over: Mapping[str, Sort], sender: End, receiver: End, notes_losses: bool
    ) -> None:
        self.kind, self.over, self.notes_losses = kind, dict(over), notes_losses
        self.ends = {"sender": sender, "receiver": receiver}

    def sender(self, index: Index) -> TermLike:
        """The machine that sends it."""
        return self._machine("sender", index)

    def receiver(self, index: Index) -> TermLike:
        """The machine that receives it."""
        return self._machine("receiver", index)

    def _machine(self, end: str, index: Index) -> TermLike:
        of = self.ends[end].of
        if of is None:
            return self.ends[end].machines.values[0]
        if callable(of):
            return of(index)
        return dict(zip(self.over, index, strict=True))[of]

    def under_way(self, *index: TermLike) -> Term:
        """It is sent, and will arrive."""
        lost = FALSE if self.lost is None else self.lost[index]
        return self.sent[index] & ~self.received[index] & ~lost

    def may_still_arrive(self, *index: TermLike) -> Term:
        """The same, as a fact."""
        dropped = FALSE if self.dropped is None else self.dropped[index]
        return self.sent[index] & ~self.received[index] & ~dropped

    def message(
        self, index: Index, says: Mapping[str, TermLike], lost: Read | None = None, when: TermLike = True
    ) -> Message:
        """As people see it."""
        ends = [end.of for end in self.ends.values()]
        about = {name: term for name, term in zip(self.over, index, strict=True) if name not in ends}
        return message(self.kind, self.sender(index), self.receiver(index), about, says, lost, when)

    def to_send(self, *index: TermLike, when: TermLike = True, **says: TermLike) -> Posting:
        """This message, for `step` to send if `when` holds."""
        return Posting(self, index, says, lift(when))


@dataclass(frozen=True)
class Posting:
    """A message that a step sends if `when` holds. No message is sent twice."""

    mail: Mail
    index: Index
    says: Mapping[str, TermLike]
    when: Term

    def __post_init__(self) -> None:
        object.__setattr__(self, "when", all_of(self.when, ~self.mail.sent[self.index]))

    @property
    def message(self) -> Message:
        """As people see it, with its loss."""
        lost = None if self.mail.lost is None else self.mail.lost[self.index]
        return self.mail.message(self.index, self.says, lost, self.when)


class Network:
    """The kinds of messages of a system, and the order that all of them keep."""

    def __init__(self, space: StateSpace, order: str, loses: bool) -> None:
        self.order = order
        self._space, self._loses = space, loses
        self._mails: list[Mail] = []

    def kind(self, kind: str, sender: End, receiver: End, notes_losses: bool = False, **over: Sort) -> Mail:
        """Declare a kind of message. Of two that one step sends to one machine the one declared first goes first."""
        mail = Mail(kind, over, sender, receiver, notes_losses)
        self._mails.append(mail)
        return mail

    def open(self) -> None:
        """Declare the state of all kinds of messages, once all are known."""
        stamps = integers(0, max(self._most_to(mail.ends["receiver"].machines) for mail in self._mails))
        for mail in self._mails:
            sorts = tuple(mail.over.values())
            mail.sent = self._declare(f"{mail.kind} sent", family(BOOL, *sorts))
            mail.received = self._declare(f"{mail.kind} received", family(BOOL, *sorts))
            if self._loses:
                mail.lost = self._declare(f"{mail.kind} lost", choice(*sorts, fault="lost"))
            if self._loses and mail.notes_losses:
                mail.dropped = self._declare(f"{mail.kind} dropped", family(BOOL, *sorts))
            if self.order != "bag":
                mail.stamp = self._declare(f"{mail.kind} stamp", family(stamps, *sorts))
        machines = {end.machines.name: end.machines for mail in self._mails for end in mail.ends.values()}
        if self.order != "bag":
            machine = Sort("machine", tuple(m for sort in machines.values() for m in sort))
            over = (machine,) if self.order == "causal" else (machine, machine)
            self._inbox = self._declare("inbox", family(stamps, *over))

    def _most_to(self, machines: Sort) -> int:
        """Most steps that send something to one of these machines."""
        to_them = [mail for mail in self._mails if mail.ends["receiver"].machines == machines]
        return sum(math.prod(map(len, mail.over.values())) for mail in to_them) // len(machines)

    def _declare(self, name: str, declared: Family) -> Family:
        setattr(self._space, name.replace(" ", "_"), declared)
        return declared

    def channel(self, mail: Mail, index: Index) -> tuple[TermLike, ...]:
        """What keeps an order: the receiver, or sender and receiver."""
        if self.order == "link":
            return mail.sender(index), mail.receiver(index)
        return (mail.receiver(index),)

    def arrives(self, mail: Mail, index: Index) -> Term:
        """The message may be received now."""
        arrives = mail.under_way(*index)
        if self.order == "bag":
            return arrives
        to_same = [o for o in self._mails if o.ends["receiver"].machines == mail.ends["receiver"].machines]
        return arrives & ~any_of(*(self._sent_before(other, mail, index) for other in to_same))

    def _sent_before(self, other: Mail, mail: Mail, index: Index) -> Term:
        """Something of the other kind that goes the same way was sent before, and will arrive."""
        assert mail.stamp is not None and other.stamp is not None
        first = self._mails.index(other) < self._mails.index(mail)
        stamp, stamps = mail.stamp[index], other.stamp

        def body(*theirs: Parameter) -> Term:
            same = zip(self.channel(other, theirs), self.channel(mail, index), strict=True)
            sooner = stamps[theirs] <= stamp if first else stamps[theirs] < stamp
            return all_of(*(lift(a) == b for a, b in same), other.under_way(*theirs), sooner)

        return _exists(tuple(other.over.values()), body)

    def posted(self, postings: Sequence[Posting]) -> Iterable[Update]:
        """What sending these does to the state."""
        for posting in postings:
            mail, index = posting.mail, posting.index
            yield mail.sent[index].set(True, when=posting.when)
            if mail.dropped is not None and mail.lost is not None:
                yield mail.dropped[index].set(mail.lost[index], when=posting.when)
        if self.order == "bag":
            return
        by_channel: dict[tuple[object, ...], list[Posting]] = {}
        for posting in postings:
            channel = self.channel(posting.mail, posting.index)
            by_channel.setdefault(tuple(map(_key, channel)), []).append(posting)
        for group in by_channel.values():
            inbox = self._inbox[self.channel(group[0].mail, group[0].index)]
            yield inbox.set(inbox + 1, when=any_of(*(p.when for p in group)))
            for posting in group:
                assert posting.mail.stamp is not None
                yield posting.mail.stamp[posting.index].set(inbox + 1, when=posting.when)


def _key(term: TermLike) -> object:
    """Equal for terms that stand for one machine whatever the state is."""
    lifted = lift(term)
    return lifted.value if isinstance(lifted, Constant) else id(lifted)


def _exists(sorts: Sequence[Sort], body: Callable[..., Term]) -> Term:
    if not sorts:
        return body()
    return exists(sorts[0], lambda v: _exists(sorts[1:], lambda *rest: body(v, *rest)))


def step(
    network: Network,
    actor: TermLike,
    when: Term,
    then: Iterable[Update] = (),
    sends: Iterable[Posting] = (),
    note: str = "",
    fault: str | None = None,
) -> Action:
    """Something a machine does of its own: it starts, its timer fires, it crashes."""
    postings = list(sends)
    return Action(
        when=when,
        then=[*then, *network.posted(postings)],
        actor=actor,
        sent=[posting.message for posting in postings],
        note=note,
        fault=fault,
    )


def delivery(
    network: Network,
    mail: Mail,
    index: Index,
    then: Iterable[Update] = (),
    sends: Iterable[Posting] = (),
    when: Term = TRUE,
    says: Mapping[str, TermLike] | None = None,
    note: str = "",
) -> Action:
    """A machine receives a message that says `says`, and does all its handler does, in one step."""
    postings = list(sends)
    return Action(
        when=network.arrives(mail, index) & when,
        then=[mail.received[index].set(True), *then, *network.posted(postings)],
        actor=mail.receiver(index),
        received=mail.message(index, says or {}),
        sent=[posting.message for posting in postings],
        note=note,
    )


def subsets(sort: Sort, size: int) -> list[tuple[str, ...]]:
    """The subsets of that size, each in order."""
    return [tuple(map(str, chosen)) for chosen in itertools.combinations(sort.values, size)]
