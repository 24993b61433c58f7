"""Small random systems whose processes send messages, by channels or by a network written by hand.

They have sets, counts, sequences and several initial states too. Each option of a channel occurs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from fencepost.encoding.language import (
    BOOL,
    Action,
    Channel,
    Parameter,
    Property,
    Sort,
    StateSpace,
    System,
    Term,
    TermLike,
    anything,
    at,
    channel,
    count,
    each,
    exists_over,
    family,
    forall_over,
    implies,
    integers,
    is_in,
    labels,
    length,
    majority,
    sequences,
    size,
    subsets,
    variable,
)
from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.system import Invariant
from fencepost.encoding.language.terms import FALSE, TRUE, Family, Read, Update, all_of, any_of, lift


@dataclass(frozen=True)
class Options:
    """The options of a channel."""

    ends: tuple[Sort | str, Sort | str]
    about: Sort | None
    says: str
    """The field: `who` is given by the sender, `own` follows from the state; empty if there is none."""
    lossy: bool
    once: bool
    ordered: bool
    derived: bool
    """Whether the sender's state says what was sent. One step then sends all messages about a value."""

    @property
    def over(self) -> tuple[Sort, ...]:
        """The sorts of the index of a message."""
        return tuple(sort for sort in (*self.ends, self.about) if isinstance(sort, Sort))


def options(chance: random.Random, s: Mail) -> Options:
    """Return options that fit each other."""
    ends = chance.choice((("a", s.node), (s.node, s.node), (s.node, "b"), ("a", "b")))
    about = None if ends == (s.node, s.node) else chance.choice((None, s.entry, s.entry, s.node))
    once = chance.random() < 0.75
    numbered = about is s.entry
    says = chance.choice(("", "who", "own") if once else ("", "own"))
    return Options(
        ends,
        about,
        says,
        lossy=once and chance.random() < 0.5,
        once=once,
        ordered=numbered and once and chance.random() < 0.7,
        derived=numbered and chance.random() < 0.4,
    )


class ByHand:
    """The messages of a channel in plain state variables.

    A message has a status: 0 before it is sent, 1 then, 2 once it was received. An initial value of a
    variable says whether it is lost, so there is no choice.
    """

    def __init__(self, s: Mail, options: Options) -> None:
        """Declare the variables."""
        self.options, self.s = options, s
        s.status = family(integers(0, 2), *options.over)
        if options.lossy:
            s.fate = family(BOOL, *options.over, initial=anything)
        if options.says == "who":
            s.content = family(s.node, *options.over)

    def is_sent(self, *index: TermLike) -> Term:
        """Return the term that says: the message was sent."""
        return _read(self.s.status, index) != 0

    def is_received(self, *index: TermLike) -> Term:
        """Return the term that says: the message was received."""
        return _read(self.s.status, index) == 2

    def is_lost(self, *index: TermLike) -> Term:
        """Return the term that says: the message never arrives."""
        return _read(self.s.fate, index) if self.options.lossy else FALSE

    def under_way(self, *index: TermLike) -> Term:
        """Return the term that says: the message can arrive."""
        return (_read(self.s.status, index) == 1) & ~self.is_lost(*index)

    def said(self, field: str, *index: TermLike) -> Term:
        """Return the value of the field."""
        return _read(self.s.content, index) if field == "who" else self.s.own[_own(self.s, index)]

    def send(self, *index: TermLike, when: TermLike = True, **says: TermLike) -> tuple[Term, list[Update]]:
        """Return what sending adds to the guard and to the updates of an action."""
        free = []
        if self.options.once:
            free.append(_read(self.s.status, index) == 0)
        if self.options.ordered:
            free += [implies(lift(index[-1]) < e, ~self.is_sent(*index[:-1], e)) for e in self.s.entry]
        then = [_read(self.s.status, index).set(1, when=when)]
        if "who" in says:
            then.append(_read(self.s.content, index).set(says["who"], when=when))
        return any_of(~lift(when), all_of(*free)), then

    def deliver(self, *index: TermLike) -> tuple[Term, list[Update]]:
        """Return what receiving adds to the guard and to the updates of an action."""
        waiting = [self.under_way(*index)]
        if self.options.ordered:
            waiting += [implies(lift(index[-1]) > e, ~self.under_way(*index[:-1], e)) for e in self.s.entry]
        return all_of(*waiting), [_read(self.s.status, index).set(2)] if self.options.once else []


