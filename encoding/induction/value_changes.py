"""How the values of state variables may change, read off the guards and updates of the actions.

An update is taken to be possible unless its guard, read alone, excludes it. So every change that an action
can make is among those returned, and maybe others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from fencepost.encoding.induction.tidy_terms import decided, folded, with_value
from fencepost.encoding.language.actions import Schema
from fencepost.encoding.language.fold import is_false, is_true
from fencepost.encoding.language.patterns import (
    conjuncts,
    families_read,
    key,
    pattern,
    rebuilt,
    replaced,
    subterms,
)
from fencepost.encoding.language.quantifiers import bind
from fencepost.encoding.language.sorts import Sort, Value
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import (
    Binder,
    Constant,
    Family,
    If,
    In,
    Joined,
    Not,
    Pair,
    Parameter,
    Read,
    Term,
    Update,
    children,
    lift,
    node,
)

Matching = Mapping[Parameter, Term]
"""The terms that stand for the parameters of an action."""


@dataclass(frozen=True, eq=False)
class GuardedUpdate:
    """An update of an action, with the conjuncts of its guard and of its own condition."""

    schema: Schema
    update: Update
    conditions: tuple[Term, ...]

    @cached_property
    def reads(self) -> tuple[frozenset[Family], ...]:
        """The families that each of the conditions reads."""
        return tuple(families_read(condition) for condition in self.conditions)

    def about(self, family: Family) -> Iterator[Term]:
        """Yield the conditions that read the family."""
        yield from (c for c, read in zip(self.conditions, self.reads, strict=True) if family in read)


@dataclass(frozen=True)
class Given:
    """An assumption: the variable at this place has one of these values."""

    place: Read
    values: frozenset[Value]

    @cached_property
    def key(self) -> object:
        """Equal for equal assumptions."""
        return key(self.place), self.values


@dataclass(frozen=True)
class ValueChanges:
    """The changes of state variables that the actions of a system may make."""

    system: System
    _known: dict[object, Mapping[Value, frozenset[Value]]] = field(default_factory=dict)
    _updates: dict[Schema, tuple[Update, ...]] = field(default_factory=dict)
    _read: dict[Family, frozenset[Family]] = field(default_factory=dict)

    @cached_property
    def settings(self) -> Mapping[Family, tuple[GuardedUpdate, ...]]:
        """The updates of each family by actions that may happen."""
        found: dict[Family, list[GuardedUpdate]] = {}
        for schema in self.system.schemas:
            guard = conjuncts(decided(lift(schema.action.when)))
            if any(is_false(part) for part in guard):
                continue
            for update in self.updates(schema):
                conditions = tuple(c for c in (*guard, *conjuncts(update.when)) if not is_true(c))
                found.setdefault(update.target.family, []).append(GuardedUpdate(schema, update, conditions))
        return {family: tuple(settings) for family, settings in found.items()}

    def updates(self, schema: Schema) -> tuple[Update, ...]:
        """Return the updates of an action; those of all values of a sort are one, with `over`."""
        if schema not in self._updates:
            self._updates[schema] = tuple(joined([*map(_simple, schema.action.then)]))
        return self._updates[schema]

    def _decisive(self, family: Family) -> frozenset[Family]:
        """Return the families that the conditions of its updates read."""
        if family not in self._read:
            reads = (read for setting in self.settings.get(family, ()) for read in setting.reads)
            self._read[family] = frozenset().union(*reads)
        return self._read[family]

    def later(
        self, place: Read, given: Sequence[Given] = (), and_by: Schema | None = None
    ) -> Mapping[Value, frozenset[Value]]:
        """Return for each value of a place the values that it may have from then on, itself included.

        Only actions count that may happen while all of `given` is true, and the action `and_by`.
        """
        given = [one for one in given if one.place.family in self._decisive(place.family)]
        if given and all(after == {value} for value, after in self.later(place).items()):
            given = []
        places = pattern([place, *(one.place for one in given)])
        asked = places, tuple(one.values for one in given), and_by if given else None
        if asked not in self._known:
            steps: dict[Value, set[Value]] = {value: {value} for value in place.family.domain}
            for setting in self.settings.get(place.family, ()):
                matching = matched(setting.update.target.index, place.index)
                if matching is None or (
                    setting.schema is not and_by and any(excluded(setting, matching, one) for one in given)
                ):
                    continue
                for value, after in _value_steps(setting, matching, place):
                    steps[value] |= after
            self._known[asked] = _transitive(steps)
        return self._known[asked]


def matched(index: Sequence[Term], wanted: Sequence[Term]) -> dict[Parameter, Term] | None:
    """Return terms for the parameters in `index` that make it the wanted index; None if they never meet.

    What an index says that is no parameter and no constant is not looked at.
    """
    found: dict[Parameter, Term] = {}
    for own, other in zip(index, wanted, strict=True):
        values = _fixed_values(own), _fixed_values(other)
        if values[0] is not None and values[1] is not None and not set(values[0]) & set(values[1]):
            return None
        if not isinstance(own, Parameter):
            continue
        before = found.setdefault(own, other)
        if isinstance(before, Constant) and isinstance(other, Constant) and before.value != other.value:
            return None
    return found


def _fixed_values(term: Term) -> Sequence[Value] | None:
    match node(term):
        case Constant(value=value):
            return (value,)
        case Parameter(sort=sort):
            return sort.values
        case Read() | Not() | Joined() | Pair() | If() | Binder() | In():
            return None


def excluded(setting: GuardedUpdate, matching: Matching, given: Given) -> bool:
    """Return whether a condition of the update is false whatever value of those given the place has."""
    return any(
        all(is_false(with_value(condition, given.place, value)) for value in given.values)
        for condition in _about(setting, matching, given.place)
    )


def _about(setting: GuardedUpdate, matching: Matching, place: Read) -> list[Term]:
    """Return the conditions of the update that read the place, with these terms for parameters."""
    wanted = key(place)

    def reads(term: Term) -> bool:
        found = (part for part in subterms(term) if isinstance(part, Read))
        return any(read.family is place.family and key(read) == wanted for read in found)

    moved = (replaced(condition, matching) for condition in setting.about(place.family))
    return [condition for condition in moved if reads(condition)]


def _value_steps(
    setting: GuardedUpdate, matching: Matching, place: Read
) -> Iterator[tuple[Value, frozenset[Value]]]:
    """Yield each value from which the update may happen, with the values that it may set."""
    about = _about(setting, matching, place)
    value = replaced(setting.update.value, matching)
    for plain, conditions in _plain_cases(value, about):
        for before in place.family.domain:
            if not any(is_false(with_value(condition, place, before)) for condition in conditions):
                yield before, possible_values(with_value(plain, place, before), place.family.domain)


def _plain_cases(value: Term, conditions: Sequence[Term]) -> Iterator[tuple[Term, Sequence[Term]]]:
    """Yield the value with the conditions: each value of a parameter by itself, if a condition reads it."""
    if isinstance(value, Parameter) and any(value is p for c in conditions for p in c.free):
        for plain in value.sort:
            case = {value: Constant(value.type, plain)}
            yield case[value], [folded(replaced(condition, case)) for condition in conditions]
    else:
        yield value, conditions


def possible_values(term: Term, domain: Sort) -> frozenset[Value]:
    """Return the values of the domain that the term may have: all of them unless it is plain."""
    plain = _fixed_values(term)
    return frozenset(domain.values if plain is None else (v for v in plain if v in domain.values))


def _transitive(steps: Mapping[Value, set[Value]]) -> Mapping[Value, frozenset[Value]]:
    """Return the values that can be reached from each value by any number of steps."""
    found = {}
    for start in steps:
        seen, ahead = {start}, [start]
        while ahead:
            new = steps[ahead.pop()] - seen
            seen |= new
            ahead += new
        found[start] = frozenset(seen)
    return found


def _simple(update: Update) -> Update:
    return replace(update, value=decided(update.value), when=decided(update.when))


def joined(updates: Sequence[Update]) -> list[Update]:
    """Return the updates, in which `everywhere` over a sort is one update with a parameter for its values."""
    found = list(updates)
    for position in range(max((len(u.target.index) for u in updates), default=0)):
        groups: dict[object, list[Update]] = {}
        for update in found:
            groups.setdefault(_shape(update, position), []).append(update)
        found = [update for group in groups.values() for update in _as_one(group, position)]
    return found


def _shape(update: Update, position: int) -> object:
    """Return a value that is equal for updates that differ only in the constant at that position."""
    template = _general(update, position)
    if template is None:
        return id(update)
    parts = (template.target, template.value, template.when)
    return tuple(key(replaced(part, {template.over[-1]: _ANY})) for part in parts)


_ANY = Constant("any", "any value")


def _general(update: Update, position: int) -> Update | None:
    """Return the update with a parameter in place of the constant at that position, if there is one."""
    index = update.target.index
    if position >= len(index) or not isinstance(index[position], Constant):
        return None
    sort, own = update.target.family.over[position], key(index[position])
    bound = bind(sort)

    def walk(term: Term) -> Term:
        if isinstance(term, Constant):
            return bound if key(term) == own else term
        return rebuilt(term, tuple(map(walk, children(term))))

    target, value, when = map(walk, (update.target, update.value, update.when))
    assert isinstance(target, Read)
    return Update(target, value, when, (*update.over, bound))


def _as_one(group: Sequence[Update], position: int) -> Sequence[Update]:
    template = _general(group[0], position)
    if template is None or len(group) != len(template.over[-1].sort):
        return group
    return (template,)
