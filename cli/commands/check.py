"""`fencepost check`: search a protocol for violations of its properties."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fencepost.cli.commands.check_certificates import (
    kept_of,
    prepare_certificates,
    uncertified,
    with_certificates,
)
from fencepost.cli.commands.check_count import count
from fencepost.cli.options import shared
from fencepost.cli.options.grouped import SEARCH, grouped_command, option, refuse
from fencepost.cli.options.numbers import COUNT, ROUNDS, SEED, STEPS
from fencepost.cli.options.protocols import find_protocol
from fencepost.cli.process.conclusion import conclude, keeping
from fencepost.cli.process.handover import elapsed, timeout_option
from fencepost.cli.rendering.check_report import CheckReport, Wanted
from fencepost.cli.rendering.check_text import instance_line
from fencepost.cli.rendering.output import prepare_folder
from fencepost.cli.rendering.progress import CheckProgress, tell_spent
from fencepost.cli.rendering.sarif import refuse_sarif
from fencepost.cli.rendering.verdict_text import SIMULATION
from fencepost.cli.requests import (
    AskedRequests,
    CheckedRequest,
    Request,
    ask_all,
    request_of,
    says_nothing,
    small_instances,
    with_hints,
)
from fencepost.encoding.check import refuse_uncheckable
from fencepost.encoding.engine.events import Remark
from fencepost.encoding.engine.limits import ENGINES, Limits, Minimize, Patience
from fencepost.encoding.engine.verdicts import Outcome, Result, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.ic3.kept_proof import Kept
from fencepost.encoding.language.state import show_all
from fencepost.encoding.liveness.live_check import check_all
from fencepost.encoding.solving.solvers import SOLVERS

RUNS = 1000
"""The simulations, unless the command has a number."""

STATES = "states"
ALONE = (SIMULATION, STATES)
"""The engines that decide nothing or prove nothing, so no other one is asked beside them."""

FOR_VERDICTS = (
    *("budgets", "bound", "minimize", "count", "drop_declared", "solver", "jobs"),
    *("certificates", "since"),
)
NOT_OF = {
    SIMULATION: (*FOR_VERDICTS, "memory", "symmetry"),
    STATES: (*FOR_VERDICTS, "seed", "traces", "sarif", "expect", "verbose", "runs"),
}
"""The parameters of the command that mean nothing to these engines."""


def bounding(text: str | Mapping[str, int]) -> Mapping[str, int]:
    """Return the limit that `--bound` gives: on steps, or on rounds."""
    if not isinstance(text, str):
        return text
    number = text.removeprefix("rounds=")
    return {"bound": STEPS(number)} if number == text else {"rounds": ROUNDS(number)}


PATIENCE: Patience | None = Patience()
"""How long a counterexample is made smaller if `--minimize` is not given."""


class CheckOptions(Wanted):
    """The options of `fencepost check`."""

    names: tuple[str, ...] = shared.properties
    budgets: dict[str, int] = shared.budget
    bound: dict[str, Any] = option(
        "--bound K|rounds=R",
        "Search executions of at most K steps, or at most R rounds.  [default: until decided]",
        SEARCH,
        bounding,
        default={},
    )
    minimize: str | None = option(
        "--minimize WHAT",
        "Make this small in a counterexample, to the end: steps, faults or none.  [default: steps, for a "
        "limited time]",
        SEARCH,
        Minimize,
    )
    count: int = option(
        "--count N", "Find N counterexamples that differ in actions or losses.", SEARCH, COUNT, default=1
    )
    engines: tuple[str, ...] = option(
        "--engine NAME",
        f"Engine (repeatable): {', '.join(ENGINES)}; or {' or '.join(ALONE)}, alone.",
        SEARCH,
        (*ENGINES, *ALONE),
        multiple=True,
    )
    runs: int = option(
        "--runs N", "With --engine simulation: simulate N random executions.", SEARCH, COUNT, default=RUNS
    )
    symmetry: bool = option(
        "--symmetry", "With --engine states: visit one of the states that differ in a renaming only."
    )
    drop_declared: bool = shared.drop_declared
    solver: str = option(
        "--solver NAME",
        f"Solver: {', '.join(SOLVERS)}; cadical leaves induction to glucose.",
        SEARCH,
        SOLVERS,
        default="cadical",
    )
    jobs: int = shared.jobs
    seed: int | None = option("--seed N", "Shuffle the clauses that the solver gets.", SEARCH, SEED)
    timeout: float = timeout_option()
    memory: float | None = shared.memory
    since: str | None = option("--since DIR", "Ask the clauses of this earlier certificate first.")
    verbose: bool = shared.verbose


@grouped_command(
    example="fencepost check bookkeeper-4.13 --property no-divergence --set recovery_reads_fence=yes"
)
def command(asked: CheckOptions) -> int:
    """Search PROTOCOL, or the one in FILE.py, for violations of its properties, and for proofs.

    The states of a small instance are visited one by one (the engine enumeration). Otherwise the search
    goes on until each property is violated or proved, or until a limit is reached. Invariants that a proof
    needs and that the protocol does not declare are looked for (the engine ic3). Exits with 0 if all
    properties are proved, or hold up to the bound given; 1 if one is violated; 3 if one is undecided or
    vacuous.

    Random executions (the engine simulation) need no solver and prove nothing. The engine states only
    counts: the reachable states, how often each action leads from one to another, and in how many the
    witness of each property is true. It exits with 0 if all were counted, else with 3.
    """
    alone = _alone(asked.engines)
    if alone == STATES:
        return count(asked, asked.names, asked.symmetry, asked.timeout, asked.memory)
    without_clauses = asked.certificates is None and asked.since is None
    limits = Limits(
        engines=() if alone else asked.engines,
        enumeration_first=without_clauses,  # it gives no certificate, and needs no clauses
        **_minimizing(asked.minimize),
        **asked.bound,
        **asked.given("budgets", "count", "solver", "jobs", "seed", "timeout", "memory"),
    )
    if asked.sarif is not None:
        refuse_sarif(asked.sarif, asked.protocol, asked.output)
    family = find_protocol(asked.protocol)
    request = request_of(family, asked.settings, asked.names, asked.release, limits, asked.drop_declared)
    if alone == SIMULATION:
        request = replace(request, properties=request.instance.properties(*asked.names))
    small = small_instances(family, asked.settings, request)
    if asked.traces is not None:
        prepare_folder(Path(asked.traces))
    if asked.certificates is not None:
        prepare_certificates(Path(asked.certificates))
    if not alone:
        refuse_uncheckable(request.system, request.limits)
    kept = None if asked.since is None else kept_of(Path(asked.since), request.instance)
    progress = CheckProgress(asked.verbose)
    requests = AskedRequests(request, elapsed=elapsed)
    lacking = None
    with keeping(lambda: asked.so_far(CheckReport(_so_far(requests, progress)))) as progress.announcing:
        with progress:
            others = small if asked.certificates is None else {}  # a certificate is of one instance
            try:
                if alone == SIMULATION:
                    ask_all(requests, others, limits, partial(simulated, runs=asked.runs), met_no_witness)
                else:
                    ask = partial(_ask, progress, kept, asked.certificates is not None)
                    ask_all(requests, others, limits, ask, says_nothing)
                    requests.outcome = with_hints(requests)
            except KeyboardInterrupt:
                requests.interrupt()
            if asked.certificates is not None:
                assert requests.outcome is not None
                about = Path(asked.certificates), request.instance, request.limits
                requests.outcome, lacking = with_certificates(*about, requests.outcome, progress.hear)
        checked = _so_far(requests, progress)
        if asked.certificates is not None:
            elsewhere = {name: show_all(family.exercised[name]) for name in small}
            reasons = uncertified(checked[0].outcome, lacking, elsewhere)
            checked = [replace(checked[0], uncertified=reasons)]
        report = CheckReport(checked)
        conclusion = asked.conclusion(report)
    code = conclude(conclusion)
    if asked.verbose:
        tell_spent(report.outcome().spent)
    return code


def _alone(engines: Sequence[str]) -> str | None:
    """Return the engine that is asked alone, if one is; raises BadInput for what means nothing to it."""
    alone = next((name for name in engines if name in ALONE), None)
    if alone is None:
        refuse("an engine that decides", "runs", "symmetry")
    elif len(set(engines)) > 1:
        raise BadInput(f"--engine {alone}: is asked alone; leave the other engines out")
    else:
        refuse(f"--engine {alone}", *NOT_OF[alone])
    return alone


def _minimizing(asked: str | None) -> dict[str, Any]:
    """Return the limits for `--minimize`: without the option, steps, and not for longer than people wait."""
    if asked is None:
        return {"minimize": Minimize.STEPS, "patience": PATIENCE}
    return {"minimize": Minimize(asked)}


def _ask(
    progress: CheckProgress, kept: Kept | None, to_certify: bool, request: Request, limits: Limits
) -> Outcome:
    """Return the outcome of a request; what was `kept` of an earlier certificate is asked first."""
    names = ", ".join(prop.name for prop in request.properties)
    progress.hear(Remark(f"{names} of {instance_line(request.instance)}"))
    outcome = check_all(request.instance, request.properties, limits, progress.hear, kept, to_certify)
    progress.under_way = None
    return outcome


def _so_far(asked: AskedRequests, progress: CheckProgress) -> list[CheckedRequest]:
    """Return each request with its outcome if the command ended now."""
    return asked.checked(progress.under_way() if progress.under_way is not None else None)


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
