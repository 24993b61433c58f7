"""Today's BookKeeper refines its core: on a dozen instances, and not with a planted mistake."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from fencepost.cli.main import run
from fencepost.encoding.all_sizes.follower import Follower
from fencepost.encoding.all_sizes.refinement import ByValue, CoreStep, Refinement
from fencepost.encoding.all_sizes.refinement_check import Tied, Untied, check_refinement
from fencepost.encoding.concrete.random_executions import random_execution
from fencepost.encoding.language.terms import FALSE, TRUE
from fencepost.encoding.solving.answers import Deadline
from fencepost.properties.bookkeeper.refinement import ledger_refinement
from fencepost.properties.catalogue import find
from fencepost.properties.theorems import BOOKKEEPER
from fencepost.quorums.arithmetic import BP46
from fencepost.quorums.lemmas import LemmaJob, LemmaVerdict

SMALL = {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1}
SPARE = {"bookies": 3, "ensemble": 2, "write_quorum": 2, "ack_quorum": 2}
STRIPED = {"ensemble": 3, "write_quorum": 2, "ack_quorum": 2, "entries": 3}


def refinement(settings: Mapping[str, object], protocol: str = "bookkeeper") -> Refinement:
    return ledger_refinement(find(protocol).instance(settings.items()).system)


def tied(settings: Mapping[str, object], protocol: str = "bookkeeper") -> Tied | Untied:
    return check_refinement(refinement(settings, protocol), Deadline(600))


QUICK: list[Mapping[str, object]] = [SMALL, {"bookies": 3}, {**SMALL, "recoverers": 2}]
SLOW: list[Mapping[str, object]] = [
    {**SMALL, "entries": 2, "fragments": 3},
    {**SPARE, "entries": 2},
    {**SPARE, "recoverers": 2},
    {"bookies": 4},
    {"bookies": 4, "entries": 2, "recoverers": 2},
    {"bookies": 3, "entries": 3},
    {"bookies": 3, "unset_acks": "before-acking", **STRIPED},
    {"bookies": 4, "unset_acks": "before-acking", **STRIPED},
    {"bookies": 4, "fragments": 3, "recoverers": 2},
]


@pytest.mark.parametrize(
    "settings", [*QUICK, *(pytest.param(s, marks=pytest.mark.slow) for s in SLOW)], ids=str
)
def test_the_core_follows_every_action(settings: Mapping[str, object]) -> None:
    assert isinstance(tied(settings), Tied)


def test_one_action_is_several_steps_of_the_core() -> None:
    """So `refines`, which allows one step, is no mechanism for it: an ack may confirm two entries."""
    follower, chance = Follower(refinement({**SMALL, "entries": 2})), random.Random(0)
    most: dict[str, int] = {}
    for _ in range(40):
        execution = random_execution(follower.whole, chance, False)
        path = [(list(actions)[-1:], state) for actions, state in execution]
        for (_, before), ((action,), after) in pairwise(path):
            taken = follower.follow(before, action, after).steps
            most[action.schema.name] = max(most.get(action.schema.name, 0), len(taken))
    assert most["receive ack"] >= 2 and most["begin recovery"] == 2, most


def test_with_crashes_it_follows_into_limbo() -> None:
    assert isinstance(tied({}, "bookkeeper-no-journal"), Tied)


@pytest.mark.parametrize(
    ("settings", "action"),
    [
        ({"bookies": 4, **STRIPED, "unset_acks": "while-acking"}, "commit change"),
        ({"bookies": 3, "recovery_reads_fence": "no"}, "handle read"),
    ],
)
def test_a_known_bug_is_no_refinement(settings: Mapping[str, object], action: str) -> None:
    found = tied(settings)
    assert isinstance(found, Untied) and found.why.startswith(action)


def forgets_acks(right: Refinement) -> dict[str, Any]:
    return {"mapping": {**right.mapping, "acked": lambda *index: False}}


def stays_at_the_start(right: Refinement) -> dict[str, Any]:
    """Return a refinement that maps every state to the first one of the core, which never takes a step."""
    first = {v.name: value for v, (value,) in zip(right.core.variables, right.core.firsts, strict=True)}

    def constant(name: str) -> ByValue:
        def holds(*index: Any) -> Any:
            *at, value = index
            shown = f"{name}[{', '.join(map(str, at))}]" if at else name
            return TRUE if first[shown] == value else FALSE

        return ByValue(holds)

    def idle(*arguments: object) -> list[CoreStep]:
        return []

    return {
        "mapping": {name: constant(name) for name in right.mapping},
        "scripts": dict.fromkeys(right.scripts, idle),
    }


def stores_nothing(right: Refinement) -> dict[str, Any]:
    def none(*arguments: object) -> list[CoreStep]:
        return []

    return {"scripts": {**right.scripts, "handle add": none}}


def confirms_first(right: Refinement) -> dict[str, Any]:
    ack = right.scripts["receive ack"]
    return {"scripts": {**right.scripts, "receive ack": lambda *a: list(reversed(ack(*a)))}}


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (forgets_acks, "receive ack(w, 1, 1, b1): acked[w, 1, b1] is yes in the core and no by the mapping"),
        (stays_at_the_start, "no-divergence"),
        (stores_nothing, "handle add(w, 1, 1, b1): "),
        (confirms_first, "receive ack(w, 1, 1, b1): the core cannot take confirm(w, 1, {b1})"),
    ],
)
def test_a_planted_mistake_is_found(spoil: Any, reason: str) -> None:
    right = refinement(SMALL)
    found = check_refinement(replace(right, **spoil(right)), Deadline(600))
    assert isinstance(found, Untied) and reason in found.why


def test_a_core_whose_acks_stay_at_a_change_is_not_followed() -> None:
    from fencepost.properties.bookkeeper.core import with_properties
    from fencepost.protocols.bookkeeper.core import Core, core

    right = refinement(SMALL)
    state = right.core.state
    assert isinstance(state, Core)
    keeps = with_properties(core(replace(state.parameters, unset_acks="kept")))
    found = check_refinement(replace(right, core=keeps), Deadline(600))
    assert isinstance(found, Untied) and found.why.startswith("commit change")


@pytest.mark.slow
def test_the_theorem_is_proved_and_says_what_is_for_all_sizes() -> None:
    result = BOOKKEEPER.decide(LemmaJob(BP46, 3, Deadline(600), bookies=1))
    assert result.verdict is LemmaVerdict.PROVED
    every, each = result.basis.split("size by size: ")
    assert every.startswith("all sizes: ") and "on 1 instances" in each


def test_a_step_of_the_core_that_nothing_takes_makes_it_vacuous(monkeypatch: pytest.MonkeyPatch) -> None:
    """On an instance without a spare bookie no ensemble changes."""
    lonely = replace(BOOKKEEPER, shown_on=(("bookies", "3"),))
    monkeypatch.setattr("fencepost.properties.theorems.SIMULATIONS", 20)
    assert {"change ensemble", "change own ensemble"} <= lonely.untaken(Deadline(600))


def test_prove_names_what_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, reason in [
        (("slack", "--most-bookies", "2"), "--most-bookies 2: none of these is a theorem"),
        (("slack", "--set", "bookies=2"), "--set bookies=2: none of these is a theorem"),
        (("bookkeeper", "--set", "bookies=0"), "bookies=0: must be 1 or more"),
        (("bookkeeper", "--most-bookies", "0"), "--most-bookies 0: must be 1 or more"),
        (("bookkeeper", "--most-bookies", "2", "--set", "bookies=2"), "names one instance"),
    ]:
        assert run(["prove", *arguments]) == 2
        err = capsys.readouterr().err
        assert reason in err and err.count("\n") == 1


@pytest.mark.slow
def test_a_theorem_that_fails_on_an_instance_says_where(capsys: pytest.CaptureFixture[str]) -> None:
    sets = [f"--set={name}={value}" for name, value in {"bookies": 4, **STRIPED}.items()]
    assert run(["prove", "bookkeeper", *sets, "--format", "json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["results"]
    assert found["verdict"] == "refuted"
    assert found["counterexample"]["sentence"].startswith("commit change")
