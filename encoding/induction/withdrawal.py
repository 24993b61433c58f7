"""Houdini: the largest inductive set of claims, found by withdrawing claims that are not inductive.

Each proof obligation is about one action. It assumes all claims that are left before the action, and none of
them may be false after it. A claim that can be false is withdrawn, and each proof obligation whose answer
used that claim is asked again. The claims left at the end are inductive together. They are the largest
inductive subset, whatever the order of the questions. Generators of plain messages run this in processes of
their own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencepost.encoding.induction.proof_obligations import INITIALLY, ObligationQuestion, Obligations
from fencepost.encoding.solving.answers import (
    TIME_OUT,
    Deadline,
    GaveUp,
    No,
    SolverGaveUpError,
    Yes,
    answered,
)
from fencepost.encoding.solving.clauses import Clause
from fencepost.encoding.solving.solvers import Backend, Progress, Purse, ask_a_slice


@dataclass(frozen=True)
class StillInductive:
    """The answer that the action makes no claim left false, if the claims `used` hold before it."""

    slot: int
    used: frozenset[str]


@dataclass(frozen=True)
class Withdrawn:
    """Claims that the action makes false, from some state in which all claims left so far hold."""

    slot: int
    claims: tuple[str, ...]


@dataclass(frozen=True)
class Left:
    """The claims left at the end of a share: none of its actions makes one of them false."""

    share: int
    claims: frozenset[str]


WithdrawalMessage = StillInductive | Withdrawn | Left | Progress


def share_out(questions: Sequence[ObligationQuestion], shares: int) -> list[tuple[ObligationQuestion, ...]]:
    """Return the questions in so many shares, one for each process, always in the same way."""
    return [tuple(questions[number::shares]) for number in range(shares)]


def split_by_question(
    obligations: Obligations, clauses: Iterable[Clause]
) -> tuple[list[Clause], dict[int, list[Clause]]]:
    """Return the clauses that every question needs, and by slot those that only one question needs.

    A literal of a question, `happens` or one of `fails`, only implies something. So in the clauses it occurs
    negated, and if it is false, its clauses are true. Without them another question has the same answer.
    """
    slots = {-literal: q.slot for q in obligations.questions for literal in (q.happens, *q.fails.values())}
    common, own = list[Clause](), defaultdict[int, list[Clause]](list)
    for clause in clauses:
        slot = next((slots[literal] for literal in clause if literal in slots), None)
        (common if slot is None else own[slot]).append(clause)
    return common, own


class ObligationSolver:
    """A SAT solver that holds the proof obligations of a system; each is asked under assumptions.

    The clauses of a question are loaded when it is first asked, because the solver would have to give values
    to their variables in each question before.
    """

    def __init__(
        self,
        obligations: Obligations,
        solver: Backend,
        clauses: Sequence[Clause] | None = None,
        purse: Purse | None = None,
    ) -> None:
        """Load the clauses of the obligations, or `clauses` in their place; `purse` limits the conflicts."""
        self._obligations, self._solver, self._purse = obligations, solver, purse
        self._names = {literal: name for name, literal in obligations.holds.items()}
        self._top = obligations.size
        common, self._unloaded = split_by_question(
            obligations, obligations.clauses if clauses is None else clauses
        )
        solver.add(common)

    def ask(
        self,
        question: ObligationQuestion,
        claims: Collection[str],
        about: Collection[str] | None = None,
        given: Sequence[int] = (),
    ) -> Generator[Progress, None, StillInductive | Withdrawn]:
        """Return whether the action can make one of the claims false from a state in which all of them hold.

        If `about` is given, only those claims are looked at after the action. The literals `given` hold too.
        """
        wanted = claims if about is None else about
        fails = {name: literal for name, literal in question.fails.items() if name in wanted}
        if not fails:
            return StillInductive(question.slot, frozenset())
        self._top += 1
        asking = self._top
        self._solver.add([[-asking, *fails.values()]])
        found = yield from self.solve([*self.before(question, claims), *given, asking])
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
        """Return the assumptions that these claims hold and that the action of the question happens.

        Afterwards the solver has the clauses of the question.
        """
        self._solver.add(self._unloaded.pop(question.slot, []))
        held = [literal for name, literal in self._obligations.holds.items() if name in claims]
        return [*([] if question.slot == INITIALLY else held), question.happens]

    def solve(self, assumptions: Sequence[int]) -> Generator[Progress, None, Sequence[int] | None]:
        """Return a model under the assumptions, or None if there is none. Raises SolverGaveUpError."""
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


def finished(
    asking: Generator[Progress, None, StillInductive | Withdrawn], by: Deadline | None = None
) -> StillInductive | Withdrawn:
    """Return the answer to a question, without its progress. Raises SolverGaveUpError if time is up."""
    while True:
        if by is not None and by.passed():
            answered(TIME_OUT, "induction")
        try:
            next(asking)
        except StopIteration as end:
            answer: StillInductive | Withdrawn = end.value
            return answer


def induct(
    solver: ObligationSolver,
    share: int,
    questions: Sequence[ObligationQuestion],
    claims: Collection[str],
    kept: Mapping[int, frozenset[str]],
) -> Iterator[WithdrawalMessage]:
    """Yield answers to the questions of a share, until its actions make none of the claims left false.

    `kept` has the answers known already: by slot, the claims that they used.
    """
    left, answered = set(claims), dict(kept)

    def is_open(question: ObligationQuestion) -> bool:
        return not (question.slot in answered and answered[question.slot] <= left)

    waiting = list(filter(is_open, questions))
    while waiting:
        answer = yield from solver.ask(waiting[0], left)
        yield answer
        if isinstance(answer, StillInductive):
            answered[answer.slot] = answer.used
            waiting.pop(0)
        else:
            left.difference_update(answer.claims)
            waiting = list(filter(is_open, questions))
    yield Left(share, frozenset(left))
