"""Guarded values: the possible values of a term with their conditions, over the Booleans of the variables."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.state import Variable
from fencepost.encoding.solving.logic import FALSE, TRUE, Formula, conj, disj, named, neg

Guarded = Mapping[Value, Formula]
"""The possible values of a term, each with the formula under which the term has it."""


def bits(variable: Variable) -> list[Formula]:
    """Return the Booleans of a variable, one for each value of its domain but the first."""
    return [named(f"p{variable.place}.{position}") for position in range(1, len(variable.domain))]


def guarded(variable: Variable, own: list[Formula]) -> Guarded:
    """Return the guarded value of a variable with the Booleans `own`."""
    first, *others = variable.domain.values
    result = {first: neg(disj(own))}
    result.update(zip(others, own, strict=True))
    return result


PAIRWISE = 8
"""The largest number of Booleans that `well_formed` compares in pairs. Pairs grow with its square."""


def ladder(own: list[Formula]) -> list[Formula]:
    """Return the auxiliary Booleans of `well_formed`: one for each Boolean but the last, or none."""
    few = len(own) <= PAIRWISE or any(bit is TRUE or bit is FALSE for bit in own)
    return [] if few else [named(f"{bit} or before") for bit in own[:-1]]


def well_formed(own: list[Formula]) -> Formula:
    """Return the formula that at most one Boolean of a variable holds, as in every reachable state.

    For many Booleans it is the ladder encoding (Gent and Nightingale 2004): an auxiliary Boolean is true if
    one of the Booleans up to its position is.
    """
    rungs = ladder(own)
    if not rungs:
        return conj(disj((neg(a), neg(b))) for a, b in itertools.combinations(own, 2))
    reached = (disj((neg(bit), rung)) for bit, rung in zip(own, rungs, strict=False))
    kept = (disj((neg(rung), after)) for rung, after in itertools.pairwise(rungs))
    alone = (disj((neg(rung), neg(bit))) for rung, bit in zip(rungs, own[1:], strict=True))
    return conj((*reached, *kept, *alone))


def at_most_one(own: list[Formula]) -> Formula:
    """Return the formula that at most one Boolean of a variable holds, without auxiliary Booleans."""
    clashes, reached = list[Formula](), FALSE
    for bit in own:
        clashes.append(conj((bit, reached)))
        reached = disj((reached, bit))
    return neg(disj(clashes))


def truth(formula: Formula) -> Guarded:
    """Return a formula as a guarded Boolean value."""
    return {True: formula, False: neg(formula)}


def merged(cases: list[tuple[Formula, Guarded]]) -> Guarded:
    """Return the guarded value of the case whose condition holds. Exactly one condition holds."""
    if len(cases) == 1 and cases[0][0] is TRUE:
        return cases[0][1]
    gathered: dict[Value, list[Formula]] = {}
    for condition, value in cases:
        for v, formula in value.items():
            gathered.setdefault(v, []).append(conj((condition, formula)))
    result = {v: disj(formulas) for v, formulas in gathered.items()}
    return {v: f for v, f in result.items() if f is not FALSE}


def counted(count: int, formulas: list[Formula]) -> Formula:
    """Return the formula that at least `count` of the formulas hold."""
    reached = [TRUE] + [FALSE] * count
    for formula in formulas:
        for k in range(count, 0, -1):
            reached[k] = disj((reached[k], conj((reached[k - 1], formula))))
    return reached[max(count, 0)] if count >= 0 else TRUE
