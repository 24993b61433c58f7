"""The aims of random conformance runs, and the comparison of the adds that the code sends."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from preset_instances import ONE_OF_TWO

from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.traces import TraceStep
from fencepost.properties.catalogue import find
from fencepost.realcode.aims import SELDOM, Aims, aims
from fencepost.realcode.conformance import action_of, grounds, parameters_of
from fencepost.realcode.drive import writers
from fencepost.realcode.drive.code import Code, NoSeam, Parted
from fencepost.realcode.harness_session import Answer
from fencepost.realcode.run_instances import CHAINED, INSTANCES
from fencepost.realcode.runs import ENDINGS, Ground

NOTHING_PUT_OFF = Aims("withdraw", False, 0, False, None)
GROUND = Ground(find("bookkeeper").instance({**ONE_OF_TWO, "entries": 2}.items()))


def action(name: str, arguments: str = "") -> GroundAction:
    return action_of(GROUND, [name, *arguments.split()])


FROM_B1, FROM_B2 = action("handle add", "w 1 1 b1"), action("handle add", "w 1 1 b2")
CHANGED = action("commit change", "w 1 b1 b2")
PUSH, RECOVERY = action("push", "1 1"), action("begin recovery", "r1")


def chosen(
    aim: Aims, allowed: list[GroundAction], put_off: set[str], before: Sequence[GroundAction] = ()
) -> Counter[GroundAction]:
    """Return how often each of these actions is chosen, of 200 times."""
    chance = random.Random(1)
    return Counter(aim.chosen(before, allowed, chance, Counter(), put_off) for _ in range(200))


def test_the_messages_of_a_slow_bookie_come_late() -> None:
    """Planted: messages of all bookies are alike; then half of the choices are b1's."""
    both = [FROM_B1, FROM_B2]
    assert chosen(Aims("withdraw", False, 0, False, "b1"), both, set()) == {FROM_B2: 200}
    assert 60 < chosen(NOTHING_PUT_OFF, both, set())[FROM_B1] < 140


def test_a_change_waits_until_the_entry_above_a_lost_one_has_its_acks() -> None:
    """Planted: changes are not put off. Then the change seldom finds a later entry with acks."""
    aim = Aims("withdraw", True, 0, False, None, without_first="b2")
    choices = ["add_lost[w, 1, b1]", "add_lost[w, 1, b2]", "add_lost[w, 2, b2]", "add_lost[r1, 1, b2]"]
    assert aim.lost(random.Random(1), choices) == ("add_lost[w, 1, b2]",)
    acks = [action("receive ack", f"w 1 {entry} {bookie}") for entry in "12" for bookie in ("b1", "b2")]
    assert "begin recovery" in aim.put_off([], 0, ENDINGS, early=False)
    assert {"begin change", "begin recovery"} <= aim.put_off([PUSH, *acks[:3]], 0, ENDINGS, early=False)
    put_off = set(ENDINGS) - {"withdraw"}
    assert aim.put_off([PUSH, *acks], 0, ENDINGS, early=False) == {*put_off, "begin recovery"}
    assert aim.put_off([PUSH, *acks, CHANGED], 0, ENDINGS, early=False) == put_off


def test_a_bookie_crashes_seldom_before_it_has_something_to_lose() -> None:
    """Planted: crashes at any time. Then most come before the first add, and lose nothing."""
    crashing = Ground(
        find("bookkeeper").instance({**ONE_OF_TWO, "crashes": 1, "lose": "bare-fences"}.items())
    )
    crashes = [action_of(crashing, ["crash and restart", bookie]) for bookie in ("b1", "b2")]
    assert chosen(NOTHING_PUT_OFF, crashes, set(), [FROM_B1]) == {crashes[0]: 200}
    assert chosen(NOTHING_PUT_OFF, [PUSH, *crashes], set())[PUSH] > 180
    assert chosen(NOTHING_PUT_OFF, [PUSH, *crashes], set(), [FROM_B1])[PUSH] < 140


def test_an_action_that_is_put_off_is_chosen_seldom_and_alone_at_once() -> None:
    some = chosen(NOTHING_PUT_OFF, [PUSH, RECOVERY], {"begin recovery"})
    assert some[RECOVERY] < 200 * 4 * SELDOM
    assert chosen(NOTHING_PUT_OFF, [RECOVERY], {"begin recovery"}) == {RECOVERY: 200}


