"""Deletion of a closed ledger with an old writer (layers/deletion): who still takes its adds."""

from __future__ import annotations

from functools import cache

import pytest

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.errors import BadInput
from fencepost.properties.catalogue import find
from fencepost.properties.instances import ALL_ONE
from fencepost.protocols.bookkeeper.state import Ledger
from support.instances import built

Step = tuple[object, ...]

CLOSED: tuple[Step, ...] = (
    ("create ledger",),
    ("begin recovery", "r1"),
    ("handle fence", "r1", "b1"),
    ("receive fence answer", "r1", "b1"),
    ("send reads", "r1", 1),
    ("handle read", "r1", 1, "b1"),
    ("receive read answer", "r1", 1, "b1"),
    ("finish recovery", "r1", 1),
)
DELETE, COLLECT, RESTART = ("delete ledger",), ("collect", "b1"), ("restart", "b1")
ADD: tuple[Step, ...] = (("push", 1, 1), ("handle add", "w", 1, 1, "b1"))


@cache
def replayer_of(memory: str) -> tuple[Replayer, Ledger]:
    given = {**ALL_ONE, "deletions": 1, "restarts": 1, "deletion_memory": memory}
    instance = find("bookkeeper").instance(given.items())
    assert isinstance(instance.system.state, Ledger)
    return Replayer(instance.system, instance.subject), instance.system.state


def takes_add(steps: tuple[Step, ...], memory: str) -> bool:
    """Return whether the bookie stores the old writer's add after these steps."""
    replayer, s = replayer_of(memory)
    found = [replayer.system.find(str(a), [str(x) for x in given]) for a, *given in (*steps, *ADD)]
    assert None not in found
    state = replayer.follow([a for a in found if a is not None], ())[-1]
    return replayer.concrete.evaluate(s.stored["b1", 1], {}, state) == 1


@pytest.mark.parametrize(
    ("steps", "takes"),
    [
        ((), {"none": False, "until-restart": False, "for-good": False}),
        ((DELETE,), {"none": False, "until-restart": False, "for-good": False}),
        ((DELETE, COLLECT), {"none": True, "until-restart": False, "for-good": False}),
        ((DELETE, COLLECT, RESTART), {"none": True, "until-restart": True, "for-good": False}),
        ((RESTART, DELETE, COLLECT), {"none": True, "until-restart": True, "for-good": False}),
        ((DELETE, RESTART), {"none": False, "until-restart": False, "for-good": False}),
    ],
)
def test_a_bookie_takes_an_old_add_once_it_has_forgotten_the_deletion(
    steps: tuple[Step, ...], takes: dict[str, bool]
) -> None:
    """Planted: a restart drops the fence; the memory does not need an open handle."""
    assert {memory: takes_add((*CLOSED, *steps), memory) for memory in takes} == takes


def test_only_a_closed_ledger_is_deleted_and_only_what_is_known_is_collected() -> None:
    """Planted: the guards of `delete ledger` and of `collect` left out."""
    for steps in ((*CLOSED[:2], DELETE), (*CLOSED, COLLECT), (*CLOSED, DELETE, COLLECT, COLLECT)):
        with pytest.raises(NotAnExecution):
            takes_add(steps, "none")


def test_without_deletions_there_is_no_state_variable_of_the_layer() -> None:
    """Planted: a state variable that is declared always."""
    off, _ = built("bookkeeper", ALL_ONE)
    on, _ = built("bookkeeper", {**ALL_ONE, "deletions": 1})
    names = [{v.name.split("[")[0] for v in s.variables} for s in (off, on)]
    assert names[1] - names[0] == {"deleted", "opened", "remembers"}
    new = {schema.name for schema in on.schemas} - {schema.name for schema in off.schemas}
    assert new == {"delete ledger", "collect"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"deletion_memory": "none"}, "deletion_memory without deletions changes nothing"),
        ({"deletions": 2}, "deletions <= 1"),
        ({"deletions": 1, "forces": 1}, "deletions and forces exclude each other"),
        ({"restarts": 1}, "restarts without a storage or deletions changes nothing"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        find("bookkeeper").instance({**ALL_ONE, **settings}.items())
