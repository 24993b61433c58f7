"""Channels: kinds of messages that move by themselves, with the variables, guards and losses that they need.

A message has an identity: its sender, its receiver and the values of `about`. It is received only after it
was sent. By default it is sent at most once and received at most once. A message of a lossy channel has a
loss of its own. `queues` keeps the order in which messages of several channels were sent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fencepost.encoding.errors import ModelError, refusal
from fencepost.encoding.language.messages import ChannelStep, Message, Queued, message
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.refused_operators import RefusesPython
from fencepost.encoding.language.sorts import BOOL, Sort, Value, explain_no_sort
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    Constant,
    Family,
    Read,
    Term,
    TermLike,
    Update,
    all_of,
    any_of,
    as_type,
    as_value,
    assigned,
    lift,
)
from fencepost.encoding.language.wholes import Composite

Derived: TypeAlias = Callable[..., TermLike]
"""A function from the index of a message to a term over the state."""

End: TypeAlias = Sort | str | tuple[Sort, Derived]
"""The sender or the receiver, as `channel` takes it."""


@dataclass(frozen=True)
class Process:
    """The senders or the receivers of a channel: their names, and the one of a message by its index.

    `position` is the place in the index that has the name; None if it follows from the index.
    """

    names: Sort | str
    of: Derived
    position: int | None = None


class Channel(RefusesPython, Composite[Family]):
    """A kind of message, one for each sender, receiver and combination of values of `about`.

    `send` and `deliver` make the messages of an action.

    - `sender` and `receiver` are sorts, whose values become indices, or the name of a single process. An
      index of `about` may be the sender or the receiver: write its name. If a process follows from the index,
      write its sort and a function: `(self.node, lambda …: …)`.
    - `says` has the other fields: the sort of a value that `send` gives, a family of the state with the same
      indices that keeps this value, or a function from the index to the value.
    - `lossy`: each message may be lost, with a loss of its own.
    - `once`: a message is sent once and received once; otherwise it stays and may be received again.
    - `order` names the only index of `about`, one of integers. Messages between two processes are sent and
      received in its order.
    - `sent` is a function from the index to the term that says that the message was sent. Without it, a
      variable does.
    - `notes_losses`: a variable remembers that the message was lost, so properties can read it.
    - `if_sent`: an action that would send a message a second time is not enabled, and every verdict says so;
      or with "skip" it sends none.

    Raises ModelError.
    """

    name = ""
    queued: Callable[[tuple[TermLike, ...], Term], Queued] | None = None
    """The function from a message, and the condition that it arrives, to its entry in a queue (`queues`)."""

    def __init__(
        self,
        kind: str,
        sender: End,
        receiver: End,
        *,
        about: Mapping[str, Sort] | None = None,
        says: Mapping[str, Sort | Family | Derived] | None = None,
        lossy: bool = False,
        once: bool = True,
        order: str | None = None,
        sent: Derived | None = None,
        notes_losses: bool = False,
        if_sent: Literal["wait", "skip"] = "wait",
    ) -> None:
        """Make the variables of the channel, which the state space declares under its name."""
        self.kind, self.ends = kind, (sender, receiver)
        self.about, self.says = dict(about or {}), dict(says or {})
        self.once, self.order, self._sent, self._if_sent = once, order, sent, if_sent
        self._must_be_valid(lossy)
        first, second = ([end] if isinstance(end, Sort) else [] for end in self.ends)
        self.over = (*first, *second, *self.about.values())
        self.sender, self.receiver = self._process(sender, 0), self._process(receiver, len(first))
        marks = {"sent": sent is None, "received": once}
        stored = {name: BOOL for name, needed in marks.items() if needed}
        stored |= {field: domain for field, domain in self.says.items() if isinstance(domain, Sort)}
        own = {name: Family(domain, self.over, None, None) for name, domain in stored.items()}
        if lossy:
            own["lost"] = Family(BOOL, self.over, None, "lost")
        if lossy and notes_losses:
            own["dropped"] = Family(BOOL, self.over, None, None)
        self.suffixes, self._own = tuple(f"_{name}" for name in own), own
        self.compose(*own.values())
        read = {field: domain for field, domain in self.says.items() if isinstance(domain, Family)}
        self.parts = own | read
        for field, domain in read.items():
            if domain.over != self.over or domain.fault is not None:
                raise ModelError(
                    f"channel {kind}: says= {field}: {domain.name} is no state variable over the indices of "
                    f"the message, which are ({', '.join(sort.name for sort in self.over)}); declare it over "
                    "these"
                )

    def _must_be_valid(self, lossy: bool) -> None:
        """Raise ModelError for an option that no channel has."""
        for end in self.ends:
            pair = isinstance(end, tuple) and len(end) == 2 and isinstance(end[0], Sort) and callable(end[1])
            if not (isinstance(end, Sort | str) or pair):
                raise ModelError(
                    f"channel {self.kind}: {explain_no_sort(end)}; or write the name of a single process"
                )
        for sort in self.about.values():
            if not isinstance(sort, Sort):
                raise ModelError(f"channel {self.kind}: about=: {explain_no_sort(sort)}")
        for field, domain in self.says.items():
            if not isinstance(domain, Sort | Family) and not callable(domain):
                raise ModelError(f"channel {self.kind}: says= {field}: {explain_no_sort(domain)}")
            if field in ("sent", "received", "lost", "dropped", "when"):
                raise ModelError(
                    f"channel {self.kind}: says= {field}: the channel uses that name itself; choose another"
                )
            if field in self.about:
                raise ModelError(f"channel {self.kind}: about= and says= both have {field}; rename one")
        order = self.order
        if order is not None and (list(self.about) != [order] or self.about[order].type != "int"):
            raise ModelError(
                f"channel {self.kind}: order={order!r:.80} names no index of integers that is the only one "
                "in about=; write a sort such as integers(1, 3), and nothing beside it"
            )
        if self._if_sent not in ("wait", "skip"):
            raise ModelError(f"channel {self.kind}: if_sent={self._if_sent!r:.80}; valid: 'wait', 'skip'")
        if not self.once:
            self._must_stay(lossy)

    def _must_stay(self, lossy: bool) -> None:
        """Raise ModelError for an option that messages cannot have which stay and may be sent again."""
        if lossy:
            raise ModelError(
                f"channel {self.kind}: lossy=True, once=False: one loss would stand for several sendings; "
                "write once=True and number the attempts in about=, or make the loss an action"
            )
        if self.order is not None:
            raise ModelError(
                f"channel {self.kind}: order=, once=False: a message that stays is before none; leave one out"
            )
        stored = [field for field, domain in self.says.items() if not callable(domain)]
        if stored:
            raise ModelError(
                f"channel {self.kind}: says= {stored[0]}, once=False: a second sending would change the "
                f"first; move {stored[0]} to about="
            )

    def form(self, index: tuple[Value, ...]) -> Term | None:
        """Return the condition that a message that was not sent says nothing."""
        if "sent" not in self._own:
            return None
        kept = [family for name, family in self._own.items() if name not in ("sent", "received", "lost")]
        unsaid = (family[index] == lift(family.domain.values[0]) for family in kept)
        return any_of(self._own["sent"][index], all_of(*unsaid))

    def alone(self, part: Read, value: Term) -> Term:
        """Raise TypeError: the variables of a channel change together, by messages."""
        raise refusal(
            f"{part.family.name} is a part of the channel {self.kind}, which its messages change: write "
            f"sent=[s.{self.name}.send(…)] or received=s.{self.name}.deliver(…)"
        )

    def _process(self, end: End, before: int) -> Process:
        """Return the sender or the receiver; `before` it the index has so many others."""
        if isinstance(end, tuple):
            return Process(end[0], end[1])
        if isinstance(end, str) and end not in self.about:
            return Process(end, lambda *index: end)
        names, position = end, before
        if isinstance(end, str):
            names, position = self.about[end], len(self.over) - len(self.about) + list(self.about).index(end)
        return Process(names, lambda *index: index[position], position)

    def __getitem__(self, _: object) -> Term:
        """Raise TypeError: a channel is no family."""
        raise refusal(
            f"{self.kind} is a channel: write s.{self.name}.is_sent(…), is_received(…) or under_way(…)"
        )

    __iter__ = None

    @property
    def caps(self) -> Mapping[str, int]:
        """The bound on executions that the channel brings: a step that would send a message again waits."""
        return {f"sendings of each {self.kind}": 1} if self.once and self._if_sent == "wait" else {}

    def is_sent(self, *index: TermLike) -> Term:
        """Return the term that says: the message was sent."""
        if self._sent is None:
            return self._read("sent", index)
        return as_type(self._sent(*self._full(index)), "bool")

    def is_received(self, *index: TermLike) -> Term:
        """Return the term that says: the message was received. Raises ModelError if messages stay."""
        if not self.once:
            raise ModelError(
                f"{self.kind}: with once=False a message stays, and no variable says that it was received; "
                "read what the receiver has made of it"
            )
        return self._read("received", index)

    def said(self, field: str, *index: TermLike) -> Term:
        """Return the value of a field with which the message was sent; the first of its sort before."""
        if not isinstance(field, str):
            raise refusal(f'{self.kind}: write said("field", …): the name comes first, then the index')
        if field not in self.says:
            raise ModelError(f"{self.kind} says no {field}; valid: {', '.join(self.says) or 'nothing'}")
        domain = self.says[field]
        return lift(domain(*self._full(index))) if callable(domain) else self._read(field, index)

    def is_lost(self, *index: TermLike) -> Term:
        """Return the term that says: if the message is sent, it never arrives.

        Properties cannot read it, unless the channel notes losses: then it is false before the sending.
        """
        part = next((name for name in ("dropped", "lost") if name in self.parts), None)
        return FALSE if part is None else self._read(part, index)

    def under_way(self, *index: TermLike) -> Term:
        """Return the term that says: the message was sent, is not lost, and was not received."""
        gone = [self.is_received(*index)] if self.once else []
        if "lost" in self.parts:
            gone.append(self.is_lost(*index))
        return all_of(self.is_sent(*index), *(~term for term in gone))

    def send(self, *index: TermLike, when: TermLike = True, **says: TermLike) -> Message:
        """Return the message to send, for `sent=` of an action; it is sent if `when` holds.

        An action that would send it a second time is not enabled (unless `once=False`), or with
        `if_sent="skip"` does not send it. A field that follows from the state may be left out. Raises
        ModelError.
        """
        says = {name: self.said(name, *index) for name, d in self.says.items() if callable(d)} | says
        if says.keys() != self.says.keys():
            raise ModelError(
                f"{self.kind}: send says {', '.join(says) or 'nothing'}, "
                f"and the channel says {', '.join(self.says) or 'nothing'}; name exactly these fields"
            )
        condition = as_type(when, "bool")
        unsent = ~self.is_sent(*index) if self.once else TRUE
        if self._if_sent == "skip":
            condition, unsent = all_of(condition, unsent), TRUE
        free = all_of(unsent, *self._later_ones_unsent(index))
        always = isinstance(condition, Constant) and condition.value is True
        guard = free if always or free is TRUE else any_of(~condition, free)
        lost = self._read("lost", index) if "lost" in self.parts else None
        sent_if = condition if always else all_of(condition, unsent)
        marks = self._marks(index, condition, says)
        arrives = sent_if if lost is None else sent_if & ~lost
        queued = None if self.queued is None else self.queued(index, arrives)
        return self._message(index, says, ChannelStep(True, guard, marks, queued), lost, sent_if)

    def deliver(self, *index: TermLike) -> Message:
        """Return the message to receive, for `received=` of an action, which waits until it arrives."""
        says = {field: self.said(field, *index) for field in self.says}
        marks = (assigned(self._read("received", index), True, True),) if self.once else ()
        queued = None if self.queued is None else self.queued(index, FALSE)
        first = [] if queued is None else [queued.is_first]
        guard = all_of(self.under_way(*index), *first, *self._earlier_ones_gone(index))
        return self._message(index, says, ChannelStep(False, guard, marks, queued))

    def _marks(
        self, index: tuple[TermLike, ...], when: Term, says: Mapping[str, TermLike]
    ) -> tuple[Update, ...]:
        stored = {field: says[field] for field in says if field in self.parts}
        marks = {**({"sent": True} if self._sent is None else {}), **stored}
        if "dropped" in self.parts:
            marks["dropped"] = self._read("lost", index)
        return tuple(assigned(self._read(part, index), value, when) for part, value in marks.items())

    def _message(
        self,
        index: tuple[TermLike, ...],
        says: Mapping[str, TermLike],
        effect: ChannelStep,
        lost: Read | None = None,
        when: TermLike = True,
    ) -> Message:
        sender, receiver = (process.of(*self._full(index)) for process in (self.sender, self.receiver))
        given = zip(self.about, index[len(index) - len(self.about) :], strict=True)
        about = {name: value for name, value in given if name not in self.ends}
        return message(self.kind, sender, receiver, about, says, lost, when, not self.once, effect)

    def _read(self, part: str, index: tuple[TermLike, ...]) -> Read:
        return self.parts[part][self._full(index)]

    def _full(self, index: tuple[TermLike, ...]) -> tuple[TermLike, ...]:
        """Return the index. Raises TypeError for too few or too many values, and for one outside its sort."""
        if len(index) != len(self.over):
            names = ", ".join(sort.name for sort in self.over) or "none"
            raise refusal(f"{self.kind} has {len(self.over)} indices ({names}), not {len(index)}")
        for value, sort in zip(index, self.over, strict=True):
            as_value(value, sort, self.kind)
        return index

    def _later_ones_unsent(self, index: tuple[TermLike, ...]) -> Iterator[Term]:
        """Yield the condition that a channel with an order adds to sending."""
        if self.order is not None:
            yield ~self._some(index, lambda own, other: own < other, self.is_sent)

    def _earlier_ones_gone(self, index: tuple[TermLike, ...]) -> Iterator[Term]:
        """Yield the condition that a channel with an order adds to receiving."""
        if self.order is not None:
            yield ~self._some(index, lambda own, other: other < own, self.under_way)

    def _some(
        self, index: tuple[TermLike, ...], apart: Callable[[Term, Term], Term], holds: Callable[..., Term]
    ) -> Term:
        """Return the term that says: `holds` for some message between the same processes."""
        assert self.order is not None
        *ends, own = self._full(index)

        def one(other: Term) -> Term:
            return apart(lift(own), other) & holds(*ends, other)

        return exists(self.about[self.order], one)


channel = Channel
"""The name by which authors declare a channel."""
