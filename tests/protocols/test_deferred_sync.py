"""A writer with DEFERRED_SYNC (layers/deferred_sync): the promise of a force, and two ways to break it."""

from __future__ import annotations

from functools import cache

import pytest
from preset_instances import ALL_ONE

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.state import Ledger
from support.instances import built

Step = tuple[object, ...]

LOSE = ("lose power", "b1")
ADD: tuple[Step, ...] = (
    ("create ledger",),
    ("push", 1, 1),
    ("handle add", "w", 1, 1, "b1"),
    ("receive ack", "w", 1, 1, "b1"),
)
FORCE: tuple[Step, ...] = (
    ("send force", 1),
    ("handle force", 1, "b1"),
    ("receive force answer", 1, "b1"),
)
FENCE: tuple[Step, ...] = (("begin recovery", "r1"), ("handle fence", "r1", "b1"))
MENDED = {"force_counts": "same-boot", "force_after_close": "fails"}


@cache
def replayer_of(**settings: object) -> tuple[Replayer, Ledger]:
    """Return a replayer of one bookie, with one force and one loss of power."""
    given = {**ALL_ONE, "forces": 1, "power_losses": 1, **settings}
    instance = find("bookkeeper").instance(given.items())
    assert isinstance(instance.system.state, Ledger)
    return Replayer(instance.system, instance.subject), instance.system.state


def after(steps: tuple[Step, ...], **settings: object) -> tuple[Replayer, Ledger, State]:
    """Return the state after these steps."""
    replayer, state = replayer_of(**settings)
    actions = [replayer.system.find(str(action), [str(a) for a in arguments]) for action, *arguments in steps]
    assert None not in actions
    return replayer, state, replayer.follow([a for a in actions if a is not None], ())[-1]


def lac_and_copy(steps: tuple[Step, ...], **settings: object) -> tuple[object, object]:
    """Return the writer's LAC after these steps, and the content of the only copy of the entry."""
    replayer, s, state = after(steps, **settings)
    evaluate = replayer.concrete.evaluate
    return evaluate(s.lac("w"), {}, state), evaluate(s.stored["b1", 1], {}, state)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (ADD, (0, 1)),
        ((*ADD, LOSE), (0, 0)),
        ((*ADD, ("sync journal", "b1"), LOSE), (0, 1)),
        ((*ADD, *FORCE), (1, 1)),
        ((*ADD, *FORCE, LOSE), (1, 1)),
        ((*ADD, *FORCE[:2], LOSE, FORCE[2]), (1, 1)),
        ((*ADD, *FENCE, LOSE), (0, 1)),
        ((*ADD, LOSE, *FORCE), (1, 0)),
    ],
)
def test_an_ack_moves_no_lac_and_a_force_keeps_what_the_bookie_still_has(
    steps: tuple[Step, ...], expected: tuple[int, int]
) -> None:
    """The last line is the loss. Planted: the LAC follows the acks; a force that syncs nothing."""
    assert lac_and_copy(steps) == expected


def test_the_mends_refuse_the_answer() -> None:
    """Planted: same-boot compares with the boot at the end, and not with that of the force."""
    closed = (*ADD, *FORCE[:2], ("close ledger",), FORCE[2])
    assert lac_and_copy(closed) == (1, 1)
    assert lac_and_copy((*ADD, *FORCE[:2], LOSE, FORCE[2]), **MENDED) == (1, 1)
    for steps in ((*ADD, LOSE, *FORCE), closed):
        with pytest.raises(NotAnExecution):
            after(steps, **MENDED)


def test_a_force_on_its_way_is_lost_with_the_power_and_needs_an_acknowledged_entry() -> None:
    """Planted: the guard of `send force` without its second part."""
    for steps in ((*ADD, FORCE[0], LOSE, FORCE[1]), (*ADD[:3], FORCE[0])):
        with pytest.raises(NotAnExecution):
            after(steps)


REFUSED: tuple[Step, ...] = (
    *ADD,
    ("push", 1, 2),
    FORCE[0],
    *FENCE,
    ("handle add", "w", 1, 2, "b1"),
    ("receive fenced", "w", 1, 2, "b1"),
)


def test_a_refused_writer_closes_at_the_lac_that_it_had_though_a_force_succeeds_meanwhile() -> None:
    """Planted: it closes at its LAC of the close. Conformance runs departed: the code has begun to close."""
    steps = (*REFUSED, *FORCE[1:], ("close ledger",))
    replayer, s, state = after(steps, entries=2, inflight=2)
    assert [replayer.concrete.evaluate(term, {}, state) for term in (s.last_entry, s.lac("w"))] == [0, 1]
    with pytest.raises(NotAnExecution):
        after(steps, entries=2, inflight=2, force_after_close="fails")


def test_a_writer_with_forces_changes_no_ensemble_and_a_recoverer_does() -> None:
    system, _ = built("bookkeeper", {**ALL_ONE, "bookies": 2, "forces": 1})
    (commit,) = (schema for schema in system.schemas if schema.name == "commit change")
    assert commit.parameters[0].sort.name == "recoverer"


def test_without_forces_there_is_no_state_variable_of_the_layer() -> None:
    """Planted: a state variable that is declared always."""
    off, _ = built("bookkeeper", ALL_ONE)
    on, _ = built("bookkeeper", {**ALL_ONE, "forces": 1})
    names = [{v.name.split("[")[0] for v in (*s.variables, *s.choices)} for s in (off, on)]
    assert names[1] - names[0] == {
        *("forced", "force_sent", "force_end", "force_handled", "force_answered", "force_dropped"),
        *("force_boot", "add_boot", "boot", "power_lost", "synced", "force_lost", "force_answer_lost"),
        "refused_at",
    }
    new = {schema.name for schema in on.schemas} - {schema.name for schema in off.schemas}
    assert new == {"send force", "handle force", "receive force answer"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"power_losses": 1}, "power_losses without a writer with DEFERRED_SYNC changes nothing"),
        ({"force_counts": "same-boot"}, "force_counts without a writer with DEFERRED_SYNC changes nothing"),
        ({"forces": 1, "crashes": 1}, "excludes other crashes"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        find("bookkeeper").instance({**ALL_ONE, **settings}.items())
