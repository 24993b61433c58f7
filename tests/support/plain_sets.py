"""Coverage rules and losses on plain sets of positions, by definition. The lemmas do not use them."""

from __future__ import annotations

from collections.abc import Collection
from itertools import combinations

from fencepost.quorums.stripes import Configuration


def most_in_a_window(configuration: Configuration, members: Collection[int]) -> int:
    """Return the largest number of `members` that one window has."""
    return max(sum(position in members for position in window) for window in configuration.windows())


def covered_by_windows(configuration: Configuration, heard: Collection[int]) -> bool:
    """Return whether every window has fewer than AQ positions without an answer.

    This is the rule of today's code (`RRQuorumCoverageSet.checkCovered`).
    """
    unheard = set(configuration.positions) - set(heard)
    return most_in_a_window(configuration, unheard) < configuration.ack_quorum


def covered_by_first_ack_quorum(configuration: Configuration, heard: Collection[int]) -> bool:
    """Return whether one of the first AQ positions of every window has answered.

    This is the rule of the code up to 4.3 (BOOKKEEPER-799).
    """
    heads = (configuration.window(start, configuration.ack_quorum) for start in configuration.positions)
    return all(set(head) & set(heard) for head in heads)


def covered_by_total(heard: Collection[int], needed: int) -> bool:
    """Return whether at least `needed` positions have answered (BP-46 with EC; PR 2281 with QC)."""
    return len(heard) >= needed


def is_stranded(configuration: Configuration, heard: Collection[int]) -> bool:
    """Return whether some entry has an ack quorum without any answer.

    The writer can then still complete the add of that entry.
    """
    unheard = set(configuration.positions) - set(heard)
    return any(
        set(quorum) <= unheard
        for window in configuration.windows()
        for quorum in combinations(window, configuration.ack_quorum)
    )


def can_be_fenced(configuration: Configuration, lost: frozenset[int]) -> bool:
    """Return whether the code's rule is satisfied if all bookies but the lost ones answer."""
    return covered_by_windows(configuration, frozenset(configuration.positions) - lost)


def can_lose(configuration: Configuration, entries: int, lost: frozenset[int]) -> bool:
    """Return whether some entry is only on lost bookies if just an ack quorum has acknowledged it."""
    return any(
        set(acks) <= lost
        for entry in range(1, entries + 1)
        for acks in combinations(configuration.write_set(entry), configuration.ack_quorum)
    )
