"""Queues of several channels against queues in plain Python: every engine gives their verdicts and steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import ModelError
from fencepost.encoding.language import (
    BOOL,
    Action,
    Message,
    Parameter,
    Property,
    Sort,
    StateSpace,
    System,
    Term,
    channel,
    each,
    family,
    implies,
    integers,
    labels,
    queues,
    variable,
)
from fencepost.encoding.language.messages import Queued, _Changes
from fencepost.encoding.language.queues import Queues
from fencepost.encoding.language.terms import FALSE, TRUE, lift
from fencepost.encoding.language.traces import Subject
from support.bare import Bare
from support.exploration import explore


@dataclass(frozen=True)
class Options:
    """The options of the queues."""

    room: int
    by_link: bool = False
    lossy: bool = False
    goes: bool = False
    """Whether no queue takes messages to a reader that was told to stop."""
    drops: bool = False
    """Whether a queue may lose any of its messages at any time."""

    def __str__(self) -> str:
        """Return the options that differ from the usual ones."""
        words = {"link": self.by_link, "lossy": self.lossy, "goes": self.goes, "drops": self.drops}
        return "+".join([f"room-{self.room}", *(word for word, is_so in words.items() if is_so)])


ALL = [Options(*rest) for rest in product((1, 2, 3), (False, True), (False, True), (False, True))]
ALL += [replace(options, drops=True) for options in ALL[::3]]


class Desk(StateSpace):
    """A writer sends two entries to a reader, which tells itself of each; two clerks tell it to stop."""

    def __init__(self, options: Options) -> None:
        self.entry, self.clerk = integers(1, 2), Sort("clerk", ("c1", "c2"), "machine")
        self.machine = Sort("machine", ("writer", "reader", *self.clerk))
        about, told = {"entry": self.entry}, {"clerk": self.clerk}
        self.add = channel("add", "writer", "reader", about=about, lossy=options.lossy)
        self.stop = channel("stop", "clerk", "reader", about=told, lossy=options.lossy)
        self.echo = channel("echo", "reader", "reader", about=about)
        self.stopped = variable(BOOL)
        self.both = variable(BOOL)
        self.by_link, self.place = options.by_link, integers(1, options.room)
        self.stored = family(BOOL, self.entry)
        self.heard = family(BOOL, self.entry)
        self.queue = queues(
            self.machine,
            [self.add, self.stop, self.echo],
            room=options.room,
            by_link=options.by_link,
            gone=(lambda machine: (machine == "reader") & self.stopped) if options.goes else None,
        )


def write(s: Desk, entry: Parameter) -> Action:
    """Send an entry."""
    return Action(actor="writer", sent=[s.add.send(entry)])


def write_both(s: Desk) -> Action:
    """Send the second entry and the first one."""
    return Action(then=[s.both.set(True)], actor="writer", sent=[s.add.send(2), s.add.send(1)])


def tell(s: Desk, clerk: Parameter) -> Action:
    """Tell the reader to stop."""
    return Action(actor=clerk, sent=[s.stop.send(clerk)])


def store(s: Desk, entry: Parameter) -> Action:
    """Store an entry."""
    then = [s.stored[entry].set(True)]
    return Action(then=then, actor="reader", received=s.add.deliver(entry), sent=[s.echo.send(entry)])


def hear(s: Desk, entry: Parameter) -> Action:
    """Hear of an entry that was stored."""
    return Action(then=[s.heard[entry].set(True)], actor="reader", received=s.echo.deliver(entry))


def stop(s: Desk, clerk: Parameter) -> Action:
    """Stop."""
    return Action(then=[s.stopped.set(True)], actor="reader", received=s.stop.deliver(clerk))


def drop(s: Desk, sender: Parameter, place: Parameter) -> Action:
    """Lose the message at a place of the reader's queue; each sender has one if they are by link."""
    queue = (sender, "reader") if s.by_link else ("reader",)
    return Action(when=place <= s.queue.length(*queue), then=[s.queue.drop(*queue, place)])


class Known(NamedTuple):
    """What has happened: the messages sent, lost and received, those in each queue, and `write_both`."""

    sent: frozenset[object] = frozenset()
    lost: frozenset[object] = frozenset()
    gone: frozenset[object] = frozenset()
    queues: tuple[tuple[object, ...], ...] = ((), (), (), ())
    both: bool = False


ADDS, STOPS, ECHOES = [("add", 1), ("add", 2)], [("stop", 1), ("stop", 2)], [("echo", 1), ("echo", 2)]

