"""The engine that visits all reachable states."""

from __future__ import annotations

from fencepost.encoding.engine.events import StepsAtLeast
from fencepost.encoding.engine.messages import EndInSight, FoundPath, Visited
from fencepost.encoding.engine.path_replay import PathReplay
from fencepost.encoding.engine.work import Work
from fencepost.encoding.enumeration.process import SOON, TASK, Extent, enumerate_states
from fencepost.encoding.induction.proof_obligations import Never, Statement, property_of
from fencepost.encoding.solving.workers import Worker

FIRST = 40_000
"""The states that are enumerated before other engines begin, if they are not wide: about a second.

A number, so that no verdict depends on the load of the machine.
"""

WIDE = 100
"""The number of variables above which a state is wide. Of states twice as wide half as many are visited."""

FEW = 4
"""With a limit on conflicts it visits at most so many times as many."""

MANY = 25
"""Without one it visits at most so many times as many, beside other engines: about a minute."""

MOST_BYTES = 2**30
"""The memory for these states: their variables, and about `BESIDE` bytes more for each of them."""

BESIDE = 250

GLANCE = 1_000
"""The same if invariants are declared. Induction with them is soon over."""


class StateEnumeration:
    """Breadth-first enumeration of the reachable states on plain values.

    The first state in which a property is false, or its witness true, is replayed. No violation is nearer. If
    the enumeration ends, no other state is reachable within the limits.

    Others wait while it `is_alone`: its first states are not over, or its end is in sight, and soon.
    """

    proves = True

    def __init__(self, work: Work) -> None:
        """Prepare nothing yet: `begin` starts the worker."""
        self._work = work
        self._worker: Worker | None = None
        self.is_alone = False
        """Whether the other engines should wait."""
        self.expected: int | None = None
        """The states that were expected when an end came in sight, as work; None before that."""
        self._claims: dict[str, Statement] = {}
        """The properties, and the claims that their witnesses are never true, by name."""

    @property
    def suits(self) -> bool:
        """Whether the limits ask for this engine."""
        return self._work.limits.enumerates

    @property
    def is_over(self) -> bool:
        """Whether the worker has ended."""
        return self._worker is None

    def begin(self) -> None:
        """Start the worker."""
        work, limits = self._work, self._work.limits
        claims: list[Statement] = [*work.properties, *map(Never, work.properties)]
        self._claims = {claim.name: claim for claim in claims}
        asked = work.system, work.properties, limits.budgets, limits.bound, self._extent()
        self._worker = work.start(self, TASK, enumerate_states, *asked)
        self.is_alone = True

    def _extent(self) -> Extent | None:
        """Return how far the enumeration goes; None for as far as there are states.

        With a limit on conflicts the others begin when it is over, so it does not go far.
        """
        limits, system = self._work.limits, self._work.system
        if limits.engines == (TASK,):
            return None
        if system.invariants:
            return Extent(GLANCE, GLANCE)
        first = FIRST * WIDE // max(WIDE, len(system.variables))
        if limits.conflicts is not None:
            return Extent(first, FEW * first)
        within = MOST_BYTES if limits.memory is None else min(MOST_BYTES, int(limits.memory * 2**29))
        return Extent(first, min(MANY * first, within // (len(system.variables) + BESIDE)))

    def go_on(self) -> None:
        """Start nothing more."""

    def take(self, worker: Worker, message: FoundPath | EndInSight | Visited) -> None:
        """Replay a path, let other engines begin, or record that all states were visited."""
        match message:
            case EndInSight(work):
                self.is_alone = self.is_alone and work <= SOON  # others that have begun are not stopped again
                self.expected = self.expected or work
            case FoundPath(property=str(name), actions=actions):
                claim = self._claims[name]
                PathReplay(self._work).report(message, property_of(claim), isinstance(claim, Never))
                if not isinstance(claim, Never):
                    self._work.knowledge.hear(StepsAtLeast(name, len(actions)))
            case Visited():
                self._work.knowledge.hear(message)
            case _:
                raise AssertionError(f"no message of this engine: {message}")

    def end(self, worker: Worker) -> None:
        """Note that the worker has ended."""
        self._worker = None
        self.is_alone = False
