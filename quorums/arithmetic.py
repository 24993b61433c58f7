"""The formulas of quorum arithmetic, each written once.

Every lemma, every line of the calculator and every solver reads them from here. They are plain arithmetic, so that
the same text works on Python integers and on a solver's integer terms. E is the ensemble, WQ the write quorum, AQ the
ack quorum: 1 <= AQ <= WQ <= E; all are numbers of bookies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb
from typing import Any, TypeAlias

Number: TypeAlias = Any
"""An integer: Python's, or an integer term of a solver."""

Formula: TypeAlias = Callable[[Number, Number, Number], Number]
"""A number of bookies as a function of (E, WQ, AQ)."""


def floor_div(dividend: Number, divisor: Number) -> Number:
    """The quotient rounded down, for a positive divisor (SMT-LIB's `div` rounds down there as well)."""
    return dividend // divisor if isinstance(dividend, int) else dividend / divisor


def negative_answers(e: Number, wq: Number, aq: Number) -> Number:
    """QC: NoSuchEntry answers from the write set that declare an entry absent (BP-46; `ReadOpBase`)."""
    return wq - aq + 1


def fencing_answers(e: Number, wq: Number, aq: Number) -> Number:
    """EC: answers from the ensemble that always suffice to fence the ledger (BP-46)."""
    return e - aq + 1


def lucky_losses(e: Number, wq: Number, aq: Number) -> Number:
    """Most silent bookies that fencing can bear, if they are spread evenly over the ensemble."""
    return floor_div(e * (aq - 1), wq)


def fewest_answers(e: Number, wq: Number, aq: Number) -> Number:
    """Fewest answers that can satisfy the rule of every window (`RRQuorumCoverageSet.checkCovered`)."""
    return e - lucky_losses(e, wq, aq)


def sure_losses(e: Number, wq: Number, aq: Number) -> Number:
    """Bookies that may be lost, whichever they are, without losing data or recovery."""
    return aq - 1


def slack(e: Number, wq: Number, aq: Number) -> Number:
    """Bookies of a write set that may stay silent while an add still completes (`PendingAddOp`)."""
    return wq - aq


def sufficient_racks(e: Number, wq: Number, aq: Number) -> Number:
    """Racks in every write set from which the loss of any one rack leaves data and recovery whole."""
    return wq - aq + 2


def forgetful_holders(holders: Number, aq: Number) -> Number:
    """Of the bookies that store an entry, how many may forget it before recovery can declare it absent."""
    return holders - aq


def forgetful_fences(fenced: Number, e: Number, aq: Number) -> Number:
    """Of the bookies that were fenced, how many may forget it before an ack quorum can be unfenced."""
    return fenced - (e - aq + 1)


@dataclass(frozen=True)
class Formulas:
    """The formulas that lemmas are about. Tests plant mistakes by replacing one."""

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
    """Sets of AQ bookies that lie within one window, so that losing them loses data and recovery.

    A set fits into a window exactly if, going around the ensemble, some distance between neighbours exceeds E - WQ.
    Inclusion and exclusion over those distances counts the sets (docs/lemmas.md).
    """
    gap = e - wq + 1
    compositions: int = sum(
        (-1) ** (long + 1) * comb(aq, long) * comb(e - long * (gap - 1) - 1, aq - 1)
        for long in range(1, aq + 1)
        if e - long * (gap - 1) >= aq
    )
    return e * compositions // aq
