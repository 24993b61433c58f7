"""A counterexample to induction that a person can read: the smallest state from which an action makes a claim false.

Smallest: as few variables as can be have another value than at first, and as few messages as can be are lost. No execution need
lead to it.
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
    """A state: the Booleans of each variable that some action writes, in turn, and the positions of the choices that are true."""

    values: tuple[tuple[bool, ...], ...]
    choices: tuple[int, ...]


def smallest(
    asker: ObligationSolver,
    asked: Obligations,
    question: ObligationQuestion,
    claims: Collection[str],
    name: str,
    first: Sequence[Sequence[bool]],
) -> Generator[Progress, None, CtiState]:
    """A state in which all `claims` hold, and from which the action makes the one of that name false; there must be one.

    `first` has the Booleans of each variable at first. Each variable in turn is given its first value, and keeps it if such a
    state is left.
    """
    wanted = [*asker.before(question, claims), question.fails[name]]
    fixed: list[int] = []
    model = yield from _model(asker, wanted)
    for literals in _usual(asked, first):
        if not _agree(model, literals):
            other = yield from asker.solve([*wanted, *fixed, *literals])
            if other is None:
                continue
            model = other
        fixed += literals
    ends = list(itertools.accumulate(asked.widths, initial=0))
    values = (tuple(bit > 0 for bit in model[begin:end]) for begin, end in itertools.pairwise(ends))
    chosen = model[ends[-1] : ends[-1] + asked.choices]
    return CtiState(tuple(values), tuple(position for position, bit in enumerate(chosen) if bit > 0))


def _model(asker: ObligationSolver, wanted: Sequence[int]) -> Generator[Progress, None, Sequence[int]]:
    """A model of what has one."""
    model = yield from asker.solve(wanted)
    assert model is not None, "the action makes the claim false from some state"
    return model


def _usual(asked: Obligations, first: Sequence[Sequence[bool]]) -> list[list[int]]:
    """For each choice that it is false, then for each variable that it has its first value."""
    ends = list(itertools.accumulate(asked.widths, initial=0))
    bits = [
        [bit if is_true else -bit for bit, is_true in enumerate(own, begin + 1)]
        for begin, own in zip(ends, first, strict=False)
    ]
    return [*([-(ends[-1] + position)] for position in range(1, asked.choices + 1)), *bits]


def _agree(model: Sequence[int], literals: Sequence[int]) -> bool:
    return all((model[abs(literal) - 1] > 0) == (literal > 0) for literal in literals)
