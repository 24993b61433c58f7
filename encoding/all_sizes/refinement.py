"""Refinement mappings: how an author states that a whole protocol does nothing that its core does not.

A *mapping* gives the core's state in each state of the whole protocol: one term over the whole protocol for
each variable of the core. A *script* gives the steps that the core takes, in order, while the whole protocol
takes one action; often one step or none. Two things are checked: the core can take each step of a script, and
the steps lead to the state that the mapping gives. `refinement_check.py` checks them action by action,
`follower.py` on executions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.system import Invariant, System
from fencepost.encoding.language.terms import TRUE, Term, TermLike, lift


@dataclass(frozen=True)
class Some:
    """An argument of a step: the first value for which a term holds in the state after the whole's action."""

    such_that: Callable[[Value], Term]


@dataclass(frozen=True, eq=False)
class CoreStep:
    """One step of a script: an action of the core by name, its arguments, and its conditions.

    Arguments are values, terms over the state after the whole's action, or `Some` value. The step is taken if
    `when` holds in the state before the whole's action and `leaving` in the state after it.
    """

    action: str
    arguments: tuple[TermLike | Some, ...] = ()
    when: Term = TRUE
    leaving: Term = TRUE


@dataclass(frozen=True)
class ByValue:
    """A mapping that gives for each value of a variable the condition under which it has that value."""

    holds: Callable[..., Term]
    """A function of the index values and the value."""


Script: TypeAlias = Callable[..., Sequence[CoreStep]]
"""The core's steps for an action of the whole protocol, as a function of the arguments of that action."""


@dataclass(frozen=True, eq=False)
class Refinement:
    """A refinement mapping between a whole protocol and its core, on one finite instance.

    `mapping` has, by name, for each family of the core that changes: a function of the index values that
    gives a term over the whole protocol. `scripts` has, by name, the script of each action of the whole.
    `invariants` of the whole are assumed before each action and must be proved separately. `implied` has, for
    each property of the whole that follows from the core, the name of the core's property that implies it.
    """

    whole: System
    core: System
    mapping: Mapping[str, Callable[..., TermLike] | ByValue]
    scripts: Mapping[str, Script]
    invariants: tuple[Invariant, ...]
    implied: Mapping[str, str]

    def when(self, variable: Variable, value: Value) -> Term:
        """Return the condition under which the mapping gives a variable of the core that value.

        Raises ModelError if the variable is not mapped.
        """
        found = self.mapping.get(variable.family.name)
        if found is None:
            raise ModelError(
                f"{variable.name} of the core changes, but is not mapped; add {variable.family.name}"
            )
        if isinstance(found, ByValue):
            return found.holds(*variable.index, value)
        return lift(found(*variable.index)) == value

    def script(self, action: GroundAction) -> Sequence[CoreStep]:
        """Return the core's steps for an action of the whole. Raises ModelError if there is no script."""
        name = action.schema.name
        if name not in self.scripts:
            raise ModelError(
                f"{name}: no script gives the steps of the core; add one, empty if there are none"
            )
        return self.scripts[name](*action.arguments)

    def step(self, taken: CoreStep, arguments: tuple[Value, ...]) -> GroundAction | None:
        """Return the core's ground action of that step with these arguments, or None if the core has none."""
        return self._steps.get((taken.action, arguments))

    @cached_property
    def _steps(self) -> dict[tuple[str, tuple[Value, ...]], GroundAction]:
        return {(a.schema.name, a.arguments): a for a in self.core.ground_actions}

    @cache  # noqa: B019 - lives as long as the terms of the scripts that it is asked about
    def choices(self, taken: CoreStep) -> list[tuple[tuple[Value, ...], Term]]:
        """Return the possible arguments of a step, each with its condition, in order of preference."""
        schema = next((s for s in self.core.schemas if s.name == taken.action), None)
        if schema is None or len(schema.parameters) != len(taken.arguments):
            raise ModelError(
                f"{taken.action} with {len(taken.arguments)} arguments: the core has no such action"
            )
        found: list[tuple[tuple[Value, ...], Term]] = [((), TRUE)]
        for parameter, given in zip(schema.parameters, taken.arguments, strict=True):
            found = [
                ((*values, value), condition & meant)
                for values, condition in found
                for value, meant in _values(parameter.sort.values, given)
            ]
        return found


def _values(values: Sequence[Value], given: TermLike | Some) -> list[tuple[Value, Term]]:
    """Return the values that an argument may have, each with its condition."""
    if isinstance(given, Some):
        return [(value, given.such_that(value)) for value in values]
    if isinstance(given, Term):
        return [(value, given == value) for value in values]
    return [(given, TRUE)]


def unmet_axioms(core: System) -> list[str]:
    """Return the names of the axioms and conditions that an initial state of a finite core violates."""
    from fencepost.encoding.concrete.beginnings import Beginnings
    from fencepost.encoding.concrete.compiler import Concrete

    concrete = Concrete(core)
    unmet = {a.name: concrete.predicate(~a.holds) for a in (*core.axioms, *core.at_first)}
    found = {name for first in Beginnings(concrete).states() for name, fails in unmet.items() if fails(first)}
    return [name for name in unmet if name in found]
