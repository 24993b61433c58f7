"""BookKeeper 4.13 and its model, apart from the known bugs.

tests/protocols/test_known_bugs.py and properties/expected have the bugs.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.solving.solvers import SOLVERS
from fencepost.properties.catalogue import find
from fencepost.protocols.bookkeeper.state import Ledger
from fencepost.protocols.bookkeeper.values import WRITER, Phase
from support.exploration import explore
from support.instances import TWO_BOOKIES, actions, built, checked, checked_all, nearest_violation, number
from support.tiers import each_third

TINY = {"bookies": 1, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1}
TWO_OF_ONE = {"bookies": 2, "ensemble": 2, "write_quorum": 2, "ack_quorum": 1}
DEFECT_2 = {"bookies": 2, "ensemble": 1, "write_quorum": 1, "ack_quorum": 1, "entries": 2}
FENCED = {"recovery_reads_fence": "yes"}


LOSING = [(TWO_BOOKIES, 13), ({}, 17)]
"""Instances that lose data, with the steps of the shortest violation."""

BY_TIER = [pytest.param(*LOSING[0], marks=pytest.mark.slow), pytest.param(*LOSING[1], marks=pytest.mark.long)]


@pytest.mark.parametrize(("instance", "steps"), BY_TIER)
@pytest.mark.parametrize("solver", each_third(SOLVERS))
def test_every_solver_comes_to_the_same_verdicts(
    solver: str, instance: Mapping[str, object], steps: int
) -> None:
    limits = Limits(jobs=1, solver=solver)
    assert checked("bookkeeper-4.13", instance, "no-divergence", limits).steps == steps
    mended = checked("bookkeeper-4.13", {**instance, **FENCED}, "no-divergence", limits)
    assert mended.verdict is Verdict.PROVED


@pytest.mark.parametrize(("instance", "steps"), BY_TIER)
@pytest.mark.parametrize("limits", [Limits(seed=7), Limits(jobs=1)], ids=["seed", "one job"])
def test_a_seed_and_a_single_job_change_no_verdict(
    limits: Limits, instance: Mapping[str, object], steps: int
) -> None:
    assert checked("bookkeeper-4.13", instance, "no-divergence", limits).steps == steps
    mended = checked("bookkeeper-4.13", {**instance, **FENCED}, "no-divergence", limits)
    assert mended.verdict is Verdict.PROVED


SMALLER = [
    {**DEFECT_2, "bookies": 1},
    pytest.param({**DEFECT_2, "entries": 1}, marks=pytest.mark.slow),
    pytest.param({**DEFECT_2, "fragments": 1}, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("settings", SMALLER)
def test_the_documented_instance_of_defect_2_is_the_smallest(settings: Mapping[str, object]) -> None:
    result = checked("bookkeeper-4.13", settings, "valid-fragments")
    never = result.verdict is Verdict.VACUOUS and str(result.reason).startswith("never reached: ")
    assert (
        never or result.verdict is Verdict.PROVED or (result.verdict is Verdict.VACUOUS and result.complete)
    )


@pytest.mark.slow
def test_exploring_finds_the_data_loss_in_17_steps_too() -> None:
    assert nearest_violation("bookkeeper-4.13", {}, "no-divergence") == 17


@pytest.mark.slow
def test_exploring_finds_the_loss_of_3_3_3_in_15_steps_too() -> None:
    assert nearest_violation("bookkeeper-4.13", {"ack_quorum": 3}, "no-divergence") == 15


@pytest.mark.slow
def test_exploring_finds_the_data_loss_of_the_tla_preset_in_15_steps_too() -> None:
    assert nearest_violation("bookkeeper-4.13-tla", TWO_BOOKIES, "no-divergence") == 15
    assert checked("bookkeeper-4.13-tla", TWO_BOOKIES, "no-divergence").steps == 15


@pytest.mark.parametrize(
    "settings",
    [TWO_OF_ONE, *(pytest.param(s, marks=pytest.mark.long) for s in ({}, DEFECT_2 | {"fragments": 2}))],
)
def test_the_lac_never_falls(settings: Mapping[str, object]) -> None:
    """The LAC is computed from acks, which is right only if no action lowers it."""
    system, _ = built("bookkeeper-4.13", settings)
    assert isinstance(system.state, Ledger)
    concrete = Concrete(system)
    lacs = [concrete.function(system.state.lac(str(client)), {}) for client in system.state.client]
    seen: dict[State, list[int]] = {}
    for visit in itertools.islice(explore(system), 20_000):
        after = seen[visit.state] = [number(lac(visit.state)) for lac in lacs]
        if visit.parent is None or visit.action is None or visit.action.schema.name == "receive fence answer":
            continue  # a recoverer's LAC starts at the value in the fencing answers
        before = seen[visit.parent]
        assert all(b <= a for b, a in zip(before, after, strict=True)), visit.action.name


REFUSED = """create ledger
push: 1 1
handle add: w 1 1 b1
begin recovery: r1
handle fence: r1 b2
handle add: w 1 1 b2
receive fenced: w 1 1 b2"""


@pytest.mark.parametrize(
    ("protocol", "acked", "phase"),
    [
        ("bookkeeper", False, Phase.CLOSING),
        ("bookkeeper", True, Phase.ACTIVE),
        ("bookkeeper-4.13-tla", True, Phase.GONE),
    ],
)
def test_a_refusal_stops_the_writer_only_if_it_still_needs_that_ack(
    protocol: str, acked: bool, phase: Phase
) -> None:
    """A random run on 4.17.4 showed this difference.

    The model's writer, like that of the module, stopped at every refusal.
    """
    system, parameters = built(protocol, TWO_OF_ONE)
    assert isinstance(system.state, Ledger)
    steps = REFUSED.splitlines()
    if acked:
        steps.insert(3, "receive ack: w 1 1 b1")
    replayer = Replayer(system, find(protocol).subject(parameters))
    states = replayer.follow(actions(system, steps), ())
    assert replayer.concrete.evaluate(system.state.phase[WRITER], {}, states[-1]) == phase


DECIDED = [
    pytest.param({"inflight": 1}, id="what bookkeeper-tlaplus ships: N=4, 3/3/2, L=1"),
    pytest.param({"bookies": 3, "write_quorum": 2, "entries": 2}, id="3/2/2, L=2"),
    pytest.param({"bookies": 5, "ensemble": 5, "entries": 2}, id="5/3/2, L=2"),
]


@pytest.mark.long
@pytest.mark.parametrize("settings", DECIDED)
def test_todays_code_is_decided_completely(settings: Mapping[str, object]) -> None:
    names = ("no-divergence", "acked-entries-readable", "ack-quorum-reached", "recovery-can-finish")
    verdicts = {result.verdict for result in checked_all("bookkeeper", settings, names)}
    assert verdicts == {Verdict.PROVED}


def test_exploring_finds_what_a_rule_without_stripes_misses_in_6_steps_too() -> None:
    striped = {"bookies": 2, "ensemble": 2, "write_quorum": 1, "ack_quorum": 1, "coverage": "pr-2281"}
    assert nearest_violation("bookkeeper", striped, "fencing-is-enough") == 6
    assert checked("bookkeeper", striped, "fencing-is-enough").steps == 6


def test_exploring_finds_the_forgotten_fence_in_12_steps_too() -> None:
    alone = {**TINY, "fence_on_unclean_shutdown": "no"}
    assert nearest_violation("bookkeeper-no-journal", alone, "no-divergence") == 12
    assert checked("bookkeeper-no-journal", alone, "no-divergence").steps == 12
