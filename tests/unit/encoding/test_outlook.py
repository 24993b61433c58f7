"""The outlook of an enumeration: whether its end is in sight, and how far it goes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, takewhile

import pytest

from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.messages import FirstVisited, Visited
from fencepost.encoding.engine.work import Work
from fencepost.encoding.enumeration import state_enumeration
from fencepost.encoding.enumeration.outlook import expected_nodes
from fencepost.encoding.enumeration.process import Extent, enumerate_states
from fencepost.encoding.language.actions import Action, each
from fencepost.encoding.language.quantifiers import forall
from fencepost.encoding.language.sorts import integers, labels
from fencepost.encoding.language.state import StateSpace, family
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import TRUE, Parameter
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


def visited(system: System, extent: Extent) -> int | None:
    """Return how many states were visited if these were all."""
    messages = enumerate_states(system, system.properties, {}, None, extent)
    return next((message.states for message in messages if isinstance(message, Visited)), None)


@pytest.mark.parametrize(("most", "expected"), [(2, 27), (4, 125), (9, 1_000)])
def test_an_enumeration_goes_on_if_an_end_is_in_sight(most: int, expected: int, plain: None) -> None:
    """Planted: it ends after the first nodes."""
    assert visited(grid(most), Extent(60, 10_000)) == expected


@pytest.mark.parametrize(("first", "said"), [(1_000, False), (10, True)])
def test_it_is_said_that_the_first_states_are_over(
    first: int, said: bool, plain: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: it is never said, or in any case. Then other proofs do not count, or too early."""
    monkeypatch.setattr("fencepost.encoding.enumeration.process.PLAIN", first)
    system = grid(4)
    messages = enumerate_states(system, system.properties, {}, None, Extent(60, 1_000))
    assert any(isinstance(message, FirstVisited) for message in messages) == said


def test_an_enumeration_without_an_end_in_sight_is_over(plain: None) -> None:
    """Planted: it goes on in any case. The second one visits as many nodes as it may, and no more."""
    assert visited(grid(7), Extent(40, 60)) is None
    assert visited(grid(20), Extent(400, 2_000)) is None


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
    assert extent(grid(3), Limits()).first == state_enumeration.STATES // 3


def test_the_states_are_bounded_by_memory() -> None:
    """Planted: by their number alone."""

    def most(gib: float | None) -> int:
        return extent(grid(3), Limits(memory=gib, enumeration_first=True)).most

    assert most(None) == state_enumeration.IN_SIGHT * state_enumeration.STATES
    assert most(0.125) == 2**26 // (3 + state_enumeration.BESIDE)
