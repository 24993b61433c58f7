"""Cubes: one check split into several, each about a part of the executions, and what they come to together.

A cube says of a few slots whether they fire within the first rounds. docs/encoding.md argues why the answers of
cubes that cover everything are an answer for all executions; `uncovered` shows that they do cover everything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fencepost.encoding.checking.verdicts import Verdict
from fencepost.encoding.errors import InternalError
from fencepost.encoding.language.state import amount
from fencepost.encoding.rounds.unrolling import Early, Template, Unrolling
from fencepost.encoding.solving.solvers import SLICE, backend

FIRST = 3
"""Rounds within which the slots of a cube fire, or do not; by measurement, see docs/sweeps.md."""

COMMON = 0.05
"""A slot without which more than this share of all slots cannot fire is a gate: one half of the split is next to nothing."""

Cube = tuple[Early, ...]


@dataclass(frozen=True)
class Part:
    """One cube, by its number from 0, of a check that is split into up to so many."""

    number: int
    most: int


def split(template: Template, most: int, rounds: int | None) -> list[Cube]:
    """Up to `most` cubes that cover everything within so many rounds; the same for the same arguments.

    The largest cube so far is split by the next of the `candidates`, until there are enough.
    """
    within = FIRST if rounds is None else min(FIRST, rounds)
    slots, cubes = candidates(template), [Cube()]
    while len(cubes) < most and len(cubes[0]) < len(slots):
        largest = cubes.pop(0)
        slot = slots[len(largest)]
        cubes += [(*largest, Early(slot, within, fires)) for fires in (True, False)]
    return cubes


def candidates(template: Template) -> list[int]:
    """The slots that can fire early, those first whose place among the others matters most.

    That is measured by how many a slot may not move left past, and how many may not move left past it, whichever is
    less. Before all others come slots that wait for more than wait for them, and last those that nearly everything
    needs (`COMMON`).
    """
    slots = range(len(template.fires))
    waits = [len(blockers) for blockers in template.blockers]
    awaited = [sum(slot in blockers for blockers in template.blockers) for slot in slots]
    silenced = list(_silenced(template))

    def order(slot: int) -> tuple[bool, bool, int, int]:
        gate = silenced[slot] > COMMON * len(slots)
        return gate, awaited[slot] > waits[slot], -min(awaited[slot], waits[slot]), slot

    return sorted((slot for slot in slots if silenced[slot]), key=order)


def _silenced(template: Template) -> Iterator[int]:
    """For each slot how many slots, itself included, cannot fire early if it does not, and could if it did.

    As far as unit propagation tells.
    """
    from pysat.solvers import Solver

    unrolling = Unrolling(template)
    clauses = unrolling.start()
    for _ in range(FIRST):
        clauses += unrolling.add_round()
    early = [[-unrolling.fire(slot, r) for r in range(1, FIRST + 1)] for slot in range(len(template.fires))]
    with Solver(name="minisat22", bootstrap_with=clauses) as solver:
        never = set(solver.propagate([])[1])
        for silence in early:
            silent = set(solver.propagate(silence)[1]) | never
            yield sum(silent.issuperset(other) and not never.issuperset(other) for other in early)


def described(cube: Cube, names: Sequence[str]) -> tuple[str, ...]:
    """What a cube says, a text for each slot; `names` has the names of the slots."""
    return tuple(
        f"{'+' if literal.fires else '-'}{names[literal.slot]} within {amount(literal.within, 'round')}"
        for literal in cube
    )


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
    while (answer := solver.solve([], SLICE)) is None:
        pass
    if not answer:
        return None
    model = solver.model()
    return [f"{'+' if model[number - 1] > 0 else '-'}{name}" for name, number in numbers.items()]


def _number(numbers: dict[str, int], text: str) -> int:
    """The literal of a text, its variable a new one if it is the first of its name."""
    number = numbers.setdefault(text[1:], len(numbers) + 1)
    return {"+": number, "-": -number}[text[0]]


@dataclass(frozen=True)
class Answer:
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
    fewest: str | None = None
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
    fewest: str | None
    reason: str | None

    def __post_init__(self) -> None:
        proof = self.covered and self.complete and self.witness
        if self.verdict is Verdict.PROVED and not proof:
            raise ValueError(
                "proved needs cubes that cover everything, each complete, and a reachable witness"
            )


WITHIN_CUBES = "within-cubes"
"""No shorter counterexample exists in the cubes that were asked; others were not."""


def join(answers: Sequence[Answer]) -> Joined:
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


def _first(answers: Sequence[Answer], verdict: Verdict) -> int | None:
    return next((n for n, answer in enumerate(answers) if answer.verdict is verdict), None)


def _fewest(heard: Sequence[Answer], decisive: int, covered: bool) -> str | None:
    """How a counterexample compares with all others: those of cubes that were not asked are not known."""
    fewest = heard[decisive].fewest
    others = [answer for answer in heard if answer is not heard[decisive]]
    if fewest is None or any(answer.verdict is Verdict.UNDECIDED for answer in others):
        return None
    if fewest == "proved" and all(answer.complete for answer in others):
        return fewest if covered else WITHIN_CUBES
    return "within-rounds" if covered else None
