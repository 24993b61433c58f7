"""The inductive core: a small part of the clauses that IC3 found, which is inductive by itself."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from fencepost.encoding.ic3.frames import Blocked, Cube
from fencepost.encoding.ic3.transitions import Transitions
from fencepost.encoding.solving.solvers import Incremental


class InductiveCore:
    """Clauses with the transition relation, each orbit under a literal of its own.

    The properties are claims too, so a step is asked about from states in which none is violated.
    """

    def __init__(
        self,
        transitions: Transitions,
        found: Sequence[Blocked],
        bad: Iterable[str],
        solver: str = "minisat22",
    ) -> None:
        """Load the solver. `bad` names the bad states that the clauses exclude."""
        self._transitions, self._bad = transitions, [transitions.bad[name] for name in bad]
        self._solver = Incremental(solver, [*transitions.clauses, *transitions.guards])
        self._literals: dict[Blocked, int] = {}
        for literal, blocked in enumerate(found, transitions.size + 1):
            self._literals[blocked] = literal
            for cube in blocked.orbit:
                self._solver.add([[-literal, *(-n for n in cube)]])

    def smallest(self) -> list[Blocked]:
        """Return a part of the clauses that is inductive and excludes the bad states.

        What the bad states and what is already needed rest on is needed. Then each clause is left out, the
        longest first, if all that rests on it also follows from the others. Clauses that are not inductive
        are returned as they are: the judge refuses them.
        """
        self._used: dict[Cube | int, frozenset[Blocked]] = {}
        needed = self._closure()
        if needed is None:
            return list(self._literals)
        for blocked in sorted(needed, key=lambda b: (-len(b.cube), sorted(b.cube))):
            rest = needed - {blocked}
            resting = [key for key, used in self._used.items() if blocked in used and key != blocked.cube]
            again = {key: self._from(key, rest) for key in resting}
            if None not in again.values():
                self._used.pop(blocked.cube)
                self._used |= {key: used for key, used in again.items() if used is not None}
                needed = rest
        return sorted(needed, key=lambda b: (len(b.cube), sorted(b.cube)))

    def _closure(self) -> frozenset[Blocked] | None:
        """Return the clauses on which the bad states rest, those on which these rest, and so on.

        None if the clauses are not inductive.
        """
        needed: dict[Blocked, None] = {}
        waiting: list[Cube | int] = list(self._bad)
        while waiting:
            key = waiting.pop(0)
            used = self._from(key, needed)
            if used is None:
                used = self._from(key, self._literals)
            if used is None:
                return None
            self._used[key] = used
            new = [blocked for blocked in self._literals if blocked in used and blocked not in needed]
            waiting += [blocked.cube for blocked in new]
            needed |= dict.fromkeys(new)
        return frozenset(needed)

    def _from(self, key: Cube | int, clauses: Collection[Blocked]) -> frozenset[Blocked] | None:
        """Return the clauses from which it follows that a cube, or a bad state, is not reached, or None."""
        held = {literal: blocked for blocked, literal in self._literals.items() if blocked in clauses}
        if isinstance(key, int):
            asked = [key]
        else:
            own = next(literal for blocked, literal in self._literals.items() if blocked.cube == key)
            after = (self._transitions.after(n) for n in key)
            asked = [own, *(-literal for literal in self._bad), *after]
        if self._solver.can_hold([*held, *asked]):
            return None
        core = set(self._solver.core())
        return frozenset(blocked for literal, blocked in held.items() if literal in core)


def inductive_core(
    transitions: Transitions, found: Sequence[Blocked], bad: Iterable[str], solver: str = "minisat22"
) -> list[Blocked]:
    """Return a small part of the clauses that is inductive and excludes these bad states."""
    return InductiveCore(transitions, found, bad, solver).smallest()
