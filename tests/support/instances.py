"""Instances of the protocols that ship: built, checked, explored, and asked which of their actions can fire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.encoding.checking import Limits, Outcome, check
from fencepost.encoding.concrete import Concrete
from fencepost.encoding.exploring import explore
from fencepost.encoding.formulas import Symbolic
from fencepost.encoding.parameters import assign
from fencepost.encoding.protocol import choose
from fencepost.encoding.solvers import Session
from fencepost.encoding.system import System
from fencepost.encoding.templates import template
from fencepost.encoding.traces import NotAnExecution, Replayer
from fencepost.encoding.verdicts import Result
from fencepost.properties.catalogue import find


def built(name: str, settings: Mapping[str, object]) -> tuple[System, object]:
    """The system of that protocol with those settings, and its parameters."""
    protocol = find(name)
    parameters = assign(protocol.defaults, [(key, str(value)) for key, value in settings.items()])
    return protocol.build(parameters), parameters


def checked(name: str, settings: Mapping[str, object], prop: str, limits: Limits | None = None) -> Result:
    """What checking one property of an instance comes to."""
    system, parameters = built(name, settings)
    outcome: Outcome = check(
        system, find(name).subject(parameters), choose(system, (prop,)), limits or Limits()
    )
    return outcome.results[0]


def nearest_violation(name: str, settings: Mapping[str, object], prop: str) -> int:
    """Steps to the nearest violation, by visiting states in breadth-first order: no formula, no solver."""
    system, _ = built(name, settings)
    holds = Concrete(system).predicate(choose(system, (prop,))[0].holds)
    return next(visit.steps for visit in explore(system) if not holds(visit.state))


def fired_within_four_rounds(system: System) -> set[str]:
    """The actions that fire in some execution of up to four rounds."""
    symbolic = Symbolic(system)
    everything = list(range(len(symbolic.actions)))
    session = Session(template(symbolic, [everything for _ in everything], {}), "cadical")
    for _ in range(4):
        session.deepen()
    fired = set()
    for name in {action.schema.name for action in symbolic.actions}:
        slots = [slot for slot, action in enumerate(symbolic.actions) if action.schema.name == name]
        guard = session.unrolling.fresh()
        session.add([[-guard, *(session.unrolling.fire(s, r) for s in slots for r in range(1, 5))]])
        if session.solve([guard]):
            fired.add(name)
    return fired


def happens(
    name: str, settings: Mapping[str, object], prop: str, steps: Sequence[str], lost: Sequence[str] = ()
) -> bool:
    """Those steps, such as `push: w 1 2`, can be taken with those losses, and the last of them violates the property."""
    system, parameters = built(name, settings)
    actions = [system.find(action, given.split()) for action, _, given in (s.partition(":") for s in steps)]
    found = [action for action in actions if action is not None]
    assert len(found) == len(steps), "a step that is no action of the instance"
    try:
        trace = Replayer(system, find(name).subject(parameters)).replay(
            choose(system, (prop,))[0], found, lost
        )
    except NotAnExecution:
        return False
    return len(trace.steps) == len(steps)
