"""The tests on sets of the claims agree with the definitions, set by set."""

from __future__ import annotations

from itertools import combinations

import pytest

from fencepost.quorums.set_claims import LOST, SetClaim, bits, every_set, every_window_covered, fewer_than
from fencepost.quorums.stripes import Configuration, configurations
from support.plain_sets import covered_by_first_ack_quorum, covered_by_windows


def members(chosen: int, configuration: Configuration) -> set[int]:
    return {position for position in configuration.positions if chosen >> position & 1}


def test_every_set_is_tried_once_the_smaller_ones_first() -> None:
    """Planted: the sets of the largest size are left out."""
    tried = every_set((0, 1, 2, 3))
    assert sorted(tried) == list(range(16))
    assert [one.bit_count() for one in tried] == sorted(one.bit_count() for one in tried)
    assert every_set((1, 3)) == (0, 2, 8, 10)


@pytest.mark.parametrize("up_to", [5])
def test_windows_are_covered_as_the_definition_says(up_to: int) -> None:
    """Planted: AQ silent bookies of a window count as covered."""
    for configuration in configurations(up_to):
        aq = configuration.ack_quorum
        covered = every_window_covered(configuration)
        heads = fewer_than(aq, (configuration.window(start, aq) for start in configuration.positions))
        for silent in every_set(configuration.positions):
            heard = set(configuration.positions) - members(silent, configuration)
            assert covered(silent) == covered_by_windows(configuration, heard)
            assert heads(silent) == covered_by_first_ack_quorum(configuration, heard)


def test_a_counterexample_is_the_smallest_set_for_which_the_claim_fails() -> None:
    """Planted: the first part of the split is shown as the second."""
    two = bits((1, 2))
    claim = SetClaim("two are lost", lambda lost: lost & two == two, (0, 1, 2, 3), LOST)
    assert claim.counterexample() == {"up": ("b1", "b4"), "lost": ("b2", "b3")}
    assert SetClaim("never", lambda lost: False, (0, 1), LOST).counterexample() is None
    assert all(bits(chosen) in every_set((0, 1, 2)) for chosen in combinations(range(3), 2))