class Mail(StateSpace):
    """Nodes with sets, a sequence and a constant each, and one kind of message."""

    status: Family
    fate: Family
    content: Family

    def __init__(self, chance: random.Random, by_hand: bool) -> None:
        self.node, self.entry = labels("node", "n", 2), integers(1, 2)
        self.any_few, self.any_own = chance.random() < 0.4, chance.random() < 0.4
        self.few = variable(
            subsets(self.node), initial=anything if self.any_few else chance.choice((None, ("n1",)))
        )
        self.knows = family(subsets(self.node), self.node)
        self.order = variable(sequences(self.node, most=2))
        self.own = family(self.node, self.node, initial=anything if self.any_own else lambda n: n)
        self.posted = family(BOOL, self.entry)
        self.options = options(chance, self)
        over = self.options.over
        self.noticed, self.acted = family(BOOL, *over), family(BOOL, self.node)
        marks = {"send": (self.entry,) if self.options.derived else over, "resend": over, "receive": over}
        for name, sorts in marks.items():
            if not self.options.once or chance.random() < 0.2:
                setattr(self, f"{name}_done", family(BOOL, *sorts))
        self.mail: Channel | ByHand = ByHand(self, self.options) if by_hand else _channel(self, self.options)


def _read(part: Family | Read, index: tuple[TermLike, ...]) -> Read:
    """Return the variable at an index. The state has a single variable as the term that reads it."""
    return part if isinstance(part, Read) else part[index]


def _own(s: Mail, index: Sequence[TermLike]) -> TermLike:
    """Return the node whose constant the field `own` says: the first node of the index, or n1."""
    return (_nodes(index) or s.node.values)[0]


def _channel(s: Mail, options: Options) -> Channel:
    fields: dict[str, Any] = {"who": s.node, "own": lambda *index: s.own[_own(s, index)]}
    return channel(
        "mail",
        *options.ends,
        about={} if options.about is None else {"about": options.about},
        says={options.says: fields[options.says]} if options.says else {},
        lossy=options.lossy,
        once=options.once,
        order="about" if options.ordered else None,
        sent=(lambda *index: s.posted[index[-1]]) if options.derived else None,
    )


def generate(seed: int, by_hand: bool = False) -> System:
    """Return the system of a seed, with a channel or with the same network by hand. Raises ModelError.

    Every execution ends: what a channel does not bound happens once for each message.
    """
    chance = random.Random(seed)
    s = Mail(chance, by_hand)
    maker = _Maker(chance, s)
    actions = maker.actions()
    claims = [maker.condition(()) for _ in range(3)]
    wanted = Property("p", "", claims[0], maker.condition(()), "it is so")
    invariants = tuple(Invariant(f"i{n}", "", claim) for n, claim in enumerate(claims[1:]))
    return System(s, tuple(actions), (wanted,), invariants=invariants, beginning=maker.beginning())


