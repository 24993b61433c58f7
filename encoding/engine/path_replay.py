"""Paths that were found step by step, replayed before they count as evidence."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from fencepost.encoding.concrete.replay import NotAnExecution
from fencepost.encoding.engine.events import NotByActions, Remark, Replayed, Seen
from fencepost.encoding.engine.messages import IC3, FoundPath
from fencepost.encoding.engine.work import Work
from fencepost.encoding.errors import InternalError
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.state import show_all
from fencepost.encoding.language.terms import FALSE


@dataclass(frozen=True)
class PathReplay:
    """Paths that an engine found step by step, run again on plain values before they count."""

    work: Work
    by: str = IC3
    """The name of the engine."""

    def report(self, path: FoundPath, name: str, to_witness: bool = False) -> None:
        """Report a violation of a property, or its witness, if the path needs no more faults than allowed.

        Raises ModelError if the path ends before a badly defined action, InternalError if it does not replay.
        """
        execution = path.execution(self.work.system)
        if path.property is None:
            self._refuse_badly_defined(*execution)
        prop = self.work.property(name)
        wanted = replace(prop, holds=~prop.witness) if to_witness else prop
        try:
            trace = self.work.replayer.spare_faults(wanted, *execution)
        except NotAnExecution as error:
            raise InternalError(f"{name}: a path was found that does not replay: {error}") from error
        if not trace.keeps_within(self.work.limits.budgets):
            faults = show_all({n: trace.faults[n] for n in self.work.limits.budgets if trace.faults.get(n)})
            found = f"the path that {self.by} found has faults {faults}, more than are allowed"
            self.work.listen(Remark(f"{name}: {found}"))
            if not to_witness:
                self.work.knowledge.hear(NotByActions(name, found))
        elif to_witness:
            self.work.knowledge.hear(Seen(name))
        else:
            replayed = Replayed(name, trace, None, self.work.limits.costs(self.work.system, trace))
            self.work.knowledge.hear(replayed)
            self.work.listen(replayed)

    def _refuse_badly_defined(
        self, actions: Sequence[GroundAction], choices: Sequence[str], beginning: Sequence[int]
    ) -> NoReturn:
        """Raise ModelError for the action that sets a variable twice, or outside its domain, after a path."""
        for action in self.work.system.ground_actions:
            with contextlib.suppress(NotAnExecution):
                self.work.replayer.reach("well-defined", FALSE, [*actions, action], choices, beginning)
        raise InternalError("a badly defined action was found that no replay shows")
