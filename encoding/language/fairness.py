"""Fairness: which actions an execution may not leave aside for ever.

Its author writes it where the action is made, as in `each(deliver, s, s.message, fair="strong")`. A weakly
fair action happens again and again if it is enabled for ever from some time on. A strongly fair one does so
if it is enabled again and again. A step that changes nothing is no step of a fair action, and an action is
enabled only if it would change something.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fencepost.encoding.errors import ModelError
from fencepost.encoding.language.actions import GroundAction, Schema
from fencepost.encoding.language.conditional_terms import UNDEFINED
from fencepost.encoding.language.sorts import show
from fencepost.encoding.language.terms import TRUE, Equal, Not, Term, all_of, any_of

FORM = re.compile(r"(weak|strong)(, any( of (?P<group>[^\s,]+))?( by (?P<by>[^,]+(, [^,]+)*))?)?")
VALID = (
    'valid: "weak", "strong", "weak, any", "weak, any by node", "weak, any of GROUP", "… of GROUP by node"'
)


@dataclass(frozen=True)
class Fair:
    """Actions of which some one is fair: each arguments of an action by itself, or several together."""

    name: str
    actions: tuple[GroundAction, ...]
    is_strong: bool


def fair_names(sets: Iterable[Fair]) -> tuple[str, ...]:
    """Return the names of these sets without their arguments, each once."""
    return tuple(dict.fromkeys(fair.name.partition("(")[0] for fair in sets))


def must_be_fair(schema: Schema) -> None:
    """Raise ModelError unless `fair=` of an action says how it is fair, or is None."""
    fair: object = schema.fair
    if fair is None:
        return
    found = FORM.fullmatch(fair) if isinstance(fair, str) else None
    if found is None:
        raise ModelError(f"{schema.name}: fair={fair!r:.80}; {VALID}")
    known = [p.symbol for p in schema.parameters]
    for argument in _arguments(found):
        if argument not in known:
            valid = ", ".join(known) or "none, it has no arguments"
            raise ModelError(
                f"{schema.name}: fair={fair!r} names {argument}, no argument of it; valid: {valid}"
            )
    if schema.action.fault is not None:
        raise ModelError(f"{schema.name}: fair={fair!r}: a fault is never fair; leave one of the two out")


def _arguments(found: re.Match[str]) -> list[str]:
    return found["by"].split(", ") if found["by"] else []


def fair_sets(actions: Iterable[GroundAction]) -> tuple[Fair, ...]:
    """Return what is fair of these actions, in their order. Raises ModelError."""
    groups: dict[str, list[GroundAction]] = {}
    strength: dict[str, bool] = {}
    for action in actions:
        if action.schema.fair is None:
            continue
        name, is_strong = _fair_set(action)
        if strength.setdefault(name, is_strong) is not is_strong:
            raise ModelError(f"{name}: is weakly and strongly fair; give all its actions the same strength")
        groups.setdefault(name, []).append(action)
    return tuple(Fair(name, tuple(own), strength[name]) for name, own in groups.items())


def _fair_set(action: GroundAction) -> tuple[str, bool]:
    """Return the name of the set that a fair action is in, and whether it is strongly fair."""
    found = FORM.fullmatch(action.schema.fair or "")
    assert found is not None
    values = {p.symbol: show(v) for p, v in zip(action.schema.parameters, action.arguments, strict=True)}
    by = [values[name] for name in _arguments(found)] if found[2] else list(values.values())
    name = found["group"] or action.schema.name
    return (f"{name}({', '.join(by)})" if by else name), found[1] == "strong"


def changes(schema: Schema) -> Term:
    """Return the term that says: the action changes something, in a state in which it may happen."""
    parts = []
    for update in schema.action.then:
        is_defined = update.target.family is not UNDEFINED
        other = Not("bool", Equal("bool", update.target, update.value)) if is_defined else TRUE
        parts.append(all_of(update.when, other))
    return any_of(*parts)
