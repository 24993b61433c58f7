"""Random systems with channels: every engine against plain exploring, and against a network by hand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.errors import ModelError
from fencepost.encoding.formulas.sendings import sent_at_most_once
from fencepost.encoding.language import Channel, Message, Term, TermLike, if_
from fencepost.encoding.language.messages import Queued
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import TRUE
from fencepost.encoding.solving.answers import SpentError
from support import messaging
from support.against_exploring import (
    accepted,
    ic3_differs,
    proves_what_is_false,
    rounds_differ,
    seeds_of_each_tier,
    verdict_differs,
)
from support.exploration import explore
from support.varied import MOST_STATES, by_rounds

Reached: TypeAlias = Mapping[tuple[object, ...], int]
"""The visible parts of the reachable states, with the fewest steps. Empty if a step is badly defined."""


def reached(system: System, names: Collection[str]) -> Reached | None:
    """Return the values of these variables, and the messages, in the reachable states. None if too many."""
    concrete, found = Concrete(system), dict[tuple[object, ...], int]()
    places = [v.place for name in sorted(names) for v in system.variables if v.name == name]
    seen = [concrete.predicate(term) for term in messaging.seen(system)]
    try:
        for count, visit in enumerate(explore(system)):
            if count == MOST_STATES:
                return None
            values = (visit.state[place] for place in places)
            found.setdefault((*values, *(holds(visit.state) for holds in seen)), visit.steps)
    except ModelError:
        return {}
    return found


def network_differs(seed: int) -> bool:
    """Return whether the system reaches other states if its network is written by hand, without choices."""
    systems = [messaging.generate(seed, by_hand) for by_hand in (False, True)]
    ours, theirs = ({v.name for v in system.variables} for system in systems)
    with_channels, by_hand = (reached(system, ours & theirs) for system in systems)
    return None not in (with_channels, by_hand) and with_channels != by_hand


@seeds_of_each_tier(2, 9, 2_000)
def test_every_engine_and_a_network_by_hand_agree(seeds: range) -> None:
    for seed, system, truth in accepted(seeds, messaging.generate):
        assert not network_differs(seed), seed
        assert not proves_what_is_false(system, truth), seed
        assert not rounds_differ(system, truth), seed
        assert not ic3_differs(system, truth), seed
        assert not verdict_differs(system, truth), seed


def test_no_system_is_refused() -> None:
    """Otherwise the comparison above would leave out an option, or two that go together."""
    for seed in range(20):
        sent_at_most_once(messaging.generate(seed))


@pytest.mark.slow
def test_rounds_answer_for_most_systems() -> None:
    """Otherwise the comparison above would leave rounds out."""
    systems = [system for _, system, _ in accepted(range(40), messaging.generate)]
    left_out = 0
    for system in systems:
        try:
            by_rounds(system)
        except SpentError:
            left_out += 1
    assert left_out * 4 < len(systems)


# Planted mistakes.


def a_loss_does_not_stop_a_message(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a lost message is received."""
    plant.setattr(Channel, "under_way", lambda self, *index: self.is_sent(*index) & ~self.is_received(*index))


def a_condition_on_sending_is_dropped(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a message is marked as sent although the condition is false."""
    marks = Channel._marks
    plant.setattr(Channel, "_marks", lambda self, index, when, says: marks(self, index, TRUE, says))


def a_condition_is_asked_of_the_whole_step(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a step is not enabled if it would not send."""
    send = Channel.send

    def strict(self: Channel, *index: TermLike, when: Any = True, **says: TermLike) -> Message:
        message = send(self, *index, when=when, **says)
        assert message.effect is not None
        return replace(message, effect=replace(message.effect, guard=message.effect.guard & when))

    plant.setattr(Channel, "send", strict)


def messages_overtake_each_other(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: the order of a channel is ignored at the receiver."""
    plant.setattr(Channel, "_earlier_ones_gone", lambda self, index: iter(()))


def later_messages_may_be_sent_first(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: the order of a channel is ignored at the sender."""
    plant.setattr(Channel, "_later_ones_unsent", lambda self, index: iter(()))


def a_lost_message_holds_up_the_others(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a channel with an order waits for a message that is lost."""
    gone = Channel._earlier_ones_gone

    def waits(self: Channel, index: tuple[TermLike, ...]) -> Any:
        if self.order is None:
            return gone(self, index)

        def there(*other: TermLike) -> Term:
            return self.is_sent(*other) & ~self.is_received(*other)

        return iter([~self._some(index, lambda own, other: other < own, there)])

    plant.setattr(Channel, "_earlier_ones_gone", waits)


def the_second_message_of_a_queue_is_received(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a queue that has two messages delivers the second one."""

    def is_second(self: Queued) -> Term:
        first, *rest = self.places
        return (
            if_(rest[0] == 0, first == self.number, rest[0] == self.number) if rest else first == self.number
        )

    plant.setattr(Queued, "is_first", property(is_second))


def a_loss_removes_nothing(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a lost message takes its place in the queue and is received."""
    send = Channel.send
    plant.setattr(Channel, "under_way", lambda self, *index: self.is_sent(*index) & ~self.is_received(*index))

    def enters(self: Channel, *index: TermLike, **given: Any) -> Message:
        message = send(self, *index, **given)
        if message.effect is None or message.effect.queued is None:
            return message
        queued = replace(message.effect.queued, enters=message.when)
        return replace(message, effect=replace(message.effect, queued=queued))

    plant.setattr(Channel, "send", enters)


def a_message_may_be_sent_twice(plant: pytest.MonkeyPatch) -> None:
    """Plant a mistake: a channel with once=True lets a step send a message that was sent."""
    send = Channel.send

    def again(self: Channel, *index: TermLike, **given: Any) -> Message:
        once, self.once = self.once, False
        try:
            return send(self, *index, **given)
        finally:
            self.once = once

    plant.setattr(Channel, "send", again)


Plant = Callable[[pytest.MonkeyPatch], None]
PLANTED: Mapping[Plant, int] = {
    a_loss_does_not_stop_a_message: 0,
    a_condition_on_sending_is_dropped: 1,
    a_condition_is_asked_of_the_whole_step: 1,
    messages_overtake_each_other: 10,
    later_messages_may_be_sent_first: 10,
    a_lost_message_holds_up_the_others: 0,
    the_second_message_of_a_queue_is_received: 8,
    a_loss_removes_nothing: 0,
    a_message_may_be_sent_twice: 1,
}
"""Each mistake, with the first seed whose system shows it."""


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_mistake_is_shown_by_a_system(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not network_differs(PLANTED[plant])
    plant(monkeypatch)
    assert network_differs(PLANTED[plant])
