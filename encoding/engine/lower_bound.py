"""The number of steps that every violation of a property takes at least."""

from __future__ import annotations

from collections.abc import Mapping

from fencepost.encoding.engine.messages import Clean


def at_least(searched: Clean, complete: Mapping[int | None, int]) -> int:
    """Return the largest k for which these answers prove that no violation takes fewer than k steps.

    `searched` is about steps alone: no violation of fewer steps, or none at all, in so many rounds.
    `complete` has the number of rounds in which all executions of at most so many steps fit (None: of any).
    A violation that the search excludes does not fit in its rounds. So it takes more steps than there are
    rounds, because each round fires something, and more than the executions that fit.
    """
    rounds = searched.rounds
    fitting = [steps for steps, needed in complete.items() if needed <= rounds]
    covered = max([rounds, *(steps for steps in fitting if steps is not None)])
    if searched.below is None:
        return covered + 1
    (shortest,) = searched.below
    return shortest if None in fitting else min(shortest, covered + 1)
