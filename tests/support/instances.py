"""Instances of the shipped protocols: built, checked, explored, and asked which of their actions can fire."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from preset_instances import TWO_THAT_BOOT, InstanceExpectations

from fencepost.advice.known import KNOWN, chosen, decide
from fencepost.encoding.check import check
from fencepost.encoding.concrete.compiler import Concrete
from fencepost.encoding.concrete.random_executions import random_execution
from fencepost.encoding.concrete.replay import NotAnExecution, Replayer
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Result
from fencepost.encoding.formulas.one_round import template
from fencepost.encoding.formulas.symbolic import Symbolic
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.sorts import Value
from fencepost.encoding.language.system import System, choose
from fencepost.encoding.language.traces import Trace, TraceStep
from fencepost.encoding.rounds.round_solver import RoundSolver
from fencepost.properties.catalogue import find
from fencepost.properties.expectations import Run
from support.answers import once
from support.bare import Bare
from support.exploration import explore

TWO_BOOKIES: dict[str, int] = {"bookies": 2, "ensemble": 2, "write_quorum": 2}
"""2/2/2: the smallest instance on which 4.13 loses data, in 13 steps. Less than half the work of 3/3/2."""

SMALL_BUG = replace(chosen(KNOWN, ["#2614"])[0], name="#2614-N=2", settings=TWO_BOOKIES, steps=13)
"""This instance as a known bug, for tests of the tables of known bugs."""

ONE_PROCESS = Limits(jobs=1, timeout=1800)
"""One search after the other, in one process: the other core is for another test.

The time limit is longer than that of `check`, because the machine may be busy; the questions of the tests do
end.
"""


def built(name: str, settings: Mapping[str, object]) -> tuple[System, object]:
    """Return the system of that protocol with those settings, and its parameters; the last ones are kept."""
    parameters = find(name).parameters(settings.items())
    return _system(name, parameters), parameters


@lru_cache(maxsize=16)
def _system(name: str, parameters: object) -> System:
    """Return the system. The cases of a table mostly ask for the same one, and a system never changes."""
    return find(name).system(parameters)


def checked(name: str, settings: Mapping[str, object], prop: str, limits: Limits | None = None) -> Result:
    """Return the result of checking one property of an instance."""
    return checked_all(name, settings, (prop,), limits)[0]


def checked_all(
    name: str, settings: Mapping[str, object], props: Sequence[str], limits: Limits | None = None
) -> tuple[Result, ...]:
    """Return the result of checking those properties of an instance together; asked once in a run."""
    system, parameters = built(name, settings)
    limits = limits or ONE_PROCESS

    def ask() -> tuple[Result, ...]:
        return check(
            Bare(system, find(name).subject(parameters)), choose(system, tuple(props)), limits
        ).results

    return once(f"check {name} {parameters} {tuple(props)} {limits}", ask)


def found(run: Run) -> Result:
    """Return the result of a run of the table of known bugs; asked once in a run of the tests.

    Two bugs that are mended on the same instance are one question.
    """
    parameters = find(run.known.protocol).parameters(run.settings.items())
    asked = run.known.protocol, parameters, run.known.property, run.bound, run.with_bug, run.minimize
    return once(f"known {asked}", lambda: decide(run, ONE_PROCESS).results[0])


def differences(way: InstanceExpectations) -> dict[str, int | str]:
    """Return the settings in which a way to boot differs from the instance of the proposal."""
    return {name: value for name, value in way[0].settings.items() if TWO_THAT_BOOT.get(name) != value}


def number(value: Value) -> int:
    """Return a value after a check that it is a number."""
    assert isinstance(value, int)
    return value


def nearest_violation(name: str, settings: Mapping[str, object], prop: str) -> int:
    """Return the number of steps to the nearest violation.

    It visits the states in breadth-first order, without formulas and without a solver.
    """
    system, _ = built(name, settings)
    holds = Concrete(system).predicate(choose(system, (prop,))[0].holds)
    return next(visit.steps for visit in explore(system) if not holds(visit.state))


def simulations(
    replayer: Replayer, runs: int, longest: int = 200
) -> Iterator[tuple[tuple[TraceStep, ...], list[State]]]:
    """Yield random simulations as traces, every other one with losses.

    Each item has the steps, and the states before and after them. Raises ModelError if a step receives a
    message that is not under way.
    """
    chance = random.Random(1)
    for number in range(runs):
        drawn = list(itertools.islice(random_execution(replayer.concrete, chance, number % 2 == 1), longest))
        states = [state for _, state in drawn]
        yield replayer.steps(drawn[-1][0], states), states


def fired(system: System, wanted: set[str], rounds: int) -> set[str]:
    """Return the wanted actions that fire in some execution of at most so many rounds."""
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
    """Return whether one of the slots fires in the last round."""
    guard = session.unrolling.fresh()
    session.add([[-guard, *(session.unrolling.fire(slot, session.rounds) for slot in slots)]])
    return session.solve([guard])


def replayed(
    name: str, settings: Mapping[str, object], prop: str, steps: Sequence[str], lost: Sequence[str] = ()
) -> Trace:
    """Return the trace of steps such as `push: w 1 2` with those losses.

    Raises NotAnExecution unless the last step violates the property.
    """
    system, parameters = built(name, settings)
    replayer = Replayer(system, find(name).subject(parameters))
    return replayer.replay(choose(system, (prop,))[0], actions(system, steps), lost)


def actions(system: System, steps: Sequence[str]) -> list[GroundAction]:
    """Return the actions that lines such as `push: w 1 2` name."""
    named = [system.find(action, given.split()) for action, _, given in (s.partition(":") for s in steps)]
    found = [action for action in named if action is not None]
    assert len(found) == len(steps), "a step that is no action of the instance"
    return found


def happens(
    name: str, settings: Mapping[str, object], prop: str, steps: Sequence[str], lost: Sequence[str] = ()
) -> bool:
    """Return whether those steps are possible with those losses and the last violates the property."""
    try:
        return len(replayed(name, settings, prop, steps, lost).steps) == len(steps)
    except NotAnExecution:
        return False
