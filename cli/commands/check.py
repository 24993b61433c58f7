"""`fencepost check`: search a protocol for violations of its properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from fencepost.cli.commands.check_certificates import (
    kept_of,
    prepare_certificates,
    uncertified,
    with_certificates,
)
from fencepost.cli.commands.check_count import count
from fencepost.cli.commands.check_simulation import RUNS, met_no_witness, simulated
from fencepost.cli.options.grouped import EXIT, SEARCH, Choice, grouped_command, option
from fencepost.cli.options.numbers import COUNT, ROUNDS, STEPS
from fencepost.cli.options.protocols import asked_instance, find_protocol, instance_options
from fencepost.cli.options.refused import refuse
from fencepost.cli.options.search import (
    drop_declared_option,
    jobs_option,
    memory_option,
    seed_option,
    solver_option,
    verbose_option,
)
from fencepost.cli.options.settings import (
    budget_option,
    budgets,
    properties_option,
    settings_of,
)
from fencepost.cli.process.conclusion import conclude, keeping
from fencepost.cli.process.handover import elapsed, timeout_option
from fencepost.cli.rendering.check_report import CheckReport, Wanted
from fencepost.cli.rendering.check_text import instance_line
from fencepost.cli.rendering.counterexamples import counterexample_form_option, traces_option
from fencepost.cli.rendering.output import FORMATS, output_option, prepare_folder
from fencepost.cli.rendering.progress import CheckProgress, tell_spent
from fencepost.cli.rendering.sarif import refuse_sarif, sarif_option
from fencepost.cli.rendering.verdict_text import SIMULATION
from fencepost.cli.requests import (
    AskedRequests,
    CheckedRequest,
    Request,
    ask_all,
    request_of,
    says_nothing,
    small_instances,
)
from fencepost.cli.witness_hints import with_hints
from fencepost.encoding.check import refuse_uncheckable
from fencepost.encoding.engine.events import Remark
from fencepost.encoding.engine.limits import ENGINES, Limits, Minimize, Patience
from fencepost.encoding.engine.verdicts import Outcome, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.ic3.kept_proof import Kept
from fencepost.encoding.language.state import show_all
from fencepost.encoding.liveness.live_check import check_all

STATES = "states"
ALONE = (SIMULATION, STATES)
"""The engines that decide nothing or prove nothing, so no other one is asked beside them."""

FOR_VERDICTS = (
    *("budget", "bound", "minimize", "count", "drop_declared", "solver", "jobs"),
    *("certificates", "since", "require_proof"),
)
NOT_OF = {
    SIMULATION: (*FOR_VERDICTS, "memory", "symmetry"),
    STATES: (*FOR_VERDICTS, "seed", "traces", "sarif", "expect", "known_as_expected", "verbose", "runs"),
}
"""The parameters of the command that mean nothing to these engines."""


def bound(text: str | Mapping[str, int]) -> Mapping[str, int]:
    """Return the limit that `--bound` gives: on steps, or on rounds."""
    if not isinstance(text, str):
        return text
    number = text.removeprefix("rounds=")
    return {"bound": STEPS(number)} if number == text else {"rounds": ROUNDS(number)}


PATIENCE: Patience | None = Patience()
"""How long a counterexample is made smaller if `--minimize` is not given."""


@grouped_command(
    example="fencepost check bookkeeper-4.13 --property no-divergence --set recovery_reads_fence=yes"
)
@instance_options
@properties_option
@budget_option
@option(
    "--bound",
    type=bound,
    metavar="K|rounds=R",
    default={},
    group=SEARCH,
    help="Search executions of at most K steps, or at most R rounds.  [default: until decided]",
)
@option(
    "--minimize",
    type=Choice([m.value for m in Minimize]),
    metavar="WHAT",
    group=SEARCH,
    help="Make this small in a counterexample, to the end: steps, faults or none.  [default: steps, for a "
    "limited time]",
)
@option(
    "--count",
    type=COUNT,
    default=1,
    show_default=True,
    metavar="N",
    group=SEARCH,
    help="Find N counterexamples that differ in actions or losses.",
)
@option(
    "--engine",
    "engines",
    type=Choice((*ENGINES, *ALONE)),
    metavar="NAME",
    multiple=True,
    group=SEARCH,
    help=f"Engine (repeatable): {', '.join(ENGINES)}; or {' or '.join(ALONE)}, alone.",
)
@option(
    "--runs",
    type=COUNT,
    default=RUNS,
    show_default=True,
    metavar="N",
    group=SEARCH,
    help="With --engine simulation: simulate N random executions.",
)
@option(
    "--symmetry",
    is_flag=True,
    group=SEARCH,
    help="With --engine states: visit one of the states that differ in a renaming only.",
)
@drop_declared_option
@solver_option
@jobs_option
@seed_option
@timeout_option()
@memory_option
@counterexample_form_option
@output_option
@traces_option
@sarif_option
@option(
    "--certificates",
    type=click.Path(),
    metavar="DIR",
    help="Write a certificate of what is proved to this folder, new or empty.",
)
@option(
    "--since",
    type=click.Path(),
    metavar="DIR",
    group=SEARCH,
    help="Ask the clauses of this earlier certificate first.",
)
@verbose_option
@option(
    "--expect",
    type=Choice([v.value for v in Verdict]),
    metavar="VERDICT",
    group=EXIT,
    help="Exit with 0 if this is the worst verdict, else with 1.",
)
@option(
    "--require-proof", is_flag=True, group=EXIT, help="Exit with 3 if a property only holds up to a bound."
)
@option(
    "--known-as-expected",
    is_flag=True,
    group=EXIT,
    help="Leave violations that a known bug explains out of the exit code.",
)
def command(
    protocol: str,
    settings: tuple[str, ...],
    release: str | None,
    names: tuple[str, ...],
    budget: tuple[str, ...],
    form: str,
    output: str | None,
    traces: str | None,
    sarif: str | None,
    certificates: str | None,
    since: str | None,
    require_proof: bool,
    known_as_expected: bool,
    expect: str | None,
    drop_declared: bool,
    verbose: bool,
    minimize: str | None,
    bound: dict[str, Any],
    runs: int,
    symmetry: bool,
    **limits: Any,
) -> int:
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
    alone = _alone(limits["engines"])
    if alone == STATES:
        if form not in FORMATS:
            raise BadInput(f"--format {form}: --engine {STATES} finds none; valid: {', '.join(FORMATS)}")
        instance = asked_instance(protocol, settings, release)
        counted = instance.properties(*names)
        return count(instance, counted, symmetry, limits["timeout"], limits["memory"], form, output)
    limits["engines"] = () if alone else limits["engines"]
    if known_as_expected and expect is not None:
        raise BadInput(f"--expect {expect}: not with --known-as-expected; leave one of them out")
    made = settings_of(settings)
    limits_asked = Limits(
        budgets=budgets(budget),
        enumeration_first=certificates is None and since is None,  # it gives none, and needs no clauses
        **_minimizing(minimize),
        **bound,
        **limits,
    )
    if sarif is not None:
        refuse_sarif(sarif, protocol, output)
    family = find_protocol(protocol)
    request = request_of(family, made, names, release, limits_asked, drop_declared)
    if alone == SIMULATION:
        request = replace(request, properties=request.instance.properties(*names))
    small = small_instances(family, made, request)
    if traces is not None:
        prepare_folder(Path(traces))
    if certificates is not None:
        prepare_certificates(Path(certificates))
    wanted = Wanted(
        form,
        output,
        traces,
        require_proof,
        known_as_expected,
        expect,
        certificates is not None,
        sarif,
        protocol,
    )
    if not alone:
        refuse_uncheckable(request.system, request.limits)
    kept = None if since is None else kept_of(Path(since), request.instance)
    progress = CheckProgress(verbose)
    asked = AskedRequests(request, elapsed=elapsed)
    lacking = None
    with keeping(lambda: wanted.so_far(CheckReport(_so_far(asked, progress)))) as progress.announcing:
        with progress:
            others = small if certificates is None else {}  # a certificate is of one instance
            try:
                if alone == SIMULATION:
                    ask_all(asked, others, limits_asked, partial(simulated, runs=runs), met_no_witness)
                else:
                    ask_all(
                        asked,
                        others,
                        limits_asked,
                        partial(_ask, progress, kept, certificates is not None),
                        says_nothing,
                    )
                    asked.outcome = with_hints(asked)
            except KeyboardInterrupt:
                asked.interrupt()
            if certificates is not None:
                assert asked.outcome is not None
                about = Path(certificates), request.instance, request.limits
                asked.outcome, lacking = with_certificates(*about, asked.outcome, progress.hear)
        checked = _so_far(asked, progress)
        if certificates is not None:
            elsewhere = {name: show_all(family.exercised[name]) for name in small}
            reasons = uncertified(checked[0].outcome, lacking, elsewhere)
            checked = [replace(checked[0], uncertified=reasons)]
        report = CheckReport(checked)
        conclusion = wanted.conclusion(report)
    code = conclude(conclusion)
    if verbose:
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
