"""Induction over one action, asked again and again about parts of one set of claims.

The proof obligations of all claims are made once. Houdini then finds the largest inductive part of any of
them, with a solver that keeps what it learnt.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from fencepost.encoding.induction.houdini import SHARES, Houdini, Posed, pose
from fencepost.encoding.induction.proof_obligations import WELL_DEFINED
from fencepost.encoding.induction.withdrawal import (
    Left,
    ObligationSolver,
    StillInductive,
    Withdrawn,
    finished,
    induct,
)
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.solving.solvers import backend


@dataclass(frozen=True)
class Judgement:
    """The claims left, which are inductive together, and the claims withdrawn."""

    left: frozenset[str]
    withdrawn: frozenset[str]
    houdini: Houdini

    def proves(self, names: Collection[str]) -> bool:
        """Return whether all of these claims hold in every reachable state."""
        return {*names, WELL_DEFINED} <= self.left

    def used(self, names: Collection[str]) -> frozenset[str]:
        """Return the claims on which the proofs of these claims rest, the claims themselves included."""
        found: set[str] = set(names)
        for name in names:
            found.update(self.houdini.used(name))
        return frozenset(found)


@dataclass(frozen=True)
class Closure:
    """The claims on which others rest, those on which these rest, and so on, if all claims are assumed.

    `lacking` are those that some action makes false in a state in which all claims hold. If there are none,
    the claims `needed` are inductive by themselves.
    """

    needed: frozenset[str]
    lacking: tuple[str, ...]


class Judge:
    """The proof obligations of one system, its properties and further claims."""

    def __init__(
        self, system: System, properties: Sequence[Property], claims: Sequence[Invariant], solver: str
    ) -> None:
        """Make the proof obligations. Raises ModelError and SolverGaveUpError."""
        *_, posed = pose(system, properties, claims)
        assert isinstance(posed, Posed)
        self._posed = posed
        self.claims = frozenset(posed.claims)
        self._solver = ObligationSolver(posed.obligations, backend(solver))

    def closure(self, names: Sequence[str], claims: Collection[str]) -> Closure:
        """Return what these claims rest on, as the solver's cores have it. Raises SolverGaveUpError."""
        needed, waiting = {*names, WELL_DEFINED}, [*names, WELL_DEFINED]
        asked, lacking = {*claims, *needed}, list[str]()
        while waiting:
            name = waiting.pop(0)
            used = self._used(name, asked)
            if used is None:
                lacking.append(name)
            else:
                waiting += sorted(used - needed)
                needed |= used
        return Closure(frozenset(needed), tuple(lacking))

    def _used(self, name: str, claims: Collection[str]) -> frozenset[str] | None:
        """Return the claims from which it follows that no action makes a claim false; None if one does."""
        used = set[str]()
        for question in self._posed.obligations.questions:
            if name in question.fails:
                answer = finished(self._solver.ask(question, claims, {name}))
                if isinstance(answer, Withdrawn):
                    return None
                used |= answer.used
        return frozenset(used)

    def judge(self, claims: Collection[str]) -> Judgement:
        """Return the largest inductive part of these claims. Raises SolverGaveUpError."""
        asked = {*claims, WELL_DEFINED}
        houdini = Houdini(self._posed)
        houdini.withdrawn.update(dict.fromkeys(frozenset(self._posed.claims) - asked, 0))
        for message in induct(self._solver, 0, self._posed.obligations.questions, asked, {}):
            if isinstance(message, StillInductive | Withdrawn):
                houdini.hear(message)
            elif isinstance(message, Left):
                for share in range(SHARES):
                    houdini.hear(Left(share, message.claims))
        left = houdini.claims
        return Judgement(left, frozenset(asked) - left, houdini)
