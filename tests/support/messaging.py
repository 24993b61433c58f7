"""Small random systems whose processes send messages, by channels or by a network written by hand.

They have sets, counts, sequences and several initial states too. Each option of a channel and of queues
occurs: half of the systems have queues, most of these with two kinds of messages in them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

from fencepost.encoding.language import (
    BOOL,
    Action,
    Channel,
    Parameter,
    Property,
    Sort,
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
    queues,
    sequences,
    size,
    subsets,
    variable,
)
from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.patterns import key
from fencepost.encoding.language.system import Invariant
from fencepost.encoding.language.terms import TRUE, all_of, lift
from support.network_by_hand import (
    ByHand,
    Index,
    MailState,
    NetworkByHand,
    Options,
    QueueOptions,
    Sending,
    same_queue,
)


def options(chance: random.Random, s: Mail, queued: bool, small: bool) -> Options:
    """Return options that fit each other; those of a queue if the messages are in one, or of few messages."""
    a, b = chance.choice(("a", "a", "own")), chance.choice(("b", "b", "own"))
    sender, receiver = chance.choice(((a, s.node), (s.node, s.node), (s.node, b), (a, b)))
    nodes = [end for end in (sender, receiver) if end is s.node]
    full = len(nodes) == 2 or (small and nodes)
    about = None if full else chance.choice((None, s.entry, s.entry, s.node))
    if about is s.node and chance.random() < 0.5:
        receiver = "about" if receiver == "b" else receiver
    once = queued or chance.random() < 0.75
    numbered = about is s.entry
    kept = ["kept"] if about or nodes else []
    lossy = once and chance.random() < 0.5
    return Options(
        (sender, receiver),
        about,
        says=chance.choice(("", "who", "own", *kept) if once else ("", "own")),
        lossy=lossy,
        once=once,
        ordered=numbered and once and not queued and chance.random() < 0.7,
        derived=numbered and chance.random() < 0.4,
        skips=once and chance.random() < 0.25,
        notes=lossy and chance.random() < 0.4,
    )


class Mail(MailState):
    """Nodes with sets, a sequence and a constant each, and one or two kinds of messages."""

    def __init__(self, chance: random.Random, by_hand: bool) -> None:
        queued = chance.random() < 0.5
        machine, self.entry = Sort("machine", ("a", "b", "n1", "n2")), integers(1, 2)
        self.node = Sort("node", ("n1", "n2"), part_of="machine") if queued else labels("node", "n", 2)
        any_few, any_own = chance.random(), chance.random()
        often = 0.15 if queued else 0.4
        self.any_few, self.any_own = any_few < often, any_own < often
        self.few = variable(
            subsets(self.node), initial=anything if self.any_few else chance.choice((None, ("n1",)))
        )
        self.knows = family(subsets(self.node), self.node)
        self.order = variable(sequences(self.node, most=2))
        self.own = family(self.node, self.node, initial=anything if self.any_own else lambda n: n)
        names = ("mail", "note") if queued and chance.random() < 0.7 else ("mail",)
        inside = names if chance.random() < 0.8 else names[:1]
        room, by_link, goes = chance.choice((1, 2, 2, 3)), chance.random() < 0.4, chance.random() < 0.3
        self.queueing = QueueOptions(inside, room, by_link, goes) if queued else None
        if queued and goes:
            self.closed = variable(BOOL)
        few = len(names) > 1
        self.kinds = {name: options(chance, self, queued and name in inside, few) for name in names}
        self.acted = family(BOOL, self.node)
        self._marks(chance)
        self.network = NetworkByHand(self) if by_hand else None
        self.channels = {} if by_hand else {name: _channel(self, name) for name in names}
        for name, made in self.channels.items():
            setattr(self, name, made)
        if queued and not by_hand:
            gone = (lambda machine: (machine == "n1") & self.closed) if goes else None
            members = [self.channels[name] for name in inside]
            self.queues = queues(machine, members, room=room, by_link=by_link, gone=gone)

    def _marks(self, chance: random.Random) -> None:
        """Declare what says that a step happened, and the fields that the state keeps."""
        for name, of in self.kinds.items():
            setattr(self, f"{name}_noticed", family(BOOL, *of.over))
            if of.derived:
                setattr(self, f"{name}_posted", family(BOOL, self.entry))
            if of.says == "kept":
                setattr(self, f"{name}_kept", family(self.node, *of.over, initial="n2"))
            bounded = of.once and not of.skips
            marks = {"send": self.sends_over(name), "resend": of.over, "receive": of.over}
            for action, over in marks.items():
                if not (of.once if action == "receive" else bounded) or chance.random() < 0.2:
                    setattr(self, f"{action}_{name}_done", family(BOOL, *over))
        self.send_both_done = family(BOOL, *self.kinds["mail"].over)

    def sends_over(self, name: str) -> tuple[Sort, ...]:
        """Return the sorts of the action that sends."""
        return (self.entry,) if self.kinds[name].derived else self.kinds[name].over

    def messages(self, name: str) -> Channel | ByHand:
        """Return the messages of a kind."""
        return self.channels[name] if self.network is None else self.network.kinds[name]


def _channel(s: Mail, name: str) -> Channel:
    of = s.kinds[name]

    def own(*index: TermLike) -> TermLike:
        return s.own_of(index)

    fields: dict[str, Any] = {"who": s.node, "own": own, "kept": getattr(s, f"{name}_kept", None)}
    sender, receiver = ((s.node, own) if end == "own" else end for end in of.ends)
    return channel(
        name,
        sender,
        receiver,
        about={} if of.about is None else {"about": of.about},
        says={of.says: fields[of.says]} if of.says else {},
        lossy=of.lossy,
        once=of.once,
        order="about" if of.ordered else None,
        sent=(lambda *index: s.part(f"{name}_posted", index[-1:])) if of.derived else None,
        notes_losses=of.notes,
        if_sent="skip" if of.skips else "wait",
    )


def generate(seed: int, by_hand: bool = False) -> System:
    """Return the system of a seed, with channels or with the same network by hand. Raises ModelError.

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


