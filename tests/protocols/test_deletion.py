"""Deletion of a closed ledger with an old writer (layers/deletion): who still takes its adds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from preset_instances import ALL_ONE

from fencepost.encoding.check import check
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.engine.limits import Limits, Minimize
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.terms import Term
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import Phase
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
FENCED_AGAIN: tuple[Step, ...] = (
    *(("create ledger",), ("begin recovery", "r1"), ("begin recovery", "r2")),
    *(("handle fence", "r1", "b1"), ("receive fence answer", "r1", "b1"), ("send reads", "r1", 1)),
    *(("handle read", "r1", 1, "b1"), ("receive read answer", "r1", 1, "b1"), ("finish recovery", "r1", 1)),
    *(("delete ledger",), ("collect", "b1"), ("handle fence", "r2", "b1")),
)
"""A second recoverer's fencing read comes after the bookie has deleted the ledger."""
ADD: tuple[Step, ...] = (("push", 1, 1), ("handle add", "w", 1, 1, "b1"))


@cache
def replayer_of(memory: str, flush: str = "always") -> tuple[Replayer, Ledger]:
    given = {**ALL_ONE, "recoverers": 2, "deletions": 1, "restarts": 1, "deletion_memory": memory}
    given |= {"flush_headers": flush}
    instance = find("bookkeeper").instance(given.items())
    assert isinstance(instance.system.state, Ledger)
    return Replayer(instance.system, instance.subject), instance.system.state


def takes_add(steps: tuple[Step, ...], memory: str, flush: str = "always") -> bool:
    """Return whether the bookie stores the old writer's add after these steps."""
    return after((*steps, *ADD), lambda s: s.stored["b1", 1] == 1, memory, flush)


def after(
    steps: tuple[Step, ...], asked: Callable[[Ledger], Term], memory: str, flush: str = "always"
) -> bool:
    """Return whether that holds after these steps."""
    replayer, s = replayer_of(memory, flush)
    found = [replayer.system.find(str(a), [str(x) for x in given]) for a, *given in steps]
    assert None not in found
    state = replayer.follow([a for a in found if a is not None], ())[-1]
    return bool(replayer.concrete.evaluate(asked(s), {}, state))


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


@pytest.mark.parametrize(
    ("steps", "flush", "fenced"),
    [
        ((*CLOSED, RESTART), "if-written", False),
        ((*CLOSED, RESTART), "always", True),
        ((*CLOSED[:1], *ADD, *CLOSED[1:3], RESTART), "if-written", True),
        ((*CLOSED, DELETE, COLLECT), "always", False),
    ],
)
def test_a_clean_restart_keeps_the_fence_that_its_flush_writes(
    steps: tuple[Step, ...], flush: str, fenced: bool
) -> None:
    """Planted: a restart keeps every fence, or none. An entry that was not flushed takes the fence along."""
    assert after(steps, lambda s: s.fenced["b1"], "until-restart", flush) is fenced


@pytest.mark.parametrize(
    ("memory", "fenced"), [("none", True), ("until-restart", False), ("for-good", False)]
)
def test_a_fencing_read_of_a_ledger_whose_deletion_is_remembered_sets_no_fence(
    memory: str, fenced: bool
) -> None:
    """Planted: `takes_fence` is true always. The code has neither a handle nor a fence then."""
    assert after(FENCED_AGAIN, lambda s: s.fenced["b1"], memory) is fenced
    assert after(FENCED_AGAIN, lambda s: s.opened["b1"], memory) is fenced


def test_a_recoverer_that_finds_the_ledger_deleted_fails_and_adopts_no_close() -> None:
    """Planted: the guard of `adopt close` without the deletion."""
    reads = ("receive fence answer", "handle read", "receive read answer")
    late: tuple[Step, ...] = (
        *FENCED_AGAIN,
        *(
            (reads[0], "r2", "b1"),
            ("send reads", "r2", 1),
            (reads[1], "r2", 1, "b1"),
            (reads[2], "r2", 1, "b1"),
        ),
    )
    with pytest.raises(NotAnExecution):
        after((*late, ("adopt close", "r2", 1)), lambda s: s.is_deleted(), "none")
    assert after((*late, ("fail recovery", "r2", 1)), lambda s: s.phase["r2"] == Phase.GONE, "none")


@pytest.mark.parametrize(("flush", "verdict"), [("if-written", Verdict.VIOLATED), ("always", Verdict.PROVED)])
def test_a_memory_on_disk_is_enough_only_if_restarts_keep_fences(flush: str, verdict: Verdict) -> None:
    """Planted: the mend of deleted-ledger-restart alone. A restart loses the fence before the deletion."""
    given = {**ALL_ONE, "deletions": 1, "restarts": 1, "deletion_memory": "for-good", "flush_headers": flush}
    instance = find("bookkeeper").instance(given.items())
    properties = instance.properties("none-acked-after-deletion")
    (result,) = check(instance, properties, Limits(minimize=Minimize.NONE).of(instance.system)).results
    assert result.verdict is verdict


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
    assert new == {"delete ledger", "collect", "fail recovery"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"deletion_memory": "none"}, "deletion_memory without deletions changes nothing"),
        ({"deletions": 2}, "deletions <= 1"),
        ({"deletions": 1, "forces": 1}, "deletions and forces exclude each other"),
        ({"deletions": 1, "flush_headers": "always"}, "flush_headers without a storage or restarts"),
        ({"restarts": 1}, "restarts without a storage or deletions changes nothing"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        find("bookkeeper").instance({**ALL_ONE, **settings}.items())
