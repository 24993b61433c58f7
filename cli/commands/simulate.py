"""`fencepost simulate`: random executions on plain values, which find violations and prove nothing."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from fencepost.answers.requests import AskedRequests, Request, ask_all, request_of, small_instances
from fencepost.cli.options.grouped import SEARCH, grouped_command, option
from fencepost.cli.options.numbers import COUNT, SEED
from fencepost.cli.options.protocols import find_protocol, instance_options
from fencepost.cli.options.settings import properties_option, settings_of
from fencepost.cli.process.conclusion import conclude
from fencepost.cli.process.handover import elapsed, timeout_option
from fencepost.cli.rendering.check_report import Wanted, reported
from fencepost.cli.rendering.counterexamples import counterexample_form_option, traces_option
from fencepost.cli.rendering.output import output_option, prepare_folder
from fencepost.cli.rendering.undecided import SIMULATION
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Outcome, Result, Verdict


@grouped_command(example="fencepost simulate bookkeeper-4.13 --runs 50000 --property no-divergence")
@instance_options
@properties_option
@option(
    "--runs",
    type=COUNT,
    default=1000,
    show_default=True,
    metavar="N",
    group=SEARCH,
    help="Simulate N random executions.",
)
@option(
    "--seed",
    type=SEED,
    default=1,
    show_default=True,
    metavar="N",
    group=SEARCH,
    help="Seed of the random choices.",
)
@timeout_option()
@counterexample_form_option
@output_option
@traces_option
def command(
    protocol: str,
    runs: int,
    settings: tuple[str, ...],
    release: str | None,
    names: tuple[str, ...],
    seed: int,
    timeout: float,
    form: str,
    output: str | None,
    traces: str | None,
) -> int:
    """Simulate random executions of PROTOCOL, or the one in FILE.py, without a solver.

    A simulation finds violations and proves nothing. Exits with 1 if a property is violated, else with 3.
    """
    made = settings_of(settings)
    family, limits = find_protocol(protocol), Limits(timeout=timeout, seed=seed)
    request = request_of(family, made, names, release, limits)
    request = replace(request, properties=request.instance.properties(*names))
    small = small_instances(family, made, request)
    if traces is not None:
        prepare_folder(Path(traces))
    asked = AskedRequests(request, elapsed=elapsed)
    ask_all(asked, small, limits, lambda some, within: simulated(some, within, runs), _met_no_witness)
    return conclude(Wanted(form, output, traces).conclusion(reported(asked.checked())))


def _met_no_witness(result: Result) -> bool:
    """Return whether no simulation violated the property or met its witness."""
    return result.verdict is not Verdict.VIOLATED and not result.witness


def simulated(request: Request, limits: Limits, runs: int) -> Outcome:
    """Return the outcome of so many random executions, or of those that the time allows."""
    from fencepost.encoding.concrete.simulation import simulate
    from fencepost.encoding.formulas.traps import check_traps_of

    begun = time.perf_counter()
    check_traps_of(request.system, request.properties)
    assert limits.seed is not None
    found = simulate(
        request.system,
        request.subject,
        request.properties,
        runs,
        limits.seed,
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
