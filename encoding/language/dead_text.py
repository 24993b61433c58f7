"""Text of a protocol that says nothing: what can never happen, and properties that are true by their text."""

from __future__ import annotations

from collections.abc import Iterator

from fencepost.encoding.language.conditional_terms import UNDEFINED
from fencepost.encoding.language.fold import Folding, constants
from fencepost.encoding.language.patterns import families_read
from fencepost.encoding.language.system import System
from fencepost.encoding.language.terms import Constant, Term, lift


def dead_actions(written: System) -> Iterator[str]:
    """Yield a remark for each action and update whose condition is false for all arguments.

    Such a condition may be a mistake: it reads a state variable that nothing sets.
    """
    folding = Folding(constants(written))
    for schema in written.schemas:
        updates = [u for u in schema.action.then if _is(False, folding.term(u.when))]
        updates = [update for update in updates if update.target.family is not UNDEFINED]
        families = ", ".join(dict.fromkeys(update.target.family.name for update in updates))
        if _is(False, folding.term(lift(schema.action.when))):
            yield f"{schema.name} never happens: its guard is false for all arguments"
        elif families:
            yield f"{schema.name} never sets {families}: the condition is false for all arguments"


def dead_properties(written: System, folded: System) -> Iterator[str]:
    """Yield a remark for each property that is true in every state, with the reason."""
    for before, after in zip(written.properties, folded.properties, strict=True):
        if _is(True, after.holds):
            fixed = constants(written)
            unset = any(family in fixed for family in families_read(before.holds))
            reason = "no action sets what it reads" if unset else "its formula is true in every state"
            yield f"{before.name} is true by its text: {reason}"


def _is(value: bool, term: Term) -> bool:
    return isinstance(term, Constant) and term.value is value
