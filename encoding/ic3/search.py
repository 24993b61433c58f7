"""IC3 (property-directed reachability): the search for an inductive invariant, frame by frame.

Bradley 2011; Een, Mishchenko and Brayton 2011; counterexamples to generalisation after Hassan, Bradley and
Somenzi 2013.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field

from fencepost.encoding.ic3.frames import Blocked, Cube, Frames, NoPredecessor, Predecessor
from fencepost.encoding.ic3.predecessor_cubes import PredecessorCubes
from fencepost.encoding.ic3.transitions import Transitions

MOST_CTGS = 3
"""The most counterexamples to one generalisation that are blocked before literals are given up."""
MOST_DEPTH = 1
"""How deep counterexamples to a generalisation are generalised in turn."""


@dataclass(frozen=True)
class Proved:
    """Clauses that are inductive, as far as the search knows, and exclude all bad states asked for."""

    bad: tuple[str, ...]
    cubes: tuple[Blocked, ...]


@dataclass(frozen=True)
class PathToBad:
    """A path from an initial state to a bad state: slots of actions, the true choices, and its beginning."""

    bad: str
    slots: tuple[int, ...]
    choices: tuple[int, ...]
    beginning: tuple[int, ...]


@dataclass(frozen=True)
class FramesSoFar:
    """How far the search is: the number of the last frame, the orbits of clauses, the questions asked."""

    level: int
    clauses: int
    questions: int


@dataclass(frozen=True, order=True)
class Obligation:
    """A proof obligation: a cube that leads to a bad state has to be excluded from a frame."""

    level: int
    number: int
    cube: Cube = field(compare=False)
    state: Cube = field(compare=False)
    slot: int | None = field(compare=False)
    onwards: Obligation | None = field(compare=False)


class Search:
    """The search on one transition relation."""

    def __init__(self, transitions: Transitions, frames: Frames, cubes: PredecessorCubes) -> None:
        """Prepare the search; `run` does it."""
        self.transitions, self.frames, self.cubes = transitions, frames, cubes
        self._numbers = itertools.count()
        self._use: Counter[int] = Counter()

    def run(self, bad: Sequence[str]) -> Iterator[PathToBad | Proved | FramesSoFar]:
        """Search until the bad states of every name are reached or proved to be unreachable."""
        left = list(bad)
        t, frames = self.transitions, self.frames
        for name in list(left):
            state = frames.in_frame(0, t.bad[name])
            if state is not None:
                left.remove(name)
                yield self._path(name, state, None)
        frames.open()
        while left:
            for name in list(left):
                while (state := frames.in_frame(frames.top, t.bad[name])) is not None:
                    cube = self.cubes.bad(state, t.bad[name])
                    reached = yield from self._block(cube, state)
                    if reached is not None:
                        left.remove(name)
                        yield self._path(name, *reached)
                        break
            if not left:
                return
            yield self._underway()
            frames.open()
            closed = self._push()
            if closed is not None:
                yield Proved(tuple(left), tuple(frames.blocked(closed)))
                return

    def _underway(self) -> FramesSoFar:
        return FramesSoFar(self.frames.top, sum(map(len, self.frames.levels)), self.frames.questions)

    def _path(self, name: str, state: Cube, obligation: Obligation | None) -> PathToBad:
        slots, step = list[int](), obligation
        while step is not None and step.slot is not None:
            slots.append(step.slot)
            step = step.onwards
        own = self.transitions.state
        choices = tuple(sorted(literal - own - 1 for literal in state if literal > own))
        return PathToBad(name, tuple(slots), choices, self.transitions.beginning(state))

    # Blocking.

    def _block(self, cube: Cube, state: Cube) -> Generator[FramesSoFar, None, tuple[Cube, Obligation] | None]:
        """Exclude a cube from the last frame. Return a path from an initial state if that is impossible."""
        frames = self.frames
        waiting = [Obligation(frames.top, next(self._numbers), cube, state, None, None)]
        while waiting:
            one = waiting[0]
            yield self._underway()
            if (first := frames.initial_in(one.cube)) is not None:
                return self._with_choices(first, one), one
            if frames.is_blocked(one.cube, one.level):
                heapq.heappop(waiting)
                continue
            found = frames.lead_into(one.cube, one.level - 1)
            if isinstance(found, Predecessor):
                cube = self.cubes.predecessor(found, one.cube)
                heapq.heappush(
                    waiting,
                    Obligation(one.level - 1, next(self._numbers), cube, found.state, found.slot, one),
                )
                continue
            heapq.heappop(waiting)
            level = self._exclude(found.core, one.level)
            if level < frames.top:
                again = Obligation(level + 1, next(self._numbers), one.cube, one.state, one.slot, one.onwards)
                heapq.heappush(waiting, again)
        return None

    def _with_choices(self, first: Cube, one: Obligation) -> Cube:
        """Return an initial state with the choices in the cube of an obligation; open ones are false."""
        own, total = self.transitions.state, len(self.transitions.atoms)
        choices = (n if n in one.cube else -n for n in range(own + 1, total + 1))
        return frozenset((*first, *choices))

    def _exclude(self, core: Cube, level: int, depth: int = 0) -> int:
        """Block a generalisation of a cube at the highest level possible, and return the level.

        `core` is the part of the cube that no step from the frame before leads into. No initial state is in
        it, because a step may change nothing.
        """
        frames = self.frames
        small = self._generalised(core, level, depth)
        while level < frames.top and isinstance(frames.lead_into(small, level), NoPredecessor):
            level += 1
        frames.block(small, level)
        self._use.update(small)
        return level

    # Generalisation.

    def _generalised(self, cube: Cube, level: int, depth: int) -> Cube:
        """Return a cube with as few literals as possible that no step from the frame before leads into."""
        kept: set[int] = set()
        for literal in sorted(cube, key=lambda n: (self._use[n], n)):
            if literal not in cube or literal in kept:
                continue
            smaller = self._down(cube - {literal}, level, depth, kept)
            if smaller is None:
                kept.add(literal)
            else:
                cube = smaller
        return cube

    def _down(self, cube: Cube, level: int, depth: int, kept: set[int]) -> Cube | None:
        """Return the cube, or a part of it, if no step from the frame before leads into it, else None.

        A state that stands against it is blocked if it can be (a counterexample to generalisation).
        Otherwise the cube is joined with that state.
        """
        frames, blocked = self.frames, 0
        while True:
            if frames.meets_initial(cube):
                return None
            found = frames.lead_into(cube, level - 1)
            if isinstance(found, NoPredecessor):
                return found.core
            if depth >= MOST_DEPTH:
                return None
            state = self.cubes.predecessor(found, cube)
            if blocked < MOST_CTGS and level > 1 and not frames.meets_initial(state):
                against = frames.lead_into(state, level - 1)
                if isinstance(against, NoPredecessor):
                    blocked += 1
                    self._exclude(against.core, level, depth + 1)
                    continue
            blocked = 0
            joined = cube & found.state
            if joined == cube or not kept <= joined:
                return None
            cube = joined

    # Propagation.

    def _push(self) -> int | None:
        """Move clauses to later frames. Return the level from which on the frames are equal, if any."""
        frames = self.frames
        for level in range(1, frames.top):
            for blocked in list(frames.levels[level]):
                if blocked not in frames.levels[level]:
                    continue
                found = frames.lead_into(blocked.cube, level)
                if isinstance(found, NoPredecessor):
                    frames.raise_to(blocked, level + 1)
            if not frames.levels[level]:
                return level + 1
        return None
