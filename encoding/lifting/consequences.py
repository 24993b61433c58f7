"""Which claims follow from others in every state, reachable or not: each asked of a SAT solver."""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.encoding.formulas.cnf import numbered
from fencepost.encoding.formulas.guarded import well_formed
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.induction.proof_obligations import Statement, formula_of
from fencepost.encoding.language.system import System
from fencepost.encoding.solving.answers import No
from fencepost.encoding.solving.logic import disj, name_of, named, neg
from fencepost.encoding.solving.solvers import SLICE, backend


def following(
    system: System, given: Sequence[Statement], asked: Sequence[Statement], solver: str
) -> tuple[str, ...]:
    """Return the names of the asked claims that follow from the given ones, at the size of the system.

    A question that takes more than `SLICE` conflicts counts as not following.
    """
    symbolic = Symbolic(system)
    denied = [named(f"denied:{number}") for number in range(len(asked))]
    constraints = [
        *(well_formed(symbolic.bits[v.place]) for v in system.variables),
        *(formula_of(symbolic, claim) for claim in given),
        *(
            disj((neg(name), neg(formula_of(symbolic, claim))))
            for name, claim in zip(denied, asked, strict=True)
        ),
    ]
    cnf = numbered(constraints, denied)
    solving = backend(solver)
    solving.add(cnf.clauses)
    return tuple(
        claim.name
        for name, claim in zip(denied, asked, strict=True)
        if isinstance(solving.ask([cnf.numbers[name_of(name)]], SLICE), No)
    )
