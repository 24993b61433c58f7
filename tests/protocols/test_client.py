"""The client (layers): adds that wait, changes that are refused, and chains of changes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from preset_instances import ONE_OF_TWO

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.fold import constants
from fencepost.encoding.language.terms import Family
from fencepost.encoding.language.traces import Trace
from fencepost.properties.catalogue import find
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
CHAINED: Settings = {
    **ONE_OF_TWO,
    "entries": 3,
    "inflight": 3,
    "fragments": 3,
    "chained_changes": "one-difference",
}
TWO_PLACES: Settings = {
    **CHAINED,
    "bookies": 4,
    "ensemble": 2,
    "write_quorum": 2,
    "fragments": 4,
}
AND_BACK: tuple[Step, ...] = (
    ("create ledger",),
    ("push", 1, 1),
    ("push", 1, 2),
    ("begin change", "w", 1, 1, "b1"),
    ("note failure", "w", 1, 2, "b1"),
    ("commit and continue", "w", 1, "b1", "b2", 1),
    ("push", 2, 3),
    ("note failure", "w", 2, 3, "b2"),
    ("continue change", "w", 2, 1),
    ("commit change", "w", 2, "b2", "b1"),
)
"""b1 is replaced by b2 and b2 by b1, and the comparison finds no difference."""

GAVE_ACK: tuple[Step, ...] = (
    ("create ledger",),
    ("push", 1, 1),
    ("begin change", "w", 1, 1, "b1"),
    ("note failure", "w", 1, 1, "b2"),
    ("commit and continue", "w", 1, "b1", "b3", 2),
    ("push", 2, 2),
    ("push", 2, 3),
    ("handle add", "w", 2, 2, "b3"),
    ("receive ack", "w", 2, 2, "b3"),
    ("note failure", "w", 2, 3, "b3"),
    ("commit and continue", "w", 2, "b2", "b4", 1),
    ("commit change", "w", 3, "b3", "b1"),
)
"""b3 stands in the ensemble for a while, acknowledges entry 2, and is replaced by b1, whom it replaced."""

REFUSED: tuple[Step, ...] = (
    *CHANGE[:4],
    ("begin recovery", "r1"),
    ("abandon change", "w", 1, "b1"),
    ("push", 1, 2),
)

LATE: Settings = {
    "bookies": 3,
    "ensemble": 2,
    "write_quorum": 2,
    "ack_quorum": 1,
    "entries": 2,
    "add_ensemble": "when-made",
    "acks_after_change": "next-answer",
}
CHAINED_LATE: Settings = {**CHAINED, "acks_after_change": "next-answer"}
IDLE: tuple[Step, ...] = (
    ("create ledger",),
    ("push", 1, 1),
    ("handle add", "w", 1, 1, "b2"),
    ("receive ack", "w", 1, 1, "b2"),
    ("begin change", "w", 1, 1, "b1"),
    ("commit change", "w", 1, "b1", "b3"),
    ("push", 1, 2),
    ("handle add", "w", 1, 2, "b2"),
    ("ignore failure", "w", 1, 2, "b1"),
)
"""b1 was replaced while entry 2 waited to be queued, and now fails entry 2: a change begins."""

IDLE_ACK: Step = ("receive ack", "w", 1, 2, "b2")
IDLE_END: Step = ("end idle change", "w", 2)

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
    return violates("adds-answered", settings, steps)


def violates(name: str, settings: Settings, steps: Sequence[Step]) -> bool:
    """Return whether the property is false after the last of these steps."""
    replayer, _ = replayer_of(tuple(settings.items()))
    (prop,) = (p for p in replayer.system.properties if p.name == name)
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
    assert {state.queued_in, state.dropped, *of_chains(state)} <= set(constants(off.system))
    on, state = replayer_of(tuple({**STALE, "refused_change": "continues"}.items()))
    assert not {state.queued_in, state.dropped} & set(constants(on.system))
    chained, state = replayer_of(tuple(CHAINED.items()))
    assert not of_chains(state) & set(constants(chained.system))


def of_chains(state: Ledger) -> set[Family]:
    return {state.held, state.ack_at, state.noted, state.idle, state.followed}


def test_two_fragments_have_no_chain() -> None:
    """Planted: the rule applies with two fragments too, and every release costs more."""
    replayer, _ = replayer_of(tuple({**CHAINED, "fragments": 2}.items()))
    assert replayer.system.find("note failure", ["w", "1", "1", "b1"]) is None


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
    ("a failure is noted", CHAINED, AND_BACK[:5], False),
    ("the chain goes on", CHAINED, AND_BACK[:6], False),
    ("a bookie left and came back", CHAINED, AND_BACK, True),
    ("an idle change is under way", LATE, [*IDLE, IDLE_ACK], False),
    ("the last ack came within an idle change", LATE, [*IDLE, IDLE_ACK, IDLE_END], True),
    ("the last ack came after an idle change", LATE, [*IDLE, IDLE_END, IDLE_ACK], False),
    ("the end acknowledges", {**LATE, "acks_after_change": "with-change"}, [*IDLE, IDLE_ACK], False),
    ("a chain ends where it began", CHAINED_LATE, AND_BACK, True),
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


@pytest.mark.slow
def test_the_end_of_a_chain_sends_again_where_the_ensemble_differs_from_the_first() -> None:
    """Planted: the comparison is with the ensemble before the last change."""
    trace, state = recorded(TWO_PLACES, GAVE_ACK)
    sent = [(m.receiver, dict(m.fields)["entry"]) for m in trace.steps[-1].sent]
    assert sent == [("b4", 1), ("b4", 2), ("b4", 3)]
    assert trace.value(state.acked, "w", 2, "b3")


@pytest.mark.slow
def test_an_entry_is_lost_with_the_ack_of_a_bookie_that_left_again() -> None:
    """Planted: the end of a chain withdraws the acks of all bookies that left during the chain."""
    acked: list[Step] = [("handle add", "w", 4, 1, "b4"), ("receive ack", "w", 4, 1, "b4")]
    lost = [*GAVE_ACK, *acked]
    assert violates("ack-quorum-reached", TWO_PLACES, lost)
    assert violates("acked-entries-readable", TWO_PLACES, lost)


@pytest.mark.slow
def test_an_ack_of_a_position_that_changed_is_withdrawn() -> None:
    """Planted: acks stay at the end of a chain."""
    steps = [
        *GAVE_ACK[:7],
        ("handle add", "w", 1, 1, "b2"),
        ("handle add", "w", 2, 2, "b2"),
        ("receive ack", "w", 2, 2, "b2"),
        ("note failure", "w", 2, 3, "b3"),
        *GAVE_ACK[10:],
    ]
    trace, state = recorded(TWO_PLACES, steps)
    assert not trace.value(state.acked, "w", 2, "b2")
    assert trace.value(state.ack_at, "w", 2, 2) == "none"


def test_an_answer_counts_by_the_ensemble_that_the_add_holds() -> None:
    """Planted: an answer counts by the current ensemble."""
    four = {**CHAINED, "entries": 4, "inflight": 4}
    steps = [*AND_BACK[:7], ("push", 2, 4), ("note failure", "w", 2, 4, "b2"), *AND_BACK[8:]]
    late: list[Step] = [("handle add", "w", 2, 3, "b2"), ("receive ack", "w", 2, 3, "b2")]
    trace, state = recorded(four, [*steps, *late])
    assert trace.value(state.ack_at, "w", 3, 1) == "b2"


def test_an_entry_that_a_change_blocked_is_acknowledged_at_the_next_answer() -> None:
    """Planted: the commit acknowledges, and the new fragment's first answer does not."""
    settings = {**LATE, "add_ensemble": "when-queued"}
    changed: list[Step] = [
        *IDLE[:3],
        ("begin change", "w", 1, 1, "b1"),
        ("receive ack", "w", 1, 1, "b2"),
        ("commit change", "w", 1, "b1", "b3"),
    ]
    answered: list[Step] = [("handle add", "w", 2, 1, "b3"), ("receive ack", "w", 2, 1, "b3")]
    for steps, lac in ((changed, 0), ([*changed, *answered], 1)):
        replayer, state = replayer_of(tuple(settings.items()))
        after = replayer.follow(actions_of(replayer, steps), ())[-1]
        assert replayer.concrete.evaluate(state.lac("w"), {}, after) == lac
    replayer, state = replayer_of(tuple({**settings, "acks_after_change": "with-change"}.items()))
    after = replayer.follow(actions_of(replayer, changed), ())[-1]
    assert replayer.concrete.evaluate(state.lac("w"), {}, after) == 1


def test_the_end_of_a_change_acknowledges_if_it_passes_an_entry_of_another_write_set() -> None:
    """Planted: the end never acknowledges."""
    striped = {**TWO, "bookies": 3, "ensemble": 2, "acks_after_change": "next-answer", "inflight": 2}
    steps: list[Step] = [
        ("create ledger",),
        ("push", 1, 1),
        ("push", 1, 2),
        ("begin change", "w", 1, 2, "b2"),
        ("handle add", "w", 1, 1, "b1"),
        ("receive ack", "w", 1, 1, "b1"),
        ("commit change", "w", 1, "b2", "b3"),
    ]
    replayer, state = replayer_of(tuple(striped.items()))
    after = replayer.follow(actions_of(replayer, steps), ())[-1]
    assert replayer.concrete.evaluate(state.lac("w"), {}, after) == 1
