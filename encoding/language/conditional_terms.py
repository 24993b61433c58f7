"""Terms that depend on a condition, and what has no value in some states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fencepost.encoding.language.sorts import BOOL
from fencepost.encoding.language.terms import (
    Constant,
    Family,
    If,
    Read,
    Term,
    TermLike,
    Update,
    any_of,
    as_type,
    lift,
)

UNDEFINED = Family(BOOL, (), None, None)
"""No variable of any state. A step that sets it is badly defined, for the reason that is its value."""
object.__setattr__(UNDEFINED, "name", "undefined")
BESIDE = 0
"""The number of the making of an update that stands beside another one, which is noted."""


@dataclass(frozen=True, eq=False, repr=False)
class Partial(If):
    """The value of `then`, which is defined only if `condition` holds (`definedness`).

    Readings take it for the conditional. The step that evaluates it where it is not defined is reported for
    this reason.
    """

    reason: str
    otherwise_counts: ClassVar[bool] = False


def undefined(reason: str, when: TermLike) -> Update:
    """Return the update that makes a step badly defined, for a reason, if `when` holds before it."""
    target, value = Read("bool", UNDEFINED, ()), Constant("label", reason)
    return Update(target, value, as_type(when, "bool"), making=BESIDE)


def implies(condition: TermLike, conclusion: TermLike) -> Term:
    """Return the implication: if `condition` then `conclusion`."""
    return any_of(~lift(condition), lift(conclusion))


def if_(condition: TermLike, then: TermLike, otherwise: TermLike) -> Term:
    """Return the term for `then` if `condition` holds, else `otherwise`; both have one type."""
    kind = next((t.type for t in map(lift, (then, otherwise)) if t.type != "label"), "label")
    return If(kind, as_type(condition, "bool"), as_type(then, kind), as_type(otherwise, kind))
