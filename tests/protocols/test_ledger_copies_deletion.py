"""A deletion and the copies that come back: the write cache, the memory, restarts, and the mends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.language.system import System, choose
from fencepost.encoding.mutation.mutants import changed, mutants
from fencepost.properties.ledger_copies.safety import re_replication_can_finish
from support.exploration import explore
from support.instances import built, happens, nearest_violation

Settings = Mapping[str, object]

COPIES = "ledger-copies"
ONE_COPY: Settings = {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "workers": 0}
CACHE: Settings = {**ONE_COPY, "storage": "write-cache"}
SWAP: Settings = {**CACHE, "deletion_mark": "until-swap"}
CHECKPOINT: Settings = {**CACHE, "deletion_mark": "until-checkpoint"}
REMEMBERS: Settings = {**ONE_COPY, "remembers_deleted": "yes"}


def recovered(target: str) -> list[str]:
    """Return the steps of a recovery that copies the only entry to that bookie."""
    return [f"recover bookie: o1 1 1 {target}", "copy entry: o1 1", "update ensemble: o1 1"]


DELETED = [*recovered("b2"), "begin collecting: b1", "collect: b1"]
"""A recovery moves the entry from b1 to b2, and b1 deletes its copy."""


def loses(settings: Settings, *steps: str) -> bool:
    """Return whether the steps are possible after the deletion and lose the copy at the end."""
    return happens(COPIES, settings, "copies-complete", [*DELETED, *steps])


@pytest.mark.parametrize("settings", [SWAP, CHECKPOINT], ids=str)
def test_the_flush_drops_a_copy_that_came_back_before_it(settings: Settings) -> None:
    assert loses(settings, *recovered("b1"), "flush: b1")


def test_a_checkpoint_that_writes_nothing_keeps_the_mark_since_4_15_1() -> None:
    """The mark ended at this checkpoint up to 4.15.0, and the mend needs none."""
    steps = ["pass over: b1", *recovered("b1"), "flush: b1"]
    assert loses(SWAP, *steps)
    assert not loses(CHECKPOINT, *steps)


def test_a_checkpoint_that_writes_something_ends_the_mark() -> None:
    assert not loses(SWAP, "flush: b1", *recovered("b1"), "flush: b1")


@pytest.mark.parametrize("settings", [SWAP, CHECKPOINT], ids=str)
def test_a_restart_before_the_flush_saves_the_copy(settings: Settings) -> None:
    """The journal is replayed, and nothing in memory says that the ledger was deleted."""
    assert not loses(settings, *recovered("b1"), "stop: b1", "come back: b1", "flush: b1")
    assert nearest_violation(COPIES, settings, "copies-complete") == 9


@pytest.mark.parametrize(
    ("settings", "states"),
    [
        pytest.param(CACHE, 3_080, marks=pytest.mark.slow),
        pytest.param(SWAP, 6_912, marks=pytest.mark.slow),
        pytest.param(CHECKPOINT, 5_760, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_the_states_reached_are_as_many_as_ever(settings: Settings, states: int) -> None:
    assert sum(1 for _ in explore(built(COPIES, settings)[0])) == states


def violated(system: System, prop: str) -> bool:
    """Return whether a reachable state violates the property."""
    holds = Concrete(system).predicate(choose(system, (prop,))[0].holds)
    return any(not holds(visit.state) for visit in explore(system))


# The memory of deleted ledgers.


def is_stuck(settings: Settings, *steps: str) -> bool:
    """Return whether the steps are possible and leave a re-replication that cannot finish."""
    return happens(COPIES, settings, "re-replication-can-finish", steps)


def test_a_bookie_refuses_a_ledger_that_it_has_deleted_until_it_restarts() -> None:
    refused = [*DELETED, "recover bookie: o1 1 1 b1"]
    assert is_stuck(REMEMBERS, *refused)
    assert not is_stuck({**REMEMBERS, "remembers_deleted": "no"}, *refused)
    assert not is_stuck(REMEMBERS, *DELETED, "stop: b1", "come back: b1", "recover bookie: o1 1 1 b1")


def test_a_bookie_that_was_restarted_before_the_deletion_remembers_nothing() -> None:
    assert not is_stuck(REMEMBERS, "stop: b1", "come back: b1", *DELETED, "recover bookie: o1 1 1 b1")


def test_with_another_spare_bookie_a_new_attempt_helps() -> None:
    assert not is_stuck({**REMEMBERS, "bookies": 3}, *DELETED, "recover bookie: o1 1 1 b1")


def test_a_restarted_bookie_loses_the_copy_all_the_same() -> None:
    settings = {**SWAP, "remembers_deleted": "yes"}
    steps = ["stop: b1", "come back: b1", *DELETED, *recovered("b1"), "flush: b1"]
    assert happens(COPIES, settings, "copies-complete", steps)
    assert nearest_violation(COPIES, settings, "copies-complete") == len(steps)


def test_a_target_that_never_answers_is_noticed_without_a_memory() -> None:
    """Planted: an action that copies nothing. The property then does not hold of any instance."""
    system, _ = built(COPIES, ONE_COPY)
    assert not violated(system, "re-replication-can-finish")
    never = replace(system, actions=tuple(a for a in system.schemas if a.name != "copy entry"))
    holds = Concrete(never).predicate(re_replication_can_finish(never).holds)
    assert not all(holds(visit.state) for visit in explore(never))


# Planted mistakes, each in the mend: an update of `copy entry` is left out.


@pytest.mark.slow
def test_the_mend_needs_both_marks_to_end() -> None:
    system, _ = built(COPIES, CACHE)
    ends = [
        mutant
        for mutant in mutants(system)
        if mutant.part == "update"
        and mutant.action == "copy entry"
        and mutant.text.startswith(("dropping[b1]", "cleaning[b1]"))
    ]
    assert len(ends) == 2
    assert [violated(changed(system, mutant), "copies-complete") for mutant in ends] == [True, True]
    assert not violated(system, "copies-complete")
