"""The proof of the unchanged system, asked of its mutants.

The invariants that are inductive without the change are inductive with it if the changed action keeps them:
one question about each of its ground actions. The other actions have the same text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from fencepost.encoding.engine.clauses import with_found
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.named_clauses import NamedClause, clauses_of
from fencepost.encoding.engine.verdicts import Basis, Result
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.formulas.traps import check_traps
from fencepost.encoding.induction.proof_obligations import (
    WELL_DEFINED,
    Asked,
    Statement,
    as_clauses,
    formulas,
)
from fencepost.encoding.induction.withdrawal import ObligationSolver, StillInductive, finished
from fencepost.encoding.language.carried_invariants import carrying
from fencepost.encoding.language.system import System
from fencepost.encoding.solving.logic import FALSE, TRUE, Formula, conj, disj, iff, named, neg
from fencepost.encoding.solving.solvers import backend

DIFFERS = "/differs"
"""The name of the claim that the changed action does the same as before. No property has a slash."""


@dataclass(frozen=True)
class UnchangedProof:
    """The claims that are inductive together without a change, and the clauses that were found for them."""

    claims: frozenset[str]
    clauses: tuple[NamedClause, ...]

    def question(self, old: Symbolic, system: System, action: Collection[int]) -> tuple[bool, bool]:
        """Return whether the mutant keeps all claims, and whether each of its steps is the same as before.

        `action` has the numbers of the changed ground actions. Both are asked of states in which all claims
        hold, so of every reachable one. Raises ModelError and SolverGaveUpError.
        """
        own = carrying(system, (one for one in system.invariants if one.name in self.claims))
        carried = with_found(own, clauses_of(system, self.clauses))
        properties = [p for p in system.properties if p.name in self.claims]
        claims: list[Statement] = [*carried.invariants, *properties]
        after = Symbolic(carried)
        check_traps(after, properties)
        slots, earlier = _slots(after), _slots(old)
        made = formulas(after, claims, [slots[n] for n in action if n in slots])
        differs = [_differs(old, earlier.get(n), after, slots.get(n)) for n in action]
        comparison = named(DIFFERS), named(f"fails:{DIFFERS}")
        asked = Asked(-2, comparison[0], {DIFFERS: comparison[1]}, [disj((neg(comparison[1]), *differs))])
        obligations = as_clauses(
            replace(
                made,
                asked=[*made.asked, asked],
                constraints=[*made.constraints, *(c for c in asked.constraints if c is not TRUE)],
            )
        )
        solver = ObligationSolver(obligations, backend(Limits().induction_solver))
        names = {claim.name for claim in claims} | {WELL_DEFINED, DIFFERS}
        *kept, last = (
            isinstance(finished(solver.ask(q, names)), StillInductive) for q in obligations.questions
        )
        return all(kept), last and after.varying == old.varying


def _slots(symbolic: Symbolic) -> dict[int, int]:
    """Return the slots of a system by the number of the ground action."""
    numbers = {action: n for n, action in enumerate(symbolic.system.ground_actions)}
    return {numbers[action]: slot for slot, action in enumerate(symbolic.actions)}


def _differs(old: Symbolic, before: int | None, new: Symbolic, after: int | None) -> Formula:
    """Return the formula that a ground action, by its slots, does something else than before."""
    one = None if before is None else old.effects[before]
    two = None if after is None else new.effects[after]
    if one is None or two is None:
        only = one or two
        return FALSE if only is None else only.guard
    pairs = [
        (a, b)
        for place in one.after.keys() | two.after.keys()
        for a, b in zip(
            one.after.get(place, old.bits[place]), two.after.get(place, new.bits[place]), strict=True
        )
    ]
    changes = conj((one.guard, disj((two.wrong, *(neg(iff(a, b)) for a, b in pairs)))))
    return disj((neg(iff(one.guard, two.guard)), changes))


def proof_of(results: Sequence[Result]) -> UnchangedProof:
    """Return all claims and clauses of the proofs by induction over one action.

    Each proof has all that it rests on, so the claims of all of them are inductive together.
    """
    inductive = [r for r in results if r.basis is Basis.INDUCTION and r.live is None]
    claims = frozenset(name for r in inductive for name in (r.property, *r.invariants))
    return UnchangedProof(claims, tuple(dict.fromkeys(clause for r in inductive for clause in r.found)))
