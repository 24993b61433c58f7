"""The engine of induction over one action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fencepost.encoding.engine.events import (
    ByActions,
    NotByActions,
    PreparationPhase,
    Remark,
    Seen,
    Unreached,
    Untrue,
)
from fencepost.encoding.engine.houdini import SHARES, Houdini, Posed, ask, pose
from fencepost.encoding.engine.searches import shared
from fencepost.encoding.engine.work import Work
from fencepost.encoding.induction.directed_simulation import SimulatedTo, simulation_process
from fencepost.encoding.induction.proof_obligations import Never, Statement
from fencepost.encoding.induction.withdrawal import Left, StillInductive, Withdrawn
from fencepost.encoding.language.system import Invariant, Property
from fencepost.encoding.solving.solvers import Progress, load
from fencepost.encoding.solving.workers import Worker


def proved_of(houdini: Houdini, invariants: Sequence[Invariant]) -> tuple[Invariant, ...]:
    """Return the invariants that hold in every reachable state."""
    return tuple(invariant for invariant in invariants if invariant.name in houdini.proved)


class InductiveProof:
    """Proof by induction over one action, beside simulations that look for the witnesses of the properties.

    A property whose witness no simulation reaches is asked the opposite: is its witness never true?
    """

    def __init__(self, work: Work) -> None:
        """Prepare nothing yet: `run` does the work."""
        self._work = work
        self._houdini: Houdini | None = None

    @property
    def suits(self) -> bool:
        """Whether the limits ask for this engine and the system declares invariants."""
        return self._work.limits.inducts(self._work.system)

    def run(self) -> None:
        """Prove what is inductive, and report it to the knowledge of the work."""
        work, invariants = self._work, self._work.system.invariants
        simulating = work.start("simulation", simulation_process, work.system, work.properties, invariants)
        load(work.limits.solver)
        houdini = self._induct(invariants)
        if houdini is None:
            return
        self._conclude(houdini)
        work.assumed = proved_of(houdini, invariants)

        def without_witness() -> list[Property]:
            inductive = [prop for prop in work.properties if prop.name in houdini.proved]
            return [prop for prop in inductive if not work.knowledge.settled(prop.name)]

        simulated = lambda: not without_witness() or simulating not in work.crew.workers
        work.stopped = work.hear(self._take, simulated)
        work.crew.dismiss()
        if without_witness() and work.stopped is None:
            self._prove_never([Never(prop) for prop in without_witness()])

    def _prove_never(self, claims: Sequence[Never]) -> None:
        """Report the witnesses that induction proves to be never true."""
        houdini = self._induct((*self._work.system.invariants, *claims))
        for claim in claims:
            if houdini is not None and claim.name in houdini.proved:
                self._work.knowledge.hear(Unreached(claim.about.name))

    def _induct(self, claims: Sequence[Statement]) -> Houdini | None:
        """Return the result of Houdini on the properties and these claims, or None without answers."""
        work, self._houdini = self._work, None
        work.start("questions", pose, work.system, work.properties, claims)
        work.stopped = work.hear(self._take, lambda: self._houdini is not None)
        houdini: Houdini | None = self._houdini
        if houdini is None:
            return None
        others = work.crew.workers
        while work.stopped is None and not houdini.settled:
            houdini.again()
            for shares in shared(range(SHARES), work.limits.jobs):
                asked = houdini.posed, houdini.claims, dict(houdini.kept), shares, work.limits
                work.start("induction", ask, *asked)
            work.stopped = work.hear(self._take, lambda: houdini.answered)
            self._dismiss_all_but(others)
        return houdini if work.stopped is None else None

    def _dismiss_all_but(self, others: Sequence[Worker]) -> None:
        asking = [worker for worker in self._work.crew.workers if worker not in others]
        if asking:
            self._work.crew.dismiss(*asking)

    def _take(self, message: Any) -> None:
        match message:
            case Posed():
                self._houdini = Houdini(message)
            case StillInductive() | Withdrawn() | Left():
                assert self._houdini is not None
                self._houdini.hear(message)
            case SimulatedTo():
                self._replay(message)
            case Progress() | PreparationPhase():
                self._work.listen(message)
            case _:
                raise AssertionError(f"no message of this engine: {message}")

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

    def _replay(self, simulated: SimulatedTo) -> None:
        """Replay a simulation to the witness of a property, or to a state in which an invariant is false."""
        work, system, replayer = self._work, self._work.system, self._work.replayer
        actions = [system.ground_actions[number] for number in simulated.actions]
        choices = [system.choices[position].name for position in simulated.choices]
        for invariant in system.invariants:
            if invariant.name == simulated.name:
                trace = replayer.spare_faults(invariant, actions, choices)
                work.listen(Remark(str(Untrue(trace))))
                return
        prop = work.property(simulated.name)
        trace = replayer.spare_faults(replace(prop, holds=~prop.witness), actions, choices)
        if all(trace.faults.get(fault, 0) <= most for fault, most in work.limits.budgets.items()):
            work.knowledge.hear(Seen(prop.name))
