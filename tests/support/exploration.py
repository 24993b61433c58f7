"""All reachable states, by the plain definition, for comparison with the visits of the engine enumeration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.system import System


@dataclass(frozen=True)
class Visit:
    """A state reached for the first time, in breadth-first order."""

    state: State
    steps: int
    parent: State | None
    action: GroundAction | None


def explore(system: System) -> Iterator[Visit]:
    """Yield every reachable state once, in breadth-first order.

    A choice stays undecided in a state until an action depends on it. The search ends only if the system is
    finite.
    """
    concrete = Concrete(system)
    seen, level, steps = set[State](), list[State](), 0
    for first in Beginnings(concrete).states():
        seen.add(first)
        level.append(first)
        yield Visit(first, 0, None, None)
    while level:
        following = []
        steps += 1
        for state in level:
            for step in concrete.steps:
                for after in step.successors(state):
                    if after not in seen:
                        seen.add(after)
                        following.append(after)
                        yield Visit(after, steps, state, step.action)
        level = following
