"""Violations by the writer alone, replayed in the instance with its recoverers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

from fencepost.answers.without_spare import by_rounds, carried_over, results_of
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Result
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.traces import Subject
from fencepost.protocols.bookkeeper.today import Today


@dataclass(frozen=True)
class FewerActions(System):
    """A system without the actions that have certain arguments. The whole has all its executions."""

    without: frozenset[Value] = frozenset()

    @cached_property
    def ground_actions(self) -> tuple[GroundAction, ...]:
        """All actions without one of these arguments."""
        return tuple(a for a in super().ground_actions if not self.without.intersection(a.arguments))


@dataclass(frozen=True)
class WriterAlone:
    """An instance in which no recoverer does anything."""

    instance: Instance

    @property
    def subject(self) -> Subject:
        """The names and values of the instance."""
        return self.instance.subject

    @cached_property
    def system(self) -> System:
        """The system without the actions of recoverers."""
        whole = self.instance.system
        assert isinstance(whole.state, Today), "only a ledger has recoverers"
        recoverers = frozenset(whole.state.recoverer.values)
        return FewerActions(**{f.name: getattr(whole, f.name) for f in fields(System)}, without=recoverers)


def violations_by_the_writer(
    instance: Instance, properties: Sequence[Property], limits: Limits
) -> tuple[Result, ...]:
    """Search executions without a recoverer and without a lost message; return those that replay.

    Such an execution is one of the instance. The result does not rely on this: the steps are replayed on
    plain values in `instance`, and a violation that does not replay there is dropped. A search without a
    violation proves nothing. A property with traps is left out, because it says which actions stay possible.
    """
    asked = [prop for prop in properties if not prop.traps]
    alone = WriterAlone(instance)
    budgets = {fault: 0 for fault in ("lost",) if fault in alone.system.faults}
    searched = replace(by_rounds(limits), budgets=budgets)
    return carried_over(results_of(alone, asked, searched), instance)
