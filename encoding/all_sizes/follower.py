"""Refinement on executions: the steps of the core while the whole protocol takes given actions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from fencepost.encoding.all_sizes.refinement import CoreStep, Refinement
from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.terms import Term


class Strays(Exception):
    """The error that the core cannot follow: it cannot take a step, or its state differs from the mapping."""


@dataclass(frozen=True)
class Followed:
    """The steps that the core took for one action of the whole, and its state after them."""

    steps: tuple[GroundAction, ...]
    state: State


class Follower:
    """The concrete readings of a whole protocol and its core, which follows it step by step."""

    def __init__(self, refinement: Refinement) -> None:
        """Compile both systems. Raises ModelError if a family that the mapping leaves out varies at first."""
        self.refinement = refinement
        self.whole, self.core = Concrete(refinement.whole), Concrete(refinement.core)
        self._first = [own[0] for own in refinement.core.firsts]
        for variable in refinement.core.varied:
            if not self._mapping[variable.place]:
                raise ModelError(
                    f"{variable.name} of the core has several initial values, but is not mapped; "
                    f"add {variable.family.name}"
                )

    @cached_property
    def _mapping(self) -> list[list[object]]:
        """By place of the core, a predicate for each value of its domain; none if the place never changes."""
        core = self.refinement.core
        changing = {u.target.family for s in core.schemas for u in s.action.then}
        changing |= {v.family for v in core.varied}
        return [
            [self.whole.predicate(self.refinement.when(v, value)) for value in v.domain]
            if v.family in changing and v.family.name in self.refinement.mapping
            else []
            for v in core.variables
        ]

    def mapped(self, state: State) -> State:
        """Return the core's state for a state of the whole. Raises Strays unless the mapping gives one."""
        variables = self.refinement.core.variables
        found = [v.domain.values.index(first) for v, first in zip(variables, self._first, strict=True)]
        for variable, tests in zip(variables, self._mapping, strict=True):
            if tests:
                held = [position for position, test in enumerate(tests) if test(state)]  # type: ignore[operator]
                if len(held) != 1:
                    given = ", ".join(show(variable.domain.values[position]) for position in held) or "none"
                    raise Strays(f"{variable.name} is mapped to {given}, not to one value")
                found[variable.place] = held[0]
        return self.core.state(found)

    def begin(self, first: State) -> State:
        """Return the core's initial state. Raises Strays if the mapping gives another state."""
        mapped, beginnings = self.mapped(first), Beginnings(self.core)
        refusal = beginnings.refusal(beginnings.of(mapped))
        if refusal is not None:
            raise Strays(f"no initial state of the core: {refusal}")
        self._check_equal(mapped, self.core.initial(beginning=beginnings.of(mapped)))
        return mapped

    def follow(self, before: State, action: GroundAction, after: State) -> Followed:
        """Return the core's steps during an action of the whole. Raises Strays if the core cannot follow."""
        state, taken = self.mapped(before), []
        for step in self.refinement.script(action):
            if not (self._holds(step.when, before) and self._holds(step.leaving, after)):
                continue
            ground = self._ground_step(step, after)
            following = next(self.core.step(ground).successors(state), None)
            if following is None:
                raise Strays(f"the core cannot take {ground.name}")
            state = following
            taken.append(ground)
        self._check_equal(state, self.mapped(after))
        return Followed(tuple(taken), state)

    def execution(self, path: Iterable[tuple[State, GroundAction, State]]) -> Iterator[Followed]:
        """Yield the core's steps along an execution, action by action."""
        for before, action, after in path:
            yield self.follow(before, action, after)

    def _ground_step(self, step: CoreStep, after: State) -> GroundAction:
        for arguments, condition in self.refinement.choices(step):
            if self._holds(condition, after):
                found = self.refinement.step(step, arguments)
                if found is None:
                    shown = ", ".join(map(show, arguments))
                    raise Strays(f"the core has no {step.action}({shown})")
                return found
        raise Strays(f"no argument of {step.action} meets the condition in the script")

    def _holds(self, term: Term, state: State) -> bool:
        return bool(self.whole.evaluate(term, {}, state))

    def _check_equal(self, reached: State, mapped: State) -> None:
        for variable, got, wanted in zip(self.refinement.core.variables, reached, mapped, strict=True):
            if got != wanted:
                values = variable.domain.values
                own, mapped_to = show(values[got]), show(values[wanted])
                raise Strays(f"{variable.name} is {own} in the core and {mapped_to} by the mapping")
