"""The same protocol with another setting: one that proves a property, or a size at which a change matters.

The first step that differs begins in a state that both systems reach. So simulations of the unchanged system
are enough, and all changes are compared in the same ones.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from fencepost.encoding.concrete.simulation import simulate
from fencepost.encoding.concrete.steps import State
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import BadInput, ModelError
from fencepost.encoding.language.actions import GroundAction
from fencepost.encoding.language.origins import origins_recorded
from fencepost.encoding.language.parameters import assign, options
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.liveness.live_check import check_all
from fencepost.encoding.mutation.mutant_findings import MutantFinding, Why
from fencepost.encoding.mutation.mutant_states import ChangedSteps, Graph
from fencepost.encoding.mutation.mutants import Mutant, Wording, mutants
from fencepost.encoding.mutation.weakening import SIMULATIONS, Unchanged, changed_system


def at_larger_sizes(
    instance: Instance, findings: Mapping[Mutant, MutantFinding], until: float
) -> dict[Mutant, MutantFinding]:
    """Return the finding about each idle mutant with the size at which it differs, or with the sizes tried.

    Each parameter is made larger by one, then by two.
    """
    idle = {mutant: found for mutant, found in findings.items() if found.why is Why.IDLE}
    words, tried = dict[Mutant, str](), list[str]()
    sizes = [(o.name, str(o.default)) for o in options(instance.parameters) if not o.values]
    for name, size in [(name, int(value) + more) for more in (1, 2) for name, value in sizes]:
        left = {m.wording: m for m in idle if m not in words}
        if left and time.perf_counter() < until:
            with suppress(BadInput, ModelError):
                differing = _differing(_with_setting(instance, name, str(size)), left.keys(), until)
                words |= {left[wording]: f"it makes one with {name}={size}" for wording in differing}
                tried.append(f"{name}={size}")
    none = f"simulations meet none with {' or '.join(tried)} either"
    told = {m: f"{found.reason}; {words.get(m, none)}" for m, found in idle.items()}
    return {m: replace(idle[m], reason=reason) for m, reason in told.items()} if tried else {}


def _differing(instance: Instance, wordings: Collection[Wording], until: float) -> set[Wording]:
    """Return the mutants that differ in a state of a simulation. Raises ModelError."""
    with origins_recorded():  # before the system is built for another reason, and kept
        made = [mutant for mutant in mutants(instance.written) if mutant.wording in wordings]
    known, steps = Unchanged(instance, (), Graph(instance.system)), dict[Wording, ChangedSteps]()
    for mutant in made:
        with suppress(ModelError):  # it is badly defined at this size
            system = changed_system(known, mutant)
            steps[mutant.wording] = ChangedSteps(known.graph, system, mutant.action, instance.subject)

    def visit(path: Sequence[GroundAction], first: State, state: State) -> None:
        for one in steps.values():
            if one.other is None:
                with suppress(ModelError):  # of a receipt: the step differs
                    one.visit(path, first, state)

    def keep_on() -> bool:
        return time.perf_counter() < until and any(one.other is None for one in steps.values())

    asked = instance.properties()
    simulate(instance.system, instance.subject, asked, SIMULATIONS, 1, keep_on=keep_on, visit=visit)
    return {wording for wording, one in steps.items() if one.other is not None}


def proposal(instance: Instance, names: Sequence[str], limits: Limits) -> str | None:
    """Return the setting of one switch with which these properties are proved, None if none was found."""
    until = time.perf_counter() + limits.timeout
    for name, value in ((o.name, value) for o in instance.protocol.options() for value in o.values or ()):
        with suppress(BadInput, ModelError):
            other, rest = _with_setting(instance, name, str(value)), until - time.perf_counter()
            if other != instance and rest > 0:
                own = replace(limits, gone=0.0, timeout=min(rest, 10.0), one_is_enough=True)
                results = check_all(other, other.claims(*names), own).results
                if all(result.verdict is Verdict.PROVED for result in results):
                    return f"{name}={value}"
    return None


def _with_setting(instance: Instance, name: str, value: str) -> Instance:
    """Return the instance with one parameter or switch set. Raises BadInput and ModelError."""
    return replace(instance, parameters=assign(instance.parameters, [(name, value)]))
