"""What the causes of a statement require: the guards and the effects of the actions that make it true."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from fencepost.encoding.induction.lasting import Lasting, is_fixed
from fencepost.encoding.induction.tidy_terms import (
    decided,
    folded,
    has_one_of,
    only_place,
    tidied,
    with_value,
)
from fencepost.encoding.induction.value_changes import Given, GuardedUpdate, ValueChanges, possible_values
from fencepost.encoding.language.fold import is_false, is_true
from fencepost.encoding.language.patterns import conjuncts, key, replaced
from fencepost.encoding.language.sorts import Sort, Value
from fencepost.encoding.language.terms import (
    FALSE,
    Constant,
    Parameter,
    Quantified,
    Read,
    Term,
    Update,
    all_of,
    any_of,
    lift,
)

MOST_CAUSES = 4
"""The largest number of actions whose requirements are joined by `or`."""


@dataclass(frozen=True)
class Happened:
    """A statement about one state variable that is false at first, for all values of `bound`.

    The variable has one of `values`. If `value` is given, it has this one.
    """

    place: Read
    values: frozenset[Value]
    value: Term | None

    @cached_property
    def holds(self) -> Term:
        """The statement as a term."""
        if isinstance(self.value, Parameter):
            inside = has_one_of(self.place, self.values) if set(self.value.sort) - self.values else lift(True)
            return (self.place == self.value) & inside
        return has_one_of(self.place, self.values)

    def simplified(self, needed: Term) -> Term:
        """Return what is needed, without the parts that the statement decides."""
        if len(self.values) > 1:
            return tidied(needed)
        (value,) = self.values
        return tidied(with_value(needed, self.place, value))

    @property
    def is_one_of_several(self) -> bool:
        """Whether the variable has one value of more than two."""
        return len(self.values) == 1 and len(self.place.family.domain) > 2

    @property
    def bound(self) -> tuple[Parameter, ...]:
        """The parameters of the statement."""
        columns = (*self.place.index, *([self.value] if self.value is not None else []))
        return tuple(column for column in columns if isinstance(column, Parameter))


@dataclass(frozen=True)
class Reasons:
    """What is required by the causes of a statement."""

    changes: ValueChanges
    happened: Happened

    def found(self) -> Iterator[Term]:
        """Yield what every cause requires, each by itself, and then the rest of each, joined by `or`."""
        causes = []
        for setting in self.changes.settings[self.happened.place.family]:
            matching = self._matching(setting)
            if matching is not None:
                causes.append({key(term): term for term in self._requirements(setting, *matching)})
        if not causes:
            return
        common = [name for name in causes[0] if all(name in cause for cause in causes)]
        yield from (causes[0][name] for name in common)
        if 1 < len(causes) <= MOST_CAUSES and (
            len(self.happened.values) == 1 or self.happened.value is not None
        ):
            rests = [all_of(*(t for n, t in cause.items() if n not in common)) for cause in causes]
            if not any(map(is_true, rests)):
                yield any_of(*{key(rest): rest for rest in rests}.values())

    def _matching(self, setting: GuardedUpdate) -> tuple[dict[Parameter, Term], list[Term]] | None:
        """Return the parameters of an update that makes the statement true, and what else must hold for it.

        None if the update never makes it true.
        """
        happened, update = self.happened, setting.update
        matching: dict[Parameter, Term] = {}
        conditions: list[Term] = []
        columns = list(zip(update.target.index, happened.place.index, strict=True))
        if happened.value is not None:
            columns.append((update.value, happened.value))
        for own, wanted in columns:
            if isinstance(own, Parameter) and own not in matching and _fits(wanted, own.sort):
                matching[own] = wanted
            else:
                conditions.append(own == wanted)
        conditions = [replaced(condition, matching) for condition in conditions]
        value = replaced(update.value, matching)
        if happened.place.type == "bool":
            conditions.append(value if True in happened.values else ~value)
        elif not possible_values(value, happened.place.family.domain) & happened.values:
            return None
        elif happened.value is None and not isinstance(value, Constant):
            conditions += [value != Constant(value.type, v) for v in self._others]
        needed = [part for condition in conditions for part in conjuncts(decided(condition))]
        return None if any(map(is_false, needed)) else (matching, needed)

    @property
    def _others(self) -> Iterable[Value]:
        """The values that the variable does not have, if they are few."""
        others = [v for v in self.happened.place.family.domain if v not in self.happened.values]
        return others if len(others) == 1 else ()

    def _requirements(
        self, setting: GuardedUpdate, matching: Mapping[Parameter, Term], conditions: Sequence[Term]
    ) -> Iterator[Term]:
        """Yield what the action requires for the update, and what else it sets, as far as it lasts."""
        given: tuple[Given, ...] = (Given(self.happened.place, self.happened.values),)
        required = [*conditions, *(replaced(c, matching) for c in setting.conditions)]
        for _ in range(PASSES):
            before, after = Lasting(self.changes, given, setting.schema), Lasting(self.changes, given)
            parts = [before.part(decided(condition)) for condition in required]
            parts += _Effects(setting, matching, before, after).found()
            lasting = [c for part in parts for c in conjuncts(folded(part)) if not is_true(c)]
            more = [one for one in map(_given, lasting) if one is not None]
            known = {one.key for one in given}
            given = (*given, *(one for one in more if one.key not in known))
        yield from _existentially(lasting, set(self.happened.bound))


PASSES = 2
"""How often the requirements of an action are read. What is known to last lets more of them last."""


def _given(part: Term) -> Given | None:
    """Return the part as a statement about the values of one variable, if it is one."""
    place = only_place(part)
    if place is None:
        return None
    truths = {value: with_value(part, place, value) for value in place.family.domain}
    if not all(isinstance(truth, Constant) for truth in truths.values()):
        return None
    return Given(place, frozenset(value for value, truth in truths.items() if is_true(truth)))


@dataclass(frozen=True)
class _Effects:
    """The other updates of an action that makes a statement true."""

    setting: GuardedUpdate
    matching: Mapping[Parameter, Term]
    before: Lasting
    after: Lasting

    @property
    def updates(self) -> Iterator[Update]:
        """The updates beside the one that makes the statement true."""
        updates = self.before.changes.updates(self.setting.schema)
        return (update for update in updates if update is not self.setting.update)

    def found(self) -> Iterator[Term]:
        """Yield what the updates say of the state after the action, as far as it lasts."""
        for update in self.updates:
            target = replaced(update.target, self.matching)
            assert isinstance(target, Read)
            said = self._said(target, replaced(update.value, self.matching))
            for way in [FALSE] if is_true(update.when) else self._unless(update):
                if not is_true(way) and not is_true(said):
                    yield bound_by("forall", update.over, any_of(way, said))

    def _said(self, target: Read, value: Term) -> Term:
        """Return what lasts of the variable having this value, which is read before the action."""
        if target.type == "bool" and not isinstance(value, Constant):
            yes, no = self.before.part(value), self.before.part(value, False)
            return self.after.part(any_of(target & yes, ~target & no))
        if is_fixed(value):
            return self.after.part(target == value)
        return self.before.part(target == value) if isinstance(value, Read) else lift(True)

    def _unless(self, update: Update) -> Iterator[Term]:
        """Yield what lasts of the update not happening, also in terms of what the action notes of it."""
        denied = replaced(~update.when, self.matching)
        yield self.before.part(denied)
        wanted = key(denied), key(~denied)
        for other in self.updates:
            if is_true(other.when) and other.target.type == "bool":
                noted = key(replaced(other.value, self.matching))
                target = replaced(other.target, self.matching)
                if noted in wanted:
                    yield self.after.part(target if noted == wanted[0] else ~target)


def _fits(wanted: Term, sort: Sort) -> bool:
    """Return whether a parameter of that sort may stand for the wanted term."""
    if isinstance(wanted, Constant):
        return wanted.value in sort.values
    return isinstance(wanted, Parameter) and set(wanted.sort) <= set(sort)


def _existentially(parts: Sequence[Term], own: set[Parameter]) -> Iterator[Term]:
    """Yield the parts, with `exists` for the parameters that the statement does not have.

    Parts that share such a parameter are joined.
    """
    waiting = list(parts)
    while waiting:
        group = [waiting.pop(0)]
        free = _others_in(group, own)
        while more := [part for part in waiting if free & _others_in([part], own)]:
            group += more
            taken = set(map(id, more))
            waiting = [part for part in waiting if id(part) not in taken]
            free = _others_in(group, own)
        if all(map(is_fixed, group)):
            continue
        ordered = sorted(free, key=lambda parameter: parameter.symbol)
        yield bound_by("exists", ordered, all_of(*group))


def _others_in(parts: Sequence[Term], own: set[Parameter]) -> set[Parameter]:
    return {parameter for part in parts for parameter in part.free} - own


def bound_by(quantifier: str, bound: Sequence[Parameter], body: Term) -> Term:
    """Return the body with that quantifier for each of the parameters."""
    for parameter in reversed(bound):
        body = Quantified("bool", quantifier, parameter, body)
    return body
