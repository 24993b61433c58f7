"""The outlook of an enumeration, and the engines that wait for one whose end is in sight."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, takewhile
from typing import Any

import pytest

from fencepost.encoding import check as order
from fencepost.encoding.check import check
from fencepost.encoding.engine import work
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.messages import EndInSight, Visited
from fencepost.encoding.engine.verdicts import Basis, Result
from fencepost.encoding.engine.work import Work
from fencepost.encoding.enumeration import state_enumeration
from fencepost.encoding.enumeration.outlook import expected_nodes
from fencepost.encoding.enumeration.process import Extent, enumerate_states
from fencepost.encoding.ic3 import found_proof
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.sorts import integers, labels
from fencepost.encoding.language.state import StateSpace, family
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.terms import TRUE, Parameter
from fencepost.encoding.rounds.bounded_search import PROOFS_FIRST
from fencepost.encoding.solving.workers import Worker
from support.bare import Bare

LOGLESS = [1, 7, 18, 87, 387, 1341, 3945, 9357, 16278, 19527, 11634, 2772, 720, 180, 6]
"""The levels of examples/corpus/logless_reconfig.py with three terms, 66,260 states."""

VOTES = [1, 8, 56, 216, 580, 1128, 1668, 2086, 2618, 3704, 5453, 7305, 8281, 7687, 5820, 3749, 2245, 1311]
"""The first levels of acp_sb.py with three participants, which has 54,945 states."""

LOG = [1, 3, 5, 5, 6, 16, 42, 108, 252, 591, 1380, 3540, 9284, 22359]
"""The first levels of the preset verified-log-02, up to symmetry."""


def within(levels: Sequence[int], nodes: int) -> list[int]:
    """Return the levels that are complete after so many nodes."""
    full = takewhile(lambda total: total <= nodes, accumulate(levels))
    return list(levels[: len(list(full))])


@pytest.mark.parametrize(("levels", "least", "most"), [(LOGLESS, 60_000, 160_000), (VOTES, 50_000, 100_000)])
def test_levels_that_grow_less_and_less_let_expect_an_end(
    levels: Sequence[int], least: int, most: int
) -> None:
    """Planted: the growth stays as it is. Then no end is in sight."""
    expected = expected_nodes(within(levels, 40_000), 1_000_000)
    assert expected is not None and least < expected < most


def test_levels_that_grow_alike_promise_no_end() -> None:
    """Planted: the growth becomes smaller in any case."""
    assert expected_nodes(within(LOG, 40_000), 1_000_000) is None
    assert expected_nodes([2**level for level in range(12)], 1_000_000) is None


def test_a_growth_that_stops_falling_promises_no_end() -> None:
    """Planted: the mean factor of the last levels alone. It promises 260,000 nodes of a space without end."""
    growths = (2.86, 2.68, 2.31, 2.03, 1.92)
    levels = list(accumulate(growths, lambda size, growth: round(size * growth), initial=100))
    assert expected_nodes(levels, 500_000) is None


def test_more_nodes_than_asked_are_none() -> None:
    assert expected_nodes(within(LOGLESS, 40_000), 50_000) is None
    assert expected_nodes(LOGLESS, 100_000) == 66_260
    assert expected_nodes([1, 2, 3, 2], 100) is None, "too few levels"


def test_levels_that_shrink_alike_end() -> None:
    assert expected_nodes([64, 32, 16, 8, 4], 1_000) in (127, 128)


class Grid(StateSpace):
    """Three counters."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.counter = labels("counter", "c", 3)
        self.value = family(integers(0, most), self.counter)


def count_on(s: Grid, counter: Parameter) -> Action:
    """Count on."""
    return Action(s.value[counter] < s.most, [s.value[counter].set(s.value[counter] + 1)], counter)


