"""Channels against a network in plain Python: every engine gives its verdicts and its fewest steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import ModelError
from fencepost.encoding.forms.counterexample import Counterexample
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.induction.read_off import candidates
from fencepost.encoding.language import (
    BOOL,
    Action,
    Channel,
    Message,
    Parameter,
    Property,
    StateSpace,
    System,
    Term,
    TermLike,
    channel,
    each,
    exists_over,
    family,
    forall_over,
    if_,
    implies,
    integers,
    labels,
    to_each,
    variable,
)
from fencepost.encoding.language.printer import line
from fencepost.encoding.language.terms import TRUE, lift
from fencepost.encoding.language.traces import Subject
from support.bare import Bare


@dataclass(frozen=True)
class Options:
    """The options of a channel that brings entries to copies."""

    lossy: bool = False
    once: bool = True
    ordered: bool = False
    derived: bool = False
    """Whether the sender's state says what was sent. One step then sends an entry to both copies."""
    skips: bool = False
    """Whether an action that would send a message again sends nothing instead."""
    kept: bool = False
    """Whether a variable of the state keeps the contents, the copy is in `about`, and losses are noted."""

    def __str__(self) -> str:
        """Return the options that differ from the usual ones."""
        words = {"lossy": self.lossy, "set": not self.once, "ordered": self.ordered, "derived": self.derived}
        words |= {"skips": self.skips, "kept": self.kept}
        return "+".join(word for word, is_so in words.items() if is_so) or "plain"


ALL = [
    *(
        Options(lossy, True, ordered, derived)
        for lossy in (False, True)
        for ordered in (False, True)
        for derived in (False, True)
    ),
    Options(once=False),
    Options(once=False, derived=True),
    *(Options(lossy, True, ordered, skips=True) for lossy in (False, True) for ordered in (False, True)),
    *(
        Options(lossy, True, False, derived, kept=True)
        for lossy in (False, True)
        for derived in (False, True)
    ),
]


