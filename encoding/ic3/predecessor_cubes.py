"""Predecessor cubes: a state that leads somewhere becomes a cube of states that all lead there."""

from __future__ import annotations

from fencepost.encoding.ic3.frames import Cube, Predecessor
from fencepost.encoding.ic3.transitions import Transitions
from fencepost.encoding.solving.solvers import Incremental

RENEWED = 3000
"""Questions after which the solver is made anew."""


class PredecessorCubes:
    """A solver that holds the transition relation without the guards: a guard has to follow from the cube."""

    def __init__(self, transitions: Transitions, solver: str = "minisat22") -> None:
        """Make the solver."""
        self._transitions, self._name = transitions, solver
        self._solver = self._made()

    def predecessor(self, found: Predecessor, into: Cube) -> Cube:
        """Return a part of the state from which the action is enabled and leads into the cube."""
        t = self._transitions
        goals = [t.enabled[found.slot], *(t.after(literal) for literal in into)]
        return self._smallest(found.state, [t.selected[found.slot]], goals)

    def bad(self, state: Cube, literal: int) -> Cube:
        """Return a part of the state in which the literal follows."""
        return self._smallest(state, [], [literal])

    def _smallest(self, state: Cube, given: list[int], goals: list[int]) -> Cube:
        """Return a part of the state from which all goals follow."""
        if self._last > self._limit:
            self._solver.free()
            self._solver = self._made()
        self._last += 1
        asking = self._last
        self._solver.add([[-asking, *(-goal for goal in goals)]])
        core = state
        while True:
            if self._solver.can_hold([asking, *given, *core]):
                raise AssertionError("the state does not lead there")
            smaller = core & frozenset(self._solver.core())
            if len(smaller) == len(core):
                break
            core = smaller
        self._solver.add([[-asking]])
        return core

    def _made(self) -> Incremental:
        """Return a new solver with the transition relation."""
        self._last = self._transitions.size
        self._limit = self._last + RENEWED
        return Incremental(self._name, self._transitions.clauses)
