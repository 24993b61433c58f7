"""Frames: over-approximations of the states that are reachable within so many steps (Bradley 2011).

Frame 0 has the initial states. Frame i is given by clauses; each state that one step leads to from frame i is
in frame i + 1, and every frame is within the next. A clause is stored at the highest level at which it is
known (delta encoding, Een, Mishchenko and Brayton 2011), together with its orbit under the symmetries.

A cube is a set of literals that are all true; the clause of the negated literals blocks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from fencepost.encoding.ic3.symmetry import Permutation, orbit
from fencepost.encoding.ic3.transitions import Transitions
from fencepost.encoding.solving.solvers import Incremental

Cube = frozenset[int]
"""Literals over the atoms of a state, all of them true."""

RENEWED = 3000
"""Questions after which the solver is made anew, because each leaves a clause behind that is of no use."""


@dataclass(eq=False)
class Blocked:
    """A cube that no state of a frame is in, with the images of it under the symmetries."""

    cube: Cube
    orbit: frozenset[Cube]
    level: int


@dataclass(frozen=True)
class Predecessor:
    """A state of a frame, with its choices, and the slot of an action that leads from it into a cube."""

    state: Cube
    slot: int


@dataclass(frozen=True)
class NoPredecessor:
    """No state of the frame leads into the cube. `core` has the literals of the cube that the answer used."""

    core: Cube


@dataclass
class Frames:
    """The frames with the solver that answers questions about them."""

    transitions: Transitions
    permutations: Sequence[Permutation] = ()
    solver: str = "minisat22"
    levels: list[list[Blocked]] = field(default_factory=lambda: [[]])
    questions: int = 0
    _solver: Incremental = field(init=False)
    _spent: int = 0

    def __post_init__(self) -> None:
        """Make the solver; there is one frame, that of the initial states."""
        self._selecting = {literal: slot for slot, literal in enumerate(self.transitions.selected)}
        self._activations: list[int] = []
        self._renew()

    @property
    def top(self) -> int:
        """The number of the last frame."""
        return len(self.levels) - 1

    def open(self) -> None:
        """Add a frame that has all states."""
        self.levels.append([])
        self._activations.append(self._fresh())

    @property
    def conflicts(self) -> int:
        """The number of conflicts of the solver so far."""
        return self._spent + self._solver.conflicts()

    # Questions.

    def in_frame(self, level: int, literal: int) -> Cube | None:
        """Return a state of the frame in which the literal is true, or None if there is none."""
        if self._solve([*self._frame(level), literal]):
            return self._state(self._solver.model())
        return None

    def lead_into(self, cube: Cube, level: int) -> Predecessor | NoPredecessor:
        """Return a state of the frame, outside the cube, from which one step leads into the cube."""
        self._renew_if_used()
        asking = self._fresh()
        self._solver.add([[-asking, *(-literal for literal in cube)]])
        after = {self.transitions.after(literal): literal for literal in cube}
        if self._solve([*self._frame(level), asking, *after]):
            model = self._solver.model()
            slot = next(s for literal, s in self._selecting.items() if model[literal - 1] > 0)
            answer: Predecessor | NoPredecessor = Predecessor(self._state(model), slot)
        else:
            core = self._solver.core()
            answer = NoPredecessor(frozenset(after[literal] for literal in core if literal in after))
        self._solver.add([[-asking]])
        return answer

    def meets_initial(self, cube: Iterable[int]) -> bool:
        """Return whether some initial state is in the cube."""
        return self.initial_in(cube) is not None

    def initial_in(self, cube: Iterable[int]) -> Cube | None:
        """Return literals of an initial state in the cube, without its choices, or None if there is none."""
        t, cube = self.transitions, tuple(cube)
        if any(-literal in t.initial for literal in cube):
            return None
        if t.begins is None:
            return t.initial
        if not self._solve([*self._frame(0), *cube]):
            return None
        return frozenset(self._solver.model()[: t.state])

    # Clauses.

    def block(self, cube: Cube, level: int) -> None:
        """Record that no state of the frame, nor of an earlier one, is in the cube or in its images.

        The images are blocked because each frame is mapped to itself. So an orbit is blocked as a whole. If
        one is too large for that, symmetry is given up, and each image known so far stands for itself.
        """
        images = orbit(cube, self.permutations)
        if images is None:
            self._give_up_symmetry()
            images = frozenset({cube})
        for known in self.levels[1 : level + 1]:
            known[:] = [
                b for b in known if len(b.cube) < len(cube) or not any(image <= b.cube for image in images)
            ]
        blocked = Blocked(cube, images, level)
        self.levels[level].append(blocked)
        self._add(blocked)

    def raise_to(self, blocked: Blocked, level: int) -> None:
        """Record that the cube is blocked at a higher level as well."""
        self.levels[blocked.level].remove(blocked)
        blocked.level = level
        self.levels[level].append(blocked)
        self._add(blocked)

    def is_blocked(self, cube: Cube, level: int) -> bool:
        """Return whether a clause of that frame excludes the cube."""
        shorter = (b for found in self.levels[level:] for b in found if len(b.cube) <= len(cube))
        return any(image <= cube for b in shorter for image in b.orbit)

    def blocked(self, level: int) -> Iterator[Blocked]:
        """Yield the cubes that are blocked in that frame."""
        for found in self.levels[level:]:
            yield from found

    def _give_up_symmetry(self) -> None:
        self.permutations = ()
        for level, found in enumerate(self.levels):
            found[:] = [Blocked(image, frozenset({image}), level) for b in found for image in b.orbit]

    # The solver.

    def _frame(self, level: int) -> list[int]:
        """Return the assumptions under which a state is in that frame."""
        return self._activations[level:]

    def _state(self, model: Sequence[int]) -> Cube:
        return frozenset(model[: len(self.transitions.atoms)])

    def _fresh(self) -> int:
        self._last += 1
        return self._last

    def _solve(self, assumptions: Sequence[int]) -> bool:
        self.questions += 1
        return self._solver.can_hold(assumptions)

    def _add(self, blocked: Blocked) -> None:
        activation = self._activations[blocked.level]
        for cube in blocked.orbit:
            self._solver.add([[-activation, *(-literal for literal in cube)]])

    def _renew_if_used(self) -> None:
        if self._last > self._limit:
            self._renew()

    def _renew(self) -> None:
        if hasattr(self, "_solver"):
            self._spent = self.conflicts
            self._solver.free()
        t = self.transitions
        self._solver = Incremental(self.solver, [*t.clauses, *t.guards])
        self._last = t.size
        self._activations = [self._fresh() for _ in self.levels]
        self._limit = self._last + RENEWED
        for literal in t.initial:
            self._solver.add([[-self._activations[0], literal]])
        for level in self.levels[1:]:
            for blocked in level:
                self._add(blocked)
