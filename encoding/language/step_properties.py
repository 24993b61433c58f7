"""Properties of steps, and refinements: conditions on the state before a step and on the state after it.

After a step of an action a variable has the value that the updates of the action give it. So the condition
becomes one on the state before. Each action sets a variable of the property if this condition is false, and
the property says that no action did. That is a property about states, which every engine can check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import Schema, changed, leaves
from fencepost.encoding.language.author_errors import (
    must_be,
    must_be_call,
    must_be_condition,
    must_be_of_state,
)
from fencepost.encoding.language.conditional_terms import UNDEFINED, implies
from fencepost.encoding.language.consistency import check_comparisons, nothing_leaks
from fencepost.encoding.language.definedness import total
from fencepost.encoding.language.fairness import changes
from fencepost.encoding.language.fold import Folding, is_true
from fencepost.encoding.language.origins import elsewhere, makings_noted
from fencepost.encoding.language.patterns import families_read, is_within, key, replaced
from fencepost.encoding.language.quantifiers import bind
from fencepost.encoding.language.sets import is_one_of
from fencepost.encoding.language.sorts import BOOL
from fencepost.encoding.language.state import Broken, StateSpace, extended, primed
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
    Parameter,
    Quantified,
    Read,
    Term,
    TermLike,
    Update,
    all_of,
    any_of,
    lift,
)
from fencepost.encoding.language.traces import Trace, shown_family

CHANGES = "a step may change what the property reads"
"""The meaning of the witness, if the author gives none."""


@dataclass(frozen=True)
class StepProperty(Property):
    """A condition that must hold of each step that changes something, and one of each initial state."""

    of_step: Callable[[Any, Any], TermLike] | None = None
    """The condition as a function of the states before and after; a system makes `step` from it."""
    at_first: Term = TRUE
    there: Mapping[str, Term] = field(default_factory=dict)
    """The state of another system that the property compares with, by the names of its variables."""
    step: Term = TRUE
    """The condition of a step, as its author wrote it."""
    before: Mapping[Family, Family] = field(default_factory=dict)
    """For each family that stands in `step` for the state after it, the family of the state."""
    broken: Family = field(default_factory=lambda: Broken(BOOL, (), None, None))
    """The variable that an action sets if its step violates the property."""

    def entered(self, system: System) -> Mapping[str, object]:
        """Return the fields of the system: the complete property, and actions that judge their steps."""
        if self.of_step is None:
            return {}
        after = primed(system.state)
        before = dict(zip(after.families, system.state.families, strict=False))
        step = lift(self.of_step(system.state, after))
        must_be_condition(f"{self.name}: the result", step)
        nothing_leaks(self.name, [step])
        if system.state.is_guarded:
            check_comparisons((*before, *before.values()), [(self.name, [step])])
        holds = ~self.broken[()]
        if self.at_first is not TRUE:
            must_be_of_state(f"{self.name}: the mapping of initial states", self.at_first)
            holds = all_of(holds, implies(_is_initial(system), self.at_first))
        made = replace(self, of_step=None, step=total(step), before=before, holds=holds)
        if self.witness is TRUE:
            made = replace(made, witness=made._may_change(system), witness_meaning=CHANGES)
        return {
            "properties": tuple(made if prop is self else prop for prop in system.properties),
            "state": extended(system.state, f"{self.name} is broken", self.broken),
            "actions": tuple(changed(item, made.judged) for item in system.actions),
        }

    def is_broken_in(self, trace: Trace) -> bool:
        """Return whether the last step of a trace violates the property; if not, its initial state does."""
        return bool(trace.value(self.broken))

    def judged(self, schema: Schema) -> Schema:
        """Return the action with an update that says whether its step breaks the property."""
        holds = self._of_step_with(schema.action.then)
        if is_true(holds):
            return schema
        wrong = ~holds if is_true(self._of_step_with(())) else all_of(changes(schema), ~holds)
        then = (*schema.action.then, self.broken[()].set(True, when=wrong))
        return replace(schema, action=replace(schema.action, then=then))

    def _of_step_with(self, updates: Sequence[Update]) -> Term:
        """Return the condition of a step with these updates, over the state before it."""

        def value(read: Read) -> Term:
            own = self.before.get(read.family)
            return read if own is None else value_after(replace(read, family=own), updates)

        return _Tidying({}).term(replaced(self.step, {}, value))

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
    for prop in (prop for prop in system.properties if isinstance(prop, StepProperty)):
        schema = prop.judged(schema)
    return schema


def _is_initial(system: System) -> Term:
    """Return the condition that a state is an initial one."""
    own = (v for v in system.state.variables if not v.is_choice)
    parts = (any_of(v.family[v.index] == value for value in v.family.firsts(v.index)) for v in own)
    return all_of(*parts, TRUE if system.beginning is None else system.beginning)


def value_after(read: Read, updates: Sequence[Update], *, set_all: bool = False) -> Term:
    """Return the value of a variable after these updates, as a term over the state before them.

    With `set_all` the updates set every variable of its family, so the last one needs no condition.
    """
    found: Term | None = None if set_all else read
    for update in reversed(updates):
        if update.target.family is read.family:
            found = _updated(read, update, found)
    return read if found is None else found


def _updated(read: Read, update: Update, otherwise: Term | None) -> Term:
    pairs = list(zip(read.index, update.target.index, strict=True))
    given = {p: index for index, own in pairs for p in update.over if own is p}
    if len(given) < len(update.over):
        raise ModelError(f"{read.family.name}: is set at an index that is computed from all values of a sort")
    index = all_of(one == replaced(own, given) for one, own in pairs if all(own is not p for p in given))
    here, value = all_of(index, replaced(update.when, given)), replaced(update.value, given)
    return value if otherwise is None or is_true(here) else If(read.type, here, value, otherwise)


class _Tidying(Folding):
    """A folding that also decides comparisons of equal parts, and a part joined with its negation."""

    def _folded(self, term: Term) -> Term:
        found = super()._folded(term)
        if isinstance(found, Equal | Less) and key(found.left) == key(found.right):
            return TRUE if isinstance(found, Equal) else FALSE
        if isinstance(found, AllOf | AnyOf):
            keys = set(map(key, found.operands))
            if any(key(~operand) in keys for operand in found.operands):
                return FALSE if isinstance(found, AllOf) else TRUE
        return found


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


def refines(
    name: str,
    meaning: str,
    other: System,
    mapping: Mapping[str, Any],
    witness: Term = TRUE,
    witness_meaning: str = "the witness",
) -> StepProperty:
    """Return the property: each execution is one of the other system, whose state the mapping gives.

    `mapping` has for each variable of the other system, by its name, a term over the state of this system, or
    a function from its index to such a term. Raises ModelError.
    """
    must_be(f"{name}: other=", other, System, "give the system of the other file, such as build(parameters)")
    must_be(f"{name}: mapping=", mapping, Mapping, 'write a table of terms: {"closed": s.closed}')
    elsewhere(making for schema in other.schemas for making in schema.makings())
    of = _Mapped(name, other, mapping)
    first, there = total(of.is_initial), of.values
    return StepProperty(
        name, meaning, TRUE, witness, witness_meaning, of_step=of.is_step, at_first=first, there=there
    )


@dataclass(frozen=True)
class _Mapped:
    """Another system, read in the states of this one."""

    name: str
    other: System
    mapping: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Raise ModelError unless each variable of the other system is mapped, and nothing else."""
        known = dict.fromkeys(map(shown_family, self._families))
        for name in sorted(known.keys() ^ self.mapping.keys()):
            said = "is not mapped" if name in known else "is no variable of the other system"
            raise ModelError(f"{self.name}: {name} {said}; map each of these: {', '.join(known)}")

    @cached_property
    def _families(self) -> tuple[Family, ...]:
        return tuple(f for f in self.other.state.families if not isinstance(f, Broken))

    @cached_property
    def _updates(self) -> tuple[Update, ...]:
        """The mapping, as updates of the variables of the other system."""
        wholes = dict.fromkeys(f if f.whole is None else f.whole for f in self._families)
        with makings_noted():  # of its own: no action has these updates
            return tuple(update for whole in wholes for update in self._set(whole))

    def _set(self, variable: Any) -> Iterator[Update]:
        index, given = tuple(map(bind, variable.over)), self.mapping[variable.name]
        try:
            made = variable[index].set(given(*index) if callable(given) else given)
        except TypeError as error:
            raise ModelError(f"{self.name}: mapping= of {variable.name}: {error}") from error
        yield from (replace(u, over=index) for u in ([made] if isinstance(made, Update) else made))

    def _here(self, term: Term) -> Term:
        """Return a term over the other system as one over this system."""
        return replaced(term, {}, lambda read: value_after(read, self._updates, set_all=True))

    @cached_property
    def _parts(self) -> list[tuple[tuple[Parameter, ...], Read, Term]]:
        """For each family of the other system an open index, the variable there, and its value here."""
        indices = [(family, tuple(map(bind, family.over))) for family in self._families]
        return [(index, family[index], self._here(family[index])) for family, index in indices]

    @cached_property
    def values(self) -> Mapping[str, Term]:
        """The value here of each variable of the other system, by its name."""
        own = (v for v in self.other.variables if v.family in self._families)
        return {v.name: self._here(v.family[v.index]) for v in own}

    @property
    def is_initial(self) -> Term:
        """The condition that the state is an initial state of the other system."""
        own = (v for v in self.other.variables if not v.is_choice and v.name in self.values)
        parts = (any_of(self.values[v.name] == one for one in v.family.firsts(v.index)) for v in own)
        beginning = TRUE if self.other.beginning is None else self._here(self.other.beginning)
        return all_of(*parts, beginning)

    def is_step(self, before: StateSpace, after: StateSpace) -> Term:
        """Return the condition that the other system does the step, or changes nothing."""
        following = dict(zip(before.families, after.families, strict=False))

        def then(term: Term) -> Term:
            return replaced(term, {}, lambda read: replace(read, family=following[read.family]))

        parts = [(index, read, here, then(here)) for index, read, here in self._parts]
        unchanged = {read.family: _bound("forall", index, now == here) for index, read, here, now in parts}
        inside = (
            _bound("forall", index, is_one_of(now, read.family.domain))
            for index, read, here, now in parts
            if read.type != "bool" and not is_within(here, read.family.domain)
        )

        def taken(schema: Schema) -> Term:
            fresh: dict[Parameter, Term] = {p: bind(p.sort) for p in schema.parameters}
            then = schema.action.then
            defined = (~u.when for u in then if u.target.family is UNDEFINED)
            happens = (self._here(term) for term in (lift(schema.action.when), *defined))
            changed = {u.target.family for u in then}
            ends = (
                _bound("forall", index, now == self._here(value_after(read, then)))
                if read.family in changed
                else unchanged[read.family]
                for index, read, _, now in parts
            )
            return total(_bound("exists", fresh.values(), replaced(all_of(*happens, *ends), fresh)))

        steps = (taken(schema.unjudged) for schema in self.other.schemas)
        return all_of(*map(total, inside), any_of(total(all_of(unchanged.values())), *steps))


def _bound(quantifier: str, parameters: Iterable[Any], body: Term) -> Term:
    for parameter in parameters:
        body = Quantified("bool", quantifier, parameter, body)
    return body