def test_recovery_waits_until_entries_are_acknowledged() -> None:
    aim = Aims("withdraw", False, 2, False, None)
    assert "begin recovery" in aim.put_off([], 1, ENDINGS, early=False)
    assert "begin recovery" not in aim.put_off([], 2, ENDINGS, early=False)


def test_pushes_wait_until_a_change_is_over() -> None:
    aim = Aims("withdraw", True, 0, False, None)
    before = [PUSH, action("begin change", "w 1 1 b1")]
    assert "push" in aim.put_off(before, 0, ENDINGS, early=False)
    assert "push" not in aim.put_off([*before, CHANGED], 0, ENDINGS, early=False)


def test_each_aim_is_drawn() -> None:
    chance = random.Random(1)
    drawn = [aims(chance, ENDINGS, Counter(), 3, ("b1", "b2")) for _ in range(60)]
    assert {aim.ending for aim in drawn} == set(ENDINGS)
    assert {aim.acknowledged for aim in drawn} == {0, 1, 2, 3}
    assert {aim.slow_bookie for aim in drawn} == {None, "b1", "b2"}
    assert {aim.without_first for aim in drawn} == {None, "b1", "b2"}
    for name in ("few_entries", "slow_metadata"):
        assert {getattr(aim, name) for aim in drawn} == {False, True}


@pytest.mark.parametrize("release", ["4.13.0", "4.17.4"])
def test_runs_follow_the_rules_of_the_release(release: str) -> None:
    """Planted: rules of the client are left at their defaults, which have the mends."""
    found = [parameters_of(one.instance) for one in grounds("bookkeeper", {}, "db", release)]
    assert len(found) == len(INSTANCES) + 1
    assert {(p.chained_changes, p.acks_after_change, p.refused_change, p.add_ensemble) for p in found} == {
        ("one-difference", "next-answer", "continues", "when-made")
    }
    assert [p.storage for p in found if p.storage != "any"] == ["db"]
    assert any(p.has_chains for p in found)


# What the code sends.


class Silent:
    """A session that answers nothing."""

    def ask(self, command: str, **arguments: object) -> Answer:
        return {}


def code_with(*steps: TraceStep) -> Code:
    return Code(Silent(), parameters_of(find("bookkeeper").instance(CHAINED.items())), steps)


def sent(client: str, to: str, entry: int) -> dict[str, object]:
    return {"id": 9, "client": client, "kind": "add", "to": to, "entry": entry - 1, "lac": -1}


def test_an_add_that_the_model_does_not_send_is_a_difference() -> None:
    """Planted: requests that no step of the model claims are ignored. An add to all bookies then agreed."""
    code = code_with()
    code.under_way["add", "w", "b1", 1, 1] = 1
    code.unclaimed.append(sent("w", "b1", 1))  # sent again to the same bookie
    code.unclaimed.append(sent("r1", "b2", 1))  # a recoverer's, which the model sends in the next step
    code.refuse_more()
    code.unclaimed.append(sent("w", "b2", 1))
    with pytest.raises(Parted, match="the code sent one more add of entry 1 from w to b2"):
        code.refuse_more()


def step(index: int, action: str) -> TraceStep:
    return TraceStep(index, action, {"client": "w"}, "w", None, (), "", {})


def test_an_idle_change_ends_in_the_step_that_begins_it_or_cannot_be_driven() -> None:
    first, other, end = step(1, "ignore failure"), step(2, "receive ack"), step(2, "end idle change")
    writers.end_idle_change(code_with(first, end), end)
    late = step(3, "end idle change")
    with pytest.raises(NoSeam, match="threads are at rest"):
        writers.end_idle_change(code_with(first, other, late), late)


def commit(client: str, failed: str, spare: str) -> TraceStep:
    return replace(
        step(1, "commit and continue"), arguments={"client": client, "failed": failed, "spare": spare}
    )


def test_a_change_places_a_bookie_outside_the_ensemble_that_its_client_knows() -> None:
    """Planted: the last ensemble seen in the metadata decides.

    It lacks the bookie of a change under way, and it has the bookies that a recoverer took.
    """
    assert code_with().spare_from(0) == "b3"
    assert code_with(commit("w", "b1", "b3")).spare_from(1) == "b1"
    code = code_with(commit("r1", "b2", "b3"))
    code.seen = {"metadata": {"fragments": [{"first": 0, "ensemble": ["b1", "b3"]}]}}
    assert code.spare_from(1) == "b3"
