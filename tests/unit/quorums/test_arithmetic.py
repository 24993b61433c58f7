"""Every formula about sets, compared with enumeration of the sets for all configurations up to E = 7."""

from __future__ import annotations

from itertools import combinations

import pytest

from fencepost.quorums import arithmetic
from fencepost.quorums.placement import Racks
from fencepost.quorums.stripes import Configuration, configurations
from support.plain_sets import (
    can_be_fenced,
    can_lose,
    covered_by_windows,
    is_stranded,
    most_in_a_window,
)

ALL = list(configurations(7))


def silent_sets(c: Configuration) -> list[frozenset[int]]:
    return [frozenset(s) for size in range(c.ensemble + 1) for s in combinations(range(c.ensemble), size)]


def ring_windows(c: Configuration) -> list[set[int]]:
    """Return the windows, without the code under test."""
    doubled = list(range(c.ensemble)) * 2
    return [set(doubled[start : start + c.write_quorum]) for start in range(c.ensemble)]


def blocked(c: Configuration, silent: frozenset[int]) -> bool:
    """Return whether some ack quorum of some entry is silent."""
    return any(
        set(quorum) <= silent
        for window in ring_windows(c)
        for quorum in combinations(sorted(window), c.ack_quorum)
    )


def test_there_are_84_configurations_up_to_7() -> None:
    assert len(ALL) == sum(e * (e + 1) // 2 for e in range(1, 8)) == 84
    assert sorted(ALL) == ALL


@pytest.mark.parametrize("c", ALL, ids=str)
def test_formulas_are_what_enumeration_of_the_sets_finds(c: Configuration) -> None:
    sets = silent_sets(c)
    harmless = [s for s in sets if not blocked(c, s)]
    always = max(k for k in range(c.ensemble + 1) if all(not blocked(c, s) for s in sets if len(s) == k))
    assert arithmetic.fewest_answers(*c.sizes) == c.ensemble - max(map(len, harmless))
    assert arithmetic.lucky_losses(*c.sizes) == max(map(len, harmless))
    assert arithmetic.sure_losses(*c.sizes) == always
    assert arithmetic.fencing_answers(*c.sizes) == c.ensemble - always
    assert arithmetic.blocking_sets(*c.sizes) == sum(len(s) == c.ack_quorum and blocked(c, s) for s in sets)


@pytest.mark.parametrize("c", ALL, ids=str)
def test_the_window_rule_is_exact(c: Configuration) -> None:
    for silent in silent_sets(c):
        heard = frozenset(range(c.ensemble)) - silent
        assert covered_by_windows(c, heard) == (not blocked(c, silent)) == (not is_stranded(c, heard))
        assert most_in_a_window(c, silent) == max(len(silent & window) for window in ring_windows(c))


def test_write_sets_go_round_the_ensemble() -> None:
    c = Configuration(4, 3, 2)
    assert [c.write_set(entry) for entry in (1, 2, 3, 4, 5)] == [
        (0, 1, 2),
        (1, 2, 3),
        (2, 3, 0),
        (3, 0, 1),
        (0, 1, 2),
    ]


@pytest.mark.parametrize("c", [c for c in ALL if c.ensemble <= 6], ids=str)
def test_losing_an_entry_and_losing_recovery_are_one_condition(c: Configuration) -> None:
    """The condition is checked with E entries, for every set of lost bookies.

    With fewer entries the two differ, and the smallest such E is 2.
    """
    for lost in silent_sets(c):
        assert can_lose(c, c.ensemble, lost) == (not can_be_fenced(c, lost)) == blocked(c, lost)


@pytest.mark.parametrize("c", ALL, ids=str)
def test_qc_is_the_fewest_that_no_holding_ack_quorum_allows(c: Configuration) -> None:
    write_set = range(c.write_quorum)
    holders = [set(h) for k in range(c.ack_quorum, c.write_quorum + 1) for h in combinations(write_set, k)]
    most_negative = max(c.write_quorum - len(h) for h in holders)
    assert arithmetic.negative_answers(*c.sizes) == most_negative + 1
    assert arithmetic.slack(*c.sizes) == most_negative


@pytest.mark.parametrize("c", [c for c in ALL if c.ensemble <= 5], ids=str)
def test_racks_by_trying_every_assignment(c: Configuration) -> None:
    """Check that `sufficient_racks` racks in every window always survive the loss of a rack.

    With one rack fewer some assignment does not survive.
    """
    enough = arithmetic.sufficient_racks(*c.sizes)
    for spread in range(1, c.write_quorum + 1):
        survives = all(
            racks.most_in_a_window(c) < c.ack_quorum
            for names in assignments(c.ensemble)
            if (racks := Racks((1,), names)).racks_per_window(c) == spread
        )
        if spread >= enough:
            assert survives
        if spread == enough - 1 and c.ensemble == c.write_quorum:
            assert not survives


def assignments(positions: int) -> list[tuple[str, ...]]:
    """Return every partition of the positions into racks, named a, b, c in order of appearance."""
    found: list[tuple[str, ...]] = [("a",)]
    for _ in range(positions - 1):
        found = [(*names, letter) for names in found for letter in "abcdefg"[: len(set(names)) + 1]]
    return found


@pytest.mark.parametrize("c", [c for c in ALL if c.ensemble <= 5], ids=str)
def test_rack_sizes_give_the_worst_placement(c: Configuration) -> None:
    """Check sizes alone: the result is the worst over all placements whose largest rack has that size."""
    for names in assignments(c.ensemble):
        sizes = tuple(names.count(letter) for letter in sorted(set(names)))
        worst = max(
            Racks(sizes, other).most_in_a_window(c)
            for other in assignments(c.ensemble)
            if sorted(other.count(x) for x in set(other)) == sorted(sizes)
        )
        assert Racks(sizes).most_in_a_window(c) == worst


@pytest.mark.parametrize("c", [c for c in ALL if c.ensemble <= 5], ids=str)
def test_forgetting_by_trying_every_set(c: Configuration) -> None:
    e, wq, aq = c.sizes
    qc, ec = arithmetic.negative_answers(e, wq, aq), arithmetic.fencing_answers(e, wq, aq)
    for holders in range(aq, wq + 1):
        survived = max(k for k in range(holders + 1) if wq - holders + k < qc)
        assert arithmetic.forgetful_holders(holders, aq) == survived
    for fenced in range(ec, e + 1):
        survived = max(
            k
            for k in range(fenced + 1)
            if all(
                not blocked(c, frozenset(range(e)) - frozenset(still))
                for still in combinations(range(e), fenced - k)
            )
        )
        assert arithmetic.forgetful_fences(fenced, e, aq) == survived
