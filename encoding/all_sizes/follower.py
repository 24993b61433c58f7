"""Refinement read concretely: what the core does while the whole protocol takes given steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from fencepost.encoding.all_sizes.refinement import CoreStep, Refinement
from fencepost.encoding.concrete.compiler import Concrete, State
from fencepost.encoding.language.state import show
from fencepost.encoding.language.system import GroundAction
from fencepost.encoding.language.terms import Term


class Strays(Exception):
    """The core cannot follow: a step of the script that it cannot take, or a state that the mapping does not give."""


@dataclass(frozen=True)
class Followed:
    """What the core did for one action of the whole, and where it stands then."""

    steps: tuple[GroundAction, ...]
    state: State


class Follower:
    """Follows the whole protocol in its core, by the concrete readings of both."""

    def __init__(self, refinement: Refinement) -> None:
        self.refinement = refinement
        self.whole, self.core = Concrete(refinement.whole), Concrete(refinement.core)

    @cached_property
    def _mapping(self) -> list[list[object]]:
        """For each place of the core, when it has which value of its domain; only what changes is mapped."""
        changing = {u.target.family for s in self.refinement.core.schemas for u in s.action.then}
        return [
            [self.whole.predicate(self.refinement.when(v, value)) for value in v.domain]
            if v.family in changing and v.family.name in self.refinement.mapping
            else []
            for v in self.refinement.core.variables
        ]

    def mapped(self, state: State) -> State:
        """The core's state that a state of the whole stands for. Raises Strays if the mapping gives none, or several."""
        found = list(self.core.initial())
        for variable, tests in zip(self.refinement.core.variables, self._mapping, strict=True):
            if tests:
                held = [position for position, test in enumerate(tests) if test(state)]  # type: ignore[operator]
                if len(held) != 1:
                    said = ", ".join(show(variable.domain.values[position]) for position in held) or "none"
                    raise Strays(f"{variable.name} is mapped to {said}, not to one value")
                found[variable.place] = held[0]
        return self.core.state(found)

    def begin(self, first: State) -> State:
        """The core's state at first. Raises Strays if it is not an initial state of the core."""
        mapped = self.mapped(first)
        self._same(mapped, self.core.initial())
        return mapped

    def follow(self, before: State, action: GroundAction, after: State) -> Followed:
        """What the core does while the whole takes that step. Raises Strays if it cannot follow."""
        state, taken = self.mapped(before), []
        for step in self.refinement.script(action):
            if not (self._holds(step.when, before) and self._holds(step.leaving, after)):
                continue
            ground = self._meant(step, after)
            following = next(self.core.step(ground).successors(state), None)
            if following is None:
                raise Strays(f"the core cannot take {ground.name} there")
            state = following
            taken.append(ground)
        self._same(state, self.mapped(after))
        return Followed(tuple(taken), state)

    def execution(self, path: Iterable[tuple[State, GroundAction, State]]) -> Iterator[Followed]:
        """What the core does along an execution, step by step."""
        for before, action, after in path:
            yield self.follow(before, action, after)

    def _meant(self, step: CoreStep, after: State) -> GroundAction:
        for arguments, condition in self.refinement.choices(step):
            if self._holds(condition, after):
                found = self.refinement.step(step, arguments)
                if found is None:
                    shown = ", ".join(map(show, arguments))
                    raise Strays(f"the core has no {step.action}({shown})")
                return found
        raise Strays(f"no argument of {step.action} is as the script says")

    def _holds(self, term: Term, state: State) -> bool:
        return bool(self.whole.evaluate(term, {}, state))

    def _same(self, reached: State, mapped: State) -> None:
        for variable, got, wanted in zip(self.refinement.core.variables, reached, mapped, strict=True):
            if got != wanted:
                values = variable.domain.values
                raise Strays(
                    f"{variable.name} is {show(values[got])} in the core, and {show(values[wanted])} by the mapping"
                )
