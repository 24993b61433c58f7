"""`fencepost advise`: may I run this configuration on this release?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, cast

import click

from fencepost.answers.advice import Advice, Answer
from fencepost.answers.affected import bugs_of_releases
from fencepost.answers.known import full_names
from fencepost.answers.public_losses import FEATURES, PUBLIC_LOSSES, public_losses
from fencepost.answers.risk_search import Finding, anything_else, not_asked, shown, shown_small
from fencepost.answers.risks import OF_SETTINGS, Risk, risks
from fencepost.answers.setups import Setup
from fencepost.cli.exits import ExitCode
from fencepost.cli.options.completion import loss_names, release_names
from fencepost.cli.options.grouped import CONFIGURATION, EXIT, Choice, grouped_command, option
from fencepost.cli.options.sizes import (
    ack_quorum_option,
    bookies_option,
    ensemble_option,
    files_option,
    write_quorum_option,
)
from fencepost.cli.process.conclusion import Conclusion, conclude, hand_over, placed
from fencepost.cli.process.handover import elapsed, timeout_option
from fencepost.cli.rendering.advice_document import as_json
from fencepost.cli.rendering.advice_page import page
from fencepost.cli.rendering.advice_text import as_text
from fencepost.cli.rendering.output import form_option_of, output_option
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Verdict
from fencepost.encoding.errors import BadInput
from fencepost.protocols.bookkeeper.pulsar_releases import pulsar_release
from fencepost.protocols.bookkeeper.releases import NEWEST, listed
from fencepost.quorums.deployment import Client, Deployment
from fencepost.quorums.setters import Setter
from fencepost.quorums.settings import STORAGES
from fencepost.quorums.sources import Files, Source, read_files
from fencepost.quorums.stripes import Configuration

T = TypeVar("T")

FORMS: Mapping[str, Callable[[Advice], str]] = {"text": as_text, "json": as_json, "html": page}
"""The forms of the result, by the names that `--format` takes."""


@grouped_command(example="fencepost advise -e 3 -w 3 -a 2 -n 4 --release 4.17.3")
@ensemble_option
@write_quorum_option
@ack_quorum_option
@bookies_option
@option(
    "--release",
    metavar="R",
    shell_complete=release_names,
    group=CONFIGURATION,
    help=f"Release of BookKeeper.  [default: {NEWEST}, the newest that was read]",
)
@option("--pulsar", metavar="R", group=CONFIGURATION, help="Release of Pulsar, which has one of BookKeeper.")
@files_option(".conf files, Helm values, compose or Kubernetes files")
@option(
    "--journal",
    type=Choice(["on", "off"]),
    group=CONFIGURATION,
    help="journalWriteData.  [default: on]",
)
@option("--sync", type=Choice(["on", "off"]), group=CONFIGURATION, help="journalSyncData.  [default: on]")
@option(
    "--checks",
    type=Choice(["on", "off"]),
    group=CONFIGURATION,
    help="dataIntegrityChecking.  [default: off]",
)
@option(
    "--storage",
    type=Choice(list(STORAGES.values())),
    group=CONFIGURATION,
    help="How bookies store entries (ledgerStorageClass).  [default: db with Pulsar's files, else sorted]",
)
@timeout_option()
@form_option_of(tuple(FORMS))
@output_option
@option("--commands", is_flag=True, help="Print the command behind each verdict too, as in the other forms.")
@option(
    "--accept",
    multiple=True,
    metavar="LOSS",
    shell_complete=loss_names,
    group=EXIT,
    help="Leave this loss out of the answer: a known bug, a setting or a public loss (repeatable).",
)
def command(
    ensemble: int | None,
    write_quorum: int | None,
    ack_quorum: int | None,
    bookies: int | None,
    release: str | None,
    pulsar: str | None,
    journal: str | None,
    sync: str | None,
    checks: str | None,
    storage: str | None,
    files: tuple[str, ...],
    accept: tuple[str, ...],
    commands: bool,
    timeout: float,
    form: str,
    output: str | None,
) -> int:
    """Say whether a configuration on a release may lose acknowledged entries, and what to do.

    Known data-loss bugs are looked for, and then anything else. Everything is checked now, on E/WQ/AQ as
    given with at most one spare bookie. Exits with 0 for yes, 1 for no and for yes with conditions, 3 for
    not known. --accept says that a condition is met.
    """
    if commands and form != "text":
        raise BadInput(f"--commands: --format {form} has them anyway; leave it out")
    if pulsar is not None and release is not None:
        raise BadInput(f"--pulsar {pulsar}: not with --release {release}; leave one of them out")
    in_pulsar = None if pulsar is None else pulsar_release(pulsar)
    said = read_files(files)
    set_by: dict[str, Setter] = {}

    def value(name: str, flag: str, option: T | None, default: T) -> T:
        found, set_by[name] = said.chosen(name, flag, option, default)
        return cast(T, found)

    def size(name: str, flag: str, option: int | None) -> int:
        found = value(name, flag, option, None)
        if found is None:
            raise BadInput(
                f"no {flag}: give -e, -w, -a and -n, or --from FILE that has them (a broker.conf has no -n)"
            )
        return int(found)

    configuration = Configuration(
        size("ensemble", "-e", ensemble),
        size("write_quorum", "-w", write_quorum),
        size("ack_quorum", "-a", ack_quorum),
    )
    number = size("bookies", "-n", bookies)
    flag, given = ("--release", release) if in_pulsar is None else ("--pulsar", in_pulsar.bookkeeper)
    known = listed(value("release", flag, given, NEWEST))
    said = said.known_to(known)
    setup = Setup(
        configuration,
        number,
        known,
        value("journal", "--journal", _on(journal), True),
        value("checks", "--checks", _on(checks), False),
        value("storage", "--storage", storage, "db" if said.pulsar or in_pulsar else "sorted"),
        value("sync", "--sync", _on(sync), True),
        _features(said),
    )
    is_sorted, setter = said.chosen("sorted_storage", default=True)
    if setup.storage == "sorted" and storage is None and not is_sorted:
        setup, set_by["storage"] = replace(setup, storage="interleaved"), setter
    deployment = Deployment(
        setup.configuration,
        setup.bookies,
        Client(),
        None,
        said.pulsar or in_pulsar is not None,
        said.autorecovery,
    )

    def concluded(advice: Advice) -> Conclusion:
        text = as_text(advice, commands) if form == "text" else FORMS[form](advice)
        printed, written = placed(text, output)
        return Conclusion(int(CODES[advice.answer]), printed, files=written)

    asking = advice_on(setup, deployment, dict(said.sources), set_by, _accepted(accept), timeout)
    for advice in asking:
        advice = replace(advice, pulsar=in_pulsar)
        hand_over(concluded(advice))
    return conclude(concluded(advice))


CODES = {
    Answer.YES: ExitCode.SUCCESS,
    Answer.CONDITIONS: ExitCode.VIOLATED,
    Answer.NO: ExitCode.VIOLATED,
    Answer.UNKNOWN: ExitCode.UNDECIDED,
}
"""The exit code of each answer."""


def _features(files: Files) -> frozenset[str]:
    """Return the settings of the files that some public loss needs and that no model has."""
    said = files.unmodelled
    found = {feature.name for key, feature in FEATURES.items() if key in said and feature.is_in(said[key])}
    others = {"ephemeral-disks": not files.persistent, "no-autorecovery": not files.autorecovery}
    return frozenset(found | {name for name, holds in others.items() if holds})


def _on(option: str | None) -> bool | None:
    return None if option is None else option == "on"


def _accepted(names: Sequence[str]) -> frozenset[str]:
    known = [bug[0] for bug in bugs_of_releases()]
    return full_names([*known, *OF_SETTINGS, *PUBLIC_LOSSES], names, "--accept ")


CONFLICTS = 100_000
"""The limit of conflicts of each search.

