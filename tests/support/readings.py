"""A condition in one state, as both readings say it."""

from __future__ import annotations

import z3

from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language import Term
from fencepost.encoding.solving.logic import Formula


def truths(term: Term, codes: bytes, concrete: Concrete, symbolic: Symbolic) -> set[bool]:
    """Return what the two readings of a system say of a condition in the state with these codes."""
    return {bool(concrete.predicate(term)(codes)), holds(symbolic.predicate(term), codes, symbolic)}


def holds(formula: Formula, codes: bytes, symbolic: Symbolic) -> bool:
    """Return whether a formula holds in the state with these codes."""
    solver = z3.Solver()
    for v in symbolic.system.variables:
        solver.add(*(bit == (codes[v.place] == at) for at, bit in enumerate(symbolic.bits[v.place], 1)))
    solver.add(formula)
    return bool(solver.check() == z3.sat)
