"""Canonical form: a sequence, a queue and a channel have one form in the state for each meaning.

Otherwise two logs that people call equal differ. The concrete reading checks each step. Here the formulas of
each action are asked whether they lead from a state in canonical form to one that is not.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import corpus
import pytest
from preset_instances import INSTANCES

from fencepost.encoding.concrete.badly_defined import BadlyDefined
from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language import (
    BOOL,
    Action,
    StateSpace,
    System,
    TermLike,
    anything,
    channel,
    each,
    family,
    integers,
    labels,
    last,
    length,
    one_of,
    optional,
    queues,
    records,
    sequence_of,
    sequences,
    set_of,
    subsets,
    variable,
)
from fencepost.encoding.language.bounded_sequences import SequenceVariable
from fencepost.encoding.language.channels import Channel
from fencepost.encoding.language.messages import _Changes
from fencepost.encoding.language.protocol import load
from fencepost.encoding.language.sequence_families import SequenceFamily
from fencepost.encoding.language.terms import TRUE, Term, Update, assigned, lift
from fencepost.encoding.solving.answers import Yes, answered
from fencepost.encoding.solving.logic import conj, neg
from fencepost.properties.catalogue import FAMILIES
from support import messaging
from support.against_exploring import seeds_of_each_tier
from support.instances import built
from support.varied import generate

EXAMPLES = sorted(Path("examples").glob("*.py"))


def breaking(system: System) -> list[str]:
    """Return the actions that may break the canonical form, as their formulas say; or "at first"."""
    forms = [form for _, form in system.state.forms(system.variables)]
    if not forms:
        return []
    symbolic = Symbolic(system)
    kept = conj(map(symbolic.predicate, forms))
    states, found = symbolic.states(), list[str]()
    if isinstance(answered(states.ask(conj((*symbolic.initial(), neg(kept)))), "initial"), Yes):
        found.append("at first")
    states.add(kept)
    for action, effect, past in zip(symbolic.actions, symbolic.effects, symbolic.past, strict=True):
        step = conj((effect.guard, neg(effect.wrong), neg(past(kept))))
        if isinstance(answered(states.ask(step), action.name), Yes):
            found.append(action.name)
    return found


# Presets, examples and generated systems.


def _tier(name: str) -> list[pytest.MarkDecorator]:
    """Return the tier of a preset. Those without channels have no composites, and take long to build."""
    if name == "verified-log-01":
        return []
    return [pytest.mark.slow if FAMILIES[name] == "verified_log" else pytest.mark.long]


@pytest.mark.parametrize("name", [pytest.param(name, marks=_tier(name)) for name in FAMILIES])
def test_the_actions_of_a_preset_keep_it(name: str) -> None:
    for settings in INSTANCES[name]:
        assert breaking(built(name, settings)[0]) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_actions_of_an_example_keep_it(path: Path) -> None:
    protocol = load(path)
    assert breaking(protocol.system(protocol.defaults)) == []


@pytest.mark.parametrize("row", [r for r in corpus.rows() if not r.long], ids=lambda row: row.name)
def test_the_actions_of_the_corpus_keep_it(row: corpus.Row) -> None:
    assert breaking(row.system()) == []


@seeds_of_each_tier(10, 100, 1_000)
def test_the_actions_of_generated_systems_keep_it(seeds: range) -> None:
    for seed in seeds:
        for make in (generate, messaging.generate, some_system):
            with suppress(ModelError):  # some of them are refused
                assert breaking(make(seed)) == [], (make.__module__, seed)


# Random updates of each composite, some of them two at once.


class Mixed(StateSpace):
    """A variable of each composite."""

    def __init__(self) -> None:
        self.node = labels("node", "n", 2)
        self.value = labels("value", "v", 2)
        self.entry = records(term=integers(1, 2), value=optional(self.value))
        self.log = family(sequences(self.value, most=3), self.node, initial=lambda n: ("v2",) * (n == "n2"))
        self.entries = variable(sequences(self.entry, most=2))
        self.seen = variable(self.entry, initial={"term": one_of(1, 2)})
        self.voted = family(subsets(self.node), self.node, initial=anything)
        self.vote = variable(optional(self.node))
        self.place = variable(integers(0, 3), initial=anything)
        self.on = variable(BOOL)
        self.tell = channel(
            "tell", "n1", "n2", about={"of": self.value}, says={"entry": self.value}, lossy=True
        )
        self.ask = channel("ask", self.node, self.node, says={"term": integers(1, 2)}, if_sent="skip")
        self.queue = queues(self.node, [self.tell, self.ask], room=2)


def some_updates(s: Mixed, chance: random.Random) -> list[Any]:
    """Return an update of a composite, or two of one, each under a condition or not."""
    log = s.log[chance.choice(["n1", "n2"])]
    places: list[TermLike] = [1, 2, s.place, s.place + 1]
    place = chance.choice(places)
    values: list[TermLike] = ["v1", "v2", last(s.log["n1"])]
    value = chance.choice(values)
    record: Any = chance.choice(
        [s.seen, last(s.entries), s.entry(term=2, value=chance.choice([lift("none"), lift(value)]))]
    )
    when: Term = chance.choice([TRUE, TRUE, s.on, length(log) > 1, s.place == 2])
    makers: list[Callable[[Term], object]] = [
        lambda c: log.append(value, c),
        lambda c: log.truncate(chance.choice([0, 1, s.place]), c),
        lambda c: log.set(chance.choice([s.log["n1"], sequence_of(s.value, value, "v2")]), c),
        lambda c: log[place].set(value, c),
        lambda c: s.entries.append(record, c),
        lambda c: s.entries.truncate(1, c),
        lambda c: s.entries[place].term.set(2, c),
        lambda c: s.entries[2].value.set("none", c),
        lambda c: s.seen.set(record, c),
        lambda c: s.voted["n1"].set(s.voted["n2"] - set_of(s.node, "n1"), c),
        lambda c: s.vote.set(chance.choice(["none", "n2"]), c),
    ]
    chosen = chance.choice(makers)
    return [chosen(when), chosen(~when)] if when is not TRUE and chance.random() < 0.5 else [chosen(when)]


def some_messages(s: Mixed, chance: random.Random) -> list[Any]:
    """Return messages to send, some of them under a condition."""
    when = chance.choice([TRUE, s.on, length(s.log["n1"]) > 0])
    told = s.tell.send(chance.choice(["v1", "v2"]), when=when, entry=last(s.log["n1"]))
    asked = s.ask.send("n1", chance.choice(["n1", "n2"]), when=when, term=2)
    return chance.choice([[], [told], [asked], [told, asked]])


def some_system(seed: int) -> System:
    """Return a system of a few random actions."""
    s, chance = Mixed(), random.Random(seed)

    def act(s: Mixed) -> Action:
        return Action(
            when=chance.choice([TRUE, s.on, length(s.log["n1"]) > 0]),
            then=some_updates(s, chance),
            actor="a",
            received=chance.choice([None, None, None, s.tell.deliver("v1"), s.ask.deliver("n1", "n2")]),
            sent=some_messages(s, chance),
        )

    return System(s, tuple(replace(each(act, s), name=f"act {number}") for number in range(4)))


def test_random_updates_are_not_trivial() -> None:
    """Otherwise no action of the generated systems would change a composite, or each would be refused."""
    done = bad = 0
    for seed in range(40):
        for outcome in _executed(some_system(seed), range(2)):
            done, bad = done + (not outcome), bad + bool(outcome)
    assert done > 60 and bad > 20


def _executed(system: System, seeds: range) -> Iterator[str]:
    """Yield each step of random executions: why it is badly defined, or an empty text."""
    concrete = Concrete(system)
    beginnings = Beginnings(concrete)
    for seed in seeds:
        chance = random.Random(seed)
        state = beginnings.draw(chance, {})
        for step in chance.choices(concrete.steps, k=10):
            if step.enabled(state):
                try:
                    state = step.after(state)
                    yield ""
                except BadlyDefined as error:
                    yield str(error)


# An item is set only where the sequence has one.


@pytest.mark.parametrize(("items", "position"), [(0, 1), (1, 1), (1, 2), (2, 2)])
def test_an_item_is_set_only_where_the_sequence_has_one(items: int, position: int) -> None:
    s = Mixed()
    lengths = {"log_length": items, "entries_length": items, "place": position}
    state = bytes(lengths.get(v.family.name, 0) for v in s.variables)
    setters: list[Callable[[Mixed], Any]] = [
        lambda s: s.log["n1"][position].set("v2"),
        lambda s: s.entries[position].term.set(2),
        lambda s: s.log["n1"][s.place].set("v2"),
    ]
    for setter in setters:
        system = System(s, (each(partial(_setting, setter), s),))
        (step,) = Concrete(system).steps
        if position <= items:
            assert step.after(state) != state
        else:
            with pytest.raises(BadlyDefined, match=r"sets (log|entries) beyond its length"):
                step.after(state)


def _setting(setter: Callable[[Mixed], Any], s: Mixed) -> Action:
    return Action(then=[setter(s)], actor="a")


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (lambda s: s.log_length["n1"].set(1), "the length of log follows from its items"),
        (lambda s: s.entries_length.set(1), "the length of entries follows from its items"),
        (lambda s: s.tell_entry["v1"].set("v2"), "is a part of the channel tell, which its messages change"),
        (lambda s: s.tell_sent["v1"].set(False), "is a part of the channel tell"),
        (lambda s: s.ask_received["n1", "n2"].set(True), "is a part of the channel ask"),
    ],
)
def test_a_part_that_is_not_set_alone_is_refused_in_one_line(
    mistake: Callable[[Any], object], said: str
) -> None:
    with pytest.raises(TypeError, match=said) as refused:
        mistake(Mixed())
    assert "\n" not in str(refused.value)


# Planted mistakes.


def an_item_is_set_anywhere(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: an item is set behind the end."""
    plant.setattr(SequenceFamily, "alone", lambda self, part, value: value)


