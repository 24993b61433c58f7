"""Messages as people see them: what an action receives and sends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.author_errors import must_be_condition, must_be_line
from fencepost.encoding.language.origins import Authored
from fencepost.encoding.language.quantifiers import bind
from fencepost.encoding.language.queued import Queued
from fencepost.encoding.language.sorts import Sort
from fencepost.encoding.language.terms import TRUE, Parameter, Read, Term, TermLike, Update, lift


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
