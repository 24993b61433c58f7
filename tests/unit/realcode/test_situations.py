"""Situations with which conformance runs begin: each is possible, and each is met."""

from __future__ import annotations

import itertools
import re

import pytest

from fencepost.realcode import runs
from fencepost.realcode.conformance import grounds
from fencepost.realcode.drive.actions import DRIVEN
from fencepost.realcode.run_instances import CHAINED, Settings
from fencepost.realcode.runs import Ground, random_runs
from fencepost.realcode.situations import SITUATIONS, Situation

OF_CHAINS = ("a failure during a change", "a change that replaces nothing")


@pytest.fixture(scope="module")
def chained() -> Ground:
    (ground,) = grounds("bookkeeper", CHAINED, "sorted", "4.18.0")
    return ground


def names(ground: Ground) -> list[str]:
    """Return the names of the situations that are possible on an instance."""
    of = {s.actions(ground.instance.system.ground_actions): s.name for s in SITUATIONS}
    return [of[beginning.actions] for beginning in ground.situations]


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "release"), [("bookkeeper", "4.18.0"), ("bookkeeper-4.13", "4.13.0")])
def test_each_situation_is_possible_on_some_instance_of_the_runs(protocol: str, release: str) -> None:
    """Planted: a step whose bookie is not in the ensemble."""
    settings: tuple[Settings, ...] = (
        {},
        {"readers": 1},
        {"readers": 1, "way_to_read": "batch"},
        {"forces": 1, "power_losses": 1},
        {"given_ids": 1},
    )
    found = (grounds(protocol, asked, "sorted", release) for asked in settings)
    possible = {name for ground in itertools.chain(*found) for name in names(ground)}
    assert possible == {situation.name for situation in SITUATIONS}


def test_each_step_of_a_situation_is_an_action_that_is_driven() -> None:
    """Planted: a misspelt action."""
    known = [step for s in SITUATIONS for step in s.steps if any(map(step.startswith, DRIVEN))]
    assert known == [step for s in SITUATIONS for step in s.steps]


def test_each_situation_names_the_rule_that_it_exercises() -> None:
    assert all(re.match(r"[A-Z]\w+\.\w+: ", situation.rule) for situation in SITUATIONS)


def test_a_situation_is_left_out_where_the_model_or_the_code_cannot_take_it(
    chained: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: a beginning is used without being followed. The run would then be no execution."""
    early = Situation("early", "", ["create ledger", "handle add w 1 1 b1"])
    unknown = Situation("unknown", "", ["create ledger", "push 1 7"])
    good = Situation("good", "", ["create ledger", "push 1 1", "handle add w 1 1 b1"])
    monkeypatch.setattr(runs, "SITUATIONS", (early, unknown, good))
    (beginning,) = Ground(chained.instance).situations
    assert len(beginning.actions) == 3


def test_every_second_run_begins_with_a_situation_each_in_turn(chained: Ground) -> None:
    """Planted: the first situation begins all of them, or the other runs begin with one too."""
    several = itertools.islice(random_runs([chained], 3), 2 * len(chained.situations))
    drawn = [run for _, run in several]
    begun = [
        {b.actions for b in chained.situations if run.actions[: len(b.actions)] == b.actions} for run in drawn
    ]
    assert set(OF_CHAINS) <= set(names(chained))
    assert set.union(*begun[1::2]) == {b.actions for b in chained.situations}
    assert all(chained.followed(run) for run in drawn)


def test_an_instance_of_its_own_has_the_situations_that_fit() -> None:
    (ground,) = grounds(
        "bookkeeper", {"bookies": 1, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1}, "db", "4.18.0"
    )
    assert ground.situations == ()
