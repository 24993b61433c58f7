"""The rounds reach the same states as exploring.

If the normal form drops an execution, or a round allows a step that is none, a state is missing or extra.
Each planted mistake below must fail this check.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fencepost.encoding.check import check
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Fewest, Verdict
from fencepost.encoding.formulas.commutation import Commutation
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.system import System
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.rounds import round_solver
from fencepost.encoding.rounds.unrolling import Unrolling
from fencepost.encoding.solving.clauses import Clause
from fencepost.properties.catalogue import find
from support.bare import Bare
from support.exploration import explore
from support.generated import by_seeds, compare, fewest_steps, generate

SEEDS = range(120)
TINY = (
    ("bookkeeper-4.13", "bookies=1 ensemble=1 write_quorum=1 ack_quorum=1", 206),
    pytest.param(
        "bookkeeper-4.13",
        "bookies=1 ensemble=1 write_quorum=1 ack_quorum=1 entries=2",
        2098,
        marks=pytest.mark.slow,
    ),
    ("bookkeeper-4.13-tla", "bookies=1 ensemble=1 write_quorum=1 ack_quorum=1", 137),
    pytest.param(
        "bookkeeper-4.13-tla",
        "bookies=2 ensemble=2 write_quorum=2 ack_quorum=1",
        4225,
        marks=pytest.mark.slow,
    ),
)
"""Shipped instances and the number of their states, which changes if the model does."""


def instance(name: str, settings: str) -> System:
    protocol = find(name)
    pairs = (text.split("=") for text in settings.split())
    return protocol.system(protocol.parameters((name, value) for name, value in pairs))


@pytest.mark.parametrize(("name", "settings", "states"), TINY)
def test_shipped_instances_agree_state_by_state(name: str, settings: str, states: int) -> None:
    system = instance(name, settings)
    choices = [v.place for v in system.choices]
    explored = {bytes(c for p, c in enumerate(v.state) if p not in choices) for v in explore(system)}
    assert len(explored) == states
    assert compare(system).agree


@pytest.mark.slow
def test_an_instance_with_a_spare_bookie_agrees_state_by_state() -> None:
    assert compare(instance("bookkeeper-4.13", "bookies=2 ensemble=1 write_quorum=1 ack_quorum=1")).agree


@by_seeds(40, len(SEEDS))
def test_generated_systems_agree_state_by_state_and_are_not_trivial(seeds: range) -> None:
    deep = 0
    for seed in seeds:
        comparison = compare(generate(seed))
        assert comparison.agree, f"seed {seed}: {comparison}"
        deep += comparison.rounds >= 3
    assert deep >= len(seeds) // 4, (
        f"only {deep} of {len(seeds)} need 3 rounds or more: the sample tests too little"
    )


@by_seeds(20, 30)
def test_verdicts_and_fewest_steps_of_generated_systems_agree_with_exploring(seeds: range) -> None:
    violated = 0
    for seed in seeds:
        system = generate(seed, posts=True)
        fewest = fewest_steps(system)
        result = check(Bare(system, Subject("generated", {}, {})), system.properties, Limits(jobs=1)).results[
            0
        ]
        if fewest is None:
            assert result.verdict is Verdict.PROVED, f"seed {seed}: {result}"
        else:
            assert (result.verdict, result.steps, result.fewest) == (
                Verdict.VIOLATED,
                fewest,
                Fewest.OF_ALL,
            ), f"seed {seed}"
            violated += 1
    assert violated >= len(seeds) // 5, f"only {violated} are violated: the sample tests too little"


# Planted mistakes.


class OwnSlotLeftOut(Unrolling):
    """A planted mistake: its own firing is no reason for an action, so it cannot fire twice in a row."""

    def normal_form(self, round_: int) -> Iterator[Clause]:
        for slot, clause in enumerate(super().normal_form(round_)):
            yield [literal for literal in clause if literal != self.fire(slot, round_ - 1)]


class IntervalStartsTooLate(Unrolling):
    """A planted mistake: the slot right after one's own, a round earlier, does not count."""

    def normal_form(self, round_: int) -> Iterator[Clause]:
        slots = len(self.template.fires)
        for slot, clause in enumerate(super().normal_form(round_)):
            left_out = self.fire(slot + 1, round_ - 1) if slot + 1 < slots else 0
            yield [literal for literal in clause if literal != left_out]


class IntervalEndsTooEarly(Unrolling):
    """A planted mistake: the slot right before one's own, in the same round, does not count."""

    def normal_form(self, round_: int) -> Iterator[Clause]:
        for slot, clause in enumerate(super().normal_form(round_)):
            left_out = self.fire(slot - 1, round_) if slot else 0
            yield [literal for literal in clause if literal != left_out]


class Reversed(Commutation):
    """A planted mistake: "a may move left past b" is taken for "b may move left past a"."""

    def may_move_left(self, b: int, a: int) -> bool:
        return super().may_move_left(a, b)


@pytest.mark.parametrize("mistake", [OwnSlotLeftOut, IntervalStartsTooLate, IntervalEndsTooEarly])
def test_a_mistake_in_the_normal_form_is_noticed(
    mistake: type[Unrolling], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(round_solver, "Unrolling", mistake)
    assert any(not compare(generate(seed)).agree for seed in SEEDS)


def test_commutation_taken_the_wrong_way_round_is_noticed() -> None:
    assert any(not compare(generate(seed), commutation=Reversed).agree for seed in SEEDS)


def test_a_wrong_answer_about_one_pair_is_noticed() -> None:
    # Planted: one answer at a time that says "may be swapped" of a pair that may not.
    for seed in SEEDS:
        system = generate(seed)
        blockers = Commutation(Symbolic(system)).blockers()
        for pair in [(b, a) for b, slots in enumerate(blockers) for a in slots if a != b]:
            if not compare(system, commutation=mistaken_about(pair)).agree:
                return
    pytest.fail("no wrong answer about any generated system was noticed")


def mistaken_about(pair: tuple[int, int]) -> type[Commutation]:
    """Return the relation in which the first of two slots may move left past the second."""

    class Mistaken(Commutation):
        def may_move_left(self, b: int, a: int) -> bool:
            return (b, a) == pair or super().may_move_left(b, a)

    return Mistaken
