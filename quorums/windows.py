"""Windows of WQ consecutive positions: what constraints say of them."""

from __future__ import annotations

from fencepost.quorums.questions import (
    AtLeastOf,
    AtMost,
    Constraint,
)
from fencepost.quorums.stripes import (
    Configuration,
)


def every_window_covered(configuration: Configuration) -> tuple[Constraint, ...]:
    aq = configuration.ack_quorum
    return tuple(AtMost(aq - 1, "silent", window) for window in configuration.windows())


def first_window_has(configuration: Configuration, of: str) -> Constraint:
    """The first window has an ack quorum of the set; it stands for all where positions are otherwise treated alike."""
    return AtLeastOf(configuration.ack_quorum, of, configuration.window(0))