Claim = tuple[Callable[[Desk], Term], Callable[[Known], bool]]
CLAIMS: dict[str, Claim] = {
    "first-stored": (
        lambda s: implies(s.stored[2], s.stored[1]),
        lambda k: ("add", 2) not in k.gone or ("add", 1) in k.gone,
    ),
    "as-named": (
        lambda s: implies(s.both & s.stored[1], s.stored[2]),
        lambda k: not k.both or ("add", 1) not in k.gone or ("add", 2) in k.gone,
    ),
    "second-stored": (
        lambda s: implies(s.stored[1] & s.add.is_sent(2), s.stored[2]),
        lambda k: ("add", 1) not in k.gone or ("add", 2) not in k.sent or ("add", 2) in k.gone,
    ),
    "never-both": (lambda s: ~(s.heard[1] & s.heard[2]), lambda k: not k.gone.issuperset(ECHOES)),
    "stored-all-then-heard": (
        lambda s: ~(s.stored[1] & s.stored[2] & ~s.heard[1] & ~s.heard[2]),
        lambda k: not k.gone.issuperset(ADDS) or not k.gone.isdisjoint(ECHOES),
    ),
    "stopped-once": (
        lambda s: ~(s.stop.is_received("c1") & s.stop.is_received("c2")),
        lambda k: not k.gone.issuperset(STOPS),
    ),
    "silent-after-stop": (
        lambda s: implies(s.stopped & s.stop.is_sent("c2"), s.stop.is_received("c2")),
        lambda k: not (k.gone & set(STOPS)) or ("stop", 2) not in k.sent or ("stop", 2) in k.gone,
    ),
    "all-sent": (
        lambda s: ~(s.add.is_sent(1) & s.add.is_sent(2) & s.stop.is_sent("c1") & ~s.stored[1]),
        lambda k: not k.sent.issuperset([*ADDS, ("stop", 1)]) or ("add", 1) in k.gone,
    ),
}


def system(options: Options) -> System:
    s = Desk(options)
    properties = tuple(Property(name, "", holds(s), TRUE, "always") for name, (holds, _) in CLAIMS.items())
    over_entries = [each(action, s, s.entry) for action in (write, store, hear)]
    over_clerks = [each(action, s, s.clerk) for action in (tell, stop)]
    senders = s.machine if options.by_link else Sort("the reader", ("reader",), "machine")
    dropping = [each(drop, s, senders, s.place)] if options.drops else []
    return System(s, (*over_entries, each(write_both, s), *over_clerks, *dropping), properties)


def queue_of(o: Options, message: Any) -> int:
    """Return the number of the queue of a message: one for all, or one for each sender."""
    kind, number = message
    return 0 if not o.by_link else 1 if kind == "echo" else 0 if kind == "add" else 1 + number


def successors(o: Options, known: Known) -> Iterator[Known]:
    """Yield what may have happened after one more step, by the rules of the queues."""
    for group in ([("add", 1)], [("add", 2)], [("add", 2), ("add", 1)], *([m] for m in STOPS)):
        yield from sendings(o, known, group)
    for number, waiting in enumerate(known.queues):
        for place in range(len(waiting) if o.drops else 0):
            left = [*known.queues]
            left[number] = waiting[:place] + waiting[place + 1 :]
            yield known._replace(queues=tuple(left))
        if waiting:
            message: Any = waiting[0]
            rest = [q[1:] if n == number else q for n, q in enumerate(known.queues)]
            after = known._replace(gone=known.gone | {message}, queues=tuple(rest))
            stopped = is_stopped(known)
            yield from sendings(o, after, [("echo", message[1])], stopped) if message in ADDS else [after]


def is_stopped(known: Known) -> bool:
    return not known.gone.isdisjoint(STOPS)


def sendings(o: Options, known: Known, group: Sequence[Any], stopped: bool | None = None) -> Iterator[Known]:
    """Yield what may have happened after these messages are sent, some of them in vain."""
    stopped = is_stopped(known) if stopped is None else stopped
    if not known.sent.isdisjoint(group):
        return
    for fates in product((False, True), repeat=len(group)):
        lost = {m for m, fate in zip(group, fates, strict=True) if fate}
        if lost and (not o.lossy or group[0][0] == "echo"):
            continue
        waiting = list(known.queues)
        for message in group:
            if message not in lost and not (o.goes and stopped):
                waiting[queue_of(o, message)] = (*waiting[queue_of(o, message)], message)
        if all(len(queue) <= o.room for queue in waiting):
            sent, both = known.sent | set(group), known.both or len(group) == 2
            yield Known(sent, known.lost | lost, known.gone, tuple(waiting), both)


