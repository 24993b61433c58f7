"""Lower bounds on the steps of a violation, from frames of IC3 that another solver has checked.

If frame i has every state that i steps reach, and no frame up to k has a violation, then a violation takes
more than k steps. IC3 finds the frames, and its word is no evidence. The clauses of the frames become claims,
each with the number of the last frame that it is about. The proof obligations of single actions say that a
claim about frame j holds after each action from a state of frame j - 1; the initial states are frame 0.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from fencepost.encoding.engine.clauses import Clause, invariants_of
from fencepost.encoding.engine.events import StepsAtLeast
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.messages import FoundPath
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.ic3.core import frame_core
from fencepost.encoding.ic3.finder import PAUSE, actions_of, refuse_overspending, search_for
from fencepost.encoding.ic3.search import Excluded, FramesSoFar, PathToBad
from fencepost.encoding.ic3.transitions import WRONG
from fencepost.encoding.induction.proof_obligations import (
    INITIALLY,
    WELL_DEFINED,
    ObligationQuestion,
    obligations,
)
from fencepost.encoding.induction.withdrawal import ObligationSolver, Withdrawn, finished
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.solving.solvers import Progress, backend

TASK = "shortest"
"""The name of this search in progress."""

SHARE = 3.0
"""A bound is checked once the search has gone on for so many times the seconds that the last check took."""


def shorten(
    system: System, prop: Property, proved: Sequence[Invariant], steps: int, limits: Limits
) -> Iterator[Progress | FoundPath | StepsAtLeast]:
    """Look for a violation of fewer than `steps` steps.

    Yields lower bounds that were checked, and a path if it finds a shorter one. The invariants `proved`
    hold in every reachable state, and are taken for granted.
    """
    found = _Frames(Symbolic(system), prop, proved, limits)
    told = checked = time.perf_counter()
    cost = 0.0
    for message in found.search.by_steps(found.bad):
        now = time.perf_counter()
        match message:
            case FramesSoFar(level, orbits, _):
                refuse_overspending(found.frames.conflicts, limits.conflicts)
                if now - told > PAUSE:
                    told = now
                    yield Progress(TASK, level, orbits, found.frames.conflicts)
            case PathToBad(_, slots, choices, beginning):
                actions = actions_of(found.symbolic)
                name = prop.name if message.bad == prop.name else None
                yield FoundPath(name, tuple(actions[slot] for slot in slots), choices, beginning)
                yield from found.bound(len(slots) - 1)
            case Excluded(last) if last + 1 >= steps:
                yield from found.bound(last)
                return
            case Excluded(last) if limits.conflicts is None and now - checked > max(1.0, SHARE * cost):
                yield from found.bound(last)
                checked = time.perf_counter()
                cost = checked - now


class _Frames:
    """The frames of one property, and the check of what they say."""

    def __init__(
        self, symbolic: Symbolic, prop: Property, proved: Sequence[Invariant], limits: Limits
    ) -> None:
        self.symbolic, self._property, self._proved, self._limits = symbolic, prop, proved, limits
        self.search = search_for(symbolic, [prop], proved, limits.solver)
        self.frames, self._relation = self.search.frames, self.search.transitions
        self.bad = (prop.name, WRONG)

    def bound(self, last: int) -> Iterator[StepsAtLeast]:
        """Yield that a violation takes more than `last` steps, if another solver confirms the frames."""
        core = frame_core(self._relation, self.frames, self.bad, last)
        levels = [
            (self._relation.clause([-literal for literal in cube]), min(blocked.level, last))
            for blocked in core
            for cube in sorted(blocked.orbit, key=sorted)
        ]
        if is_kept(self.symbolic, self._property, self._proved, levels, last, self._limits.solver):
            yield StepsAtLeast(self._property.name, last + 1)


def is_kept(
    symbolic: Symbolic,
    prop: Property,
    proved: Sequence[Invariant],
    levels: Sequence[tuple[Clause, int]],
    last: int,
    solver: str,
) -> bool:
    """Return whether no execution of at most `last` steps violates the property or is badly defined.

    `levels` has clauses, each with the number of the last frame that it is about. The property, and that no
    action is badly defined, are about frame `last`. The invariants `proved` hold in every frame.
    """
    clauses = invariants_of(symbolic.system, [clause for clause, _ in levels])
    about = {claim.name: level for claim, (_, level) in zip(clauses, levels, strict=True)}
    about |= {prop.name: last, WELL_DEFINED: last}
    asked = obligations(symbolic, [*clauses, prop, *proved])
    always = {invariant.name for invariant in proved}
    judge = ObligationSolver(asked, backend(solver))
    first = next(question for question in asked.questions if question.slot == INITIALLY)

    def fails(question: ObligationQuestion, level: int) -> bool:
        """Return whether an action makes a claim about this frame false, from the frame before."""
        held = always | {name for name, known in about.items() if known >= level - 1}
        told = {name for name, known in about.items() if known == level}
        given = [first.happens] if level == 1 else []
        return isinstance(finished(judge.ask(question, held, told, given)), Withdrawn)

    if isinstance(finished(judge.ask(first, about.keys())), Withdrawn):
        return False
    actions = [question for question in asked.questions if question is not first]
    frames = sorted({level for level in about.values() if level > 0})
    return not any(fails(question, level) for level in frames for question in actions)
