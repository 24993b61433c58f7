"""The engine that visits all reachable states."""

from __future__ import annotations

from fencepost.encoding.engine.events import StepsAtLeast
from fencepost.encoding.engine.messages import Visited
from fencepost.encoding.engine.work import Work
from fencepost.encoding.enumeration.process import TASK, enumerate_states
from fencepost.encoding.ic3.finder import FoundPath
from fencepost.encoding.ic3.found_proof import PathReplay
from fencepost.encoding.induction.proof_obligations import Never, Statement
from fencepost.encoding.solving.workers import Worker

FIRST = 40_000
"""The states that are enumerated before other engines begin: about two seconds. A number, so that no verdict
depends on the load of the machine."""

GLANCE = 1_000
"""The same if invariants are declared. Induction with them is soon over."""


class StateEnumeration:
    """Breadth-first enumeration of the reachable states on plain values.

    The first state in which a property is false, or its witness true, is replayed. No violation is nearer. If
    the enumeration ends, no other state is reachable within the limits.
    """

    proves = True

    def __init__(self, work: Work) -> None:
        """Prepare nothing yet: `begin` starts the worker."""
        self._work = work
        self._worker: Worker | None = None
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
        most = None if limits.engines == (TASK,) else GLANCE if work.system.invariants else FIRST
        asked = work.system, work.properties, limits.budgets, limits.bound, most
        self._worker = work.start(self, TASK, enumerate_states, *asked)

    def go_on(self) -> None:
        """Start nothing more."""

    def take(self, worker: Worker, message: FoundPath | Visited) -> None:
        """Replay a path, or record that all states were visited."""
        match message:
            case FoundPath(property=str(name), actions=actions):
                claim = self._claims[name]
                PathReplay(self._work).report(message, claim)
                if not isinstance(claim, Never):
                    self._work.knowledge.hear(StepsAtLeast(name, len(actions)))
            case Visited():
                self._work.knowledge.hear(message)
            case _:
                raise AssertionError(f"no message of this engine: {message}")

    def end(self, worker: Worker) -> None:
        """Note that the worker has ended."""
        self._worker = None
