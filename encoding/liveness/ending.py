"""Whether every execution of a system ends: after some number of steps nothing changes any more."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from fencepost.encoding.induction.tidy_terms import with_value
from fencepost.encoding.induction.value_changes import ValueChanges
from fencepost.encoding.language.actions import GroundAction, Schema
from fencepost.encoding.language.fold import Folding, is_false, is_true
from fencepost.encoding.language.patterns import replaced
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Constant, Family, Read, Term, Update, lift


def every_execution_ends(system: System) -> bool:
    """Return whether every execution ends, as far as the text of the actions tells.

    An action is spent if each of its steps gives a new value to a variable that never gets back a value that
    it had. There are only so many such steps. After the last of them only the other actions count, and of
    these some may be spent in turn. The execution ends if all are.
    """
    left = frozenset(system.schemas)
    while left:
        settled = _without_return(system, left)
        alive = {a.schema for a in system.ground_actions if a.schema in left and not _is_spent(a, settled)}
        if len(alive) == len(left):
            return False
        left = frozenset(alive)
    return True


def _without_return(system: System, schemas: Collection[Schema]) -> frozenset[Family]:
    """Return the families of which no variable ever gets back a value, if only these actions happen."""
    values = ValueChanges(replace(system, actions=tuple(schemas), properties=(), liveness=(), invariants=()))
    returning = set()
    for v in system.variables:
        later = values.later(Read(v.domain.type, v.family, tuple(map(lift, v.index))))
        if any(value in later[other] for value in later for other in later[value] if other != value):
            returning.add(v.family)
    return frozenset(v.family for v in system.variables if not v.is_choice and v.family not in returning)


def _is_spent(action: GroundAction, settled: frozenset[Family]) -> bool:
    """Return whether each step of the action gives a new value to a variable of these families."""
    written = [update.target.family for update in action.schema.action.then]
    if settled.issuperset(written):
        return True
    own = {p: Constant(p.type, value) for p, value in action.environment.items()}

    def fold(term: Term) -> Term:
        return Folding({}).term(replaced(term, own))

    guard = fold(action.schema.action.when)

    def is_new(update: Update) -> bool:
        """Return whether the guard excludes that the variable has the value already."""
        place, value = fold(update.target), fold(update.value)
        if not (isinstance(place, Read) and isinstance(value, Constant) and is_true(fold(update.when))):
            return False
        return is_false(with_value(guard, place, value.value))

    once = (u for u in action.schema.action.then if written.count(u.target.family) == 1)
    return is_false(guard) or any(u.target.family in settled and is_new(u) for u in once)
