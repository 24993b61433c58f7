"""`fencepost check`: search a protocol for violations of its properties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from fencepost.cli.commands.check_certificates import prepare_certificates, uncertified, with_certificates
from fencepost.cli.commands.simulate import refuse_limits, take
from fencepost.cli.options.numbers import COUNT, GIB, ROUNDS, SEED, STEPS
from fencepost.cli.options.saved import own_protocol
from fencepost.cli.options.settings import budget_option, budgets, setting, settings_option
from fencepost.cli.process.conclusion import conclude, keeping
from fencepost.cli.process.handover import elapsed, timeout_option, without_limit
from fencepost.cli.rendering.check_report import CheckedRequest, Request, Wanted, not_begun, together
from fencepost.cli.rendering.check_text import instance_line
from fencepost.cli.rendering.counterexamples import story_form_option
from fencepost.cli.rendering.output import FORMATS, output_option, prepare_folder
from fencepost.cli.rendering.progress import CheckProgress, tell_spent
from fencepost.encoding.engine.check import check, refuse_uncheckable
from fencepost.encoding.engine.events import Remark
from fencepost.encoding.engine.limits import ENGINES, Limits, Minimize
from fencepost.encoding.engine.verdicts import Outcome, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.forms import FORMS
from fencepost.encoding.language.protocol import Protocol
from fencepost.encoding.language.state import show_all
from fencepost.encoding.solving.solvers import SOLVERS


def find_protocol(name: str) -> Protocol:
    """A protocol by name, or the one in a Python file."""
    if name.endswith(".py") or "/" in name:
        return own_protocol(name)
    from fencepost.properties.catalogue import find

    return find(name)


@click.command()
@click.argument("protocol", required=False, metavar="[PROTOCOL|FILE.py]")
@settings_option
@click.option(
    "--release", metavar="R", help="With the switches of this release (fencepost releases); --set wins."
)
@click.option(
    "--property",
    "names",
    multiple=True,
    metavar="NAME",
    help="Check this property (repeatable; default: all).",
)
@click.option("--bound", type=STEPS, metavar="K", help="Look at executions of at most K protocol steps.")
@click.option("--rounds", type=ROUNDS, metavar="R", help="Search at most R rounds (default: until decided).")
@budget_option
@click.option(
    "--minimize",
    type=click.Choice([m.value for m in Minimize]),
    default=Minimize.STEPS.value,
    callback=lambda context, option, value: Minimize(value),
    show_default=True,
    help="What to make small in a counterexample.",
)
@click.option(
    "--count",
    type=COUNT,
    default=1,
    show_default=True,
    metavar="N",
    help="Give N counterexamples that fire different actions or lose different messages.",
)
@click.option(
    "--walks",
    type=COUNT,
    metavar="N",
    help="Take N random walks instead: no solver, proves nothing.",
)
@click.option("--known", is_flag=True, help="Check the table of known bugs instead of a PROTOCOL.")
@click.option(
    "--bug", "bugs", multiple=True, metavar="NAME", help="With --known: only this bug (repeatable)."
)
@timeout_option()
@click.option("--memory", type=GIB, metavar="GIB", help="Memory for each solver process.")
@click.option(
    "--solver", type=click.Choice(list(SOLVERS)), default="cadical", show_default=True, help="Who answers."
)
@click.option(
    "--jobs",
    type=COUNT,
    default=2,
    metavar="N",
    show_default=True,
    help="Searches side by side; there are two or three to run.",
)
@click.option(
    "--seed", type=SEED, metavar="N", help="Shuffle what the solver sees; for --walks, the seed (default 1)."
)
@story_form_option
@output_option
@click.option(
    "--traces", type=click.Path(), metavar="DIR", help="Write each counterexample to a file in this folder."
)
@click.option(
    "--certificates",
    type=click.Path(),
    metavar="DIR",
    help="Write a certificate of what is proved to this folder: a new folder or an empty one.",
)
@click.option(
    "--engine",
    "engines",
    type=click.Choice(ENGINES),
    multiple=True,
    help="Use this engine (repeatable; default: induction where invariants are declared, then rounds).",
)
@click.option("--require-proof", is_flag=True, help="Exit with 3 if a property only holds up to a bound.")
@click.option(
    "--known-as-expected",
    is_flag=True,
    help="A violation that a known bug explains does not decide the exit code: only what is new does.",
)
@click.option(
    "--expect",
    type=click.Choice([v.value for v in Verdict]),
    metavar="VERDICT",
    help="Exit with 0 if this is the worst verdict, else with 1.",
)
@click.option(
    "-v", "--verbose", is_flag=True, help="Say on stderr what is being done, and where the time went."
)
def command(
    protocol: str | None,
    settings: tuple[str, ...],
    release: str | None,
    names: tuple[str, ...],
    budget: tuple[str, ...],
    walks: int | None,
    known: bool,
    bugs: tuple[str, ...],
    form: str,
    output: str | None,
    traces: str | None,
    certificates: str | None,
    require_proof: bool,
    known_as_expected: bool,
    expect: str | None,
    verbose: bool,
    **limits: Any,
) -> int:
    """Search PROTOCOL, or the one in FILE.py, for violations of its properties.

    Deepens round by round until every property is violated or proved. Exits with 0 if all are proved (or hold
    up to the bound given), 1 if any is violated, 3 if any is undecided or vacuous.

    With --known there is no PROTOCOL: each known bug is looked for on a small instance, with the bug and
    without it, one after the other; unless --timeout says how long, as long as it takes. Exits with 0 if all come out as expected, 1 if one does not, 3 if one is undecided.
    """
    if known:
        from fencepost.cli.commands.known import check_known, refuse_unused

        refuse_unused()
        if form in FORMS:
            raise BadInput(f"--format {form}: not with --known; valid: {', '.join(FORMATS)}")
        if click.get_current_context().get_parameter_source("timeout") is ParameterSource.DEFAULT:
            limits["timeout"] = without_limit()
        return check_known(bugs, Limits(gone=elapsed(), **limits), form, output, verbose)
    if bugs:
        raise BadInput(f"--bug {bugs[0]}: only with --known; add it, or leave --bug out")
    if known_as_expected and expect is not None:
        raise BadInput(f"--expect {expect}: not with --known-as-expected; leave one of them out")
    if protocol is None:
        raise BadInput("no PROTOCOL: give a protocol's name, a Python file, or --known")
    made = [setting(text, "NAME=VALUE") for text in settings]
    asked = Limits(budgets=budgets(budget), **limits)
    family = find_protocol(protocol)
    requests = _requests(family, made, names, release, asked, certificates is None)
    if traces is not None:
        prepare_folder(Path(traces))
    if certificates is not None:
        prepare_certificates(Path(certificates))
    wanted = Wanted(
        form,
        output,
        traces,
        walks is not None,
        require_proof,
        known_as_expected,
        expect,
        certificates is not None,
    )
    outcomes: list[Outcome] = []
    for request in requests:
        if walks is None:
            refuse_uncheckable(request.system, request.limits)
        else:
            refuse_limits(request.limits)
    progress = CheckProgress(verbose)
    with keeping(lambda: wanted.so_far(_so_far(requests, outcomes, progress))) as progress.announcing:
        with progress:
            _all(requests, walks, progress, outcomes)
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


def _requests(
    protocol: Protocol,
    settings: Sequence[tuple[str, str]],
    names: tuple[str, ...],
    release: str | None,
    limits: Limits,
    several: bool,
) -> list[Request]:
    """What is asked of the instance with these settings; of several if properties have some of their own."""
    if not several:  # a certificate is of one instance
        instance = protocol.instance(settings, release)
        return [Request(instance, instance.properties(*names), limits.of(instance.system), on_own=False)]
    shared = protocol.parameters(settings, release)
    return [
        Request(instance, properties, limits.of(instance.system), instance.parameters != shared)
        for instance, properties in protocol.instances(settings, names, release)
    ]


def _all(
    requests: Sequence[Request], walks: int | None, progress: CheckProgress, outcomes: list[Outcome]
) -> None:
    """Append what each comes to, the last first.

    The small instances, which come after the first, do not wait for it, and leave it its share of the time.
    """
    for request in reversed(requests):
        gone = elapsed()
        share = max(0.0, request.limits.timeout - gone) / (len(requests) - len(outcomes))
        limits = replace(request.limits, timeout=min(gone + share, request.limits.timeout), gone=gone)
        progress.hear(
            Remark(f"{', '.join(p.name for p in request.properties)} of {instance_line(request.instance)}")
        )
        if any(outcome.interrupted for outcome in outcomes):
            outcomes.append(not_begun(request))
        elif walks:
            outcomes.append(take(walks, request.instance, request.properties, limits))
        else:
            outcomes.append(check(request.instance, request.properties, limits, progress.hear))
        progress.under_way = None


def _so_far(
    requests: Sequence[Request], outcomes: Sequence[Outcome], progress: CheckProgress
) -> list[CheckedRequest]:
    """Each request with what it comes to if the command ends now; `outcomes` are of those that are over, the last first."""
    known = [*outcomes, *([progress.under_way()] if progress.under_way is not None else [])]
    known += [not_begun(request, interrupted=False) for request in requests[: len(requests) - len(known)]]
    return [CheckedRequest(request, outcome) for request, outcome in zip(requests, known[::-1], strict=True)]