def seen(system: System) -> list[Term]:
    """Return the terms that say which messages were sent and received, and which losses are noted."""
    s = system.state
    assert isinstance(s, Mail)
    terms = []
    for name, of in s.kinds.items():
        messages = s.messages(name)
        asked = [messages.is_sent, *([messages.is_received] if of.once else [])]
        asked += [messages.is_lost] if of.notes else []
        terms += [ask(*index) for ask in asked for index in product(*of.over)]
    return terms


@dataclass
class _Maker:
    chance: random.Random
    s: Mail

    def actions(self) -> list[Schema]:
        """Return actions that send, receive, and sometimes notice a loss or do something else."""
        s, chance, made = self.s, self.chance, []
        for name, of in s.kinds.items():
            made.append(self._named("send", name, s.sends_over(name), self._sending))
            if chance.random() < 0.3 and not of.derived:
                made.append(self._named("resend", name, of.over, self._sending))
            made.append(self._named("receive", name, of.over, self._receiving))
            if of.lossy and chance.random() < 0.6:
                made.append(self._named("notice", name, of.over, self._noticing))
        if s.queueing and chance.random() < 0.5 and not any(of.derived for of in s.kinds.values()):
            made.append(self._named("send", "both", s.kinds["mail"].over, self._sending_both))
        if chance.random() < 0.5:
            made.append(self._named("act", "", (s.node,), self._acting))
        return made

    def _named(self, verb: str, kind: str, over: Sequence[Sort], body: Callable[..., Action]) -> Schema:
        """Return an action over these sorts. It happens once for each index if the state has a mark."""
        mark = f"{verb}_{kind}_done"

        def once(*index: Parameter) -> Action:
            action = body(kind, *index)
            if not hasattr(self.s, mark):
                return action
            own = self.s.part(mark, index)
            return replace(action, when=all_of(~own, action.when), then=[own.set(True), *action.then])

        handlers: list[Callable[..., Action]] = [
            lambda s: once(),
            lambda s, x: once(x),
            lambda s, x, y: once(x, y),
            lambda s, x, y, z: once(x, y, z),
        ]
        handler = handlers[len(over)]
        handler.__name__ = f"{verb}_{kind}".rstrip("_")
        return each(handler, self.s, *over)

    # Actions.

    def _sending(self, kind: str, *index: Parameter) -> Action:
        """Send one message, or all messages about an entry where the state says what was sent."""
        s, chance, of = self.s, self.chance, self.s.kinds[kind]
        messages: list[Index] = [index]
        then, when = self._updates(index), TRUE
        if of.derived:
            messages = list(product(*of.over[:-1], index))
            then.append(s.part(f"{kind}_posted", index).set(True))
        elif chance.random() < 0.4:
            when = self.condition(index)
            then = then or [s.knows["n1"].add("n2")]
        says = self._says(kind, index)
        return self._action(
            self._guard(index), then, [Sending(kind, given, when, says) for given in messages]
        )

    def _sending_both(self, _: str, *index: Parameter) -> Action:
        """Send two messages in one step: one of each kind, or about both entries."""
        kinds, chance = self.s.kinds, self.chance
        if kinds["mail"].about is self.s.entry and (len(kinds) == 1 or chance.random() < 0.5):
            messages: list[tuple[str, Index]] = [("mail", (*index[:-1], entry)) for entry in (2, 1)]
        else:
            messages = [(name, index if name == "mail" else self._other(name, index)) for name in kinds]
        if chance.random() < 0.5:
            messages.reverse()
        return self._action(self._guard(index), self._updates(index), self._some(messages, index))

    def _receiving(self, kind: str, *index: Parameter) -> Action:
        """Receive a message, and sometimes take over the field that it says, or answer with another kind."""
        s, chance, field = self.s, self.chance, self.s.kinds[kind].says
        then = self._updates(index)
        if field and chance.random() < 0.7:
            said = s.messages(kind).said(field, *index)
            then = [chance.choice((s.knows["n2"].add(said), s.few.add(said), s.order.append(said)))]
        others = [name for name, of in s.kinds.items() if name != kind and not of.derived]
        answers = [(name, self._other(name, index)) for name in others if chance.random() < 0.5]
        return self._action(self._guard(index), then, self._some(answers, index), (kind, index))

    def _some(self, messages: Iterable[tuple[str, Index]], index: Sequence[Parameter]) -> list[Sending]:
        """Return these messages; some of them are sent if a condition holds."""
        return [
            Sending(
                name,
                given,
                self.condition(index) if self.chance.random() < 0.3 else TRUE,
                self._says(name, index),
            )
            for name, given in messages
        ]

    def _other(self, kind: str, index: Sequence[Parameter]) -> Index:
        """Return the index of a message of a kind, from arguments that fit and from values."""
        fitting = [
            [i for i in index if i.type == sort.type] or sort.values for sort in self.s.kinds[kind].over
        ]
        return tuple(self.chance.choice(list(some)) for some in fitting)

    def _noticing(self, kind: str, *index: Parameter) -> Action:
        """Act once on the loss of a message."""
        noticed, messages = self.s.part(f"{kind}_noticed", index), self.s.messages(kind)
        guard = all_of(messages.is_lost(*index), ~noticed, *self._sometimes(messages.is_sent(*index)))
        return self._action(guard, [noticed.set(True), *self._updates(index)])

    def _acting(self, _: str, node: Parameter) -> Action:
        """Do something that is no message, once."""
        guard = all_of(~self.s.acted[node], self._guard((node,)))
        return self._action(guard, [self.s.acted[node].set(True), *self._updates((node,))])

    def _action(
        self,
        when: Term,
        then: list[Any],
        sent: Sequence[Sending] = (),
        received: tuple[str, Index] | None = None,
    ) -> Action:
        """Return an action that sends and receives by channels or by hand."""
        s = self.s
        when = all_of(
            when, *self._apart([*([received] if received else []), *((m.kind, m.index) for m in sent)])
        )
        if s.network is not None:
            guard, updates = s.network.step(received, sent)
            return Action(all_of(guard, when), [*updates, *then], "me")
        taken = None if received is None else s.channels[received[0]].deliver(*received[1])
        messages = [s.channels[m.kind].send(*m.index, when=m.when, **m.says) for m in sent]
        return Action(when, then, "me", received=taken, sent=messages)

    def _apart(self, messages: Sequence[tuple[str, Index]]) -> Iterable[Term]:
        """Yield the conditions that queues of one step are two if it does not name one queue.

        Otherwise the step sets a place of the queue twice, which is badly defined.
        """
        named = [queue for queue in (self.s.queue_of(*message) for message in messages) if queue]
        for one, other in combinations(named, 2):
            if [key(lift(term)) for term in one] != [key(lift(term)) for term in other]:
                yield ~same_queue(one, other)

    def _says(self, kind: str, index: Sequence[Parameter]) -> dict[str, TermLike]:
        match self.s.kinds[kind].says:
            case "who" | "kept" as field:
                return {field: self._node(index)}
            case "own" if self.chance.random() < 0.5:
                return {"own": self.s.own_of(index)}
        return {}

    def _updates(self, index: Sequence[Parameter]) -> list[Any]:
        s, chance, node = self.s, self.chance, self._node(index)
        updates: list[Callable[[], Any]] = [
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
        ]
        if s.queueing and s.queueing.goes:
            updates.append(lambda: s.closed.set(True))
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
        return self.chance.choice(self.s.nodes(index) or self.s.node.values)

    def condition(self, index: Sequence[Parameter]) -> Term:
        """Return a condition on sets, the sequence and messages; it reads no loss."""
        s, chance, node, number = self.s, self.chance, self._node(index), self.chance.randint(1, 2)
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
        of_mail = self._of_messages(chance.choice(list(s.kinds)), node)
        made = chance.choice(of_mail if chance.random() < 0.5 else conditions)()
        return ~made if chance.random() < 0.4 else made

    def _of_messages(self, kind: str, node: TermLike) -> list[Callable[[], Term]]:
        """Return conditions on the messages of a kind."""
        s, of, mail = self.s, self.s.kinds[kind], self.s.messages(kind)
        over, field = of.over, of.says

        def last(index: Sequence[TermLike]) -> TermLike:
            return (s.nodes(index) or [node])[-1]

        def noticed(*m: TermLike) -> Term:
            return implies(s.part(f"{kind}_noticed", m), ~mail.is_received(*m))

        def in_order(*ends: TermLike) -> Term:
            return implies(mail.is_received(*ends, 2) & mail.is_sent(*ends, 1), mail.is_received(*ends, 1))

        conditions: list[Callable[[], Term]] = [
            lambda: exists_over(over, lambda *m: mail.is_sent(*m)),
            lambda: forall_over(over, lambda *m: implies(mail.is_sent(*m), is_in(last(m), s.few))),
        ]
        if of.once:
            conditions += [
                lambda: ~exists_over(over, lambda *m: mail.is_received(*m)),
                lambda: forall_over(over, lambda *m: implies(mail.is_received(*m), mail.is_sent(*m))),
                lambda: forall_over(
                    over, lambda *m: implies(mail.is_received(*m), is_in(last(m), s.knows["n1"]))
                ),
            ]
        if of.lossy:
            conditions += 2 * [lambda: forall_over(over, noticed)]
        else:
            conditions.append(lambda: exists_over(over, lambda *m: mail.under_way(*m)))
        if of.notes:
            conditions.append(lambda: exists_over(over, lambda *m: mail.is_lost(*m)))
        if of.about is s.entry and of.once and (of.ordered or s.queueing):
            conditions += 3 * [lambda: forall_over(over[:-1], in_order)]
        if field:
            conditions.append(lambda: forall_over(over, lambda *m: mail.said(field, *m) == last(m)))
        for name in (other for other in s.kinds if other != kind and of.once and s.kinds[other].once):
            conditions += 2 * [lambda name=name: self._overtaken(kind, name)]
        return conditions

    def _overtaken(self, kind: str, other: str) -> Term:
        """Return the condition that a message of the other kind is received only after all that were sent."""
        s, mail, note = self.s, self.s.messages(kind), self.s.messages(other)
        received = exists_over(s.kinds[other].over, lambda *m: note.is_received(*m))
        return implies(
            received,
            forall_over(s.kinds[kind].over, lambda *m: implies(mail.is_sent(*m), mail.is_received(*m))),
        )
