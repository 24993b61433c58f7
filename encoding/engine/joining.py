"""Joining: what the cubes of a check come to together.

docs/encoding.md argues why the answers of cubes that cover everything are an answer for all executions; `uncovered`
shows that they do cover everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.encoding.engine.verdicts import Fewest, Verdict
from fencepost.encoding.errors import InternalError
from fencepost.encoding.language.state import amount
from fencepost.encoding.solving.answers import GaveUp, No, SolverGaveUpError, Yes
from fencepost.encoding.solving.solvers import SLICE, backend


def uncovered(cubes: Sequence[Sequence[str]]) -> list[str] | None:
    """What an execution may do that is in none of the cubes, as `described`; None if there is no such thing.

    Each text but its sign is a Boolean, and a solver is asked for values under which every cube is false.
    """
    numbers: dict[str, int] = {}
    clauses = [[_number(numbers, text) for text in cube] for cube in cubes]
    if [] in clauses:
        return None
    solver = backend("cadical")
    solver.add([[-literal for literal in clause] for clause in clauses])
    while True:
        match solver.ask([], SLICE):
            case Yes(model):
                return [f"{'+' if model[number - 1] > 0 else '-'}{name}" for name, number in numbers.items()]
            case No():
                return None
            case GaveUp(why, may_go_on):
                if not may_go_on:
                    raise SolverGaveUpError(f"do the cubes cover everything: {why}")


def _number(numbers: dict[str, int], text: str) -> int:
    """The literal of a text, its variable a new one if it is the first of its name."""
    number = numbers.setdefault(text[1:], len(numbers) + 1)
    return {"+": number, "-": -number}[text[0]]


@dataclass(frozen=True)
class CubeAnswer:
    """What the check of one cube came to; the fields are those of `Result`.

    `cube` is as `described`, None if the check did not come to know it. `surpassed` says, where there is a bound in
    steps, whether some execution takes more.
    """

    cube: tuple[str, ...] | None
    verdict: Verdict
    rounds: int = 0
    searched: int = 0
    complete: bool = False
    witness: bool = False
    fewest: Fewest | None = None
    reason: str | None = None
    surpassed: bool | None = None


@dataclass(frozen=True)
class Joined:
    """What the cubes of a check come to together.

    `decisive` is the position of the answer that the others add nothing to: of the counterexample, if there is one.
    `refuted` counts the cubes in which there is no violation; `covered` says that those asked are shown to cover
    everything.
    """

    verdict: Verdict
    decisive: int
    refuted: int
    covered: bool
    rounds: int
    searched: int
    complete: bool
    witness: bool
    fewest: Fewest | None
    reason: str | None

    def __post_init__(self) -> None:
        proof = self.covered and self.complete and self.witness
        if self.verdict is Verdict.PROVED and not proof:
            raise ValueError(
                "proved needs cubes that cover everything, each complete, and a reachable witness"
            )


def join(answers: Sequence[CubeAnswer]) -> Joined:
    """The verdict from the answers of all cubes, in their order.

    Those after the first counterexample do not count: whether they were asked is a matter of chance. Raises
    InternalError if nothing is violated and there is an execution in none of the cubes.
    """
    violated = _first(answers, Verdict.VIOLATED)
    heard = list(answers[: violated + 1]) if violated is not None else list(answers)
    undecided = [answer for answer in heard if answer.verdict is Verdict.UNDECIDED]
    cubes = [answer.cube for answer in heard if answer.cube is not None]
    hole = uncovered(cubes)
    covered = hole is None
    if hole is not None and violated is None and len(cubes) == len(heard):
        raise InternalError(f"the cubes do not cover everything: none has {', '.join(hole) or 'anything'}")
    complete = covered and all(answer.complete for answer in heard)
    witness = any(answer.witness for answer in heard)
    decisive, verdict, reason = 0, Verdict.PROVED, None
    rounds, searched = (max(getattr(a, name) for a in heard) for name in ("rounds", "searched"))
    if violated is not None:
        decisive, verdict = violated, Verdict.VIOLATED
        rounds, searched, reason = heard[-1].rounds, heard[-1].searched, heard[-1].reason
    elif undecided:
        decisive, verdict = heard.index(undecided[0]), Verdict.UNDECIDED
        rounds = searched = min(answer.searched for answer in undecided)
        reason = f"{len(undecided)} of {amount(len(heard), 'cube')} undecided; {undecided[0].reason}"
    elif not witness:
        verdict, reason = Verdict.VACUOUS, heard[0].reason
    elif not complete or any(answer.surpassed for answer in heard):
        verdict = Verdict.HOLDS
    return Joined(
        verdict,
        decisive,
        refuted=sum(a.verdict not in (Verdict.VIOLATED, Verdict.UNDECIDED) for a in heard),
        covered=covered,
        rounds=rounds,
        searched=searched,
        complete=complete,
        witness=witness,
        fewest=_fewest(heard, decisive, covered),
        reason=reason,
    )


def _first(answers: Sequence[CubeAnswer], verdict: Verdict) -> int | None:
    return next((n for n, answer in enumerate(answers) if answer.verdict is verdict), None)


def _fewest(heard: Sequence[CubeAnswer], decisive: int, covered: bool) -> Fewest | None:
    """How a counterexample compares with all others: those of cubes that were not asked are not known."""
    fewest = heard[decisive].fewest
    others = [answer for answer in heard if answer is not heard[decisive]]
    if fewest is None or any(answer.verdict is Verdict.UNDECIDED for answer in others):
        return None
    if fewest is Fewest.OF_ALL and all(answer.complete for answer in others):
        return fewest if covered else Fewest.WITHIN_CUBES
    return Fewest.WITHIN_ROUNDS if covered else None
