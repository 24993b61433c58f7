"""Constraints about windows of WQ consecutive positions."""

from __future__ import annotations

from fencepost.quorums.questions import AtLeastOf, AtMost, Constraint
from fencepost.quorums.stripes import Configuration


def every_window_covered(configuration: Configuration) -> tuple[Constraint, ...]:
    """Return the constraints that every window has fewer than AQ silent positions."""
    aq = configuration.ack_quorum
    return tuple(AtMost(aq - 1, "silent", window) for window in configuration.windows())


def first_window_has(configuration: Configuration, of: str) -> Constraint:
    """Return the constraint that the first window has an ack quorum of the set.

    The first window stands for all windows if the other constraints treat positions alike.
    """
    return AtLeastOf(configuration.ack_quorum, of, configuration.window(0))
