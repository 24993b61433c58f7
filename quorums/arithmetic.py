"""The formulas of quorum arithmetic, each written once.

Every lemma, every line of the calculator and every solver uses these functions. They are plain arithmetic, so
the same text works on Python integers and on integer terms of a solver. E is the ensemble, WQ the write
quorum and AQ the ack quorum, with 1 <= AQ <= WQ <= E. All are numbers of bookies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any, TypeAlias

Number: TypeAlias = Any
"""An integer of Python, or an integer term of a solver."""

Formula: TypeAlias = Callable[[Number, Number, Number], Number]
"""A number of bookies as a function of (E, WQ, AQ)."""


def floor_div(dividend: Number, divisor: Number) -> Number:
    """Return the quotient rounded down, for a positive divisor.

    The `div` of SMT-LIB rounds down too.
    """
    return dividend // divisor if isinstance(dividend, int) else dividend / divisor


def negative_answers(e: Number, wq: Number, aq: Number) -> Number:
    """Return QC: the NoSuchEntry answers of a write set that declare an entry absent (BP-46; ReadOpBase)."""
    return wq - aq + 1


def fencing_answers(e: Number, wq: Number, aq: Number) -> Number:
    """Return EC: the answers of the ensemble that always suffice to fence the ledger (BP-46)."""
    return e - aq + 1


def lucky_losses(e: Number, wq: Number, aq: Number) -> Number:
    """Return the most silent bookies with which fencing is possible, if they are spread evenly."""
    return floor_div(e * (aq - 1), wq)


def fewest_answers(e: Number, wq: Number, aq: Number) -> Number:
    """Return the fewest answers that can cover every window (`RRQuorumCoverageSet.checkCovered`)."""
    return e - lucky_losses(e, wq, aq)


def sure_losses(e: Number, wq: Number, aq: Number) -> Number:
    """Return the number of bookies that can be lost, in any combination, without losing data or recovery."""
    return aq - 1


def slack(e: Number, wq: Number, aq: Number) -> Number:
    """Return the bookies of a write set that may be silent while an add completes (`PendingAddOp`)."""
    return wq - aq


def sufficient_racks(e: Number, wq: Number, aq: Number) -> Number:
    """Return the racks per write set with which the loss of any one rack loses neither data nor recovery."""
    return wq - aq + 2


def forgetful_holders(holders: Number, aq: Number) -> Number:
    """Return how many bookies with an entry may forget it before recovery can declare it absent."""
    return holders - aq


def forgetful_fences(fenced: Number, e: Number, aq: Number) -> Number:
    """Return how many fenced bookies may forget the fence before an ack quorum can be without one."""
    return fenced - (e - aq + 1)


@dataclass(frozen=True)
class Formulas:
    """The formulas of the lemmas. Tests plant a mistake by replacing one of them."""

    negative_answers: Formula = negative_answers
    fencing_answers: Formula = fencing_answers
    fewest_answers: Formula = fewest_answers
    sure_losses: Formula = sure_losses
    slack: Formula = slack
    sufficient_racks: Formula = sufficient_racks
    forgetful_holders: Callable[[Number, Number], Number] = forgetful_holders
    forgetful_fences: Formula = forgetful_fences


BP46 = Formulas()
"""The formulas as BP-46 and the code have them."""


def blocking_sets(e: int, wq: int, aq: int) -> int:
    """Return the number of sets of AQ bookies within one window: the loss of one loses data and recovery.

    A set fits into a window if and only if some distance between neighbours, around the ensemble, exceeds E -
    WQ. Inclusion and exclusion over those distances counts the sets (docs/lemmas.md).
    """
    gap = e - wq + 1
    compositions: int = sum(
        (-1) ** (long + 1) * comb(aq, long) * comb(e - long * (gap - 1) - 1, aq - 1)
        for long in range(1, aq + 1)
        if e - long * (gap - 1) >= aq
    )
    return e * compositions // aq