On 4.13.0 to 4.18.0, at 2/1/1 to 5/3/2, a violation took 2,600 at most and a proof 16,400. Few searches take
10 seconds.
"""


def advice_on(
    setup: Setup,
    deployment: Deployment,
    sources: dict[str, Source],
    set_by: Mapping[str, Setter],
    accepted: frozenset[str],
    timeout: float,
) -> Iterator[Advice]:
    """Ask all questions, the long searches last, and yield the advice so far before and after each.

    A question that was not asked yet is not decided. Each search has a limit of conflicts, so that a busy
    machine finds the same losses. The time only ends searches that the command has no time for; a tenth of it
    is kept for the report. `set_by` names the setter of each value of the setup.
    """
    found = risks(setup)
    losing = [risk for risk in found if risk.loses]
    others = [risk for risk in found if not risk.loses]
    bugs = [risk.bug for risk in losing]
    public = public_losses(setup.release, setup.traits)
    findings = {risk.bug.name: not_asked(risk, setup) for risk in losing}
    rest = not_asked(None, setup)

    def so_far() -> Advice:
        by_risk = [(risk, findings[risk.bug.name]) for risk in losing]
        return Advice(setup, deployment, sources, set_by, by_risk, public, others, rest, accepted)

    def limits() -> Limits:
        return Limits(conflicts=CONFLICTS, jobs=1, timeout=max(0.1, round(0.9 * timeout - elapsed(), 1)))

    def look_for(risk: Risk) -> Finding:
        here = shown(risk, setup, bugs, limits())
        if here.decided:
            return here
        small = shown_small(risk, setup, bugs, limits())
        if small.verdict is not Verdict.VIOLATED:
            return here
        return replace(small, reason=here.reason, out_of_time=here.out_of_time)

    cheap, spare = ([r for r in losing if ("spare" in r.needs) is with_spare] for with_spare in (False, True))
    spare.sort(key=lambda risk: risk.is_large)
    yield so_far()
    for number, risk in enumerate((*cheap, None, *spare), 1):
        if elapsed() > 0.9 * timeout:
            return
        name = "anything else" if risk is None else risk.bug.name
        click.echo(f"{number} of {len(losing) + 1}: {name}  [{elapsed():.0f} s]", err=True)
        if risk is None:
            rest = anything_else(setup, bugs, limits())
        else:
            findings[risk.bug.name] = look_for(risk)
        yield so_far()