@dataclass
class _Maker:
    chance: random.Random
    s: Mail

    def actions(self) -> list[Schema]:
        """Return actions that send, receive, and sometimes notice a loss or do something else."""
        s, chance, over = self.s, self.chance, self.s.options.over
        made = [self._named("send", (s.entry,) if s.options.derived else over, self._sending)]
        if chance.random() < 0.3 and not s.options.derived:
            made.append(self._named("resend", over, self._sending))
        made.append(self._named("receive", over, self._receiving))
        if s.options.lossy and chance.random() < 0.6:
            made.append(self._named("notice", over, self._noticing))
        if chance.random() < 0.5:
            made.append(self._named("act", (s.node,), self._acting))
        return made

    def _named(self, name: str, over: Sequence[Sort], body: Callable[..., Action]) -> Schema:
        """Return an action over these sorts. It happens once for each index if the state has a mark."""
        mark = getattr(self.s, f"{name}_done", None)

        def once(*index: Parameter) -> Action:
            action = body(*index)
            if mark is None:
                return action
            own = _read(mark, index)
            return replace(action, when=all_of(~own, action.when), then=[own.set(True), *action.then])

        handlers: list[Callable[..., Action]] = [
            lambda s: once(),
            lambda s, x: once(x),
            lambda s, x, y: once(x, y),
            lambda s, x, y, z: once(x, y, z),
        ]
        handler = handlers[len(over)]
        handler.__name__ = name
        return each(handler, self.s, *over)

    # Actions.

    def _sending(self, *index: Parameter) -> Action:
        """Send one message, or all messages about an entry where the state says what was sent."""
        s, chance = self.s, self.chance
        messages, then = [index], self._updates(index)
        when: Term = TRUE
        if s.options.derived:
            messages = list(product(*s.options.over[:-1], index))  # type: ignore[arg-type]
            then.append(s.posted[index].set(True))
        elif chance.random() < 0.4:
            when = self.condition(index)
            then = then or [s.knows["n1"].add("n2")]
        says = self._says(index)
        return self._action(self._guard(index), then, sent=[(given, when, says) for given in messages])

    def _receiving(self, *index: Parameter) -> Action:
        """Receive a message, and sometimes take over the field that it says."""
        s, chance = self.s, self.chance
        then = self._updates(index)
        if s.options.says and chance.random() < 0.7:
            said = s.mail.said(s.options.says, *index)
            then = [chance.choice((s.knows["n2"].add(said), s.few.add(said), s.order.append(said)))]
        return self._action(self._guard(index), then, received=index)

    def _noticing(self, *index: Parameter) -> Action:
        """Act once on the loss of a message."""
        noticed = _read(self.s.noticed, index)
        guard = all_of(self.s.mail.is_lost(*index), ~noticed, *self._sometimes(self.s.mail.is_sent(*index)))
        return self._action(guard, [noticed.set(True), *self._updates(index)])

    def _acting(self, node: Parameter) -> Action:
        """Do something that is no message, once."""
        guard = all_of(~self.s.acted[node], self._guard((node,)))
        return self._action(guard, [self.s.acted[node].set(True), *self._updates((node,))])

    def _action(
        self,
        when: Term,
        then: list[Any],
        sent: Sequence[tuple[tuple[TermLike, ...], Term, Mapping[str, TermLike]]] = (),
        received: tuple[TermLike, ...] | None = None,
    ) -> Action:
        """Return an action that sends and receives by the channel or by hand."""
        mail = self.s.mail
        if isinstance(mail, Channel):
            taken = None if received is None else mail.deliver(*received)
            messages = [mail.send(*index, when=condition, **says) for index, condition, says in sent]
            return Action(when, then, "me", received=taken, sent=messages)
        parts = [mail.send(*index, when=condition, **says) for index, condition, says in sent]
        parts += [] if received is None else [mail.deliver(*received)]
        guards = [guard for guard, _ in parts]
        return Action(all_of(*guards, when), [*(u for _, updates in parts for u in updates), *then], "me")

    def _says(self, index: Sequence[Parameter]) -> dict[str, TermLike]:
        match self.s.options.says:
            case "who":
                return {"who": self._node(index)}
            case "own" if isinstance(self.s.mail, Channel):
                return {"own": self.s.own[_own(self.s, index)]}
        return {}

    def _updates(self, index: Sequence[Parameter]) -> list[Any]:
        s, chance, node = self.s, self.chance, self._node(index)
        updates = (
            lambda: s.few.add(node),
            lambda: s.few.remove(node, when=self.condition(index)),
            lambda: s.few.set(s.few | s.knows[node]),
            lambda: s.knows[node].add("n1"),
            lambda: s.knows[node].set(s.few),
            lambda: (
                s.order.append(node, when=length(s.order) < 2)
                if chance.random() < 0.7
                else s.order.append(node)
            ),
            lambda: s.order.truncate(0),
        )
        return [chance.choice(updates)() for _ in range(chance.choice((0, 1, 1)))]

    # Terms.

    def beginning(self) -> Term | None:
        """Return a condition that some initial values satisfy, or None."""
        s, chance = self.s, self.chance
        some = [size(s.few) == 1, is_in("n1", s.few)] if s.any_few else []
        some += [s.own["n1"] != s.own["n2"], s.own["n1"] == "n2"] if s.any_own else []
        some += [is_in(s.own["n2"], s.few)] if s.any_few and s.any_own else []
        return chance.choice(some) if some and chance.random() < 0.5 else None

    def _sometimes(self, term: Term) -> list[Term]:
        return [term] if self.chance.random() < 0.7 else []

    def _guard(self, index: Sequence[Parameter]) -> Term:
        return self.condition(index) if self.chance.random() < 0.4 else TRUE

    def _node(self, index: Sequence[Parameter]) -> TermLike:
        return self.chance.choice(_nodes(index) or self.s.node.values)

    def condition(self, index: Sequence[Parameter]) -> Term:
        """Return a condition on sets, the sequence and messages; it reads no loss."""
        s, chance, node, number = self.s, self.chance, self._node(index), self.chance.randint(1, 2)
        mail, over = s.mail, s.options.over
        conditions: list[Callable[[], Term]] = [
            lambda: is_in(node, s.few),
            lambda: size(s.few) == number,
            lambda: s.few <= s.knows[node],
            lambda: majority(s.knows[node], s.node),
            lambda: length(s.order) < number,
            lambda: (length(s.order) >= number) & (at(s.order, number) == node),
            lambda: s.own[node] == "n1",
            lambda: is_in(s.own[node], s.few),
            lambda: count(s.node, lambda n: is_in(n, s.knows[n])) < number,
        ]
        of_mail: list[Callable[[], Term]] = [
            lambda: exists_over(over, lambda *m: mail.is_sent(*m)),
            lambda: forall_over(over, lambda *m: implies(mail.is_sent(*m), is_in(_of(m, node), s.few))),
        ]
        if s.options.once:
            of_mail += [
                lambda: ~exists_over(over, lambda *m: mail.is_received(*m)),
                lambda: forall_over(over, lambda *m: implies(mail.is_received(*m), mail.is_sent(*m))),
                lambda: forall_over(
                    over, lambda *m: implies(mail.is_received(*m), is_in(_of(m, node), s.knows["n1"]))
                ),
            ]
        if s.options.lossy:

            def noticed(*m: TermLike) -> Term:
                return implies(_read(s.noticed, m), ~mail.is_received(*m))

            of_mail += 2 * [lambda: forall_over(over, noticed)]
        else:
            of_mail.append(lambda: exists_over(over, lambda *m: mail.under_way(*m)))
        if s.options.ordered:

            def in_order(*ends: TermLike) -> Term:
                return implies(
                    mail.is_received(*ends, 2) & mail.is_sent(*ends, 1), mail.is_received(*ends, 1)
                )

            of_mail += 3 * [lambda: forall_over(over[:-1], in_order)]
        if s.options.says:
            of_mail.append(
                lambda: forall_over(over, lambda *m: mail.said(s.options.says, *m) == _of(m, node))
            )
        made = chance.choice(of_mail if chance.random() < 0.5 else conditions)()
        return ~made if chance.random() < 0.4 else made


def _nodes(index: Sequence[TermLike]) -> list[TermLike]:
    return [value for value in index if isinstance(value, str) or getattr(value, "type", "") == "node"]


def _of(index: Sequence[TermLike], node: TermLike) -> TermLike:
    """Return the last node of an index; this node if it has none."""
    return (_nodes(index) or [node])[-1]
