"""Cubes: one check split into several, each about a part of the executions.

A cube says of a few slots whether they fire within the first rounds. What the cubes of a check come to together is the
business of `checking.joining`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fencepost.encoding.formulas.templates import Template
from fencepost.encoding.language.state import amount
from fencepost.encoding.rounds.unrolling import Early, Unrolling
from fencepost.encoding.solving.solvers import Propagation

FIRST = 3
"""Rounds within which the slots of a cube fire, or do not; by measurement, see docs/performance.md."""

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
    unrolling = Unrolling(template)
    clauses = unrolling.start()
    for _ in range(FIRST):
        clauses += unrolling.add_round()
    early = [[-unrolling.fire(slot, r) for r in range(1, FIRST + 1)] for slot in range(len(template.fires))]
    with Propagation("minisat22", clauses) as rounds:
        never = set(rounds.follow([])[1])
        for silence in early:
            silent = set(rounds.follow(silence)[1]) | never
            yield sum(silent.issuperset(other) and not never.issuperset(other) for other in early)


def described(cube: Cube, names: Sequence[str]) -> tuple[str, ...]:
    """What a cube says, a text for each slot; `names` has the names of the slots."""
    return tuple(
        f"{'+' if literal.fires else '-'}{names[literal.slot]} within {amount(literal.within, 'round')}"
        for literal in cube
    )
