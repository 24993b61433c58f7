"""Random systems with channels: every engine against plain exploring, and against a network by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from fencepost.encoding.language import Channel, Message, Term, TermLike
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
from support.varied import Truth, by_rounds, explored


def network_differs(seed: int, truth: Truth) -> bool:
    """Return whether the system differs if its network is written by hand, without choices."""
    other = explored(messaging.generate(seed, by_hand=True))
    if other is None or truth.badly_defined or other.badly_defined:
        return other is not None and truth.badly_defined is not other.badly_defined
    return other != truth


@seeds_of_each_tier(1, 9, 2_000)
def test_every_engine_and_a_network_by_hand_agree(seeds: range) -> None:
    for seed, system, truth in accepted(seeds, messaging.generate):
        assert not network_differs(seed, truth), seed
        assert not proves_what_is_false(system, truth), seed
        assert not rounds_differ(system, truth), seed
        assert not ic3_differs(system, truth), seed
        assert not verdict_differs(system, truth), seed


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


Plant = Callable[[pytest.MonkeyPatch], None]
PLANTED: Mapping[Plant, int] = {
    a_loss_does_not_stop_a_message: 5,
    a_condition_on_sending_is_dropped: 31,
    a_condition_is_asked_of_the_whole_step: 39,
    messages_overtake_each_other: 96,
    later_messages_may_be_sent_first: 96,
    a_lost_message_holds_up_the_others: 123,
}
"""Each mistake, with the first seed whose system shows it."""


def shows(seed: int) -> bool:
    """Return whether the system of a seed differs from the one with the network by hand."""
    return any(network_differs(seed, truth) for _, _, truth in accepted([seed], messaging.generate))


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__)
def test_a_planted_mistake_is_shown_by_a_system(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not shows(PLANTED[plant])
    plant(monkeypatch)
    assert shows(PLANTED[plant])