def grid(most: int) -> System:
    s = Grid(most)
    full = forall(s.counter, lambda c: s.value[c] == most)
    prop = Property("p", "p", TRUE, full, "all counters are full")
    return System(s, (each(count_on, s, s.counter),), (prop,))


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use no symmetry."""
    monkeypatch.setattr("fencepost.encoding.enumeration.process.symmetries_of", lambda *asked: [])


def said(system: System, extent: Extent) -> tuple[bool, int | None]:
    """Return whether an end came in sight, and how many states were visited."""
    messages = list(enumerate_states(system, system.properties, {}, None, extent))
    states = [message.states for message in messages if isinstance(message, Visited)]
    return any(isinstance(m, EndInSight) for m in messages), states[0] if states else None


@pytest.mark.parametrize(("most", "expected"), [(2, (False, 27)), (4, (True, 125)), (9, (True, 1_000))])
def test_an_enumeration_goes_on_if_an_end_is_in_sight(most: int, expected: object, plain: None) -> None:
    """Planted: it ends after the first nodes; it says nothing of an end."""
    assert said(grid(most), Extent(60, 10_000)) == expected


def test_the_states_to_expect_are_said(plain: None) -> None:
    """Planted: those visited so far."""
    system = grid(9)
    said = enumerate_states(system, system.properties, {}, None, Extent(60, 10_000))
    first = next(message.work for message in said if isinstance(message, EndInSight))
    assert 200 < first < 5_000


def test_an_end_is_looked_for_after_half_of_the_first_nodes(plain: None) -> None:
    """Planted: after all of them; after half of them it ends if none is in sight."""
    assert said(grid(4), Extent(200, 1_000)) == (True, 125)
    assert said(grid(4), Extent(200, 110)) == (False, 125)


def test_after_half_of_the_first_nodes_only_an_end_that_is_soon_counts(
    plain: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: any end counts. A wrong estimate gives IC3 a turn, and rounds begin later."""
    monkeypatch.setattr("fencepost.encoding.enumeration.process.SOON", 100)
    assert said(grid(4), Extent(200, 1_000)) == (False, 125)
    assert said(grid(9), Extent(200, 10_000)) == (True, 1_000)


def test_an_enumeration_without_an_end_in_sight_is_over(plain: None) -> None:
    """Planted: it goes on in any case. The second one visits as many nodes as it may, and no more."""
    assert said(grid(7), Extent(40, 60)) == (False, None)
    assert said(grid(20), Extent(400, 2_000)) == (True, None)


def stalling(*asked: Any) -> Iterator[Any]:
    until = time.process_time() + 60
    while time.process_time() < until:
        pass
    yield from ()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the workers started; IC3 never ends, its turn is short, the first nodes are few."""
    names: list[str] = []
    start = Work.start

    def recorded(self: Work, engine: Any, name: str, *arguments: Any, **options: Any) -> Worker:
        names.append(name)
        return start(self, engine, name, *arguments, **options)

    monkeypatch.setattr(Work, "start", recorded)
    monkeypatch.setattr(found_proof, "find", stalling)
    monkeypatch.setattr(order, "TURN", 0.05)
    monkeypatch.setattr(state_enumeration, "FIRST", 40)
    monkeypatch.setattr(state_enumeration, "MANY", 1_000)
    monkeypatch.setattr(state_enumeration, "SOON", 240)
    return names


def checked(system: System, limits: Limits) -> Result:
    (result,) = check(Bare(system), system.properties, limits).results
    return result


@pytest.mark.parametrize("jobs", [1, 2])
def test_rounds_wait_for_an_enumeration_whose_end_is_in_sight(
    jobs: int, plain: None, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: rounds begin with IC3; others begin with the enumeration."""
    monkeypatch.setattr(order, "PROOFS_FIRST", float("inf"))
    monkeypatch.setattr(work, "HEAD_START", float("inf"))
    result = checked(grid(16), Limits(jobs=jobs, timeout=600, enumeration_first=True))
    assert result.basis is Basis.ENUMERATION
    assert result.visited is not None and result.visited.states == 17**3
    assert started == (["enumeration"] if jobs == 1 else ["enumeration", "ic3"])


