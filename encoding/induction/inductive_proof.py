"""The engine of induction over one action."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fencepost.encoding.engine.events import (
    ByActions,
    NotByActions,
    Remark,
    Seen,
    Unreached,
)
from fencepost.encoding.engine.work import Work
from fencepost.encoding.induction.directed_simulation import witnesses
from fencepost.encoding.induction.houdini import Houdini, HoudiniRun
from fencepost.encoding.induction.proof_obligations import Never, Statement
from fencepost.encoding.language.system import Invariant, Property
from fencepost.encoding.solving.solvers import load
from fencepost.encoding.solving.workers import Worker


def proved_of(houdini: Houdini, invariants: Sequence[Invariant]) -> tuple[Invariant, ...]:
    """Return the invariants that hold in every reachable state."""
    return tuple(invariant for invariant in invariants if invariant.name in houdini.proved)


class InductiveProof:
    """Proof by induction over one action, beside simulations that look for the witnesses of the properties.

    A property whose witness was not reached by then is asked the opposite: is its witness never true?
    """

    proves = True

    def __init__(self, work: Work) -> None:
        """Prepare nothing yet: `begin` starts the workers."""
        self._work = work
        self._simulating: Worker | None = None
        self._run: HoudiniRun | None = None
        self._never: Sequence[Never] | None = None
        """The claims about witnesses that are asked about; None until the properties have their answers."""
        self._lemmas: tuple[Invariant, ...] = ()
        """The lemmas that are carried: none as long as the declared invariants may do."""
        self._is_concluded = False
        self.is_over = False

    @property
    def suits(self) -> bool:
        """Whether the limits ask for this engine, and there are invariants or lemmas."""
        return self._work.limits.inducts(self._work.system, self._work.lemmas)

    def begin(self) -> None:
        """Make the questions, and simulate."""
        work = self._work
        load(work.limits.induction_solver)
        self._lemmas = () if work.system.invariants else work.lemmas
        self._run = self._houdini_on()
        asked = work.replayer, work.properties, work.limits.budgets
        self._simulating = work.start(self, "simulation", witnesses, *asked)

    def take(self, worker: Worker, message: Any) -> None:
        """Handle a message of a worker."""
        if isinstance(message, Seen):
            self._work.knowledge.hear(message)
        else:
            assert self._run is not None
            self._run.take(message)

    def end(self, worker: Worker) -> None:
        """Handle the end of a worker."""
        if worker is self._simulating:
            self._simulating = None
        else:
            assert self._run is not None
            self._run.end(worker)

    def go_on(self) -> None:
        """Conclude once the questions are answered; then wait for witnesses, or ask whether there are any."""
        run = self._run
        if self.is_over or run is None:
            return
        run.go_on()
        if self._never is not None and all(self._work.knowledge.settled(c.about.name) for c in self._never):
            self._finish(None)
            return
        if not run.is_over:
            return
        if run.result is None or self._never is not None:
            self._finish(run.result)
            return
        if not self._is_concluded:
            self._conclude(run.result)
            candidates = (*self._work.system.invariants, *self._lemmas)
            self._work.assumed = proved_of(run.result, candidates)
            if not self._lemmas and self._work.lemmas and self._is_open(run.result):
                self._lemmas = self._work.lemmas
                self._run = self._houdini_on()
                return
            self._is_concluded = True
        lacking = self._without_witness(run.result)
        if not lacking:
            self._finish(None)
        elif self._simulating is None:
            self._never = [Never(prop) for prop in lacking]
            self._run = self._houdini_on(*self._never)

    def _is_open(self, houdini: Houdini) -> bool:
        """Return whether some property is neither inductive nor violated."""
        knowledge, names = self._work.knowledge, [prop.name for prop in self._work.properties]
        return any(name not in houdini.proved and knowledge.violation(name) is None for name in names)

    def _without_witness(self, houdini: Houdini) -> list[Property]:
        """Return the inductive properties whose witness was not reached yet."""
        inductive = [prop for prop in self._work.properties if prop.name in houdini.proved]
        knowledge = self._work.knowledge
        return [p for p in inductive if not (knowledge.is_proved(p.name) or knowledge.settled(p.name))]

    def _finish(self, houdini: Houdini | None) -> None:
        """End the engine; report the witnesses that induction proves to be never true."""
        for claim in self._never or ():
            if houdini is not None and claim.name in houdini.proved:
                self._work.knowledge.hear(Unreached(claim.about.name))
        assert self._run is not None
        self._run.stop()
        if self._simulating is not None:
            self._work.dismiss(self._simulating)
        self.is_over = True

    def _houdini_on(self, *further: Statement) -> HoudiniRun:
        """Start Houdini on the properties, the invariants, the lemmas and further claims."""
        work = self._work
        claims = (*work.system.invariants, *self._lemmas, *further)
        return HoudiniRun(work, self, claims)

    def _conclude(self, houdini: Houdini) -> None:
        """Report of each property whether it is inductive, and of each invariant if it is not."""
        work = self._work
        for prop in work.properties:
            why_not = houdini.why_not(prop.name, work.system)
            if why_not is None:
                used = houdini.used(prop.name)
                work.knowledge.hear(ByActions(prop.name, used))
                work.listen(Remark(f"{prop.name} is inductive over one action, with {', '.join(used)}"))
            else:
                work.knowledge.hear(NotByActions(prop.name, why_not))
        for invariant in work.system.invariants:
            why_not = houdini.why_not(invariant.name, work.system)
            if why_not is not None:
                work.listen(Remark(f"the invariant {invariant.name} is {why_not}"))