def truth(options: Options) -> tuple[int, dict[str, int | None]]:
    """Return the number of states, and the fewest steps to a violation of each claim; None without one."""
    found: dict[str, int | None] = dict.fromkeys(CLAIMS)
    level, seen, steps = {Known()}, {Known()}, 0
    while level:
        for name, (_, holds) in CLAIMS.items():
            if found[name] is None and not all(map(holds, level)):
                found[name] = steps
        level = {after for known in level for after in successors(options, known)} - seen
        seen |= level
        steps += 1
    return len(seen), found


def found_by(options: Options, *engines: str) -> dict[str, int | None] | str:
    """Return the fewest steps as the engines say them, or the line that refuses the system."""
    made = system(options)
    limits = Limits(jobs=1, engines=engines)
    try:
        results = check(Bare(made, Subject("desk", {}, {})), made.properties, limits).results
    except ModelError as error:
        return str(error)
    assert {r.verdict for r in results} <= {Verdict.PROVED, Verdict.VIOLATED}
    return {r.property: r.steps if r.verdict is Verdict.VIOLATED else None for r in results}


def test_the_queues_have_claims_that_hold_and_claims_that_fail() -> None:
    assert truth(Options(2))[1] == {
        "first-stored": 2,
        "as-named": None,
        "second-stored": 3,
        "never-both": 5,
        "stored-all-then-heard": 3,
        "stopped-once": 4,
        "silent-after-stop": 3,
        "all-sent": 3,
    }
    assert truth(Options(1))[1]["stored-all-then-heard"] is None
    assert truth(Options(1, goes=True))[1]["stopped-once"] is None
    assert truth(Options(2, lossy=True))[1]["as-named"] == 2


@pytest.mark.parametrize("options", ALL, ids=str)
def test_enumeration_says_what_the_queues_say(options: Options) -> None:
    assert found_by(options, "enumeration") == truth(options)[1]


@pytest.mark.parametrize("options", [o for o in ALL if not o.lossy], ids=str)
def test_there_are_as_many_states(options: Options) -> None:
    assert sum(1 for _ in explore(system(options))) == truth(options)[0]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["rounds", "ic3"])
@pytest.mark.parametrize("options", ALL[::5], ids=str)
def test_every_engine_says_what_the_queues_say(options: Options, engine: str) -> None:
    assert found_by(options, engine) == truth(options)[1]


# Planted mistakes.


