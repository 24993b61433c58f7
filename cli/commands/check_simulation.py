"""`fencepost check --engine simulation`: random executions, which prove nothing."""

from __future__ import annotations

import time

from fencepost.cli.rendering.verdict_text import SIMULATION
from fencepost.cli.requests import Request
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Outcome, Result, Verdict

RUNS = 1000
"""The simulations, unless the command has a number."""


def met_no_witness(result: Result) -> bool:
    """Return whether no simulation violated the property or met its witness."""
    return result.verdict is not Verdict.VIOLATED and not result.witness


def simulated(request: Request, limits: Limits, runs: int) -> Outcome:
    """Return the outcome of so many random executions, or of those that the time allows."""
    from fencepost.encoding.concrete.simulation import simulate
    from fencepost.encoding.formulas.traps import check_traps_of

    begun = time.perf_counter()
    check_traps_of(request.system, request.properties)
    found = simulate(
        request.system,
        request.subject,
        request.properties,
        runs,
        1 if limits.seed is None else limits.seed,
        keep_on=lambda: time.perf_counter() - begun < limits.timeout - limits.gone,
    )
    seconds = time.perf_counter() - begun
    results = []
    for prop in request.properties:
        trace, met = found.traces.get(prop.name), found.witnessing.get(prop.name, 0)
        witnessed = f"{met or 'none'} met its witness"
        violating = found.violating.get(prop.name, 0)
        results.append(
            Result(
                prop.name,
                Verdict.VIOLATED if trace else Verdict.UNDECIDED,
                seconds=seconds,
                solver=SIMULATION,
                witness=met > 0,
                steps=len(trace.steps) if trace else None,
                faults=dict(trace.faults) if trace else None,
                reason=f"{violating} of {found.count} simulations violate it; {witnessed}"
                if trace
                else f"{found.count} simulations of up to {found.longest} steps prove nothing; {witnessed}",
                trace=trace,
            )
        )
    return Outcome(tuple(results), seconds, False, {"simulation": seconds})
