"""A second checker of clausal proofs: plain and slow Python, written from the definition alone."""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.encoding.solving.clauses import Clause


def refutes(clauses: Iterable[Clause], learnt_clauses: Iterable[Clause]) -> bool:
    """Return whether the learnt clauses refute the clauses, by unit propagation alone.

    Each must follow from the clauses and from the learnt clauses before it, up to an empty one.
    """
    known = [set(clause) for clause in clauses]
    for learnt in learnt_clauses:
        if not contradictory(known, {-literal for literal in learnt}):
            return False
        if not learnt:
            return True
        known.append(set(learnt))
    return False


def contradictory(clauses: list[set[int]], assumed: set[int]) -> bool:
    """Return whether unit propagation from these literals makes every literal of some clause false."""
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
