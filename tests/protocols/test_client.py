"""The client (layers/stale_adds, layers/refused_changes): adds that wait, and changes that are refused."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.fold import constants
from fencepost.encoding.language.traces import Trace
from fencepost.properties.catalogue import find
from fencepost.properties.instances import ONE_OF_TWO
from fencepost.protocols.bookkeeper.state import Ledger

Step = tuple[object, ...]
Settings = dict[str, Any]

TWO = {**ONE_OF_TWO, "entries": 2}
STALE: Settings = {**TWO, "add_ensemble": "when-made"}
RACING: Settings = {**TWO, "lac_read_in_change": "racing"}
OPEN: Settings = {**TWO, "refused_change": "continues"}

CHANGE: tuple[Step, ...] = (
    ("create ledger",),
    ("push", 1, 1),
    ("handle add", "w", 1, 1, "b1"),
    ("begin change", "w", 1, 1, "b1"),
    ("commit change", "w", 1, "b1", "b2"),
)
REFUSED: tuple[Step, ...] = (
    *CHANGE[:4],
    ("begin recovery", "r1"),
    ("abandon change", "w", 1, "b1"),
    ("push", 1, 2),
)

HANDLED: Step = ("handle add", "w", 1, 2, "b1")
ACKED: Step = ("receive ack", "w", 1, 2, "b1")
GIVEN_UP: Step = ("ignore failure", "w", 1, 2, "b1")


@cache
def replayer_of(settings: tuple[tuple[str, object], ...]) -> tuple[Replayer, Ledger]:
    instance = find("bookkeeper").instance(settings)
    assert isinstance(instance.system.state, Ledger)
    return Replayer(instance.system, instance.subject), instance.system.state


def actions_of(replayer: Replayer, steps: Sequence[Step]) -> list[GroundAction]:
    found = [replayer.system.find(str(name), [str(one) for one in arguments]) for name, *arguments in steps]
    assert None not in found
    return [action for action in found if action is not None]


def recorded(settings: Settings, steps: Sequence[Step]) -> tuple[Trace, Ledger]:
    replayer, state = replayer_of(tuple(settings.items()))
    return replayer.record("steps", actions_of(replayer, steps), []), state


def waits_for_ever(settings: Settings, steps: Sequence[Step]) -> bool:
    """Return whether the property adds-answered is false after the last of these steps."""
    replayer, _ = replayer_of(tuple(settings.items()))
    (prop,) = (p for p in replayer.system.properties if p.name == "adds-answered")
    try:
        trace = replayer.replay(prop, actions_of(replayer, steps), [])
    except NotAnExecution:
        recorded(settings, steps)
        return False
    return len(trace.steps) == len(steps)


@pytest.mark.slow
def test_a_rule_that_is_off_costs_nothing() -> None:
    """The state variables of both rules are constant in the presets, so folding takes them away."""
    off, state = replayer_of(tuple(TWO.items()))
    assert {state.queued_in, state.dropped} <= set(constants(off.system))
    on, state = replayer_of(tuple({**STALE, "refused_change": "continues"}.items()))
    assert not {state.queued_in, state.dropped} & set(constants(on.system))


@pytest.mark.slow
def test_an_add_that_waited_goes_to_the_ensemble_of_the_moment_it_was_made() -> None:
    trace, _ = recorded(STALE, [*CHANGE, ("push", 1, 2)])
    assert [message.receiver for message in trace.steps[-1].sent] == ["b1"]
    # With the mend no execution has this step.
    with pytest.raises(NotAnExecution):
        recorded(TWO, [*CHANGE, ("push", 1, 2)])


@pytest.mark.slow
def test_the_next_change_withdraws_the_ack_of_the_position_whoever_gave_it() -> None:
    """Planted: only the ack of the bookie that is replaced now is withdrawn, as without waiting."""
    settings = {**STALE, "bookies": 3, "fragments": 3}
    stale = [*CHANGE, ("push", 1, 2), HANDLED, ACKED]
    trace, state = recorded(settings, stale)
    assert trace.value(state.acked, "w", 2, "b1")
    changed = [*stale, ("begin change", "w", 2, 1, "b2"), ("commit change", "w", 2, "b2", "b3")]
    trace, state = recorded(settings, changed)
    assert not trace.value(state.acked, "w", 2, "b1")
    assert trace.value(state.resent, "w", 3, 2)


def test_a_writer_that_continues_leaves_its_lac_where_it_was() -> None:
    """Planted: the change counts as over, and the add is acknowledged."""
    trace, state = recorded(
        OPEN, [*REFUSED, ("handle add", "w", 1, 2, "b1"), ("receive ack", "w", 1, 2, "b1")]
    )
    assert trace.value(state.frozen_lac, "w") == 0
    assert trace.value(state.failed, "w") == "b1"
    assert trace.value(state.dropped, "w") == 1


WAITING: list[tuple[str, Settings, Sequence[Step], bool]] = [
    ("a change is under way", TWO, CHANGE[:4], False),
    ("a change is about to begin", RACING, [*CHANGE[:2], ("read lac first", "w", 1, 1, "b1")], False),
    ("the new bookie may answer", TWO, CHANGE, False),
    ("an old bookie may answer", STALE, [*CHANGE, ("push", 1, 2)], False),
    (
        "an old bookie is given up",
        STALE,
        [*CHANGE, ("push", 1, 2), GIVEN_UP],
        True,
    ),
    ("a fence may come first", OPEN, REFUSED, False),
    ("an ack is under way", OPEN, [*REFUSED, HANDLED], False),
    ("the ack is received", OPEN, [*REFUSED, HANDLED, ACKED], True),
    ("the handle is closed", OPEN, [*REFUSED, HANDLED, ("close ledger",)], False),
]


@pytest.mark.parametrize(
    ("settings", "steps", "stuck"), [w[1:] for w in WAITING], ids=[w[0] for w in WAITING]
)
def test_an_add_waits_for_ever_only_if_nothing_can_answer_it(
    settings: Settings, steps: Sequence[Step], stuck: bool
) -> None:
    assert waits_for_ever(settings, steps) is stuck


def test_a_refusal_answers_the_adds_of_a_writer_that_continues() -> None:
    """Planted: a refusal leaves the later adds pending."""
    steps = [*REFUSED, ("handle fence", "r1", "b1"), HANDLED, ("receive fenced", "w", 1, 2, "b1")]
    trace, state = recorded(OPEN, steps)
    assert trace.value(state.dropped, "w") == 2
    assert not waits_for_ever(OPEN, steps)
