"""The readings of a question agree with each other and with trying all sets, or it is an internal error."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fencepost.encoding.errors import InternalError
from fencepost.encoding.solving.answers import Deadline, SolverGaveUpError
from fencepost.quorums import questions
from fencepost.quorums.questions import (
    Apart,
    AtLeastOf,
    AtMost,
    Constraint,
    SetQuestion,
    Sets,
    ask,
    ask_bitvectors,
    ask_cnf,
    holds,
    partition,
)
from fencepost.quorums.stripes import Configuration, Positions

SIZE = 3
SUBSETS = [frozenset(s) for size in range(SIZE + 1) for s in combinations(range(SIZE), size)]
NAMES = ("x", "y", "z")
CONFIGURATION = Configuration(SIZE, SIZE, 1)

positions = st.sets(st.integers(0, SIZE - 1)).map(lambda s: tuple(sorted(s)))
name = st.sampled_from(NAMES)
count = st.integers(-1, SIZE + 1)
constraints = st.one_of(
    st.builds(AtLeastOf, count, name, positions),
    st.builds(AtMost, count, name, positions),
    st.builds(Apart, name, name, positions),
)


def met(constraint: Constraint, sets: Sets) -> bool:
    """Return whether a constraint holds, evaluated position by position."""

    def within(of: str, among: Positions) -> int:
        return sum(1 for p in among if p in sets[of])

    match constraint:
        case AtLeastOf(n, of, among):
            return within(of, among) >= n
        case AtMost(n, of, among):
            return within(of, among) <= n
        case Apart(left, right, among):
            return not any(p in sets[left] and p in sets[right] for p in among)


def answerable(asked: SetQuestion) -> bool:
    names = asked.names()
    return any(
        all(met(c, dict(zip(names, chosen, strict=True))) for c in asked.constraints)
        for chosen in product(SUBSETS, repeat=len(names))
    )


@pytest.mark.slow
@settings(max_examples=250, deadline=None, derandomize=True)
@given(st.lists(constraints, min_size=1, max_size=5))
def test_both_engines_answer_as_trying_all_sets_does(chosen: list[Constraint]) -> None:
    asked = SetQuestion(CONFIGURATION, "random", tuple(chosen))
    expected = answerable(asked)
    for engine in (ask_bitvectors, ask_cnf):
        sets = engine(asked, Deadline(600))
        assert (sets is not None) == expected
        assert sets is None or all(met(c, sets) for c in chosen)
        assert sets is None or holds(asked, sets)


@pytest.mark.parametrize("engine", [ask_bitvectors, ask_cnf])
def test_counts_are_exact_at_every_bound(engine: Callable[[SetQuestion, Deadline], Sets | None]) -> None:
    """At least m and at most n of k positions are possible exactly if some number up to k is both."""
    for k in range(SIZE + 1):
        among = tuple(range(k))
        for m in range(-1, SIZE + 2):
            for n in range(-1, SIZE + 2):
                both = SetQuestion(
                    CONFIGURATION, "between", (AtLeastOf(m, "x", among), AtMost(n, "x", among))
                )
                assert (engine(both, Deadline(600)) is not None) == any(
                    m <= size <= n for size in range(k + 1)
                )


def test_a_partition_puts_each_position_in_one_part() -> None:
    asked = SetQuestion(CONFIGURATION, "split", partition((0, 1), ("x", "y")))
    found = [(x, y) for x in SUBSETS for y in SUBSETS if holds(asked, {"x": x, "y": y}) and x | y <= {0, 1}]
    assert sorted((sorted(x), sorted(y)) for x, y in found) == [
        ([], [0, 1]),
        ([0], [1]),
        ([0, 1], []),
        ([1], [0]),
    ]


QUESTION = SetQuestion(CONFIGURATION, "any two", (AtLeastOf(2, "x", (0, 1, 2)),))


def test_engines_that_disagree_are_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "ask_cnf", lambda asked, deadline: None)
    with pytest.raises(InternalError, match="PySAT on CNF says no"):
        ask(QUESTION, Deadline(600))


def test_sets_that_do_not_meet_the_constraints_are_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "ask_bitvectors", lambda asked, deadline: {"x": frozenset({1})})
    with pytest.raises(InternalError, match="z3 answers"):
        ask(QUESTION, Deadline(600))


@pytest.mark.parametrize("engine", [ask_bitvectors, ask_cnf])
def test_no_time_is_no_answer(engine: object) -> None:
    big = Configuration(40, 40, 20)
    everyone = big.positions
    hard = SetQuestion(
        big,
        "a pigeonhole",
        (AtLeastOf(21, "x", everyone), AtLeastOf(20, "y", everyone), Apart("x", "y", everyone)),
    )
    assert callable(engine)
    with pytest.raises(SolverGaveUpError):
        engine(hard, Deadline(0))
