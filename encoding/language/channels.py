"""Channels: kinds of messages that move by themselves, with the variables, guards and losses that they need.

A message has an identity: its sender, its receiver and the values of `about`. It is received only after it
was sent. By default it is sent at most once and received at most once. A message of a lossy channel has a
loss of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from fencepost.encoding.errors import ModelError, refusal
from fencepost.encoding.language.messages import ChannelStep, Message, message
from fencepost.encoding.language.quantifiers import exists
from fencepost.encoding.language.refused_operators import RefusesPython
from fencepost.encoding.language.sorts import BOOL, Sort, explain_no_sort
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
    lift,
)

Derived: TypeAlias = Callable[..., TermLike]
"""A function from the index of a message to a term over the state."""


class Channel(RefusesPython):
    """A kind of message. `send` and `deliver` make the messages of an action; see `channel`."""

    name = ""

    def __init__(
        self,
        kind: str,
        ends: tuple[Sort | str, Sort | str],
        about: Mapping[str, Sort],
        says: Mapping[str, Sort | Derived],
        lossy: bool,
        once: bool,
        order: str | None,
        sent: Derived | None,
    ) -> None:
        """Make the variables of the channel. The state space declares them under its name."""
        self.kind, self.ends, self.about, self.says = kind, ends, dict(about), dict(says)
        self.once, self.order, self._sent = once, order, sent
        self.over = (*(end for end in ends if isinstance(end, Sort)), *about.values())
        marks = {"sent": sent is None, "received": once}
        stored = {name: BOOL for name, needed in marks.items() if needed}
        stored |= {field: domain for field, domain in says.items() if isinstance(domain, Sort)}
        self.parts = {name: Family(domain, self.over, None, None) for name, domain in stored.items()}
        if lossy:
            self.parts["lost"] = Family(BOOL, self.over, None, "lost")
        self.suffixes, self.families = tuple(f"_{name}" for name in self.parts), tuple(self.parts.values())

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
        if field not in self.says:
            raise ModelError(f"{self.kind} says no {field}; valid: {', '.join(self.says) or 'nothing'}")
        domain = self.says[field]
        return self._read(field, index) if isinstance(domain, Sort) else lift(domain(*self._full(index)))

    def is_lost(self, *index: TermLike) -> Term:
        """Return the term that says: if the message is sent, it never arrives. Properties cannot read it."""
        return self._read("lost", index) if "lost" in self.parts else FALSE

    def under_way(self, *index: TermLike) -> Term:
        """Return the term that says: the message was sent, is not lost, and was not received."""
        gone = [self.is_received(*index)] if self.once else []
        if "lost" in self.parts:
            gone.append(self.is_lost(*index))
        return all_of(self.is_sent(*index), *(~term for term in gone))

    def send(self, *index: TermLike, when: TermLike = True, **says: TermLike) -> Message:
        """Return the message to send, for `sent=` of an action; it is sent if `when` holds.

        An action that would send it a second time is not enabled (unless `once=False`). Raises ModelError.
        """
        if says.keys() != self.says.keys():
            raise ModelError(
                f"{self.kind}: send says {', '.join(says) or 'nothing'}, "
                f"and the channel says {', '.join(self.says) or 'nothing'}; name exactly these fields"
            )
        condition = as_type(when, "bool")
        unsent = ~self.is_sent(*index) if self.once else TRUE
        free = all_of(unsent, *self._later_ones_unsent(index))
        always = isinstance(condition, Constant) and condition.value is True
        guard = free if always or free is TRUE else any_of(~condition, free)
        effect = ChannelStep(True, guard, self._marks(index, condition, says))
        lost = self._read("lost", index) if "lost" in self.parts else None
        sent_if = condition if always else all_of(condition, unsent)
        return self._message(index, says, effect, lost, sent_if)

    def deliver(self, *index: TermLike) -> Message:
        """Return the message to receive, for `received=` of an action, which waits until it arrives."""
        says = {field: self.said(field, *index) for field in self.says}
        marks = (self._read("received", index).set(True),) if self.once else ()
        guard = all_of(self.under_way(*index), *self._earlier_ones_gone(index))
        return self._message(index, says, ChannelStep(False, guard, marks))

    def _marks(
        self, index: tuple[TermLike, ...], when: Term, says: Mapping[str, TermLike]
    ) -> tuple[Update, ...]:
        stored = {field: says[field] for field in says if field in self.parts}
        marks = {**({"sent": True} if self._sent is None else {}), **stored}
        return tuple(self._read(part, index).set(value, when) for part, value in marks.items())

    def _message(
        self,
        index: tuple[TermLike, ...],
        says: Mapping[str, TermLike],
        effect: ChannelStep,
        lost: Read | None = None,
        when: TermLike = True,
    ) -> Message:
        given = iter(self._full(index))
        sender, receiver = (next(given) if isinstance(end, Sort) else end for end in self.ends)
        about = dict(zip(self.about, given, strict=True))
        return message(self.kind, sender, receiver, about, says, lost, when, not self.once, effect)

    def _read(self, part: str, index: tuple[TermLike, ...]) -> Read:
        return self.parts[part][self._full(index)]

    def _full(self, index: tuple[TermLike, ...]) -> tuple[TermLike, ...]:
        """Return the index. Raises TypeError if it has too few or too many values."""
        if len(index) != len(self.over):
            names = ", ".join(sort.name for sort in self.over) or "none"
            raise refusal(f"{self.kind} has {len(self.over)} indices ({names}), not {len(index)}")
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


def channel(
    kind: str,
    sender: Sort | str,
    receiver: Sort | str,
    *,
    about: Mapping[str, Sort] | None = None,
    says: Mapping[str, Sort | Derived] | None = None,
    lossy: bool = False,
    once: bool = True,
    order: str | None = None,
    sent: Derived | None = None,
) -> Channel:
    """Declare a kind of message, one for each sender, receiver and combination of values of `about`.

    - `sender` and `receiver` are sorts, whose values become indices, or the name of a single process.
    - `says` has the other fields: the sort of a value that `send` gives, or a function from the index to it.
    - `lossy`: each message may be lost, with a loss of its own.
    - `once`: a message is sent once and received once; otherwise it stays and may be received again.
    - `order` names the only index of `about`, one of integers. Messages between two processes are sent and
      received in its order.
    - `sent` is a function from the index to the term that says that the message was sent. Without it, a
      variable does.

    Raises ModelError.
    """
    about, says = about or {}, says or {}
    for end in (sender, receiver):
        if not isinstance(end, Sort | str):
            raise ModelError(f"channel {kind}: {explain_no_sort(end)}; or write the name of a single process")
    for sort in about.values():
        if not isinstance(sort, Sort):
            raise ModelError(f"channel {kind}: about=: {explain_no_sort(sort)}")
    for field, domain in says.items():
        if not isinstance(domain, Sort) and not callable(domain):
            raise ModelError(f"channel {kind}: says= {field}: {explain_no_sort(domain)}")
        if field in ("sent", "received", "lost", "when"):
            raise ModelError(
                f"channel {kind}: says= {field}: the channel uses that name itself; choose another"
            )
        if field in about:
            raise ModelError(f"channel {kind}: about= and says= both have {field}; rename one")
    if order is not None and (list(about) != [order] or about[order].type != "int"):
        raise ModelError(
            f"channel {kind}: order={order!r:.80} names no index of integers that is the only one in about=; "
            "write a sort such as integers(1, 3), and nothing beside it"
        )
    if not once:
        _must_stay(kind, lossy, order, says)
    return Channel(kind, (sender, receiver), about, says, lossy, once, order, sent)


def _must_stay(kind: str, lossy: bool, order: str | None, says: Mapping[str, Sort | Derived]) -> None:
    """Raise ModelError for an option that messages cannot have which stay and may be sent again."""
    if lossy:
        raise ModelError(
            f"channel {kind}: lossy=True, once=False: one loss would stand for several sendings; write "
            "once=True and number the attempts in about=, or make the loss an action"
        )
    if order is not None:
        raise ModelError(
            f"channel {kind}: order=, once=False: a message that stays is before none; leave one out"
        )
    stored = [field for field, domain in says.items() if isinstance(domain, Sort)]
    if stored:
        raise ModelError(
            f"channel {kind}: says= {stored[0]}, once=False: a second sending would change the first; "
            f"move {stored[0]} to about="
        )
