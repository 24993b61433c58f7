"""Directed simulation: executions to witnesses of properties, or to states that violate an invariant.

A simulation passes through all actions in causal order again and again, and takes each action that is
enabled. It takes no failures. Each simulation leaves out a part of the actions,
chosen at random, and so reaches other states too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from fencepost.encoding.concrete.badly_defined import with_the_steps_before
from fencepost.encoding.concrete.beginnings import Beginnings
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.replay import Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.events import Seen
from fencepost.encoding.engine.messages import FoundPath
from fencepost.encoding.language.system import Invariant, Property, System
from fencepost.encoding.language.terms import Term
from fencepost.encoding.language.traces import Trace

SIMULATIONS = 120
"""The most simulations to run. The first few reach nearly every state that simulations reach at all."""

PASSES = 4
"""Passes through all actions in one simulation."""

SHARES = (0.0, 0.1, 0.3, 0.5)
"""The share of the actions that is left out, simulation by simulation in turn."""


def simulate(system: System, properties: Sequence[Property]) -> Iterator[FoundPath]:
    """Yield the first execution to the witness of each property.

    It ends once each witness is reached, or after `SIMULATIONS` simulations. They depend on the arguments
    only.
    """
    yield from _reached(Concrete(system), {prop.name: prop.witness for prop in properties})


def witnesses(
    replayer: Replayer, properties: Sequence[Property], budgets: Mapping[str, int]
) -> Iterator[Seen]:
    """Yield each property whose witness `traces_to_witnesses` reaches."""
    yield from (Seen(trace.property) for trace in traces_to_witnesses(replayer, properties, budgets))


def traces_to_witnesses(
    replayer: Replayer, properties: Sequence[Property], budgets: Mapping[str, int]
) -> Iterator[Trace]:
    """Yield the replayed trace to the witness of each property that simulations reach within the budgets.

    Raises NotAnExecution if a simulation does not replay.
    """
    opposites = {prop.name: replace(prop, holds=~prop.witness) for prop in properties}
    for found in _reached(replayer.concrete, {prop.name: prop.witness for prop in properties}):
        execution = found.execution(replayer.system)
        trace = replayer.spare_faults(opposites[str(found.property)], *execution)
        if trace.keeps_within(budgets):
            yield trace


def falsified(system: System, invariants: Sequence[Invariant]) -> Iterator[FoundPath]:
    """Yield for each invariant the first execution to a state that violates it, if there is one."""
    yield from _reached(Concrete(system), {i.name: ~i.holds for i in invariants})


def _reached(concrete: Concrete, targets: Mapping[str, Term]) -> Iterator[FoundPath]:
    """Yield the first execution to each target."""
    chance = random.Random(1)
    missing = {name: concrete.predicate(target) for name, target in targets.items()}
    for number in range(SIMULATIONS):
        if not missing:
            return
        for found in _simulate_once(concrete, chance, *_setting(number), missing):
            del missing[str(found.property)]
            yield found


def _setting(number: int) -> tuple[float, bool]:
    """Return the share of actions that a simulation leaves out, and whether it loses messages."""
    return SHARES[number % len(SHARES)], number % (2 * len(SHARES)) >= len(SHARES)


def _simulate_once(
    concrete: Concrete,
    chance: random.Random,
    left_out: float,
    losing: bool,
    targets: Mapping[str, Callable[[State], bool]],
) -> Iterator[FoundPath]:
    """Yield each target at the first state of one simulation in which it is true."""
    system = concrete.system
    chosen = {v.place: losing and chance.random() < 1 / 8 for v in system.choices}
    lost = tuple(position for position, v in enumerate(system.choices) if chosen[v.place])
    taking = [(n, step) for n, step in enumerate(concrete.steps) if chance.random() >= left_out]
    beginnings, path, missing = Beginnings(concrete), list[int](), dict(targets)
    state = first = beginnings.draw(chance, chosen)

    def reached() -> Iterator[FoundPath]:
        for name in [name for name, holds in missing.items() if holds(state)]:
            del missing[name]
            yield FoundPath(name, tuple(path), lost, beginnings.of(first))

    yield from reached()
    with with_the_steps_before(concrete.steps[slot].action for slot in path):
        for _ in range(PASSES):
            before = len(path)
            for number, step in taking:
                after = next(step.successors(state), None)
                if after is not None and after != state:
                    state = after
                    path.append(number)
                    yield from reached()
            if len(path) == before:
                return