class Post(StateSpace):
    """A primary that sends two entries to two copies, and what it and the copies remember."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.copy, self.entry = labels("copy", "c", 2), integers(1, 2)
        self.posted = family(BOOL, self.entry)
        self.first = family(BOOL, self.copy, self.entry)
        copy = {"copy": self.copy} if options.kept else {}
        self.add = channel(
            "add",
            "primary",
            "copy" if options.kept else self.copy,
            about={**copy, "entry": self.entry},
            says={"first": self.first if options.kept else BOOL} if options.once else {},
            lossy=options.lossy,
            once=options.once,
            order="entry" if options.ordered else None,
            sent=(lambda copy, entry: self.posted[entry]) if options.derived else None,
            notes_losses=options.kept,
            if_sent="skip" if options.skips else "wait",
        )
        self.stored = family(BOOL, self.copy, self.entry)
        self.wrong = variable(BOOL)
        self.twice = variable(BOOL)
        self.resent = variable(BOOL)
        self.missed = family(BOOL, self.copy, self.entry)


def sending(s: Post, copy: TermLike, entry: TermLike) -> Message:
    says = {"first": lift(entry) == 1} if s.options.once else {}
    return s.add.send(copy, entry, **says)


def post(s: Post, entry: Parameter) -> Action:
    """Send an entry to both copies."""
    again = s.resent.set(True, when=s.posted[entry])
    messages = [sending(s, copy, entry) for copy in s.copy]
    return Action(when=TRUE, then=[s.posted[entry].set(True), again], actor="primary", sent=messages)


def send(s: Post, copy: Parameter, entry: Parameter) -> Action:
    """Send an entry to a copy."""
    again = s.resent.set(True, when=s.add.is_sent(copy, entry))
    return Action(when=TRUE, then=[again], actor="primary", sent=[sending(s, copy, entry)])


def store(s: Post, copy: Parameter, entry: Parameter) -> Action:
    """Store an entry that has arrived."""
    wrong = s.add.said("first", copy, entry) != (entry == 1) if s.options.once else False
    return Action(
        when=TRUE,
        then=[
            s.stored[copy, entry].set(True),
            s.twice.set(True, when=s.stored[copy, entry]),
            s.wrong.set(True, when=wrong),
        ],
        actor=copy,
        received=s.add.deliver(copy, entry),
    )


def miss(s: Post, copy: Parameter, entry: Parameter) -> Action:
    """Notice that a message is lost."""
    return Action(
        when=s.add.is_sent(copy, entry) & s.add.is_lost(copy, entry) & ~s.missed[copy, entry],
        then=[s.missed[copy, entry].set(True)],
        actor="primary",
    )


Known = Mapping[str, frozenset[tuple[str, int]]]
"""The copies and entries of messages sent, lost, gone, stored, missed; a flag is a set that is not empty."""

Claim = tuple[Callable[[Post], Term], Callable[[Known], bool]]
PAIRS = [(copy, entry) for copy in ("c1", "c2") for entry in (1, 2)]
CLAIMS: dict[str, Claim] = {
    "one-entry": (lambda s: ~s.stored["c1", 2], lambda k: ("c1", 2) not in k["stored"]),
    "in-order": (
        lambda s: forall_over(
            (s.copy,), lambda c: implies(s.stored[c, 2] & s.add.is_sent(c, 1), s.stored[c, 1])
        ),
        lambda k: {(c, 1) for c, e in k["stored"] if e == 2} & k["sent"] <= k["stored"],
    ),
    "only-sent": (
        lambda s: forall_over((s.copy, s.entry), lambda c, e: implies(s.stored[c, e], s.add.is_sent(c, e))),
        lambda k: k["stored"] <= k["sent"],
    ),
    "received-once": (lambda s: ~s.twice, lambda k: not k["twice"]),
    "sent-once": (lambda s: ~s.resent, lambda k: not k["resent"]),
    "as-sent": (lambda s: ~s.wrong, lambda k: True),
    "lost-for-both": (
        lambda s: ~exists_over((s.entry,), lambda e: s.missed["c1", e] & s.stored["c2", e]),
        lambda k: not any(("c2", e) in k["stored"] for c, e in k["missed"] if c == "c1"),
    ),
    "lost-or-stored": (
        lambda s: forall_over((s.copy, s.entry), lambda c, e: ~(s.missed[c, e] & s.stored[c, e])),
        lambda k: not k["missed"] & k["stored"],
    ),
}


def system(options: Options) -> System:
    s = Post(options)
    properties = tuple(Property(name, "", holds(s), TRUE, "always") for name, (holds, _) in CLAIMS.items())
    first = each(post, s, s.entry) if options.derived else each(send, s, s.copy, s.entry)
    losing = [each(miss, s, s.copy, s.entry)] if options.lossy else []
    return System(s, (first, each(store, s, s.copy, s.entry), *losing), properties)


def successors(o: Options, known: Known) -> Iterator[Known]:
    """Yield what may have happened after one more step, by the rules of the network."""
    some = frozenset([("some", 1)])
    sent, lost, gone = known["sent"], known["lost"], known["gone"]
    groups = [[(c, e) for c in ("c1", "c2")] for e in (1, 2)] if o.derived else [[pair] for pair in PAIRS]
    for group in groups:
        again = sent >= set(group)
        if again and o.skips:
            yield {**known, "resent": some}
            continue
        late = o.ordered and any((c, other) in sent for c, e in group for other in (1, 2) if other > e)
        if (again and o.once) or late:
            continue
        after = {**known, "sent": sent | set(group), "resent": some if again else known["resent"]}
        for fate in _subsets(group) if o.lossy else [frozenset()]:
            yield {**after, "lost": lost | fate}
    for c, e in sent - lost - gone:
        waiting = {(c, other) for other in (1, 2) if other < e} & (sent - lost - gone)
        if not (o.ordered and waiting):
            yield {
                **known,
                "gone": gone | {(c, e)} if o.once else gone,
                "stored": known["stored"] | {(c, e)},
                "twice": some if (c, e) in known["stored"] else known["twice"],
            }
    for pair in lost - known["missed"]:
        yield {**known, "missed": known["missed"] | {pair}}


def _subsets(group: list[tuple[str, int]]) -> Iterator[frozenset[tuple[str, int]]]:
    for number in range(2 ** len(group)):
        yield frozenset(pair for place, pair in enumerate(group) if number >> place & 1)


def truth(options: Options) -> dict[str, int | None]:
    """Return the fewest steps to a violation of each claim; None if no execution violates it."""
    first: Known = dict.fromkeys(("sent", "lost", "gone", "stored", "missed", "twice", "resent"), frozenset())
    found: dict[str, int | None] = dict.fromkeys(CLAIMS)
    level, seen, steps = [first], {tuple(first.values())}, 0
    while level:
        for name, (_, holds) in CLAIMS.items():
            if found[name] is None and not all(map(holds, level)):
                found[name] = steps
        after = {tuple(k.values()): k for known in level for k in successors(options, known)}
        level, steps = [k for key, k in after.items() if key not in seen], steps + 1
        seen |= after.keys()
    return found


def found_by(options: Options, *engines: str) -> dict[str, int | None] | str:
    """Return what `truth` returns, as the engines say it, or the line that refuses the system."""
    try:
        made = system(options)
        limits = Limits(jobs=1, engines=engines)
        results = check(Bare(made, Subject("post", {}, {})), made.properties, limits).results
    except ModelError as error:
        return str(error)
    known = (Verdict.PROVED, Verdict.VIOLATED)
    if any(result.verdict not in known for result in results):
        return str([(result.property, result.verdict) for result in results])
    return {r.property: r.steps if r.verdict is Verdict.VIOLATED else None for r in results}


def test_the_network_has_claims_that_hold_and_claims_that_fail() -> None:
    violated = {str(o): {name for name, steps in truth(o).items() if steps is not None} for o in ALL}
    assert violated["plain"] == {"one-entry", "in-order"}
    assert violated["ordered"] == violated["ordered+derived"] == {"one-entry"}
    assert violated["lossy+derived"] == {"one-entry", "in-order", "lost-for-both"}
    assert violated["lossy+derived+kept"] == violated["lossy+derived"]
    assert violated["skips"] == {"one-entry", "in-order", "sent-once"}
    assert violated["set"] == {"one-entry", "in-order", "received-once", "sent-once"}


@pytest.mark.parametrize("options", ALL, ids=str)
def test_enumeration_says_what_the_network_says(options: Options) -> None:
    assert found_by(options, "enumeration") == truth(options)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["rounds", "ic3"])
@pytest.mark.parametrize("options", ALL, ids=str)
def test_every_engine_says_what_the_network_says(options: Options, engine: str) -> None:
    if engine == "rounds" and (options.skips or not options.once):
        pytest.skip("no number of rounds covers an execution without end")
    assert found_by(options, engine) == truth(options)


@pytest.mark.parametrize(
    ("options", "sent"), [(Options(lossy=True), "add_sent["), (Options(derived=True), "posted[")]
)
def test_proofs_know_that_a_message_that_was_received_was_sent(options: Options, sent: str) -> None:
    read_off = [line(candidate.holds) for candidate in candidates(system(options))]
    assert any("add_received[" in text and sent in text for text in read_off), read_off


# Planted mistakes.


def received_without_sent(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a message may be received that was not sent."""
    plant.setattr(Channel, "under_way", lambda self, *index: ~self.is_received(*index) if self.once else TRUE)