def test_an_end_soon_lets_rounds_wait(plain: None, started: list[str]) -> None:
    result = checked(grid(3), Limits(jobs=2, timeout=600, enumeration_first=True))
    assert (result.basis, started) == (Basis.ENUMERATION, ["enumeration", "ic3"])


def test_rounds_wait_for_some_seconds_only(
    plain: None, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: they wait for the end of the enumeration."""
    monkeypatch.setattr(order, "PROOFS_FIRST", 0.0)
    checked(grid(16), Limits(jobs=2, timeout=600, enumeration_first=True))
    assert "prepare" in started


@dataclass(eq=False)
class Part:
    """An engine or one of its workers, with the facts that the order of the engines asks for."""

    suits: bool = True
    is_alone: bool = False
    expected: int | None = None
    is_over: bool = False
    spent: float = 0.0


def order_of(system: System, limits: Limits, **engines: Part) -> tuple[Any, Any]:
    """Return an order of engines that never begin, and the work of a system."""
    at: Any = Work(Bare(system), system.properties, limits, lambda event: None)
    at.crew.dismiss()
    stands: dict[str, Any] = {name: Part() for name in ("enumeration", "induction", "finding", "rounds")}
    return order.EngineOrder(at, **(stands | engines)), at


def test_ic3_has_a_turn_once_an_end_is_in_sight() -> None:
    """Planted: no turn; a turn without end; a second turn; rounds or the enumeration work in it."""
    enumeration, finding, rounds, worker = Part(is_alone=True), Part(), Part(), Part()
    by, at = order_of(grid(2), Limits(jobs=2), enumeration=enumeration, finding=finding, rounds=rounds)
    at._owners[worker] = finding

    def working() -> list[bool]:
        return [by.may_work(engine) for engine in (enumeration, finding, rounds)]

    assert working() == [True, False, False], "the first states"
    enumeration.expected, worker.spent = 50_000, order.TURN / 2
    assert working() == [False, True, False], "the turn"
    worker.spent = order.TURN
    assert working() == [True, False, False], "an end that is soon"
    del at._owners[worker]
    at._spent[finding] = order.TURN
    assert working() == [True, False, False], "another process of IC3 has no other turn"
    enumeration.is_alone = False
    assert working() == [True, True, False], "an end that is not soon"
    at._spent[finding] = PROOFS_FIRST
    assert working() == [True, True, True]


def test_the_turn_is_longer_if_many_states_are_expected() -> None:
    """Planted: two seconds in any case."""
    enumeration, finding = Part(expected=10 * order.PACE), Part()
    by, at = order_of(grid(2), Limits(jobs=2), enumeration=enumeration, finding=finding)
    at._spent[finding] = 9.0
    assert not by.may_work(enumeration)
    at._spent[finding] = 10.0
    assert by.may_work(enumeration)


@pytest.mark.parametrize("of", ["finding", "induction"])
def test_a_long_induction_ends_the_turn(of: str) -> None:
    """Planted: the seconds of IC3 count alone; those of the enumeration count too."""
    enumeration, proof = Part(expected=50_000), Part()
    by, at = order_of(grid(2), Limits(jobs=2), **{"enumeration": enumeration, of: proof})
    at._spent[enumeration] = 9.0
    assert not by.may_work(enumeration)
    at._spent[proof] = order.TURN
    assert by.may_work(enumeration)


def test_rounds_that_find_nothing_soon_let_ic3_have_a_turn() -> None:
    """Planted: no turn; a turn without end; rounds wait before they had their seconds."""
    over, finding, rounds = Part(is_over=True), Part(), Part()
    by, at = order_of(grid(2), Limits(jobs=2), enumeration=over, finding=finding, rounds=rounds)

    def rounds_work(by_rounds: float, by_proofs: float) -> bool:
        at._spent.update({rounds: by_rounds, finding: by_proofs})
        return bool(by.may_work(rounds))

    assert rounds_work(order.GLIMPSE / 2, 0.0)
    assert not rounds_work(order.GLIMPSE, 0.0)
    assert not rounds_work(order.GLIMPSE, order.ALONE / 2)
    assert rounds_work(order.GLIMPSE, order.ALONE)
    finding.is_over = True
    assert rounds_work(order.GLIMPSE, 0.0), "nobody has a turn"


@pytest.mark.parametrize("case", ["declared", "violated"])
def test_rounds_go_on_beside_declared_invariants_and_after_a_violation(case: str) -> None:
    """Planted: a turn in any case. Another violation, or a shorter one, would come later."""
    system, rounds = grid(2), Part()
    if case == "declared":
        system = replace(system, invariants=(Invariant("i", "i", TRUE),))
    parts = {"enumeration": Part(is_over=True), "induction": Part(), "rounds": rounds}
    by, at = order_of(system, Limits(jobs=2), **parts)
    at._spent[parts["induction"]] = order.AHEAD
    if case == "violated":
        at.knowledge.violation = lambda name: object()
    at._spent[rounds] = order.GLIMPSE
    assert by.may_work(rounds)


@pytest.mark.parametrize("case", ["spent", "over", "late", "alone", "undeclared", "unsuitable"])
def test_rounds_wait_for_the_first_moments_of_induction(case: str) -> None:
    """Planted: no wait; a wait for an induction without a processor; a wait without invariants."""
    system, induction, rounds = grid(2), Part(), Part()
    if case != "undeclared":
        system = replace(system, invariants=(Invariant("i", "i", TRUE),))
    parts = {"enumeration": Part(is_over=True), "induction": induction, "rounds": rounds}
    by, at = order_of(system, Limits(jobs=1 if case == "alone" else 2), **parts)
    if case in ("spent", "over", "late"):
        at._spent[induction] = order.AHEAD / 2
        assert not by.may_work(rounds)
        assert by.may_work(induction)
    if case == "spent":
        at._spent[induction] = order.AHEAD
    induction.is_over, induction.suits = case == "over", case != "unsuitable"
    if case == "late":
        at.begun -= order.SOON
    assert by.may_work(rounds)


@pytest.mark.parametrize("limits", [Limits(jobs=1), Limits(jobs=2, conflicts=10)])
def test_one_job_and_a_limit_on_conflicts_give_no_turn(limits: Limits) -> None:
    """Planted: a turn in any case. The outcome then depends on the speed of the machine."""
    enumeration = Part(is_alone=True, expected=50_000)
    by, _ = order_of(grid(2), limits, enumeration=enumeration)
    assert by.may_work(enumeration)


def test_others_that_have_begun_are_not_stopped_by_a_later_estimate(started: list[str]) -> None:
    """Planted: each estimate counts."""
    system = grid(2)
    at: Any = Work(Bare(system), system.properties, Limits(enumeration_first=True), lambda event: None)
    enumeration = state_enumeration.StateEnumeration(at)
    enumeration.begin()
    seen = []
    for expected in (240, 241, 240):
        enumeration.take(at.crew.workers[0], EndInSight(expected))
        seen.append(enumeration.is_alone)
    at.crew.dismiss()
    assert seen == [True, False, False]


def extent(system: System, limits: Limits) -> Extent:
    """Return how far an enumeration goes by default."""
    at = Work(Bare(system), system.properties, limits, lambda event: None)
    found = state_enumeration.StateEnumeration(at)._extent()
    at.crew.dismiss()
    assert found is not None
    return found


def test_fewer_wide_states_are_visited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: their number alone counts."""
    monkeypatch.setattr(state_enumeration, "WIDE", 1)
    assert extent(grid(3), Limits()).first == state_enumeration.FIRST // 3


def test_the_states_are_bounded_by_memory() -> None:
    """Planted: by their number alone."""

    def most(gib: float | None) -> int:
        return extent(grid(3), Limits(memory=gib, enumeration_first=True)).most

    assert most(None) == state_enumeration.MANY * state_enumeration.FIRST
    assert most(0.125) == 2**26 // (3 + state_enumeration.BESIDE)
