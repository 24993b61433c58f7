"""A check, in one process, of which claims are inductive over one action."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.induction.orbits import representatives
from fencepost.encoding.induction.proof_obligations import INITIALLY, WELL_DEFINED, obligations
from fencepost.encoding.induction.withdrawal import ObligationSolver, Withdrawn, induct
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.solving.solvers import backend

Claims = Sequence[Property | Invariant]


def broken(system: System, claims: Claims, orbits: bool = True, first: bool = False) -> Mapping[str, str]:
    """Return each withdrawn claim, in that order, with the action that makes it false.

    With `first`, only the first one.
    """
    symbolic = Symbolic(system)
    slots = [INITIALLY, *representatives(symbolic, claims)] if orbits else None
    asked = obligations(symbolic, claims, slots)
    names = [*(claim.name for claim in claims), WELL_DEFINED]
    found: dict[str, str] = {}
    for message in induct(ObligationSolver(asked, backend("cadical")), 0, asked.questions, names, {}):
        if isinstance(message, Withdrawn):
            by = "initially" if message.slot == INITIALLY else symbolic.actions[message.slot].schema.name
            found |= dict.fromkeys(message.claims, by)
            if first:
                break
    return found
