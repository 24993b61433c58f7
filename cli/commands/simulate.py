"""`fencepost check --walks`: random walks instead of a solver. They find violations, and prove nothing."""

from __future__ import annotations

import time
from collections.abc import Sequence

from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Outcome, Result, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.language.system import Property


def refuse_limits(limits: Limits) -> None:
    """Raise BadInput for limits that mean nothing to random walks."""
    if limits.bound is not None or limits.budgets or limits.count > 1:
        raise BadInput("--walks: takes no --bound, --budget or --count; leave them out")


def take(walks: int, instance: Instance, properties: Sequence[Property], limits: Limits) -> Outcome:
    """Return the outcome of so many random walks, or of those that the time allows."""
    from fencepost.encoding.concrete.simulation import simulate
    from fencepost.encoding.formulas.traps import check_traps_of

    begun = time.perf_counter()
    check_traps_of(instance.system, properties)
    found = simulate(
        instance.system,
        instance.subject,
        properties,
        walks,
        limits.seed if limits.seed is not None else 1,
        keep_on=lambda: time.perf_counter() - begun < limits.timeout - limits.gone,
    )
    seconds = time.perf_counter() - begun
    results = []
    for prop in properties:
        trace, met = found.traces.get(prop.name), found.witnessing.get(prop.name, 0)
        witnessed = f"{met or 'none'} met its witness"
        violating = found.violating.get(prop.name, 0)
        results.append(
            Result(
                prop.name,
                Verdict.VIOLATED if trace else Verdict.UNDECIDED,
                seconds=seconds,
                solver="walks",
                witness=met > 0,
                steps=len(trace.steps) if trace else None,
                faults=dict(trace.faults) if trace else None,
                reason=f"{violating} of {found.count} random walks came to one; {witnessed}"
                if trace
                else f"{found.count} random walks of up to {found.longest} steps prove nothing; {witnessed}",
                trace=trace,
            )
        )
    return Outcome(tuple(results), seconds, False, {"walking": seconds})
