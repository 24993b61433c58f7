"""Preparation of a bounded search: one round of the system as clauses, made in its own process."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fencepost.encoding.engine.events import PreparationPhase
from fencepost.encoding.formulas.templates import RoundTemplate
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.rounds.search import Tally


@dataclass(frozen=True)
class Prepared:
    """One round of the system, ready to be unrolled, and the slots behind it."""

    template: RoundTemplate
    slots: tuple[int, ...]
    """The number of the ground action of each slot."""
    places: tuple[int, ...]
    """The places of the variables that the Booleans of a state encode."""
    seconds: Mapping[str, float]

    def actions(self, system: System) -> list[GroundAction]:
        """Return the action of each slot."""
        return [system.ground_actions[number] for number in self.slots]


def prepare(
    system: System, properties: Sequence[Property], invariants: Sequence[Invariant], several: bool = False
) -> Iterator[PreparationPhase | Prepared]:
    """Prepare a search by rounds: formulas, commutation, clauses of one round, which come last.

    With `several`, searches for several counterexamples of a property are possible.
    """
    from fencepost.encoding.formulas.commutation import Commutation
    from fencepost.encoding.formulas.one_round import template
    from fencepost.encoding.formulas.symbolic import Symbolic
    from fencepost.encoding.formulas.traps import check_traps

    clock = time.perf_counter
    begun = clock()
    yield PreparationPhase("building")
    symbolic = Symbolic(system)
    check_traps(symbolic, properties)
    built = clock()
    yield PreparationPhase("commutation")
    blockers = Commutation(symbolic).blockers()
    commuted = clock()
    yield PreparationPhase("CNF")
    outputs = {f"holds:{p.name}": p.holds for p in properties}
    outputs |= {f"witness:{p.name}": p.witness for p in properties}
    outputs |= {f"invariant:{i.name}": i.holds for i in invariants}
    made = template(symbolic, blockers, outputs, {p.name: p.holds for p in properties} if several else {})
    order = {action: number for number, action in enumerate(system.ground_actions)}
    seconds = {"building": built - begun, "commutation": commuted - built, "CNF": clock() - commuted}
    yield Prepared(
        made,
        tuple(order[action] for action in symbolic.actions),
        tuple(sorted(symbolic.varying)),
        seconds,
    )


def tally(system: System, slots: Sequence[GroundAction], wanted: Collection[str]) -> Tally:
    """Return the slots and choices that count as a fault of one of these names."""
    costly = tuple(i for i, action in enumerate(slots) if action.schema.action.fault in wanted)
    return Tally(costly, tuple(i for i, v in enumerate(system.choices) if v.family.fault in wanted))
