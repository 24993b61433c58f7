"""Guarded values: what a term may be and when, over Booleans of our own for each variable."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.state import Variable
from fencepost.encoding.solving.logic import FALSE, TRUE, Formula, conj, disj, named, neg

Guarded = Mapping[Value, Formula]
"""What a term may be, and when; Boolean terms are guarded values of True and False too."""


def bits(variable: Variable) -> list[Formula]:
    """The Booleans of a variable, one for each value of its domain but the first."""
    return [named(f"p{variable.place}.{position}") for position in range(1, len(variable.domain))]


def guarded(variable: Variable, own: list[Formula]) -> Guarded:
    """The value of a variable whose Booleans are `own`."""
    first, *others = variable.domain.values
    result = {first: neg(disj(own))}
    result.update(zip(others, own, strict=True))
    return result


PAIRWISE = 8
"""Booleans of which each pair is a clause of `well_formed`; for more, their number would grow with its square."""


def ladder(own: list[Formula]) -> list[Formula]:
    """The further Booleans that `well_formed` needs: one for each but the last, none if there are few or constants."""
    few = len(own) <= PAIRWISE or any(bit is TRUE or bit is FALSE for bit in own)
    return [] if few else [named(f"{bit} or before") for bit in own[:-1]]


def well_formed(own: list[Formula]) -> Formula:
    """At most one Boolean of a variable holds: what every reachable state satisfies.

    Of many Booleans it is said by a ladder (Gent and Nightingale 2004): a further Boolean is true if one up to there is.
    """
    rungs = ladder(own)
    if not rungs:
        return conj(disj((neg(a), neg(b))) for a, b in itertools.combinations(own, 2))
    reached = (disj((neg(bit), rung)) for bit, rung in zip(own, rungs, strict=False))
    kept = (disj((neg(rung), after)) for rung, after in itertools.pairwise(rungs))
    alone = (disj((neg(rung), neg(bit))) for rung, bit in zip(rungs, own[1:], strict=True))
    return conj((*reached, *kept, *alone))


def truth(formula: Formula) -> Guarded:
    """A formula as a guarded truth value."""
    return {True: formula, False: neg(formula)}


def merged(cases: list[tuple[Formula, Guarded]]) -> Guarded:
    """The value of the one case whose formula holds."""
    if len(cases) == 1 and cases[0][0] is TRUE:
        return cases[0][1]
    gathered: dict[Value, list[Formula]] = {}
    for condition, value in cases:
        for v, formula in value.items():
            gathered.setdefault(v, []).append(conj((condition, formula)))
    result = {v: disj(formulas) for v, formulas in gathered.items()}
    return {v: f for v, f in result.items() if f is not FALSE}


def counted(count: int, formulas: list[Formula]) -> Formula:
    """At least `count` of the formulas hold."""
    reached = [TRUE] + [FALSE] * count
    for formula in formulas:
        for k in range(count, 0, -1):
            reached[k] = disj((reached[k], conj((reached[k - 1], formula))))
    return reached[max(count, 0)] if count >= 0 else TRUE