def one_loss_for_both_copies(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: the messages to both copies have one loss, and the rule about losses is not asked."""
    read = Channel._read

    def shared(self: Channel, part: str, index: tuple[TermLike, ...]) -> Any:
        return read(self, part, ("c1", *index[1:]) if part == "lost" else index)

    plant.setattr(Channel, "_read", shared)


def once_is_ignored(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a message is sent again although it is to be sent once."""
    free = Channel.send

    def again(self: Channel, *index: TermLike, when: TermLike = True, **says: TermLike) -> Message:
        message = free(self, *index, when=when, **says)
        assert message.effect is not None
        return replace(message, effect=replace(message.effect, guard=TRUE))

    plant.setattr(Channel, "send", again)


def a_receipt_leaves_no_mark(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a message that was received may be received again."""
    deliver = Channel.deliver

    def unmarked(self: Channel, *index: TermLike) -> Message:
        message = deliver(self, *index)
        assert message.effect is not None
        return replace(message, effect=replace(message.effect, updates=()))

    plant.setattr(Channel, "deliver", unmarked)


def order_is_ignored(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: messages overtake each other although the channel has an order."""
    plant.setattr(Channel, "_earlier_ones_gone", lambda self, index: iter(()))


def contents_are_those_of_another(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: the contents are kept under another entry."""
    marks = Channel._marks

    def mixed(self: Channel, index: tuple[TermLike, ...], *rest: Any) -> Any:
        first, *others = marks(self, index, *rest)
        return first, *(replace(u, value=~u.value) for u in others)

    plant.setattr(Channel, "_marks", mixed)


def all_contents_are_those_of_the_first(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: the contents of all entries are kept under the first one."""
    read = Channel._read

    def other(self: Channel, part: str, index: tuple[TermLike, ...]) -> Any:
        return read(self, part, (index[0], 1) if part == "first" else index)

    plant.setattr(Channel, "_read", other)


def a_skipped_message_is_required(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: an action that would send a message again is not enabled."""
    init: Callable[..., None] = Channel.__init__
    plant.setattr(
        Channel, "__init__", lambda self, *ends, **named: init(self, *ends, **{**named, "if_sent": "wait"})
    )


def losses_are_not_noted(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: the variable that remembers a loss stays false."""
    marks = Channel._marks
    plant.setattr(Channel, "_marks", lambda self, *rest: marks(self, *rest)[:-1])


@pytest.mark.parametrize(
    ("mistake", "options"),
    [
        (all_contents_are_those_of_the_first, Options(kept=True)),
        (losses_are_not_noted, Options(lossy=True, kept=True)),
        (a_skipped_message_is_required, Options(skips=True)),
        (received_without_sent, Options()),
        (one_loss_for_both_copies, Options(lossy=True)),
        (one_loss_for_both_copies, Options(lossy=True, derived=True)),
        (once_is_ignored, Options()),
        (once_is_ignored, Options(lossy=True)),
        (a_receipt_leaves_no_mark, Options()),
        (order_is_ignored, Options(ordered=True)),
        (contents_are_those_of_another, Options()),
    ],
)
def test_a_mistake_in_channels_is_noticed(
    mistake: Callable[[pytest.MonkeyPatch], None], options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found_by(options, "enumeration") == truth(options)
    mistake(monkeypatch)
    assert found_by(options, "enumeration") != truth(options)


@pytest.mark.parametrize("mistake", [one_loss_for_both_copies, once_is_ignored])
def test_the_send_once_rule_is_asked_of_channels_too(
    mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    with pytest.raises(ModelError, match="with one loss, add_lost"):
        sent_at_most_once(system(Options(lossy=True, derived=True)))


@pytest.mark.parametrize("options", [Options(lossy=True), Options(lossy=True, derived=True)], ids=str)
def test_a_shared_loss_differs_even_if_the_rule_is_not_asked(
    options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_loss_for_both_copies(monkeypatch)
    monkeypatch.setattr("fencepost.encoding.check.sent_at_most_once", lambda system: None)
    found = found_by(options, "enumeration")
    assert isinstance(found, dict) and found["lost-for-both"] is None
    assert truth(options)["lost-for-both"] is not None


# Traces and refusals.


def trace(options: Options, *names: str) -> Counterexample:
    made = system(options)
    actions = {action.name: action for action in made.ground_actions}
    steps = Replayer(made, Subject("post", {}, {})).record("one-entry", [actions[name] for name in names], ())
    return Counterexample(steps, made, made.properties[0], "one-entry: violated", {})


def test_a_trace_shows_the_messages_of_a_channel() -> None:
    found = trace(Options(), "send(c1, 2)", "store(c1, 2)")
    sent, received = found.trace.steps
    assert [(m.kind, m.sender, m.receiver, dict(m.fields), m.lost) for m in sent.sent] == [
        ("add", "primary", "c1", {"entry": 2, "first": False}, False)
    ]
    assert received.received is not None and received.received.fields == {"entry": 2, "first": False}
    assert sent.changes == {"add_sent[c1, 2]": True}
    assert [(t.sent, t.received) for t in found.travels] == [(1, 2)]


def test_a_sender_may_follow_from_the_index() -> None:
    class Ring(StateSpace):
        def __init__(self) -> None:
            self.node, self.number = labels("node", "n", 2), integers(1, 2)
            owner = (self.node, lambda number, to: if_(lift(number) == 1, "n1", "n2"))
            self.told = family(BOOL, self.number, self.node)
            self.tell = channel(
                *("tell", owner, "to"),
                about={"number": self.number, "to": self.node},
                says={"even": lambda number, to: lift(number) == 2, "told": self.told},
            )

    def tell(s: Ring, number: Parameter, node: Parameter) -> Action:
        """Tell a number to a node."""
        return Action(actor="someone", sent=[s.tell.send(number, node, told=True)])

    def hear(s: Ring, number: Parameter, node: Parameter) -> Action:
        """Hear a number."""
        return Action(received=s.tell.deliver(number, node))

    s = Ring()
    made = System(s, (each(tell, s, s.number, s.node), each(hear, s, s.number, s.node)), ())
    actions = {action.name: action for action in made.ground_actions}
    names = "tell(2, n1)", "hear(2, n1)"
    steps = Replayer(made, Subject("ring", {}, {})).record("", [actions[name] for name in names], ()).steps
    assert steps[0].changes == {"tell_sent[2, n1]": True, "told[2, n1]": True}
    (sent,), received = steps[0].sent, steps[1].received
    assert received is not None
    assert [(m.sender, m.receiver) for m in (sent, received)] == [("n2", "n1")] * 2
    assert steps[1].actor == "n1"
    assert sent.fields == received.fields == {"number": 2, "even": True, "told": True}


def test_a_property_reads_a_loss_that_is_noted_and_no_other() -> None:
    def first(options: Options) -> int | None:
        made = system(options)
        s = made.state
        assert isinstance(s, Post)
        lost = exists_over((s.copy, s.entry), lambda c, e: s.add.is_lost(c, e))
        made = replace(made, properties=(Property("all-arrive", "", ~lost, TRUE, "always"),))
        limits = Limits(jobs=1, engines=("enumeration",))
        (result,) = check(Bare(made, Subject("post", {}, {})), made.properties, limits).results
        return result.steps

    assert first(Options(lossy=True, kept=True)) == 1
    with pytest.raises(ModelError, match=r"add_lost.* is a choice"):
        first(Options(lossy=True))


def test_a_message_that_stays_is_drawn_once_for_each_receipt() -> None:
    found = trace(Options(once=False), "send(c1, 2)", "store(c1, 2)", "send(c2, 1)", "store(c1, 2)")
    assert [(t.sent, t.received) for t in found.travels] == [(1, 2), (3, None), (1, 4)]
    assert [travel.receiver for travel in found.in_flight] == ["c2"]


def test_a_message_to_some_is_sent_to_those_only() -> None:
    class Ring(StateSpace):
        def __init__(self) -> None:
            self.node = labels("node", "n", 2)
            self.ask = channel("ask", self.node, self.node, lossy=True)

    def ask(s: Ring, node: Parameter) -> Action:
        """Ask all others."""
        sent = [s.ask.send(node, other, when=node != other) for other in s.node]
        return Action(when=TRUE, then=[], actor=node, sent=sent)

    s = Ring()
    made = System(s, (each(ask, s, s.node),), ())
    sent_at_most_once(made)
    replayer = Replayer(made, Subject("ring", {}, {}))
    (step,) = replayer.record("", [made.ground_actions[0]], ()).steps
    assert step.changes == {"ask_sent[n1, n2]": True} and [m.receiver for m in step.sent] == ["n2"]
    again = made.ground_actions[0], made.ground_actions[0]
    with pytest.raises(Exception, match=r"step 2, ask\(n1\): not enabled"):
        replayer.record("", again, ())


def test_a_message_that_stays_may_be_sent_under_a_condition() -> None:
    s = Post(Options(once=False))
    sent = s.add.send("c1", 1, when=s.posted[1])
    action = Action(actor="primary", sent=[sent])
    assert action.when is TRUE and [line(update.when) for update in action.then] == ["posted[1]"]


def test_an_action_without_an_actor_is_that_of_a_message_or_of_the_system() -> None:
    s = Post(Options(once=False))
    send = s.add.send("c1", 1)
    delivered = Action(received=s.add.deliver("c1", 1))
    assert delivered.received is not None and delivered.actor is delivered.received.receiver
    assert Action(sent=[send]).actor is send.sender
    assert Action(sent=[send], actor="me").actor == "me"
    assert Action().actor == "system"


S = Post(Options(once=False))
ENTRY = {"entry": integers(1, 2)}


def misplaced() -> Action:
    return Action(when=TRUE, then=[], actor="primary", received=S.add.send("c1", 1))


def misplaced_too() -> Action:
    return Action(when=TRUE, then=[], actor="primary", sent=[S.add.deliver("c1", 1)])


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        (lambda: channel("x", 3, "b"), "or write the name of a single process"),  # type: ignore[arg-type]
        (lambda: channel("x", "a", "b", about={"n": 3}), "channel x: about=: "),  # type: ignore[dict-item]
        (lambda: channel("x", "a", "b", says={"n": 3}), "channel x: says= n: "),  # type: ignore[dict-item]
        (lambda: channel("x", "a", "b", says={"lost": BOOL}), "the channel uses that name itself"),
        (lambda: channel("x", "a", "b", if_sent="no"), "if_sent='no'; valid: 'wait', 'skip'"),  # type: ignore[arg-type]
        (lambda: channel("x", "a", (S.copy,)), "or write the name of a single process"),  # type: ignore[arg-type]
        (
            lambda: channel("x", "a", "b", says={"n": S.stored}),
            "message, which are (); declare it over these",
        ),
        (lambda: channel("x", "a", "b", order="entry"), "names no index of integers"),
        (lambda: channel("x", "a", "b", about={"c": S.copy}, order="c"), "the only one in about="),
        (
            lambda: channel("x", "a", "b", about={**ENTRY, "n": S.copy}, order="entry"),
            "the only one in about=",
        ),
        (lambda: channel("x", "a", "b", about=ENTRY, says={"entry": BOOL}), "both have entry; rename one"),
        (lambda: channel("x", "a", "b", lossy=True, once=False), "one loss would stand for several sendings"),
        (lambda: channel("x", "a", "b", about=ENTRY, order="entry", once=False), "is before none"),
        (lambda: channel("x", "a", "b", says={"n": BOOL}, once=False), "move n to about="),
        (lambda: S.add.send("c1"), "add has 2 indices (copy, 1..2), not 1"),
        (lambda: S.add.send("c1", 1, first=True), "send says first, and the channel says nothing"),
        (lambda: S.add.said("first", "c1", 1), "add says no first; valid: nothing"),
        (lambda: S.add.is_received("c1", 1), "no variable says that it was received"),
        (lambda: to_each(S.copy, lambda c: S.add.send(c, 1)), "write sent=[s.add.send(x) for x in s.copy]"),
        (misplaced, "write received=s.add.deliver(…) and sent=[s.add.send(…)], not the other way round"),
        (misplaced_too, "not the other way round"),
    ],
)
def test_a_mistake_of_an_author_is_refused(mistake: Callable[[], object], says: str) -> None:
    with pytest.raises((ModelError, TypeError)) as refused:
        mistake()
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("made", "caps"),
    [
        (lambda: channel("ask", "a", "b"), {"sendings of each ask": 1}),
        (lambda: channel("ask", "a", "b", if_sent="skip"), {}),
        (lambda: channel("ask", "a", "b", once=False), {}),
    ],
)
def test_what_a_channel_bounds_is_named_with_every_verdict(
    made: Callable[[], Channel], caps: Mapping[str, int]
) -> None:
    class One(StateSpace):
        def __init__(self) -> None:
            self.ask = made()

    def ask(s: One) -> Action:
        """Ask."""
        return Action(actor="a", sent=[s.ask.send()])

    s = One()
    system = System(s, (each(ask, s),), caps={"rounds of talks": 3})
    assert system.caps == {"rounds of talks": 3, **caps}
    assert replace(system, caps={}).caps == caps
