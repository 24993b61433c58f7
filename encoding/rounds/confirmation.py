"""Confirmation: executions that a solver found count only after they were replayed on plain values."""

from __future__ import annotations

from dataclasses import dataclass

from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.engine.messages import Execution
from fencepost.encoding.errors import InternalError
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import FALSE
from fencepost.encoding.language.traces import Trace, plain
from fencepost.encoding.rounds.preparation import Prepared
from fencepost.encoding.rounds.search import Footprint


@dataclass(frozen=True)
class Confirmation:
    """A translator from executions, which are slots and choices, to traces.

    Its methods raise InternalError for an execution that does not replay.
    """

    replayer: Replayer
    prepared: Prepared

    def violation(self, prop: Property, execution: Execution, keeps_steps: bool = False) -> Trace:
        """Return the trace to a state that violates the property, without needless faults.

        With `keeps_steps`, no fault is spared if the violation would then come earlier.
        """
        try:
            return self.replayer.spare_faults(prop, *self._replayed(execution), keeps_steps)
        except NotAnExecution as error:
            raise self._does_not_replay(prop.name, execution, error) from error

    def witness(self, prop: Property, execution: Execution) -> None:
        """Check that the execution reaches the property's witness."""
        try:
            self.replayer.reach(prop.name, prop.witness, *self._replayed(execution))
        except NotAnExecution as error:
            raise self._does_not_replay(f"witness of {prop.name}", execution, error) from error

    def wrong(self, execution: Execution) -> None:
        """Raise ModelError for the action that sets a variable twice or outside its domain."""
        try:
            self.replayer.reach("well-defined", FALSE, *self._replayed(execution))
        except NotAnExecution as error:
            raise self._does_not_replay("a badly defined update", execution, error) from error

    def footprint(self, trace: Trace) -> Footprint:
        """Return the actions and losses of a trace. The trace needs every loss that it shows."""
        names = {(s.action, tuple(s.arguments.values())) for s in trace.steps}
        choices = [v.name for v in self.replayer.system.choices]
        return Footprint(
            frozenset(
                slot
                for slot, action in enumerate(self.actions)
                if (action.schema.name, tuple(map(plain, action.arguments))) in names
            ),
            frozenset(position for position, name in enumerate(choices) if trace.initial.get(name)),
        )

    @property
    def actions(self) -> list[GroundAction]:
        """The action of each slot."""
        return self.prepared.actions(self.replayer.system)

    def _replayed(self, execution: Execution) -> tuple[list[GroundAction], list[str], tuple[int, ...]]:
        """Return the execution as the replayer takes it."""
        return self._fired(execution), self._choices(execution), execution.beginning

    def _fired(self, execution: Execution) -> list[GroundAction]:
        actions = self.actions
        return [actions[slot] for slot in execution.slots]

    def _choices(self, execution: Execution) -> list[str]:
        return [self.replayer.system.choices[position].name for position in execution.choices]

    def _does_not_replay(self, what: str, execution: Execution, error: Exception) -> InternalError:
        actions = "; ".join(action.name for action in self._fired(execution))
        choices = ", ".join(self._choices(execution)) or "none"
        return InternalError(
            f"{what}: the solver found an execution that does not replay.\n"
            f"solver: {actions}; choices: {choices}\nreplay: {error}"
        )
