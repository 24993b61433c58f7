"""`fencepost check`: search a protocol for violations of its properties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from fencepost.cli.commands.check_certificates import prepare_certificates, uncertified, with_certificates
from fencepost.cli.commands.requests import requests_of, share_of
from fencepost.cli.options.grouped import EXIT, SEARCH, Choice, grouped_command, option
from fencepost.cli.options.numbers import COUNT, ROUNDS, STEPS
from fencepost.cli.options.protocols import find_protocol, protocol_argument
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
    release_option,
    setting,
    settings_option,
)
from fencepost.cli.process.conclusion import conclude, keeping
from fencepost.cli.process.handover import timeout_option
from fencepost.cli.rendering.check_report import CheckedRequest, Request, Wanted, not_begun, together
from fencepost.cli.rendering.check_text import instance_line
from fencepost.cli.rendering.counterexamples import counterexample_form_option, traces_option
from fencepost.cli.rendering.output import output_option, prepare_folder
from fencepost.cli.rendering.progress import CheckProgress, tell_spent
from fencepost.encoding.engine.check import check, refuse_uncheckable
from fencepost.encoding.engine.events import Remark
from fencepost.encoding.engine.limits import ENGINES, Limits, Minimize, Patience
from fencepost.encoding.engine.verdicts import Outcome, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.state import show_all

PATIENCE: Patience | None = Patience()
"""How long a counterexample is made smaller if `--minimize` is not given."""


@grouped_command(
    example="fencepost check bookkeeper-4.13 --property no-divergence --set recovery_reads_fence=yes"
)
@protocol_argument
@settings_option
@release_option
@properties_option
@budget_option
@option("--bound", type=STEPS, metavar="K", group=SEARCH, help="Search executions of at most K steps.")
@option(
    "--rounds",
    type=ROUNDS,
    metavar="R",
    group=SEARCH,
    help="Search at most R rounds.  [default: until decided]",
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
    type=Choice(ENGINES),
    metavar="NAME",
    multiple=True,
    group=SEARCH,
    help=f"Engine (repeatable): {', '.join(ENGINES)}.  [default: by protocol]",
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
@option(
    "--certificates",
    type=click.Path(),
    metavar="DIR",
    help="Write a certificate of what is proved to this folder, new or empty.",
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
    certificates: str | None,
    require_proof: bool,
    known_as_expected: bool,
    expect: str | None,
    drop_declared: bool,
    verbose: bool,
    minimize: str | None,
    **limits: Any,
) -> int:
    """Search PROTOCOL, or the one in FILE.py, for violations of its properties, and for proofs.

    The search goes on until each property is violated or proved, or until a limit is reached. Invariants
    that a proof needs and that the protocol does not declare are looked for (the engine ic3). Exits with 0
    if all properties are proved, or hold up to the bound given; 1 if one is violated; 3 if one is undecided
    or vacuous.
    """
    if known_as_expected and expect is not None:
        raise BadInput(f"--expect {expect}: not with --known-as-expected; leave one of them out")
    made = [setting(text, "NAME=VALUE") for text in settings]
    asked = Limits(budgets=budgets(budget), **_minimizing(minimize), **limits)
    family = find_protocol(protocol)
    requests = _requests(family, made, names, release, asked, certificates is None, drop_declared)
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
    )
    outcomes: list[Outcome] = []
    for request in requests:
        refuse_uncheckable(request.system, request.limits)
    progress = CheckProgress(verbose)
    with keeping(lambda: wanted.so_far(_so_far(requests, outcomes, progress))) as progress.announcing:
        with progress:
            _all(requests, progress, outcomes)
            if certificates is not None:
                (request,), (outcome,) = requests, outcomes
                asked_of = (request.instance, request.limits)
                folder = Path(certificates)
                outcome, lacking = with_certificates(folder, *asked_of, outcome, progress.hear)
                outcomes[:] = [outcome]
        checked = _so_far(requests, outcomes, progress)
        if certificates is not None:
            small = {name: show_all(sizes) for name, sizes in family.small_settings(made).items()}
            reasons = uncertified(outcome, lacking, small)
            checked = [replace(checked[0], uncertified=reasons)]
        conclusion = wanted.conclusion(checked)
    code = conclude(conclusion)
    if verbose:
        tell_spent(together(checked, known_as_expected).spent)
    return code


def _minimizing(asked: str | None) -> dict[str, Any]:
    """Return the limits for `--minimize`: without the option, steps, and not for longer than people wait."""
    if asked is None:
        return {"minimize": Minimize.STEPS, "patience": PATIENCE}
    return {"minimize": Minimize(asked)}


def _requests(
    protocol: Protocol,
    settings: Sequence[tuple[str, str]],
    names: tuple[str, ...],
    release: str | None,
    limits: Limits,
    several: bool,
    drop_declared: bool,
) -> list[Request]:
    """Return what is asked: of one instance, or of `several` if properties have instances of their own."""
    if several:
        found = requests_of(protocol, settings, names, release, limits, drop_declared)
    else:  # a certificate is of one instance
        instance = protocol.instance(settings, release, drop_declared)
        found = [Request(instance, instance.properties(*names), limits, on_own=False)]
    return [replace(request, limits=request.limits.of(request.system)) for request in found]


def _all(requests: Sequence[Request], progress: CheckProgress, outcomes: list[Outcome]) -> None:
    """Append the outcome of each request. The last one comes first: small instances do not wait."""
    for request in reversed(requests):
        limits = share_of(request, len(requests) - len(outcomes))
        progress.hear(
            Remark(f"{', '.join(p.name for p in request.properties)} of {instance_line(request.instance)}")
        )
        if any(outcome.interrupted for outcome in outcomes):
            outcomes.append(not_begun(request))
        else:
            outcomes.append(check(request.instance, request.properties, limits, progress.hear))
        progress.under_way = None


def _so_far(
    requests: Sequence[Request], outcomes: Sequence[Outcome], progress: CheckProgress
) -> list[CheckedRequest]:
    """Return each request with its outcome if the command ended now; `outcomes` has the last ones first."""
    known = [*outcomes, *([progress.under_way()] if progress.under_way is not None else [])]
    known += [not_begun(request, interrupted=False) for request in requests[: len(requests) - len(known)]]
    return [CheckedRequest(request, outcome) for request, outcome in zip(requests, known[::-1], strict=True)]
