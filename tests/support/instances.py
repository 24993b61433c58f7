"""Instances of the protocols that ship: built, checked, explored, and asked which of their actions can fire."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from fencepost.answers.known import KNOWN, chosen, decide
from fencepost.encoding.concrete.compiler import Concrete, State
from fencepost.encoding.concrete.exploration import explore, random_execution
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.engine.check import check
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Result
from fencepost.encoding.formulas.one_round import template
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.protocol import choose
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.system import GroundAction, System
from fencepost.encoding.language.traces import Trace, TraceStep
from fencepost.encoding.rounds.round_solver import RoundSolver
from fencepost.properties.boot_ways import INSTANCE
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import InstanceExpectations, Run
from support.answers import once
from support.bare import Bare

TWO_BOOKIES: dict[str, int] = {"bookies": 2, "ensemble": 2, "write_quorum": 2}
"""2/2/2: the smallest instance on which 4.13 loses data, in 13 steps. Less than half the work of 3/3/2."""

SMALL_BUG = replace(chosen(KNOWN, ["#2614"])[0], name="#2614-N=2", settings=TWO_BOOKIES, steps=13)
"""That as a known bug, for what is asked of tables of known bugs."""

ONE_PROCESS = Limits(jobs=1, timeout=1800)
"""One search after the other, in one process: the other core is for another test. It waits longer than `check` does by itself, for a
machine that is busy with something else: what is asked here ends."""


def built(name: str, settings: Mapping[str, object]) -> tuple[System, object]:
    """The system of that protocol with those settings, and its parameters."""
    protocol = find(name)
    parameters = protocol.parameters(settings.items())
    return protocol.system(parameters), parameters


def checked(name: str, settings: Mapping[str, object], prop: str, limits: Limits | None = None) -> Result:
    """What checking one property of an instance comes to."""
    return checked_all(name, settings, (prop,), limits)[0]


def checked_all(
    name: str, settings: Mapping[str, object], props: Sequence[str], limits: Limits | None = None
) -> tuple[Result, ...]:
    """What checking those properties of an instance together comes to; asked once in a run."""
    system, parameters = built(name, settings)
    limits = limits or ONE_PROCESS

    def ask() -> tuple[Result, ...]:
        return check(
            Bare(system, find(name).subject(parameters)), choose(system, tuple(props)), limits
        ).results

    return once(f"check {name} {parameters} {tuple(props)} {limits}", ask)


def found(run: Run) -> Result:
    """What a run of the table of known bugs comes to; asked once in a run of the tests.

    Where two bugs are mended on the same instance, that is one question.
    """
    parameters = find(run.known.protocol).parameters(run.settings.items())
    asked = run.known.protocol, parameters, run.known.property, run.bound, run.with_bug, run.minimize
    return once(f"known {asked}", lambda: decide(run, ONE_PROCESS).results[0])


def differences(way: InstanceExpectations) -> dict[str, int | str]:
    """Return the settings in which a way to boot differs from the instance of the proposal."""
    return {name: value for name, value in way[0].settings.items() if INSTANCE.get(name) != value}


def number(value: Value) -> int:
    """A value that is known to be a number."""
    assert isinstance(value, int)
    return value


def nearest_violation(name: str, settings: Mapping[str, object], prop: str) -> int:
    """Steps to the nearest violation, by visiting states in breadth-first order: no formula, no solver."""
    system, _ = built(name, settings)
    holds = Concrete(system).predicate(choose(system, (prop,))[0].holds)
    return next(visit.steps for visit in explore(system) if not holds(visit.state))


def wanderings(
    replayer: Replayer, walks: int, longest: int = 200
) -> Iterator[tuple[tuple[TraceStep, ...], list[State]]]:
    """Random walks as traces, every other one with losses: the steps, and the states before and after them.

    Raises ModelError if a step receives what is not under way.
    """
    chance = random.Random(1)
    for number in range(walks):
        walked = list(itertools.islice(random_execution(replayer.concrete, chance, number % 2 == 1), longest))
        states = [state for _, state in walked]
        yield replayer.steps(walked[-1][0], states), states


def fired(system: System, wanted: set[str], rounds: int) -> set[str]:
    """Those of the wanted actions that fire in some execution of up to so many rounds."""
    symbolic = Symbolic(system)
    everything = list(range(len(symbolic.actions)))
    session = RoundSolver(template(symbolic, [everything for _ in everything], {}), "cadical")
    slots = {name: [n for n, a in enumerate(symbolic.actions) if a.schema.name == name] for name in wanted}
    waiting = {name for name in wanted if slots[name]}
    for _ in range(rounds):
        session.deepen()
        waiting -= {name for name in waiting if _fires(session, slots[name])}
        if not waiting:
            break
    return {name for name in wanted if slots[name]} - waiting


def _fires(session: RoundSolver, slots: Sequence[int]) -> bool:
    """One of the slots fires in the last round."""
    guard = session.unrolling.fresh()
    session.add([[-guard, *(session.unrolling.fire(slot, session.rounds) for slot in slots)]])
    return session.solve([guard])


def replayed(
    name: str, settings: Mapping[str, object], prop: str, steps: Sequence[str], lost: Sequence[str] = ()
) -> Trace:
    """Those steps, such as `push: w 1 2`, with those losses; raises NotAnExecution unless they violate the property."""
    system, parameters = built(name, settings)
    replayer = Replayer(system, find(name).subject(parameters))
    return replayer.replay(choose(system, (prop,))[0], actions(system, steps), lost)


def actions(system: System, steps: Sequence[str]) -> list[GroundAction]:
    """The actions that such lines name: `push: w 1 2`."""
    named = [system.find(action, given.split()) for action, _, given in (s.partition(":") for s in steps)]
    found = [action for action in named if action is not None]
    assert len(found) == len(steps), "a step that is no action of the instance"
    return found


def happens(
    name: str, settings: Mapping[str, object], prop: str, steps: Sequence[str], lost: Sequence[str] = ()
) -> bool:
    """Those steps can be taken with those losses, and the last of them violates the property."""
    try:
        return len(replayed(name, settings, prop, steps, lost).steps) == len(steps)
    except NotAnExecution:
        return False
