"""A second checker of clausal proofs: plain Python, slow, written from the definition and nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.encoding.solving.clauses import Clause


def refutes(clauses: Iterable[Clause], learnt: Iterable[Clause]) -> bool:
    """Each learnt clause follows by unit propagation from the clauses and those before it, up to an empty one."""
    known = [set(clause) for clause in clauses]
    for clause in learnt:
        if not contradictory(known, {-literal for literal in clause}):
            return False
        if not clause:
            return True
        known.append(set(clause))
    return False


def contradictory(clauses: list[set[int]], assumed: set[int]) -> bool:
    """Whether unit propagation from these literals makes every literal of some clause false."""
    true, changed = set(assumed), True
    while changed:
        if any(-literal in true for literal in true):
            return True
        changed = False
        for clause in clauses:
            if clause & true:
                continue
            left = {literal for literal in clause if -literal not in true}
            if not left:
                return True
            if len(left) == 1:
                true |= left
                changed = True
    return False
