"""Houdini: which claims are inductive together. One process makes the questions, others ask them."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.encoding.engine.events import PreparationPhase
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.work import Engine, Work
from fencepost.encoding.induction.proof_obligations import (
    INITIALLY,
    WELL_DEFINED,
    Obligations,
    Statement,
    obligations,
)
from fencepost.encoding.induction.withdrawal import (
    Left,
    ObligationSolver,
    StillInductive,
    WithdrawalMessage,
    Withdrawn,
    induct,
    share_out,
)
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.rounds.searches import shared
from fencepost.encoding.solving.solvers import Purse, backend
from fencepost.encoding.solving.workers import Worker, in_turn

SHARES = 2
"""The number of parts into which the questions are dealt.

It does not depend on the number of processes, so neither do the claims that are withdrawn.
"""


@dataclass(frozen=True)
class Posed:
    """The questions, ready to be asked. `actions` has the number of each slot's ground action."""

    obligations: Obligations
    actions: tuple[int, ...]
    claims: tuple[str, ...]


def pose(
    system: System, properties: Sequence[Property], invariants: Sequence[Statement]
) -> Iterator[PreparationPhase | Posed]:
    """Make the questions, and yield them in the end."""
    from fencepost.encoding.formulas.symbolic import Symbolic
    from fencepost.encoding.formulas.traps import check_traps
    from fencepost.encoding.induction.orbits import representatives

    yield PreparationPhase("induction: building")
    symbolic = Symbolic(system)
    check_traps(symbolic, properties)
    claims = [*invariants, *properties]
    asked = obligations(symbolic, claims, [INITIALLY, *representatives(symbolic, claims)])
    order = {action: number for number, action in enumerate(system.ground_actions)}
    names = (*(claim.name for claim in claims), WELL_DEFINED)
    yield Posed(asked, tuple(order[action] for action in symbolic.actions), names)


def ask(
    posed: Posed,
    claims: Collection[str],
    kept: Mapping[int, frozenset[str]],
    shares: Sequence[int],
    limits: Limits,
) -> Iterator[WithdrawalMessage]:
    """Ask the questions of some shares, in turn."""
    yield from in_turn(asked(posed, claims, kept, shares, limits))


def asked(
    posed: Posed,
    claims: Collection[str],
    kept: Mapping[int, frozenset[str]],
    shares: Sequence[int],
    limits: Limits,
) -> list[Iterator[WithdrawalMessage]]:
    """Return a generator for each share, which asks its questions; all spend from one purse."""
    purse = Purse(limits.conflicts) if limits.conflicts is not None else None
    dealt = share_out(posed.obligations.questions, SHARES)
    clauses = list(posed.obligations.clauses)
    if limits.seed is not None:
        random.Random(limits.seed).shuffle(clauses)
    return [
        induct(
            ObligationSolver(posed.obligations, backend(limits.induction_solver), clauses, purse),
            share,
            dealt[share],
            claims,
            kept,
        )
        for share in shares
    ]


@dataclass
class Houdini:
    """The state of an induction over one action: the claims left, the claims withdrawn, the answers.

    It starts no process.
    """

    posed: Posed
    kept: dict[int, frozenset[str]] = field(default_factory=dict)
    withdrawn: dict[str, int] = field(default_factory=dict)
    """The claims that are not inductive, each with the slot of an action that makes it false."""
    _left: dict[int, frozenset[str]] = field(default_factory=dict)

    @property
    def claims(self) -> frozenset[str]:
        """The claims that are not withdrawn."""
        return frozenset(self.posed.claims) - self.withdrawn.keys()

    @property
    def proved(self) -> frozenset[str]:
        """The claims that hold in every reachable state: those left, if `WELL_DEFINED` is among them.

        No question is about the state after a badly defined step. If such a step is possible, nothing is
        proved.
        """
        return self.claims if self.settled and WELL_DEFINED in self.claims else frozenset()

    def hear(self, message: StillInductive | Withdrawn | Left) -> None:
        """Record a message of a process."""
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
        """Whether every share has answered all its questions."""
        return len(self._left) == SHARES

    @property
    def settled(self) -> bool:
        """Whether every share has answered for the same claims. They are inductive by themselves then."""
        return self.answered and all(left == self.claims for left in self._left.values())

    def again(self) -> None:
        """Begin another turn: every share asks again about the claims that are left."""
        self._left.clear()

    def used(self, name: str) -> tuple[str, ...]:
        """Return the claims on which a claim that is left rests, in order of declaration.

        These are the claims from which it was proved, those from which these were proved, and so on. The
        claims on which `WELL_DEFINED` rests are among them.
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
        """Return why that claim is not proved, or None if it is."""
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


class HoudiniRun:
    """Houdini on properties and further claims of a system, up to the claims that are inductive together.

    The engine that owns the run hands it the messages and the ends of `workers`, and calls `go_on` after
    each message.
    """

    def __init__(self, work: Work, engine: Engine, claims: Sequence[Statement]) -> None:
        """Start the worker that makes the questions."""
        self._work, self._engine = work, engine
        self._houdini: Houdini | None = None
        self.workers = [work.start(engine, "questions", pose, work.system, work.properties, claims)]

    @property
    def result(self) -> Houdini | None:
        """The claims left and withdrawn; None before the end, or if a process gave up."""
        return self._houdini if self._houdini is not None and self._houdini.settled else None

    @property
    def is_over(self) -> bool:
        """Whether there is a result, or none will come."""
        return self.result is not None or not self.workers

    def take(self, message: Posed | StillInductive | Withdrawn | Left) -> None:
        """Handle a message of one of the workers."""
        if isinstance(message, Posed):
            self.stop()
            self._houdini = Houdini(message)
            self._ask(self._houdini)
        else:
            assert self._houdini is not None
            self._houdini.hear(message)

    def end(self, worker: Worker) -> None:
        """Handle the end of one of the workers."""
        self.workers.remove(worker)

    def go_on(self) -> None:
        """End the turn if all its questions are answered, and begin another if the shares differ."""
        houdini = self._houdini
        if houdini is None or not houdini.answered:
            return
        self.stop()
        if not houdini.settled:
            houdini.again()
            self._ask(houdini)

    def stop(self) -> None:
        """End the workers."""
        self._work.dismiss(*self.workers)
        self.workers.clear()

    def _ask(self, houdini: Houdini) -> None:
        for shares in shared(range(SHARES), self._work.places):
            asked = houdini.posed, houdini.claims, dict(houdini.kept), shares, self._work.limits
            self.workers.append(self._work.start(self._engine, "induction", ask, *asked))
