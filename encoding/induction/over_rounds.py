"""Induction over rounds: if a property holds before and between so many rounds, does it hold after them?

Any rounds out of the middle of an execution are looked at (`Window`). Together with a clean start of as many rounds as
`base` says, that is a proof for executions of every length.
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
    """Rounds out of the middle of an execution: the state before them is any well-formed one.

    Round 1 stays idle, so that what holds of that state can be read off like what holds after any other round. The
    round after it is exempt from the normal form: what its slots have as reasons may lie before the window.
    """

    @property
    def depth(self) -> int:
        """All but the first."""
        return self.rounds - 1

    def start(self) -> list[Clause]:
        """Each variable has one value: at most one of its Booleans is true."""
        ends = list(itertools.accumulate(self.template.widths))
        return [
            [-self.bit(a, 0), -self.bit(b, 0)]
            for end, width in zip(ends, self.template.widths, strict=True)
            for a, b in itertools.combinations(range(end - width, end), 2)
        ]

    def add_round(self) -> list[Clause]:
        """One more round; the first one fires nothing."""
        clauses = super().add_round()
        return clauses + [[-fire] for fire in self.fires(1)] if self.rounds == 1 else clauses

    def normal_form(self, round_: int) -> Iterator[Clause]:
        """The same from the second round that may fire."""
        if round_ > 2:
            yield from super().normal_form(round_)


@dataclass(frozen=True)
class Inductive:
    """If the property and the invariants hold before and between so many rounds, they hold after them.

    That alone proves nothing: the `base` of the induction is another question.
    """

    property: str
    rounds: int


@dataclass(frozen=True)
class NotInductive:
    """They need not: from some state, `fails` are false after so many rounds, and nothing is before."""

    property: str
    rounds: int
    fails: tuple[str, ...]
    state: tuple[bool, ...]
    """The Booleans of that state; no execution need lead to it."""
    execution: Execution
    """What happens from there."""


def base(rounds: int) -> int:
    """How many rounds from the initial state must be clean for an induction over that many rounds.

    An execution that reaches a violation takes more rounds than were found clean. It needs to take as many as the
    window has, whose first state may well be the initial one.
    """
    return max(rounds - 1, 1)


def induct(session: RoundSolver, task: Task) -> Iterator[Inductive | NotInductive | Progress]:
    """Ask of 1, 2, 3 … rounds in the middle of an execution whether a property is inductive over them.

    The session's unrolling is a `Window`. The property, the invariants and `WELL_DEFINED` hold until the last round,
    and one of them is false after it: if that cannot be, they are inductive.
    """
    waiting, unrolling = list(task.properties), session.unrolling
    session.deepen()
    while waiting and (task.rounds is None or unrolling.depth < task.rounds):
        held = [unrolling.output(f"invariant:{name}", session.rounds) for name in task.invariants]
        session.add([*([output] for output in held), [-unrolling.output("wrong", session.rounds)]])
        session.deepen()
        yield session.progress()
        for name in list(waiting):
            before = [unrolling.output(f"holds:{name}", r) for r in range(1, session.rounds)]
            claims = carried(unrolling, session.rounds, name, task.invariants)
            guard = unrolling.fresh()
            session.add([[-guard, *(-literal for literal in claims.values())]])
            if (yield from _asked(session, [guard, *before])):
                model = session.model()
                fails = [claim for claim, literal in claims.items() if model[abs(literal) - 1] != literal]
                state = [model[unrolling.bit(b, 0) - 1] > 0 for b in range(unrolling.template.width)]
                yield NotInductive(name, unrolling.depth, tuple(fails), tuple(state), executed(session))
            else:
                yield Inductive(name, unrolling.depth)
                waiting.remove(name)


def _asked(session: RoundSolver, assumptions: list[int]) -> Generator[Progress, None, bool]:
    """The answer to a question, a slice at a time: others that take turns in this process need not wait for it."""
    while (answer := session.attempt(assumptions)) is None:
        yield session.progress()
    return answer


def carried(unrolling: Unrolling, round_: int, name: str, invariants: Sequence[str]) -> dict[str, int]:
    """Everything that induction carries along with a property, by name, and the literal that says it holds after a round."""
    literals = {name: unrolling.output(f"holds:{name}", round_)}
    literals |= {other: unrolling.output(f"invariant:{other}", round_) for other in invariants}
    return literals | {WELL_DEFINED: -unrolling.output("wrong", round_)}
