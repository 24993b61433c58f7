"""Actions that stand for others: those that only a renaming of interchangeable labels tells apart.

Bookies, say, are interchangeable if nothing that the system or a claim says names one of them. Then whatever holds of an action
holds of the same action with its bookies renamed, because what is said before and after it is the same under that renaming.
What is said of a state at first does not matter: any state is asked about in which the claims hold. But a variable that nothing
writes is a constant, and a constant that tells two bookies apart names them: ensembles that never change do.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.induction.proof_obligations import Statement
from fencepost.encoding.language.patterns import sorts_in, subterms
from fencepost.encoding.language.sorts import Sort, Value
from fencepost.encoding.language.state import Variable
from fencepost.encoding.language.system import GroundAction, System
from fencepost.encoding.language.terms import Constant


def representatives(symbolic: Symbolic, claims: Sequence[Statement]) -> list[int]:
    """The first slot of each orbit: asking about the actions of these is asking about all."""
    sorts = interchangeable(symbolic, claims)
    first: dict[object, int] = {}
    for slot, action in enumerate(symbolic.actions):
        first.setdefault(_orbit(action, sorts), slot)
    return list(first.values())


def _orbit(action: GroundAction, sorts: Sequence[Sort]) -> object:
    """Return the same for all actions that a renaming makes of one: its arguments, labels numbered as they come.

    Two sorts with the same labels are renamed together: the first of them stands for both.
    """
    numbers: dict[tuple[int, Value], int] = {}
    pattern: list[object] = []
    for value in action.arguments:
        own = next((n for n, sort in enumerate(sorts) if _is_label_of(sort, value)), None)
        if own is None:
            pattern.append(value)
        else:
            met = sum(sort == own for sort, _ in numbers)
            pattern.append((own, numbers.setdefault((own, value), met)))
    return action.schema, tuple(pattern)


def interchangeable(symbolic: Symbolic, claims: Sequence[Statement]) -> list[Sort]:
    """The index sets of labels that nothing in the system or the claims tells apart."""
    system = symbolic.system
    acts = (term for schema in system.schemas for term in schema.terms)
    said = list(subterms(*acts, *(claim.holds for claim in claims)))
    named = {term.value for term in said if isinstance(term, Constant)}
    mentioned = sorts_in(system.state.families, said)
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
