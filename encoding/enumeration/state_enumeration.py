"""The engine that visits all reachable states."""

from __future__ import annotations

from fencepost.encoding.engine.events import StepsAtLeast
from fencepost.encoding.engine.messages import FirstVisited, FoundPath, Visited
from fencepost.encoding.engine.path_replay import PathReplay
from fencepost.encoding.engine.work import Work
from fencepost.encoding.enumeration.process import TASK, Extent, enumerate_states
from fencepost.encoding.induction.proof_obligations import Never, Statement, property_of
from fencepost.encoding.solving.workers import Worker

STATES = 20_000
"""The states that are enumerated before rounds begin, if they are not wide: about a second.

A number, so that no verdict depends on the load of the machine.
"""

WIDE = 100
"""The number of variables above which a state is wide. Of states twice as wide half as many are visited."""

IN_SIGHT = 50
"""An end is in sight if no more than so many times as many states are expected: about a minute."""

MOST_BYTES = 2**30
"""The memory for these states: their variables, and about `BESIDE` bytes more for each of them."""

BESIDE = 250


class StateEnumeration:
    """Breadth-first enumeration of the reachable states on plain values.

    The first state in which a property is false, or its witness true, is replayed. No violation is nearer. If
    the enumeration ends, no other state is reachable within the limits.

    Without an end in sight it is over after its first states. If all reachable states are among these, it is
    the basis of the proofs, whichever engine is faster.
    """

    proves = True

    def __init__(self, work: Work) -> None:
        """Prepare nothing yet: `begin` starts the worker."""
        self._work = work
        self.is_over = False
        self._claims: dict[str, Statement] = {}
        """The properties, and the claims that their witnesses are never true, by name."""

    @property
    def suits(self) -> bool:
        """Whether the limits ask for this engine."""
        return self._work.limits.enumerates(self._work.system)

    def begin(self) -> None:
        """Start the worker."""
        work, limits = self._work, self._work.limits
        claims: list[Statement] = [*work.properties, *map(Never, work.properties)]
        self._claims = {claim.name: claim for claim in claims}
        asked = work.system, work.properties, limits.budgets, limits.bound, self._extent()
        work.start(self, TASK, enumerate_states, *asked, steady=True)
        work.knowledge.visiting = True

    def _extent(self) -> Extent | None:
        """Return how far the enumeration goes; None for as far as there are states."""
        limits, system = self._work.limits, self._work.system
        if limits.engines == (TASK,):
            return None
        first = STATES * WIDE // max(WIDE, len(system.variables))
        within = MOST_BYTES if limits.memory is None else min(MOST_BYTES, int(limits.memory * 2**29))
        return Extent(first, min(IN_SIGHT * first, within // (len(system.variables) + BESIDE)))

    def go_on(self) -> None:
        """Start nothing more."""

    def take(self, worker: Worker, message: FoundPath | FirstVisited | Visited) -> None:
        """Replay a path, let other proofs count, or record that all states were visited."""
        match message:
            case FirstVisited():
                self._work.knowledge.visiting = False
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
        self.is_over = True
        self._work.knowledge.visiting = False