def messages_overtake_each_other(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: any message of a queue is received."""
    plant.setattr(Queued, "is_first", TRUE)


def room_is_ignored(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a step is enabled although its messages do not fit."""
    plant.setattr(_Changes, "fit", TRUE)


def a_received_message_keeps_its_room(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a step that receives and sends counts the message that it takes away."""
    fit = _Changes.fit

    def whole(self: _Changes) -> Term:
        return fit.fget(replace(self, taken=None)) if self.added else TRUE  # type: ignore[attr-defined]

    plant.setattr(_Changes, "fit", property(whole))


def messages_of_a_step_enter_backwards(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: the last message that a step names enters first."""
    updates = _Changes.updates

    def backwards(self: _Changes) -> Any:
        return updates.fget(replace(self, added=self.added[::-1]))  # type: ignore[attr-defined]

    plant.setattr(_Changes, "updates", property(backwards))


def every_message_enters(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: lost messages, and those to a process that is gone, take room."""
    queued = Queues._queued_of

    def entering(self: Queues, channel: Any) -> Any:
        entry = queued(self, channel)
        return lambda index, arrives: replace(entry(index, arrives), enters=lift(arrives is not FALSE))

    plant.setattr(Queues, "_queued_of", entering)


def two_messages_have_one_number(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: the messages of each channel are numbered from 1."""
    number = Queues._number

    def same(self: Queues, channel: Any, index: Any) -> Term:
        (first,) = (first for other, first in self._first.items() if other is channel)
        return number(self, channel, index) - (first - 1)

    plant.setattr(Queues, "_number", same)


def the_first_message_is_dropped(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a queue loses its first message, whichever one the step names."""
    drop = Queues.drop
    plant.setattr(Queues, "drop", lambda self, *given: drop(self, *given[:-1], 1))


PLANTED: Mapping[Callable[[pytest.MonkeyPatch], None], Options] = {
    messages_overtake_each_other: Options(2),
    the_first_message_is_dropped: Options(2, drops=True),
    room_is_ignored: Options(2),
    a_received_message_keeps_its_room: Options(1),
    messages_of_a_step_enter_backwards: Options(2),
    every_message_enters: Options(1, lossy=True),
    two_messages_have_one_number: Options(3),
}


@pytest.mark.parametrize("mistake", PLANTED, ids=lambda mistake: mistake.__name__)
def test_a_mistake_in_queues_is_noticed(
    mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = PLANTED[mistake]
    assert found_by(options, "enumeration") == truth(options)[1]
    mistake(monkeypatch)
    same_number = options.lossy or sum(1 for _ in explore(system(options))) == truth(options)[0]
    assert found_by(options, "enumeration") != truth(options)[1] or not same_number


def test_a_process_that_is_gone_is_noticed() -> None:
    assert truth(Options(1, goes=True)) != truth(Options(1))
    assert found_by(Options(1, goes=True), "enumeration") != found_by(Options(1), "enumeration")


def test_two_queues_that_are_one_for_some_arguments_are_badly_defined() -> None:
    class Pair(StateSpace):
        def __init__(self) -> None:
            self.node = labels("node", "n", 2)
            self.ask = channel("ask", self.node, self.node, about={"first": BOOL})
            self.queue = queues(self.node, [self.ask], room=2)

    def ask(s: Pair, one: Parameter, other: Parameter) -> Action:
        """Ask two nodes, which may be one."""
        sent: list[Message] = [s.ask.send(one, one, True), s.ask.send(one, other, False)]
        return Action(actor=one, sent=sent)

    s = Pair()
    made = System(s, (each(ask, s, s.node, s.node),), (Property("p", "", lift(True), TRUE, "always"),))
    with pytest.raises(ModelError, match=r"ask\(n1, n1\) sets queue\[n1, 1\] twice"):
        check(Bare(made, Subject("pair", {}, {})), made.properties, Limits(jobs=1, engines=("enumeration",)))


def test_an_answer_may_be_lost_where_the_question_may_not() -> None:
    class Pair(StateSpace):
        def __init__(self) -> None:
            self.ask, self.answer = channel("ask", "a", "b"), channel("answer", "b", "a", lossy=True)
            self.queue = queues(MACHINE, [self.ask, self.answer], room=1)

    def ask(s: Pair) -> Action:
        """Ask."""
        return Action(actor="a", sent=[s.ask.send()])

    def reply(s: Pair) -> Action:
        """Answer; the queue of the answer reads whether it is lost."""
        return Action(actor="b", received=s.ask.deliver(), sent=[s.answer.send()])

    s = Pair()
    asked = Property("p", "", ~s.ask.is_received(), TRUE, "always")
    made = System(s, (each(ask, s), each(reply, s)), (asked,))
    assert made.caps == {"sendings of each ask": 1, "sendings of each answer": 1, "queue": 1}
    (result,) = check(Bare(made, Subject("pair", {}, {})), made.properties, Limits(jobs=1)).results
    assert (result.verdict, result.steps) == (Verdict.VIOLATED, 2)


ENTRY = integers(1, 2)
MACHINE = Sort("machine", ("a", "b"))


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        (lambda: queues("a", [], room=1), "'a' is not a sort"),  # type: ignore[arg-type]
        (lambda: queues(MACHINE, [], room=0), "room=0 is no number of messages; write 1 or more"),
        (lambda: queues(MACHINE, [], room=True), "room=True is no number of messages"),
        (lambda: queues(MACHINE, ["x"], room=1), "'x' is no channel"),  # type: ignore[list-item]
        (lambda: queues(MACHINE, [channel("x", "a", "c")], room=1), "c of x is not in machine"),
        (lambda: queues(MACHINE, [channel("x", "c", "a")], room=1), "c of x is not in machine"),
        (lambda: queues(MACHINE, [channel("x", "a", "b", once=False)], room=1), "x has once=False"),
        (
            lambda: queues(MACHINE, [channel("x", "a", "b", about={"n": ENTRY}, order="n")], room=1),
            "x has order='n'",
        ),
        (lambda: queues(MACHINE, [channel("x", "a", "b")] * 2, room=1), "x is in a queue already"),
    ],
)
def test_a_mistake_of_an_author_is_refused(mistake: Callable[[], object], says: str) -> None:
    with pytest.raises(ModelError) as refused:
        mistake()
    assert says in str(refused.value)
