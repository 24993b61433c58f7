"""Proving by induction over one action: the questions made in one process, asked in two, and what their answers come to."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.encoding.engine.events import PreparationPhase
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.preparation import Send
from fencepost.encoding.induction.proof_obligations import (
    INITIALLY,
    WELL_DEFINED,
    Obligations,
    Statement,
    obligations,
)
from fencepost.encoding.induction.withdrawal import (
    Left,
    Message,
    ObligationSolver,
    StillInductive,
    Withdrawn,
    induct,
    share_out,
)
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.solving.solvers import Purse, backend

SHARES = 2
"""Into how many parts the questions are dealt out, however many processes ask them: what is said of the answers depends on it."""


@dataclass(frozen=True)
class Posed:
    """The questions, ready to be asked; `actions` has the number of each slot's ground action."""

    obligations: Obligations
    actions: tuple[int, ...]
    claims: tuple[str, ...]


def pose(
    send: Send, system: System, properties: Sequence[Property], facts: Sequence[Statement]
) -> list[Iterator[PreparationPhase | Posed]]:
    """What the process that makes the questions runs."""
    return [_pose(system, properties, facts)]


def _pose(
    system: System, properties: Sequence[Property], facts: Sequence[Statement]
) -> Iterator[PreparationPhase | Posed]:
    from fencepost.encoding.formulas.symbolic import Symbolic
    from fencepost.encoding.formulas.traps import check_traps
    from fencepost.encoding.induction.orbits import representatives

    yield PreparationPhase("induction: building")
    symbolic = Symbolic(system)
    check_traps(symbolic, properties)
    claims = [*facts, *properties]
    asked = obligations(symbolic, claims, [INITIALLY, *representatives(symbolic, claims)])
    order = {action: number for number, action in enumerate(system.ground_actions)}
    names = (*(claim.name for claim in claims), WELL_DEFINED)
    yield Posed(asked, tuple(order[action] for action in symbolic.actions), names)


def ask(
    send: Send,
    posed: Posed,
    claims: Collection[str],
    kept: Mapping[int, frozenset[str]],
    shares: Sequence[int],
    limits: Limits,
) -> list[Iterator[Message]]:
    """What an asking process runs: the questions of some shares."""
    purse = Purse(limits.conflicts) if limits.conflicts is not None else None
    dealt = share_out(posed.obligations.questions, SHARES)
    clauses = list(posed.obligations.clauses)
    if limits.seed is not None:
        random.Random(limits.seed).shuffle(clauses)
    return [
        induct(
            ObligationSolver(posed.obligations, backend(limits.solver), clauses, purse),
            share,
            dealt[share],
            claims,
            kept,
        )
        for share in shares
    ]


@dataclass
class Houdini:
    """What is known of an induction over one action, from what its processes have said. Starts none of them."""

    posed: Posed
    kept: dict[int, frozenset[str]] = field(default_factory=dict)
    withdrawn: dict[str, int] = field(default_factory=dict)
    """Claims that are not inductive, each with the slot of the action that makes it false."""
    _left: dict[int, frozenset[str]] = field(default_factory=dict)

    @property
    def claims(self) -> frozenset[str]:
        """What has not been withdrawn."""
        return frozenset(self.posed.claims) - self.withdrawn.keys()

    @property
    def proved(self) -> frozenset[str]:
        """The claims that hold in every reachable state: those that are left, if `WELL_DEFINED` is among them.

        A step that is badly defined leads to no state that a question knows of. If one is possible, nothing is proved.
        """
        return self.claims if self.settled and WELL_DEFINED in self.claims else frozenset()

    def hear(self, message: StillInductive | Withdrawn | Left) -> None:
        """Take in what a process says."""
        match message:
            case StillInductive(slot=slot, used=used):
                self.kept[slot] = used
            case Withdrawn(slot=slot, claims=claims):
                for name in claims:
                    self.withdrawn.setdefault(name, slot)
            case Left(share=share, claims=claims):
                self._left[share] = claims

    @property
    def answered(self) -> bool:
        """Every share has answered all its questions."""
        return len(self._left) == SHARES

    @property
    def settled(self) -> bool:
        """Every share has answered for the same claims: these are inductive by themselves."""
        return self.answered and all(left == self.claims for left in self._left.values())

    def again(self) -> None:
        """Nothing is answered for the claims that are left now, save by answers that used no others."""
        self._left.clear()

    def used(self, name: str) -> tuple[str, ...]:
        """Return what a claim that is left rests on, in order of declaration.

        That is what it was proved from, what that was proved from, and so on, and the same of `WELL_DEFINED`.
        """
        assert self.settled and name in self.claims
        found, waiting = {name, WELL_DEFINED}, [name, WELL_DEFINED]
        while waiting:
            claim = waiting.pop()
            for question in self.posed.obligations.questions:
                if claim in question.fails:
                    new = self.kept[question.slot] - found
                    found |= new
                    waiting.extend(new)
        return tuple(n for n in self.posed.claims if n in found and n not in (name, WELL_DEFINED))

    def why_not(self, name: str, system: System) -> str | None:
        """Why that claim is not proved; None if it is."""
        if name in self.proved:
            return None
        lacking = name if name in self.withdrawn else WELL_DEFINED
        slot = self.withdrawn[lacking]
        if slot == INITIALLY:
            return "not inductive: false at first"
        action = system.ground_actions[self.posed.actions[slot]].name
        if lacking == WELL_DEFINED:
            return f"not inductive: {action} may set a variable twice or outside its domain"
        return f"not inductive: {action} breaks it"
