"""The findings of searches by rounds: each execution is replayed before it counts as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fencepost.encoding.engine.confirmation import Confirmation
from fencepost.encoding.engine.events import Remark, Replayed, Untrue
from fencepost.encoding.engine.knowledge import Knowledge, failure
from fencepost.encoding.engine.preparation import Prepared
from fencepost.encoding.engine.searches import task
from fencepost.encoding.engine.work import Work
from fencepost.encoding.induction.over_rounds import Inductive, NotInductive
from fencepost.encoding.language.state import amount
from fencepost.encoding.language.system import Invariant, Property
from fencepost.encoding.rounds.search import Broken, Task, Violated, Witnessed, Wrong


@dataclass(frozen=True)
class Findings:
    """The task of searches on one preparation, and their findings.

    `assumed` are the proved invariants of the preparation. With `keeps_steps`, a violation is spared only
    those faults without which all of its steps are still needed.
    """

    work: Work
    prepared: Prepared
    assumed: Sequence[Invariant]
    keeps_steps: bool = False

    @property
    def confirmation(self) -> Confirmation:
        """The translator from executions to traces."""
        return Confirmation(self.work.replayer, self.prepared)

    def task(self, properties: Sequence[Property]) -> Task:
        """Return the task of searches about these properties."""
        work, names = self.work, [prop.name for prop in properties]
        asked = task(work.system, self.confirmation.actions, names, work.limits)
        carried, assumed = (tuple(i.name for i in some) for some in (work.carried, self.assumed))
        return replace(asked, invariants=carried, assumed=assumed)

    def rest(self) -> Task:
        """Return the task of a search that takes over from another one: what is not settled yet."""
        knowledge = self.work.knowledge
        names = [prop.name for prop in self.work.properties if not knowledge.settled(prop.name)]
        found = ((name, knowledge.violation(name)) for name in names)
        known = tuple((name, violation.costs) for name, violation in found if violation is not None)
        searched = min(map(knowledge.searched, names), default=0)
        return replace(self.task([self.work.property(n) for n in names]), searched=searched, known=known)

    def hear(self, knowledge: Knowledge, message: Any) -> None:
        """Replay what a search found, tell the listener, and record it as evidence."""
        work = self.work
        match message:
            case Violated(property=name, execution=execution, costs=costs):
                trace = self.confirmation.violation(work.property(name), execution, self.keeps_steps)
                replayed = Replayed(name, trace, execution.rounds, costs)
                knowledge.hear(replayed)
                work.listen(replayed)
            case Broken(execution=execution):
                untrue = Untrue(self.confirmation.broken(work.carried, execution))
                steps = "; ".join(step.name for step in untrue.trace.steps)
                work.listen(Remark(f"{untrue}: {steps or 'it is at first'}"))
                knowledge.hear(untrue)
            case Wrong(execution=execution):
                self.confirmation.wrong(execution)
            case _:
                self._examine(message)
                knowledge.hear(message)

    def _examine(self, message: Any) -> None:
        """Replay the execution to a witness, and tell the author what k-induction found."""
        match message:
            case Witnessed(property=name, execution=execution):
                self.confirmation.witness(self.work.property(name), execution)
            case Inductive(property=name, rounds=rounds):
                carried = ", ".join(i.name for i in self.work.carried) or "none"
                self.work.listen(
                    Remark(f"{name} is inductive over {amount(rounds, 'round')}; invariants: {carried}")
                )
            case NotInductive(property=name):
                way = self.confirmation.way(message)
                self.work.listen(Remark(f"{name} is {failure(message)}, {way}"))
