"""Symmetry reduction for induction over one action: one action of each orbit stands for the others.

Labels, for example bookies, are interchangeable if neither the system nor a claim names one of them. Renaming
them then changes no claim, and turns a proof obligation of one action into that of the renamed action. So one
proof obligation of each orbit is enough. The initial state need not be symmetric, because the obligation of
an action is about any state in which the claims hold. A variable with one initial value that no action writes
is a constant, and a constant that distinguishes two bookies names them. An ensemble that never changes is an
example.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.induction.proof_obligations import Statement
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.patterns import sorts_in, subterms
from fencepost.encoding.language.sorts import Sort, SubsetSort, Value
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Constant


def representatives(symbolic: Symbolic, claims: Sequence[Statement]) -> list[int]:
    """Return the first slot of each orbit: proof obligations of these slots stand for those of all."""
    sorts = interchangeable(symbolic, claims)
    first: dict[object, int] = {}
    for slot, action in enumerate(symbolic.actions):
        first.setdefault(_orbit(action, sorts), slot)
    return list(first.values())


def _orbit(action: GroundAction, sorts: Sequence[Sort]) -> object:
    """Return a key that is equal for all actions of an orbit.

    The key has the arguments, with interchangeable labels numbered in the order in which they occur. Two
    sorts with the same labels are renamed together: the first of them stands for both. A set counts by its
    members: equal keys tell of a renaming that turns the members of one set into those of the other.
    """
    numbers: dict[tuple[int, Value], int] = {}

    def numbered(value: Value) -> object:
        own = next((n for n, sort in enumerate(sorts) if _is_label_of(sort, value)), None)
        if own is None:
            return value
        met = sum(sort == own for sort, _ in numbers)
        return own, numbers.setdefault((own, value), met)

    pattern: list[object] = []
    for parameter, value in action.environment.items():
        sort = parameter.sort
        if isinstance(sort, SubsetSort):
            members = (member for member in sort.of if member in sort.parts[value])
            pattern.append(frozenset(map(numbered, members)))
        else:
            pattern.append(numbered(value))
    return action.schema, tuple(pattern)


def interchangeable(symbolic: Symbolic, claims: Sequence[Statement]) -> list[Sort]:
    """Return the index sets whose labels nothing in the system or the claims distinguishes."""
    system = symbolic.system
    acts = (term for schema in system.schemas for term in schema.terms)
    terms = list(subterms(*acts, *(claim.holds for claim in claims)))
    named = {term.value for term in terms if isinstance(term, Constant)}
    mentioned = sorts_in(system.state.families, terms)
    sets = [sort for sort in mentioned if isinstance(sort, SubsetSort)]
    named |= {member for sort in sets for value in named & {*sort.parts} for member in sort.of}
    constants = [v for v in system.variables if not v.is_choice and v.place not in symbolic.varying]
    return [
        sort
        for sort in mentioned
        if len(sort) > 1
        and not isinstance(sort, SubsetSort)
        and all(type(value) is str for value in sort.values)
        and named.isdisjoint(sort.values)
        and all(_is_whole(other, sort) for other in mentioned)
        and _keeps(system, constants, sort)
    ]


def _is_label_of(sort: Sort, value: Value) -> bool:
    return type(value) is str and value in sort.values


def _is_whole(other: Sort, sort: Sort) -> bool:
    """Return whether `other` has all labels of `sort` or none, so that renaming keeps it the same set."""
    shared = {v for v in other.values if type(v) is str} & set(sort.values)
    return not shared or shared == set(sort.values)


def _keeps(system: System, constants: Sequence[Variable], sort: Sort) -> bool:
    """Return whether no exchange of two neighbouring labels changes a constant; then no renaming does."""
    value_of = {(v.family, v.index): system.firsts[v.place][0] for v in constants}
    for one, other in itertools.pairwise(sort.values):
        exchanged: Mapping[Value, Value] = {one: other, other: one}
        for (family, index), value in value_of.items():
            renamed = tuple(_renamed(i, exchanged) for i in index)
            if value_of.get((family, renamed)) != _renamed(value, exchanged):
                return False
    return True


def _renamed(value: Value, exchanged: Mapping[Value, Value]) -> Value:
    return exchanged.get(value, value) if type(value) is str else value
