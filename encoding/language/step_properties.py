"""Properties of steps: conditions on the state before a step and on the state after it.

After a step of an action a variable has the value that the updates of the action give it. So the condition
becomes one on the state before. Each action sets a variable of the property if this condition is false, and
the property says that no action did. That is a property about states, which every engine can check.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import Group, Schema, changed, leaves
from fencepost.encoding.language.author_errors import must_be_call, must_be_condition, must_be_of_state
from fencepost.encoding.language.conditional_terms import implies
from fencepost.encoding.language.consistency import nothing_leaks
from fencepost.encoding.language.definedness import total
from fencepost.encoding.language.fairness import changes
from fencepost.encoding.language.fold import is_true, simplified
from fencepost.encoding.language.patterns import families_read, rebuilt
from fencepost.encoding.language.sorts import BOOL
from fencepost.encoding.language.state import Broken, StateSpace, extended, primed
from fencepost.encoding.language.structure import key, replaced
from fencepost.encoding.language.system import Property, System
from fencepost.encoding.language.terms import (
    FALSE,
    TRUE,
    AllOf,
    AnyOf,
    Equal,
    Family,
    If,
    Less,
    Read,
    Term,
    TermLike,
    Update,
    all_of,
    any_of,
    children,
    lift,
)
from fencepost.encoding.language.traces import Trace

CHANGES = "a step may change what the property reads"
"""The meaning of the witness, if the author gives none."""


@dataclass(frozen=True)
class StepProperty(Property):
    """A condition that must hold of each step that changes something, and one of each initial state.

    `of_step` is a function of the states before and after a step. The system makes all other fields from it.
    """

    of_step: Callable[[Any, Any], TermLike] | None = None
    at_first: Term = TRUE
    there: Mapping[str, Term] = field(default_factory=dict)
    """The state of another system that the property compares with, by the names of its variables."""
    step: Term = TRUE
    """The condition of a step, as its author wrote it."""
    before: Mapping[Family, Family] = field(default_factory=dict)
    """For each family that stands in `step` for the state after it, the family of the state."""

    def entered(self, system: System) -> tuple[Property, StateSpace, tuple[Schema | Group, ...]]:
        """Return the property with all its fields, and the state and the actions that judge their steps."""
        if self.of_step is None:
            return self, system.state, system.actions
        after = primed(system.state)
        before = dict(zip(after.families, system.state.families, strict=False))
        step = lift(self.of_step(system.state, after))
        must_be_condition(f"{self.name}: the result", step)
        nothing_leaks(self.name, [step])
        broken = Broken(BOOL, (), None, None)
        state = extended(system.state, f"{self.name} is broken", broken)
        holds = ~broken[()]
        if self.at_first is not TRUE:
            must_be_of_state(f"{self.name}: the mapping of initial states", self.at_first)
            holds = all_of(holds, implies(_is_initial(system), self.at_first))
        made = replace(self, of_step=None, step=total(step), before=before, holds=holds)
        if self.witness is TRUE:
            made = replace(made, witness=made._may_change(system), witness_meaning=CHANGES)
        return made, state, tuple(changed(item, made.judged) for item in system.actions)

    @property
    def written(self) -> tuple[Term, ...]:
        """The terms of the property as its author wrote them."""
        return (*super().written, self.step)

    @cached_property
    def _broken(self) -> Read:
        (found,) = (f for f in families_read(self.holds) if isinstance(f, Broken))
        return found[()]

    def is_broken_in(self, trace: Trace) -> bool:
        """Return whether the last step of a trace violates the property; if not, its initial state does."""
        return bool(trace.value(self._broken))

    @cached_property
    def _of_idle_step(self) -> Term:
        """The condition of a step that changes nothing."""
        return self._of_step_with(())

    def judged(self, schema: Schema) -> Schema:
        """Return the action with an update that says whether its step breaks the property."""
        holds = self._of_step_with(schema.action.then)
        if is_true(holds):
            return schema
        wrong = ~holds if is_true(self._of_idle_step) else all_of(changes(schema), ~holds)
        then = (*schema.action.then, self._broken.set(True, when=wrong))
        return replace(schema, action=replace(schema.action, then=then))

    def _of_step_with(self, updates: Sequence[Update]) -> Term:
        """Return the condition of a step with these updates, over the state before it."""

        def value(read: Read) -> Term:
            own = self.before.get(read.family)
            return read if own is None else value_after(replace(read, family=own), updates)

        return _tidy(replaced(self.step, {}, value))

    def _may_change(self, system: System) -> Term:
        """Return the term that says: some action may change what the property reads after a step."""
        read = {self.before[f] for f in families_read(self.step) if f in self.before}

        def may_change(schema: Schema) -> Term:
            then = tuple(u for u in schema.action.then if u.target.family in read)
            other = changes(replace(schema, action=replace(schema.action, then=then)))
            action = replace(schema.action, when=all_of(schema.action.when, other))
            return replace(schema, action=action).could_happen() if then else FALSE

        return any_of(map(may_change, dict.fromkeys(leaves(system.actions))))


def judged(system: System, schema: Schema) -> Schema:
    """Return an action as its author wrote it with the updates that judge its steps in this system."""
    for prop in system.properties:
        schema = prop.judged(schema) if isinstance(prop, StepProperty) else schema
    return schema


def _is_initial(system: System) -> Term:
    """Return the condition that a state is an initial one."""
    parts = (
        any_of(v.family[v.index] == value for value in v.family.firsts(v.index))
        for v in system.state.variables
        if not v.is_choice
    )
    return all_of(*parts, TRUE if system.beginning is None else system.beginning)


def value_after(read: Read, updates: Sequence[Update]) -> Term:
    """Return the value of a variable after these updates, as a term over the state before them."""
    found: Term = read
    for update in reversed(updates):
        if update.target.family is read.family:
            found = _updated(read, update, found)
    return found


def _updated(read: Read, update: Update, otherwise: Term) -> Term:
    pairs = list(zip(read.index, update.target.index, strict=True))
    given = {p: index for index, own in pairs for p in update.over if own is p}
    if len(given) < len(update.over):
        raise ModelError(f"{read.family.name}: is set at an index that is computed from all values of a sort")
    index = all_of(one == replaced(own, given) for one, own in pairs if all(own is not p for p in given))
    here, value = all_of(index, replaced(update.when, given)), replaced(update.value, given)
    return value if is_true(here) else If(read.type, here, value, otherwise)


def _tidy(term: Term) -> Term:
    """Return the term simplified, also where it compares equal parts, or joins a part with its negation."""
    known: dict[Term, Term] = {}

    def tidy(term: Term) -> Term:
        if term not in known:
            parts = children(term)
            after = tuple(map(tidy, parts))
            is_same = all(a is b for a, b in zip(parts, after, strict=True))
            known[term] = _settled(simplified(term if is_same else rebuilt(term, after)))
        return known[term]

    return tidy(term)


def _settled(term: Term) -> Term:
    if isinstance(term, Equal | Less) and key(term.left) == key(term.right):
        return TRUE if isinstance(term, Equal) else FALSE
    if isinstance(term, AllOf | AnyOf):
        keys = set(map(key, term.operands))
        if any(key(~operand) in keys for operand in term.operands):
            return FALSE if isinstance(term, AllOf) else TRUE
    return term


def always_step(
    name: str,
    meaning: str,
    holds: Callable[[Any, Any], TermLike],
    witness: Term = TRUE,
    witness_meaning: str = "the witness",
    explain: Callable[[Trace], str] | None = None,
) -> StepProperty:
    """Return the property: `holds(before, after)` is true of each step that changes something.

    Both are states with the attributes of the system's state. Without a witness it is that some action may
    change what `holds` reads of the state after the step. Raises ModelError.
    """
    must_be_call(f"{name}: holds=", holds, "give a function: lambda before, after: …")
    return StepProperty(name, meaning, TRUE, witness, witness_meaning, explain, of_step=holds)
