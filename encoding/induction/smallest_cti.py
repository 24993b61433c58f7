"""A small counterexample to induction (CTI): a state from which an action makes a claim false.

In a small CTI few messages are lost, and few state variables differ from their initial values. The state may
be unreachable.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass

from fencepost.encoding.induction.proof_obligations import ObligationQuestion, Obligations
from fencepost.encoding.induction.withdrawal import ObligationSolver
from fencepost.encoding.solving.solvers import Progress


@dataclass(frozen=True)
class CtiState:
    """The Booleans of each state variable that some action writes, and the positions of the true choices."""

    values: tuple[tuple[bool, ...], ...]
    choices: tuple[int, ...]


def smallest(
    solver: ObligationSolver,
    obligations: Obligations,
    question: ObligationQuestion,
    claims: Collection[str],
    name: str,
    initial: Sequence[Sequence[bool]],
) -> Generator[Progress, None, CtiState]:
    """Return a small state in which all `claims` hold and from which the action makes `name` false.

    There must be one. `initial` has the Booleans of each state variable in an initial state. One
    after the other, each choice is set to false and each variable to its initial value. A setting stays if
    such a state is left.
    """
    wanted = [*solver.before(question, claims), question.fails[name]]
    fixed: list[int] = []
    model = yield from _model(solver, wanted)
    for literals in _settings(obligations, initial):
        if not _agree(model, literals):
            other = yield from solver.solve([*wanted, *fixed, *literals])
            if other is None:
                continue
            model = other
        fixed += literals
    ends = list(itertools.accumulate(obligations.widths, initial=0))
    values = (tuple(bit > 0 for bit in model[begin:end]) for begin, end in itertools.pairwise(ends))
    chosen = model[ends[-1] : ends[-1] + obligations.choices]
    return CtiState(tuple(values), tuple(position for position, bit in enumerate(chosen) if bit > 0))


def _model(solver: ObligationSolver, wanted: Sequence[int]) -> Generator[Progress, None, Sequence[int]]:
    """Return a model of a question that must have one."""
    model = yield from solver.solve(wanted)
    assert model is not None, "the action makes the claim false from some state"
    return model


def _settings(obligations: Obligations, initial: Sequence[Sequence[bool]]) -> list[list[int]]:
    """Return literals: each choice is false, then each variable has its initial value."""
    ends = list(itertools.accumulate(obligations.widths, initial=0))
    bits = [
        [bit if is_true else -bit for bit, is_true in enumerate(own, begin + 1)]
        for begin, own in zip(ends, initial, strict=False)
    ]
    return [*([-(ends[-1] + position)] for position in range(1, obligations.choices + 1)), *bits]


def _agree(model: Sequence[int], literals: Sequence[int]) -> bool:
    return all((model[abs(literal) - 1] > 0) == (literal > 0) for literal in literals)
