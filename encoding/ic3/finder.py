"""The process that looks for inductive clauses by IC3, and what it says."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fencepost.encoding.engine.clauses import Clause
from fencepost.encoding.engine.messages import IC3, FoundPath
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.ic3.core import inductive_core
from fencepost.encoding.ic3.frames import Frames
from fencepost.encoding.ic3.predecessor_cubes import PredecessorCubes
from fencepost.encoding.ic3.search import FramesSoFar, PathToBad, Proved, Search
from fencepost.encoding.ic3.symmetry import symmetries
from fencepost.encoding.ic3.transitions import WRONG, transitions
from fencepost.encoding.induction.proof_obligations import Statement
from fencepost.encoding.language.system import Invariant, System
from fencepost.encoding.solving.answers import SpentError
from fencepost.encoding.solving.solvers import SOLVERS, Progress
from fencepost.encoding.solving.workers import in_turn

PAUSE = 1.0
"""Seconds between two reports of progress."""

LEAD = 5_000
"""The conflicts that a search for the claims alone may spend before lemmas are searched for with them."""

MINE, OTHER = "minisat", "glucose"
"""The solver of the search, and the one that it uses if the judge uses the first."""


@dataclass(frozen=True)
class FoundClauses:
    """Clauses from which the properties follow, if induction over one action confirms them."""

    properties: tuple[str, ...]
    clauses: tuple[Clause, ...]


def find(
    system: System,
    claims: Sequence[Statement],
    proved: Sequence[Invariant] = (),
    judge: str = "cadical",
    conflicts: int | None = None,
    lemmas: Sequence[Statement] = (),
) -> Iterator[Progress | FoundPath | FoundClauses]:
    """Search for violations and proofs of the claims.

    The invariants `proved` hold in every reachable state, and are taken for granted. `judge` is the solver
    that will judge the clauses: the search uses another one. `conflicts` is the most that it may spend.
    `lemmas` are claims that nobody asks about. If the claims alone turn out to be hard, a second search, in
    turn with the first, looks for a proof of both together. The clauses that it finds are for the lemmas too.
    """
    yield Progress(IC3, 0, 0, 0)
    symbolic = Symbolic(system)
    searches: list[Search] = []

    def answers(sought: Sequence[Statement]) -> Iterator[FramesSoFar | FoundPath | FoundClauses]:
        searches.append(search_for(symbolic, sought, proved, judge))
        return _answers(searches[-1], [claim.name for claim in sought], actions_of(symbolic))

    def answers_with_lemmas() -> Iterator[FramesSoFar | FoundPath | FoundClauses | None]:
        while searches[0].frames.conflicts < LEAD:
            yield None
        yield from answers([*claims, *lemmas])

    still, last = {claim.name for claim in claims}, 0.0
    for message in in_turn([answers(claims), *([answers_with_lemmas()] if lemmas else [])]):
        match message:
            case FramesSoFar(level, orbits, _):
                spent = sum(search.frames.conflicts for search in searches)
                if conflicts is not None and spent > conflicts:
                    raise SpentError(f"{conflicts} conflicts spent")
                if time.perf_counter() - last > PAUSE:
                    last = time.perf_counter()
                    yield Progress(IC3, level, orbits, spent)
            case FoundPath(property=name) if name is None or name in still:
                yield message
                still.discard(name or "")
                if not still:
                    return
            case FoundClauses():
                yield message
                return


def _answers(
    search: Search, names: list[str], actions: Sequence[int]
) -> Iterator[FramesSoFar | FoundPath | FoundClauses]:
    """Yield how far a search for these claims is, and what it finds."""
    relation, frames = search.transitions, search.frames
    for message in search.run([*names, WRONG]):
        match message:
            case FramesSoFar():
                yield message
            case PathToBad(bad, slots, choices, beginning):
                found = None if bad == WRONG else bad
                yield FoundPath(found, tuple(actions[slot] for slot in slots), choices, beginning)
                names = [name for name in names if name != bad]
                if not names:
                    return
            case Proved(bad, cubes):
                core = inductive_core(relation, cubes, bad, frames.solver)
                images = [image for one in core for image in sorted(one.orbit, key=sorted)]
                clauses = tuple(relation.clause([-literal for literal in cube]) for cube in images)
                yield FoundClauses(tuple(name for name in bad if name != WRONG), clauses)


def search_for(
    symbolic: Symbolic, claims: Sequence[Statement], proved: Sequence[Invariant], judge: str
) -> Search:
    """Return a search about these claims, with its symmetries, by another solver than that of the judge.

    The invariants `proved` hold in every reachable state, and are taken for granted.
    """
    relation = transitions(symbolic, claims, proved)
    solver = SOLVERS[OTHER if judge == MINE else MINE]
    frames = Frames(relation, list(symmetries(symbolic, relation, [*claims, *proved])), solver)
    return Search(relation, frames, PredecessorCubes(relation, solver))


def actions_of(symbolic: Symbolic) -> list[int]:
    """Return the number of the ground action of each slot."""
    order = {action: number for number, action in enumerate(symbolic.system.ground_actions)}
    return [order[action] for action in symbolic.actions]
