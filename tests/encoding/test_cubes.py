"""Cubes: what a check comes to in parts is what it comes to in one, and a part that is missing is noticed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.encoding.engine.check import check
from fencepost.encoding.engine.joining import CubeAnswer, Joined, join, uncovered
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Fewest, Result, Verdict
from fencepost.encoding.errors import InternalError
from fencepost.encoding.formulas.commutation import Commutation
from fencepost.encoding.formulas.one_round import template
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.formulas.templates import Template
from fencepost.encoding.language.system import System
from fencepost.encoding.language.traces import Subject
from fencepost.encoding.rounds.cubes import FIRST, Cube, candidates, split
from fencepost.encoding.rounds.round_solver import RoundSolver
from fencepost.encoding.rounds.unrolling import Early, Unrolling
from fencepost.encoding.solving.clauses import Clause
from support.generated import compare, generate
from support.instances import ONE_PROCESS, TWO_BOOKIES, built, in_cubes


def whole(system: System, limits: Limits = ONE_PROCESS) -> Result:
    """The answer without cubes."""
    return check(system, Subject("", {}, {}), system.properties[:1], limits).results[0]


def bookkeeper(fences: str) -> System:
    return built("bookkeeper-4.13", {**TWO_BOOKIES, "recovery_reads_fence": fences})[0]


HOLDS, VIOLATED = "yes", "no"
SAID = {HOLDS: Verdict.PROVED, VIOLATED: Verdict.VIOLATED}


@pytest.mark.parametrize("fences", SAID)
@pytest.mark.parametrize("most", [1, *(pytest.param(most, marks=pytest.mark.slow) for most in (2, 5))])
def test_a_tiny_instance_in_cubes(fences: str, most: int) -> None:
    system = bookkeeper(fences)
    answers = in_cubes(system, most)
    assert len(answers) == most
    joined, result = join(answers), whole(system, replace(ONE_PROCESS, engines=("rounds",)))
    assert joined.verdict is result.verdict is SAID[fences]
    if fences == HOLDS:
        assert (joined.refuted, joined.covered, joined.complete) == (most, True, True)
        assert joined.rounds == max(result.rounds, FIRST - 1)
    else:
        assert answers[joined.decisive].verdict is Verdict.VIOLATED


LIMITS = [replace(ONE_PROCESS, rounds=rounds) for rounds in (None, 2, 1)]
LIMITS.append(replace(ONE_PROCESS, bound=4))


@pytest.mark.slow
@settings(max_examples=10, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), most=st.integers(2, 4), limits=st.sampled_from(LIMITS))
def test_generated_systems_come_to_the_same(seed: int, most: int, limits: Limits) -> None:
    system = generate(seed)
    assert join(in_cubes(system, most, limits)).verdict is whole(system, limits).verdict


@pytest.mark.slow
def test_the_generated_systems_are_not_trivial() -> None:
    """Some split into cubes that need different numbers of rounds."""
    depths = [{a.rounds for a in in_cubes(generate(seed), 2)} for seed in range(8)]
    assert sum(len(rounds) == 2 for rounds in depths) >= 2, depths


def test_a_system_that_goes_on_for_ever_is_not_split() -> None:
    system = generate(3, ends=False)
    (only,) = in_cubes(system, 8, replace(ONE_PROCESS, rounds=3))
    assert only.cube == ()


# Coverage.


def test_a_missing_cube_is_noticed() -> None:
    answers = in_cubes(bookkeeper(HOLDS), 5)
    assert join(answers).verdict is Verdict.PROVED
    for missing in range(5):
        rest = [a for number, a in enumerate(answers) if number != missing]
        with pytest.raises(InternalError, match="the cubes do not cover everything: none has"):
            join(rest)


@pytest.mark.parametrize(
    ("cubes", "hole"),
    [
        ([()], None),
        ([("+a",), ("-a",)], None),
        ([("+a",), ("-a", "+b"), ("-b",)], None),
        ([], []),
        ([("+a",)], ["-a"]),
        ([("+a", "+b"), ("-a", "-b"), ("-a", "+b")], ["+a", "-b"]),
        ([("+a within 1 round",), ("-a within 2 rounds",)], ["-a within 1 round", "+a within 2 rounds"]),
        ([("+a",), ("--a",)], ["-a", "+-a"]),
    ],
)
def test_what_is_in_no_cube(cubes: list[tuple[str, ...]], hole: list[str] | None) -> None:
    assert uncovered(cubes) == hole


class TooSoon(Unrolling):
    """A slot that is to fire in one of the first rounds must fire in the very first: a planted mistake."""

    def early(self, literal: Early, round_: int) -> list[Clause]:
        return (
            [[self.fire(literal.slot, 1)]]
            if literal.fires and round_ == 1
            else super().early(literal, round_)
        )


SEEDS = range(40)


def in_four(made: Template) -> list[Cube]:
    return split(made, 4, None)


def all_but_one(made: Template) -> list[Cube]:
    return split(made, 4, None)[:-1]


@pytest.mark.slow
def test_the_cubes_of_generated_systems_reach_every_state() -> None:
    for seed in SEEDS:
        comparison = compare(generate(seed), cubes=in_four)
        assert comparison.agree, f"seed {seed}: {comparison}"


def test_a_cube_that_says_more_than_its_name_is_noticed() -> None:
    assert any(not compare(generate(seed), unrolling=TooSoon, cubes=in_four).agree for seed in SEEDS)


def test_states_of_a_missing_cube_are_noticed() -> None:
    assert any(not compare(generate(seed), cubes=all_but_one).agree for seed in SEEDS)


# Joining.

REFUTED = CubeAnswer(("+a",), Verdict.PROVED, 5, 5, complete=True, witness=True)
OTHER = replace(REFUTED, cube=("-a",), rounds=3, searched=3)
FOUND = CubeAnswer(("-a",), Verdict.VIOLATED, 2, 6, complete=True, witness=True, fewest=Fewest.OF_ALL)
LATE = CubeAnswer(("-a",), Verdict.UNDECIDED, 4, 4, reason="time-out after 1 s")


def joined(*answers: CubeAnswer) -> Joined:
    return join(answers)


def test_proved_only_if_every_cube_is_refuted() -> None:
    assert joined(REFUTED, OTHER).verdict is Verdict.PROVED
    assert joined(REFUTED, OTHER).rounds == 5
    late = joined(REFUTED, LATE)
    assert (late.verdict, late.refuted, late.searched) == (Verdict.UNDECIDED, 1, 4)
    assert late.reason == "1 of 2 cubes undecided; time-out after 1 s"


def test_a_cube_that_nothing_is_known_of_is_undecided_not_missing() -> None:
    killed = replace(LATE, cube=None, searched=0)
    assert (joined(REFUTED, killed).verdict, joined(REFUTED, killed).covered) == (Verdict.UNDECIDED, False)


def test_the_witness_is_reached_if_a_cube_reaches_it() -> None:
    vacuous = replace(OTHER, verdict=Verdict.VACUOUS, witness=False, reason="never reached")
    assert joined(REFUTED, vacuous).verdict is Verdict.PROVED
    nowhere = joined(replace(vacuous, cube=("+a",)), vacuous)
    assert (nowhere.verdict, nowhere.reason, nowhere.refuted) == (Verdict.VACUOUS, "never reached", 2)


def test_longer_executions_in_one_cube_are_longer_executions() -> None:
    holds = replace(OTHER, verdict=Verdict.HOLDS, complete=False)
    assert (joined(REFUTED, holds).verdict, joined(REFUTED, holds).complete) == (Verdict.HOLDS, False)
    vacuous = replace(OTHER, verdict=Verdict.VACUOUS, witness=False, surpassed=True)
    assert joined(replace(REFUTED, surpassed=False), vacuous).verdict is Verdict.HOLDS


def test_the_first_counterexample_in_the_order_of_cubes_decides() -> None:
    """Whatever came of the cubes after it: they may have been stopped."""
    third = replace(REFUTED, cube=("-a", "-b"))
    second = replace(FOUND, cube=("-a", "+b"))
    alone, followed = joined(REFUTED, second), joined(REFUTED, second, third)
    assert alone == followed == joined(REFUTED, second, replace(LATE, cube=("-a", "-b")))
    assert (alone.decisive, alone.verdict, alone.refuted) == (1, Verdict.VIOLATED, 1)


def test_fewest_is_claimed_only_if_the_other_cubes_are_refuted() -> None:
    assert joined(REFUTED, FOUND).fewest is Fewest.OF_ALL
    first = replace(FOUND, cube=("+a",))
    assert (joined(first, OTHER).fewest, joined(first, OTHER).complete) == (Fewest.WITHIN_CUBES, False)
    within = replace(first, fewest=Fewest.WITHIN_ROUNDS)
    assert joined(within, OTHER).fewest is None


def test_fewest_is_not_claimed_beside_a_cube_that_is_not_refuted_for_good() -> None:
    late = replace(LATE, cube=("+a",))
    assert (joined(late, FOUND).covered, joined(late, FOUND).fewest) == (True, None)
    holds = replace(REFUTED, verdict=Verdict.HOLDS, complete=False)
    assert joined(holds, FOUND).fewest == Fewest.WITHIN_ROUNDS
    assert joined(holds, replace(FOUND, cube=("-a", "+b"))).fewest is None


def test_of_the_two_halves_of_a_split_one_says_that_the_slot_fires() -> None:
    """Planted: both halves say that it does not, and no cube looks at executions in which it does."""
    symbolic = Symbolic(generate(1))
    made = template(symbolic, Commutation(symbolic).blockers(), {})
    for slot in candidates(made):
        for fires in (True, False):
            session = RoundSolver(made, "cadical", cube=(Early(slot, 2, fires),))
            session.deepen()
            session.deepen()
            does = [session.unrolling.fire(slot, r) for r in (1, 2)]
            assert session.solve([-literal for literal in does]) is not fires
            assert any(session.solve([literal]) for literal in does) is fires
