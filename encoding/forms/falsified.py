"""The values that make a property false at the end of a trace, found by descending into its false parts.

A conjunction is false by its first false part, and `forall` by the first value for which its body is false.
An implication is false by its premise and its conclusion. The state variables that are read on the way
decide: with their values the property is false, no matter which values the others have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from fencepost.encoding import keys as k
from fencepost.encoding.language.sorts import Sort, Value, show
from fencepost.encoding.language.state import StateSpace
from fencepost.encoding.language.step_properties import StepProperty
from fencepost.encoding.language.system import Property
from fencepost.encoding.language.terms import (
    AllOf,
    AnyOf,
    AtLeast,
    Constant,
    Equal,
    Family,
    If,
    In,
    Less,
    Not,
    Parameter,
    Plus,
    Quantified,
    Read,
    Term,
    node,
)
from fencepost.encoding.language.traces import Json, Trace, plain, shown_name

MOST = 12
"""The number of state variables that the sentence names. The JSON form names all of them."""

Environment = Mapping[Parameter, Value]
Place = tuple[Family, tuple[Value, ...]]


BOUND = k.keys(
    sort=k.text("the name of the sort in the state space; value for numbers whose sort has none"),
    value=k.plain("the value of a quantified part that decides"),
)
HELD = k.keys(
    variable=k.text("a state variable, named as in stored[1, c1]"),
    value=k.plain("its value in the last state"),
    step=k.null(k.whole("the step that set it", 1), "if it has its initial value"),
)
FALSE_BECAUSE = k.keys(
    **{"for": k.many(BOUND, "the values of quantified parts for which the property is false")},
    values=k.many(HELD, "with these values the property is false, whichever values the others have"),
)


@dataclass(frozen=True)
class Bound:
    """A value for which a quantified part of the property decides, and the sort that it is of."""

    sort: str
    """The name of the sort in the state space; `value` for numbers whose sort has no name there."""
    value: Json


@dataclass(frozen=True)
class Held:
    """A state variable with its value in the last state."""

    variable: str
    value: Json
    step: int | None
    """The step that set it to this value; None if it has its initial value."""


@dataclass(frozen=True)
class Falsified:
    """The values for which the property is false, and the state variables that make it so."""

    bound: tuple[Bound, ...]
    values: tuple[Held, ...]

    @property
    def sentence(self) -> str:
        """The values in a sentence, those with one value since one step together."""
        of = " and ".join(f"{bound.sort} {show(bound.value)}" for bound in self.bound)
        head = f"False for {of}" if of else "False"
        if not self.values:
            return f"{head}, whatever the state is."
        groups: dict[tuple[str, int | None], list[str]] = {}
        for held in self.values[:MOST]:
            groups.setdefault((show(held.value), held.step), []).append(held.variable)
        parts = [
            f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} {value} {_since(step)}"
            for (value, step), names in groups.items()
        ]
        left_out = len(self.values) - MOST
        parts += [f"and {left_out} more, which --format json has"] if left_out > 0 else []
        return f"{head}: {'; '.join(parts)}."

    def to_json(self) -> dict[str, object]:
        """Return the JSON form."""
        return k.from_record(FALSE_BECAUSE, self, **{"for": self.bound})


def _since(step: int | None) -> str:
    return "from the beginning" if step is None else f"since step {step}"


def falsified(prop: Property, trace: Trace, state: StateSpace) -> Falsified:
    """Return the values that make a property false in the last state of a trace that violates it."""
    before, term = dict[Family, Family](), prop.holds
    if isinstance(prop, StepProperty) and not prop.there and prop.is_broken_in(trace):
        before, term = {**prop.before}, prop.step
    found = _Descent(trace, before, len(trace.steps) - 1 if before else None).find(term, {})
    bound = (Bound(_sort_name(parameter.sort, state), plain(value)) for parameter, value in found.bound)
    values = (_held(family, index, trace, before) for family, index in found.places)
    return Falsified(tuple(dict.fromkeys(bound)), tuple(dict.fromkeys(values)))


def held(family: Family, index: tuple[Value, ...], trace: Trace) -> Held:
    """Return a state variable with its last value, and the step that set it."""
    name, whole = shown_name(family, index), family.whole
    steps = (step.index for step in reversed(trace.steps) if name in step.changes)
    value = trace.states[-1].get(name) if whole is not None else None
    return Held(name, plain(trace.value(family, *index)) if value is None else value, next(steps, None))


def _held(family: Family, index: tuple[Value, ...], trace: Trace, before: Mapping[Family, Family]) -> Held:
    """Return a variable as `held` does; for a property of steps one after the last step, or before it."""
    if family in before:
        return replace(held(before[family], index, trace), variable=shown_name(family, index))
    return held(family, index, trace if not before else replace(trace, steps=trace.steps[:-1]))


def value_in(term: Term, trace: Trace, after: int) -> Json:
    """Return the value of a term after a step of a trace."""
    return plain(_Descent(trace, {}, after).find(term, {}).value)


def _sort_name(sort: Sort, state: StateSpace) -> str:
    """Return the name of a sort in the state space, or else its own."""
    own = "value" if sort.type in ("int", "bool") else sort.name
    return next((name for name, value in vars(state).items() if value is sort), own)


@dataclass(frozen=True)
class _Found:
    """The value of a term, and what decides it: the values of quantifiers, and variables of the state."""

    value: Value
    bound: tuple[tuple[Parameter, Value], ...] = ()
    places: tuple[Place, ...] = ()


def _from(value: Value, parts: Iterable[_Found], place: tuple[Place, ...] = ()) -> _Found:
    """Return a value that all these parts decide together, and that is read at this place if it is read."""
    parts = tuple(parts)
    places = dict.fromkeys(chain(*(part.places for part in parts), place))
    return _Found(value, tuple(chain(*(part.bound for part in parts))), tuple(places))


def _without_bound(found: _Found) -> _Found:
    return replace(found, bound=())


@dataclass(frozen=True)
class _Descent:
    """A reading of terms in one state of a trace, in the order of `concrete`."""

    trace: Trace
    primed: Mapping[Family, Family] = field(default_factory=dict)
    """Families that stand for others in the last state."""
    after: int | None = None
    known: dict[tuple[int, tuple[Value, ...]], _Found] = field(default_factory=dict)

    def find(self, term: Term, environment: Environment) -> _Found:
        """Return the value of a term, once for each definition and the values of its parameters."""
        key = id(term), tuple(environment[parameter] for parameter in term.free)
        if key not in self.known:
            self.known[key] = self._find(term, environment)
        return self.known[key]

    def _find(self, term: Term, environment: Environment) -> _Found:
        def of(part: Term) -> _Found:
            return self.find(part, environment)

        match node(term):
            case Constant(value=value):
                return _Found(value)
            case Parameter() as parameter:
                return _Found(environment[parameter])
            case Read(family=family, index=terms):
                parts = tuple(map(of, terms))
                index = tuple(part.value for part in parts)
                after = None if family in self.primed else self.after
                value = self.trace.value(self.primed.get(family, family), *index, after=after)
                return _from(value, parts, ((family, index),))
            case Not(operand=operand):
                found = of(operand)
                return replace(found, value=not found.value)
            case AllOf(operands=operands):
                return _first(map(of, operands), False)
            case AnyOf(operands=operands):
                return _first(map(of, operands), True)
            case Equal(left=left, right=right):
                return _from(of(left).value == of(right).value, (of(left), of(right)))
            case Less(left=left, right=right):
                return _from(_number(of(left)) < _number(of(right)), (of(left), of(right)))
            case Plus(left=left, right=right, sign=sign):
                return _from(_number(of(left)) + sign * _number(of(right)), (of(left), of(right)))
            case If(condition=condition, then=then, otherwise=otherwise):
                taken = of(then if of(condition).value else otherwise)
                return _from(taken.value, (of(condition), taken))
            case In(member=member, chosen=chosen, sort=sort):
                return _from(of(member).value in sort.parts[of(chosen).value], (of(member), of(chosen)))
            case Quantified() | AtLeast() as binder:
                return self._bound(binder, environment)

    def _bound(self, term: Quantified | AtLeast, environment: Environment) -> _Found:
        def at(value: Value) -> _Found:
            return self.find(term.body, {**environment, term.bound: value})

        def named_at(value: Value) -> _Found:
            return replace(at(value), bound=((term.bound, value), *at(value).bound))

        if isinstance(term, AtLeast):
            return _counted(term.count, map(_without_bound, map(at, term.bound.sort)))
        if term.quantifier in ("maximum", "count"):
            parts = tuple(map(_without_bound, map(at, term.bound.sort)))
            if term.quantifier == "count":
                return _from(sum(bool(part.value) for part in parts), parts)
            return _from(max(map(_number, parts)), parts)
        return _first(map(named_at, term.bound.sort), term.quantifier == "exists", _without_bound)


def _first(
    parts: Iterable[_Found], decisive: bool, together: Callable[[_Found], _Found] = lambda part: part
) -> _Found:
    """Return the first part with the decisive value; without one, all parts `together` decide."""
    seen = []
    for part in parts:
        if bool(part.value) is decisive:
            return part
        seen.append(together(part))
    return _from(not decisive, seen)


def _counted(count: int, parts: Iterable[_Found]) -> _Found:
    """Return whether `count` parts are true, by that many true ones, or by enough false ones."""
    parts = tuple(parts)
    true, false = ([part for part in parts if bool(part.value) is wanted] for wanted in (True, False))
    if len(true) >= count:
        return _from(True, true[: max(count, 0)])
    return _from(False, false[: len(parts) - count + 1] if count <= len(parts) else ())


def _number(found: _Found) -> int:
    assert isinstance(found.value, int)
    return found.value
