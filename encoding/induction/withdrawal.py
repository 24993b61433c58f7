"""Whether claims are inductive, asked one action at a time: generators of plain messages, to run in processes of their own.

All claims that are left are assumed before each action, and none of them may be false after it. One that can be is
withdrawn, and every question is asked again whose answer used it. What is left in the end is inductive by itself: the largest part of
the claims that is, whatever order they are asked about in.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencepost.encoding.induction.proof_obligations import INITIALLY, ObligationQuestion, Obligations
from fencepost.encoding.solving.answers import GaveUp, No, SolverGaveUpError, Yes
from fencepost.encoding.solving.clauses import Clause
from fencepost.encoding.solving.solvers import Backend, Progress, Purse, ask_a_slice


@dataclass(frozen=True)
class StillInductive:
    """The action of that slot makes none of the claims false that are left, because those `used` hold before it."""

    slot: int
    used: frozenset[str]


@dataclass(frozen=True)
class Withdrawn:
    """In some state in which all claims hold that were left, the action of that slot makes these false."""

    slot: int
    claims: tuple[str, ...]


@dataclass(frozen=True)
class Left:
    """All questions of a share are answered: no action of it makes any of these claims false."""

    share: int
    claims: frozenset[str]


Message = StillInductive | Withdrawn | Left | Progress


def share_out(questions: Sequence[ObligationQuestion], shares: int) -> list[tuple[ObligationQuestion, ...]]:
    """The questions dealt out to so many processes, always in the same way."""
    return [tuple(questions[number::shares]) for number in range(shares)]


class ObligationSolver:
    """A solver that holds the questions about a system; each is asked under assumptions."""

    def __init__(
        self,
        obligations: Obligations,
        solver: Backend,
        clauses: Sequence[Clause] | None = None,
        purse: Purse | None = None,
    ) -> None:
        self._obligations, self._solver, self._purse = obligations, solver, purse
        self._names = {literal: name for name, literal in obligations.holds.items()}
        self._top = obligations.size
        solver.add(obligations.clauses if clauses is None else clauses)

    def ask(
        self, question: ObligationQuestion, claims: Collection[str], about: Collection[str] | None = None
    ) -> Generator[Progress, None, StillInductive | Withdrawn]:
        """Whether the action can make one of these claims false, or one of those it is `about`, if all of them hold before it."""
        wanted = claims if about is None else about
        fails = {name: literal for name, literal in question.fails.items() if name in wanted}
        if not fails:
            return StillInductive(question.slot, frozenset())
        self._top += 1
        asking = self._top
        self._solver.add([[-asking, *fails.values()]])
        found = yield from self.solve([*self.before(question, claims), asking])
        if found is None:
            core = set(self._solver.core())
            answer: StillInductive | Withdrawn = StillInductive(
                question.slot, frozenset(self._names[literal] for literal in core & self._names.keys())
            )
        else:
            failing = tuple(name for name, literal in fails.items() if found[literal - 1] > 0)
            answer = Withdrawn(question.slot, failing)
        self._solver.add([[-asking]])
        return answer

    def before(self, question: ObligationQuestion, claims: Collection[str]) -> list[int]:
        """Assumptions: all of these claims hold, and the action of the question happens."""
        held = [literal for name, literal in self._obligations.holds.items() if name in claims]
        return [*([] if question.slot == INITIALLY else held), question.happens]

    def solve(self, assumptions: Sequence[int]) -> Generator[Progress, None, Sequence[int] | None]:
        """A model of the clauses in which these hold; None if there is none. Raises SolverGaveUpError."""
        while True:
            match ask_a_slice(self._solver, assumptions, self._purse):
                case Yes(model):
                    return model
                case No():
                    return None
                case GaveUp(why, may_go_on):
                    if not may_go_on:
                        raise SolverGaveUpError(f"induction: {why}")
            yield Progress("induction", 1, len(self._obligations.clauses), self._solver.conflicts())


def induct(
    asker: ObligationSolver,
    share: int,
    questions: Sequence[ObligationQuestion],
    claims: Collection[str],
    kept: Mapping[int, frozenset[str]],
) -> Iterator[Message]:
    """Ask the questions of a share until none of the claims that are left is made false by their actions.

    `kept` has what the answers used that are known already, by slot.
    """
    left, answered = set(claims), dict(kept)

    def is_open(question: ObligationQuestion) -> bool:
        return not (question.slot in answered and answered[question.slot] <= left)

    waiting = list(filter(is_open, questions))
    while waiting:
        answer = yield from asker.ask(waiting[0], left)
        yield answer
        if isinstance(answer, StillInductive):
            answered[answer.slot] = answer.used
            waiting.pop(0)
        else:
            left.difference_update(answer.claims)
            waiting = list(filter(is_open, questions))
    yield Left(share, frozenset(left))
