"""Induction over rounds (k-induction): what holds before and between k rounds holds after them too.

The step is about any k rounds from the middle of an execution (`Window`). The base is that no execution
violates the property within the first `base(k)` rounds. Both together prove the property for executions of
every length.
"""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

from fencepost.encoding.induction.proof_obligations import WELL_DEFINED
from fencepost.encoding.rounds.round_solver import RoundSolver
from fencepost.encoding.rounds.search import Execution, Task, executed
from fencepost.encoding.rounds.unrolling import Unrolling
from fencepost.encoding.solving.clauses import Clause
from fencepost.encoding.solving.solvers import Progress


class Window(Unrolling):
    """Rounds from the middle of an execution: the state before them is any well-formed state.

    Round 1 fires nothing, so the outputs after it are those of the state before the window. Round 2 is exempt
    from the normal form, because the slots that must have fired before its own may lie before the window.
    """

    @property
    def depth(self) -> int:
        """The number of rounds without the first one, which fires nothing."""
        return self.rounds - 1

    def start(self) -> list[Clause]:
        """Return clauses that give each variable one value: at most one of its Booleans is true."""
        ends = list(itertools.accumulate(self.template.widths))
        return [
            [-self.bit(a, 0), -self.bit(b, 0)]
            for end, width in zip(ends, self.template.widths, strict=True)
            for a, b in itertools.combinations(range(end - width, end), 2)
        ]

    def add_round(self) -> list[Clause]:
        """Add a round, and return its clauses; the first round fires nothing."""
        clauses = super().add_round()
        return clauses + [[-fire] for fire in self.fires(1)] if self.rounds == 1 else clauses

    def normal_form(self, round_: int) -> Iterator[Clause]:
        """Yield the clauses of the normal form, from round 3 on."""
        if round_ > 2:
            yield from super().normal_form(round_)


@dataclass(frozen=True)
class Inductive:
    """The result that the step holds: if the claims hold before and between the rounds, then after them.

    The step alone proves nothing. The `base` of the induction must hold too.
    """

    property: str
    rounds: int


@dataclass(frozen=True)
class NotInductive:
    """The result that the step fails: from some state all claims hold, and `fails` are false at the end."""

    property: str
    rounds: int
    fails: tuple[str, ...]
    state: tuple[bool, ...]
    """The Booleans of that state, which may be unreachable."""
    execution: Execution
    """The rounds from that state."""


def base(rounds: int) -> int:
    """Return how many rounds the base of an induction over `rounds` rounds has, from the initial state.

    The window of the step has `rounds` rounds, and its first state may be the initial state. An execution
    that violates the property only after the base has at least that many rounds, so the step applies to it.
    """
    return max(rounds - 1, 1)


def induct(solver: RoundSolver, task: Task) -> Iterator[Inductive | NotInductive | Progress]:
    """Yield for 1, 2, 3 … rounds whether each property is inductive over them.

    The solver's unrolling is a `Window`. The question is whether the property, the invariants and
    `WELL_DEFINED` can hold until the last round while one of them is false after it. They are inductive if
    the answer is no.
    """
    waiting, unrolling = list(task.properties), solver.unrolling
    solver.deepen()
    while waiting and (task.rounds is None or unrolling.depth < task.rounds):
        held = [unrolling.output(f"invariant:{name}", solver.rounds) for name in task.invariants]
        solver.add([*([output] for output in held), [-unrolling.output("wrong", solver.rounds)]])
        solver.deepen()
        yield solver.progress()
        for name in list(waiting):
            before = [unrolling.output(f"holds:{name}", r) for r in range(1, solver.rounds)]
            claims = claim_literals(unrolling, solver.rounds, name, task.invariants)
            guard = unrolling.fresh()
            solver.add([[-guard, *(-literal for literal in claims.values())]])
            if (yield from _asked(solver, [guard, *before])):
                model = solver.model()
                fails = [claim for claim, literal in claims.items() if model[abs(literal) - 1] != literal]
                state = [model[unrolling.bit(b, 0) - 1] > 0 for b in range(unrolling.template.width)]
                yield NotInductive(name, unrolling.depth, tuple(fails), tuple(state), executed(solver))
            else:
                yield Inductive(name, unrolling.depth)
                waiting.remove(name)


def _asked(solver: RoundSolver, assumptions: list[int]) -> Generator[Progress, None, bool]:
    """Return the answer to a question; yield after each slice of work, so that other searches have a turn."""
    while (answer := solver.attempt(assumptions)) is None:
        yield solver.progress()
    return answer


def claim_literals(unrolling: Unrolling, round_: int, name: str, invariants: Sequence[str]) -> dict[str, int]:
    """Return by name, for each claim proved together, the literal that it holds after the round."""
    literals = {name: unrolling.output(f"holds:{name}", round_)}
    literals |= {other: unrolling.output(f"invariant:{other}", round_) for other in invariants}
    return literals | {WELL_DEFINED: -unrolling.output("wrong", round_)}
