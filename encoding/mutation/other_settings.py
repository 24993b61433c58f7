"""The same protocol with another setting: one that proves a property, or a size at which a change matters.

The first step that differs begins in a state that both systems reach. So simulations of the unchanged system
are enough, and all changes are compared in the same ones.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
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
from fencepost.encoding.language.system import Liveness
from fencepost.encoding.liveness.live_check import check_all
from fencepost.encoding.mutation.mutant_findings import MutantFinding, Why
from fencepost.encoding.mutation.mutant_states import ChangedSteps, Graph
from fencepost.encoding.mutation.mutants import Mutant, Wording, mutants
from fencepost.encoding.mutation.weakening import SIMULATIONS, Unchanged, changed_system

MORE = 2
"""The sizes that are tried: each parameter is larger by one, then by two."""


def at_larger_sizes(
    instance: Instance, findings: Mapping[Mutant, MutantFinding], until: float
) -> Iterator[tuple[Mutant, MutantFinding]]:
    """Yield the finding about each idle mutant with the size at which it differs, or with the sizes tried."""
    idle, tried = {m.wording: m for m, found in findings.items() if found.why is Why.IDLE}, list[str]()

    def told(mutant: Mutant, words: str) -> tuple[Mutant, MutantFinding]:
        return mutant, replace(findings[mutant], reason=f"{findings[mutant].reason}; {words}")

    for size, other in _larger(instance):
        if not idle or time.perf_counter() > until:
            break
        with suppress(ModelError):
            for wording in _differing(other, idle.keys(), until):
                yield told(idle.pop(wording), f"it makes one with {size}")
            tried.append(size)
    for mutant in idle.values() if tried else ():
        yield told(mutant, f"simulations meet none with {' or '.join(tried)} either")


def _larger(instance: Instance) -> Iterator[tuple[str, Instance]]:
    """Yield the instances of the next sizes, each with the setting that makes it larger."""
    sizes = [(o.name, o.default) for o in options(instance.parameters) if not o.values]
    for more in range(1, MORE + 1):
        for name, value in sizes:
            with suppress(BadInput, ModelError):
                text = str(int(str(value)) + more)
                yield f"{name}={text}", _with_setting(instance, name, text)


def _differing(instance: Instance, wordings: Collection[Wording], until: float) -> list[Wording]:
    """Return the mutants that differ in a state of a simulation. Raises ModelError."""
    with origins_recorded():
        made = [mutant for mutant in mutants(instance.written) if mutant.wording in wordings]
    known = Unchanged(instance, (), Graph(instance.system, {}, None))
    steps: list[tuple[Mutant, ChangedSteps]] = []
    for mutant in made:
        with suppress(ModelError):  # it is badly defined at this size
            system = changed_system(known, mutant)
            steps.append((mutant, ChangedSteps(known.graph, system, mutant.action, instance.subject)))

    def visit(path: Sequence[GroundAction], first: State, state: State) -> None:
        for _, one in steps:
            if one.other is None:
                with suppress(ModelError):  # of a receipt: the step differs
                    one.visit(path, first, state)

    def keep_on() -> bool:
        return time.perf_counter() < until and any(one.other is None for _, one in steps)

    asked = instance.properties()
    simulate(instance.system, instance.subject, asked, SIMULATIONS, 1, keep_on=keep_on, visit=visit)
    return list(dict.fromkeys(m.wording for m, one in steps if one.other is not None))


def proposal(instance: Instance, names: Sequence[str], limits: Limits) -> str | None:
    """Return the setting of one switch with which these properties are proved, None if none was found."""
    until = time.perf_counter() + limits.timeout
    switches = [(o.name, value) for o in instance.protocol.options() for value in o.values or ()]
    for name, value in switches:
        rest = until - time.perf_counter()
        if rest <= 0:
            return None
        with suppress(BadInput, ModelError):
            other = _with_setting(instance, name, str(value))
            if other == instance:
                continue
            asked = other.claims(*names)
            plain = [prop for prop in asked if not isinstance(prop, Liveness)]
            if simulate(other.system, other.subject, plain, SIMULATIONS, seed=1, first=True).traces:
                continue
            outcome = check_all(other, asked, replace(limits, gone=0.0, timeout=min(rest, 10.0)))
            if all(result.verdict is Verdict.PROVED for result in outcome.results):
                return f"{name}={value}"
    return None


def _with_setting(instance: Instance, name: str, value: str) -> Instance:
    """Return the instance with one parameter or switch set. Raises BadInput and ModelError."""
    return replace(instance, parameters=assign(instance.parameters, [(name, value)]))
