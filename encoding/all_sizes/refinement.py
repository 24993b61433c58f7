"""That a whole protocol does nothing that its core does not: what an author writes down.

A *mapping* reads the core's state off the whole's: one term over the whole for each variable of the core. A *script* says
which steps the core takes, in order, while the whole takes one; often one or none. That each step of the core can be
taken where it stands, and that they lead to where the mapping says, is checked action by action (`refining`), and on
executions (`following`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.system import GroundAction, Invariant, System
from fencepost.encoding.language.terms import TRUE, Term, TermLike, lift


@dataclass(frozen=True)
class Some:
    """An argument that is some value of which a term holds, in the state after the whole's action; the first is taken."""

    such_that: Callable[[Value], Term]


@dataclass(frozen=True, eq=False)
class CoreStep:
    """One step of a script: an action of the core by name, its arguments, and when it is taken.

    Arguments are values, terms over the state after the whole's action, or `Some` value. `when` is read in the state
    before the whole's action, `leaving` in the state after it.
    """

    action: str
    arguments: tuple[TermLike | Some, ...] = ()
    when: Term = TRUE
    leaving: Term = TRUE


@dataclass(frozen=True)
class ByValue:
    """How a variable is mapped whose value is not a term of the whole: when it has which value."""

    holds: Callable[..., Term]
    """Of the index values, and then the value."""


Script: TypeAlias = Callable[..., Sequence[CoreStep]]
"""The core's steps for an action of the whole, of whose arguments it is a function."""


@dataclass(frozen=True, eq=False)
class Refinement:
    """How a whole protocol is tied to its core, on one finite instance.

    `mapping` has for each family of the core that changes, by name, a function of the index values that gives a term over the
    whole; `scripts` has the script of each action of the whole, by name. `facts` about the whole
    may be assumed before each action; whoever uses the refinement must prove them. `implied` names for each property of the whole
    that follows the property of the core that it follows from.
    """

    whole: System
    core: System
    mapping: Mapping[str, Callable[..., TermLike] | ByValue]
    scripts: Mapping[str, Script]
    facts: tuple[Invariant, ...]
    implied: Mapping[str, str]

    def when(self, variable: Variable, value: Value) -> Term:
        """When a variable of the core has that value, by the mapping. Raises ModelError if it is not mapped."""
        found = self.mapping.get(variable.family.name)
        if found is None:
            raise ModelError(
                f"{variable.name} of the core changes, but is not mapped; add {variable.family.name}"
            )
        if isinstance(found, ByValue):
            return found.holds(*variable.index, value)
        return lift(found(*variable.index)) == value

    def script(self, action: GroundAction) -> Sequence[CoreStep]:
        """The core's steps for a ground action of the whole. Raises ModelError if there is no script."""
        name = action.schema.name
        if name not in self.scripts:
            raise ModelError(
                f"{name}: no script says what the core does then; add one, empty if it does nothing"
            )
        return self.scripts[name](*action.arguments)

    def step(self, taken: CoreStep, arguments: tuple[Value, ...]) -> GroundAction | None:
        """The core's ground action of that name and arguments; None if the core has none."""
        return self._steps.get((taken.action, arguments))

    @cached_property
    def _steps(self) -> dict[tuple[str, tuple[Value, ...]], GroundAction]:
        return {(a.schema.name, a.arguments): a for a in self.core.ground_actions}

    @cache  # noqa: B019 - lives as long as the terms of the scripts that it is asked about
    def choices(self, taken: CoreStep) -> list[tuple[tuple[Value, ...], Term]]:
        """What the arguments of a step may be, each with the term that must hold for that, in order of preference."""
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
                for value, meant in _meant(parameter.sort.values, given)
            ]
        return found


def _meant(values: Sequence[Value], given: TermLike | Some) -> list[tuple[Value, Term]]:
    """What an argument may be, and when it is that."""
    if isinstance(given, Some):
        return [(value, given.such_that(value)) for value in values]
    if isinstance(given, Term):
        return [(value, given == value) for value in values]
    return [(given, TRUE)]


def unmet_axioms(core: System) -> list[str]:
    """The axioms, and the facts about the beginning, that a finite instance of a core does not meet, by name."""
    from fencepost.encoding.concrete.compiler import Concrete

    concrete = Concrete(core)
    first = concrete.initial()
    return [a.name for a in (*core.axioms, *core.at_first) if not concrete.predicate(a.holds)(first)]
