"""The number of states of each BookKeeper preset at 2/2/2, N=2, L=1; it changes if the model does."""

from __future__ import annotations

import itertools

import pytest

from support.exploration import explore
from support.instances import built

TWO_OF_TWO = {"bookies": 2, "ensemble": 2, "write_quorum": 2, "ack_quorum": 2, "entries": 1}


@pytest.mark.parametrize(
    ("preset", "steps", "states"),
    [
        ("bookkeeper", 12, 2_701),
        ("bookkeeper-4.13", 12, 2_861),
        ("bookkeeper-no-journal", 6, 4_524),
        ("bookkeeper-4.13-tla", None, 10_245),
        pytest.param("bookkeeper", None, 53_231, marks=pytest.mark.slow),
        pytest.param("bookkeeper-4.13", None, 53_271, marks=pytest.mark.slow),
        pytest.param("bookkeeper-no-journal", 8, 15_199, marks=pytest.mark.slow),
    ],
)
def test_the_states_reached_are_as_many_as_ever(preset: str, steps: int | None, states: int) -> None:
    """The states are those within so many steps, or all. A choice that no action reads doubles no state."""
    system, _ = built(preset, TWO_OF_TWO)
    visits = itertools.takewhile(lambda visit: steps is None or visit.steps <= steps, explore(system))
    assert sum(1 for _ in visits) == states


ONE_COPY = {"bookies": 2, "write_quorum": 1, "ack_quorum": 1, "entries": 1}


@pytest.mark.parametrize(
    ("preset", "settings", "states"),
    [
        ("bookkeeper-guaranteed-write-quorum", ONE_COPY, 1_786),
        ("bookkeeper-unbounded", {"bookies": 1, "write_quorum": 1, "values": 1}, 468),
        pytest.param(
            *("bookkeeper-guaranteed-write-quorum", {"bookies": 2, "entries": 1}, 6_349),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_proposal_has_as_many_states_as_ever(preset: str, settings: dict[str, int], states: int) -> None:
    """Planted: with the losses of today's adds, one for resends apart, the first one has 4,402."""
    assert sum(1 for _ in explore(built(preset, settings)[0])) == states
