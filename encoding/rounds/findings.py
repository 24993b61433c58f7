"""The findings of searches by rounds: each execution is replayed before it counts as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fencepost.encoding.engine.events import Replayed
from fencepost.encoding.engine.knowledge import Knowledge
from fencepost.encoding.engine.messages import Violated, Witnessed, Wrong
from fencepost.encoding.engine.work import Work
from fencepost.encoding.language.system import Invariant, Property
from fencepost.encoding.rounds.confirmation import Confirmation
from fencepost.encoding.rounds.preparation import Prepared
from fencepost.encoding.rounds.search import Task
from fencepost.encoding.rounds.searches import task


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
        return replace(asked, assumed=tuple(invariant.name for invariant in self.assumed))

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
            case Wrong(execution=execution):
                self.confirmation.wrong(execution)
            case Witnessed(property=name, execution=execution):
                self.confirmation.witness(work.property(name), execution)
                knowledge.hear(message)
            case _:
                knowledge.hear(message)