def truncated_items_stay(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: the length falls, and the items stay."""
    plant.setattr(
        SequenceVariable, "truncate", lambda self, to, when=True: (assigned(self._length, to, when),)
    )


def items_stay_when_the_sequence_is_set(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: an update of the whole sequence sets its length alone."""
    made = SequenceVariable._made

    def shorter(
        self: SequenceVariable, of: Term, item: Callable[[Term], Any], when: Any
    ) -> tuple[Update, ...]:
        return made(self, of, item, when)[:1]

    plant.setattr(SequenceVariable, "_made", shorter)


def a_message_says_something_unsent(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: the content is kept although the message is not sent."""
    marks = Channel._marks

    def always(self: Channel, index: Any, when: Term, says: Any) -> tuple[Update, ...]:
        sent, *rest = marks(self, index, when, says)
        return (sent, *(Update(update.target, update.value, TRUE) for update in rest))

    plant.setattr(Channel, "_marks", always)


def a_queue_has_a_gap(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a message enters a queue at its last place, behind places without one."""

    def gap(self: _Changes) -> Iterator[Update]:
        return (assigned(message.places[-1], message.number, message.enters) for message in self.added)

    plant.setattr(_Changes, "updates", property(gap))


@pytest.mark.parametrize(
    "mistake",
    [
        an_item_is_set_anywhere,
        truncated_items_stay,
        items_stay_when_the_sequence_is_set,
        a_message_says_something_unsent,
        a_queue_has_a_gap,
    ],
)
def test_a_mistake_in_the_language_is_noticed_by_both_readings(
    mistake: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake(monkeypatch)
    systems = [some_system(seed) for seed in range(60)]
    assert any(map(breaking, systems))
    said = (line for system in systems for line in _executed(system, range(20)))
    assert any("breaks the canonical form of " in line for line in said)
