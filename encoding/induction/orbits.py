"""Actions that stand for others: those that only a renaming of interchangeable labels tells apart.

Bookies, say, are interchangeable if nothing that the system or a claim says names one of them. Then whatever holds of an action
holds of the same action with its bookies renamed, because what is said before and after it is the same under that renaming.
What is said of a state at first does not matter: any state is asked about in which the claims hold. But a variable that nothing
writes is a constant, and a constant that tells two bookies apart names them: ensembles that never change do.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.sorts import Sort, Value
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.system import GroundAction, Invariant, Property, System
from fencepost.encoding.language.terms import AtLeast, Constant, Parameter, Quantified, Read, Term, children


def representatives(symbolic: Symbolic, claims: Sequence[Property | Invariant]) -> list[int]:
    """The first slot of each orbit: asking about the actions of these is asking about all."""
    sorts = interchangeable(symbolic, claims)
    first: dict[object, int] = {}
    for slot, action in enumerate(symbolic.actions):
        first.setdefault(_orbit(action, sorts), slot)
    return list(first.values())


def _orbit(action: GroundAction, sorts: Sequence[Sort]) -> object:
    """What an action has in common with those that a renaming makes of it: its arguments, labels numbered as they come."""
    numbers: dict[tuple[str, Value], int] = {}
    pattern: list[object] = []
    for value in action.arguments:
        sort = next((s for s in sorts if _is_label_of(s, value)), None)
        if sort is None:
            pattern.append(value)
        else:
            met = sum(name == sort.name for name, _ in numbers)
            pattern.append((sort.name, numbers.setdefault((sort.name, value), met)))
    return action.schema, tuple(pattern)


def interchangeable(symbolic: Symbolic, claims: Sequence[Property | Invariant]) -> list[Sort]:
    """The index sets of labels that nothing in the system or the claims tells apart."""
    system = symbolic.system
    families = {v.family for v in system.variables}
    mentioned: list[Sort] = []
    named: set[Value] = set()
    for term in _subterms(_terms(system, claims)):
        match term:
            case Constant(value=value):
                named.add(value)
            case Parameter(sort=sort):
                mentioned.append(sort)
            case Quantified(bound=bound) | AtLeast(bound=bound):
                mentioned.append(bound.sort)
            case Read(family=family):
                families.add(family)
    mentioned = list(dict.fromkeys([*mentioned, *(s for f in families for s in (*f.over, f.domain))]))
    constants = [v for v in system.variables if not v.is_choice and v.place not in symbolic.written]
    return [
        sort
        for sort in mentioned
        if len(sort) > 1
        and all(type(value) is str for value in sort.values)
        and named.isdisjoint(sort.values)
        and all(_is_whole(other, sort) for other in mentioned)
        and _keeps(system, constants, sort)
    ]


def _is_label_of(sort: Sort, value: Value) -> bool:
    return type(value) is str and value in sort.values


def _is_whole(other: Sort, sort: Sort) -> bool:
    """The other sort has all labels of this one, or none of them: renaming these makes no other sort of it."""
    shared = {v for v in other.values if type(v) is str} & set(sort.values)
    return not shared or shared == set(sort.values)


def _keeps(system: System, constants: Sequence[Variable], sort: Sort) -> bool:
    """Exchanging two labels next to each other changes no constant: then no renaming does."""
    value_of = {(v.family, v.index): system.initial[v.place] for v in constants}
    for one, other in itertools.pairwise(sort.values):
        exchanged: Mapping[Value, Value] = {one: other, other: one}
        for (family, index), value in value_of.items():
            renamed = tuple(_renamed(i, exchanged) for i in index)
            if value_of.get((family, renamed)) != _renamed(value, exchanged):
                return False
    return True


def _renamed(value: Value, exchanged: Mapping[Value, Value]) -> Value:
    return exchanged.get(value, value) if type(value) is str else value


def _terms(system: System, claims: Sequence[Property | Invariant]) -> Iterator[Term]:
    """Everything that the questions say."""
    for schema in system.schemas:
        yield from schema.parameters
        yield schema.action.when
        for update in schema.action.then:
            yield from (update.target, update.value, update.when)
    yield from (claim.holds for claim in claims)


def _subterms(terms: Iterable[Term]) -> Iterator[Term]:
    """All terms in them, each once."""
    seen: dict[int, Term] = {}
    waiting = list(terms)
    while waiting:
        term = waiting.pop()
        if id(term) not in seen:
            seen[id(term)] = term
            waiting.extend(children(term))
            yield term
