"""`fencepost advise`: may I run this configuration on this release?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from fencepost.answers.advice import Advice, AdviceAnswer
from fencepost.answers.advice_search import advice_on
from fencepost.answers.asked_setup import asked_setup
from fencepost.cli.exits import ExitCode
from fencepost.cli.options.completion import loss_names, release_names
from fencepost.cli.options.grouped import CONFIGURATION, EXIT, Choice, grouped_command, option
from fencepost.cli.options.sizes import files_option, sizes_options
from fencepost.cli.process.conclusion import Conclusion, conclude, hand_over, placed
from fencepost.cli.process.handover import bound_time, elapsed, timeout_option
from fencepost.cli.rendering.advice_document import as_json
from fencepost.cli.rendering.advice_page import page
from fencepost.cli.rendering.advice_text import as_text
from fencepost.cli.rendering.check_text import WIDTH, text_width
from fencepost.cli.rendering.output import form_option_of, output_option
from fencepost.encoding.errors import BadInput
from fencepost.protocols.bookkeeper.releases import NEWEST
from fencepost.quorums.storages import STORAGES

FORMS: Mapping[str, Callable[[Advice], str]] = {"text": as_text, "json": as_json, "html": page}
"""The forms of the result, by the names that `--format` takes."""


@grouped_command(example="fencepost advise -e 3 -w 3 -a 2 -n 4 --release 4.17.3")
@sizes_options
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
    type=Choice(list(STORAGES)),
    group=CONFIGURATION,
    help="How bookies store entries (ledgerStorageClass).  [default: db with Pulsar's files, else sorted]",
)
@timeout_option(at_once=False)
@form_option_of(tuple(FORMS))
@output_option
@option("--fresh", is_flag=True, help="Compute the answer also if one ships for this setup.")
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
    journal: str | None,
    sync: str | None,
    checks: str | None,
    commands: bool,
    fresh: bool,
    timeout: float,
    form: str,
    output: str | None,
    **asked: Any,
) -> int:
    """Say whether a configuration on a release may lose acknowledged entries, and what to do.

    Known data-loss bugs are looked for, and then anything else, on E/WQ/AQ as given with at most one
    spare bookie. The answer to a usual setup ships and says so; --fresh computes it. Exits with 0 for yes,
    1 for no and for yes with conditions, 3 for not known. --accept says that a condition is met.
    """
    if commands and form != "text":
        raise BadInput(f"--commands: --format {form} has them anyway; leave it out")
    unasked = asked_setup(journal=_on(journal), sync=_on(sync), checks=_on(checks), **asked)

    width = text_width() if output is None else WIDTH

    def concluded(advice: Advice) -> Conclusion:
        text = as_text(advice, commands, width) if form == "text" else FORMS[form](advice)
        printed, written = placed(text, output)
        return Conclusion(int(CODES[advice.answer]), printed, files=written)

    for advice in advice_on(unasked, lambda: FOR_QUESTIONS * timeout - elapsed(), _tell, fresh):
        hand_over(concluded(advice))
        bound_time(timeout)
    return conclude(concluded(advice))


FOR_QUESTIONS = 0.9
"""The part of the time that is for questions; the rest is for the report."""

CODES = {
    AdviceAnswer.YES: ExitCode.SUCCESS,
    AdviceAnswer.CONDITIONS: ExitCode.VIOLATED,
    AdviceAnswer.NO: ExitCode.VIOLATED,
    AdviceAnswer.UNKNOWN: ExitCode.UNDECIDED,
}
"""The exit code of each answer."""


def _on(option: str | None) -> bool | None:
    return None if option is None else option == "on"


def _tell(question: str) -> None:
    click.echo(f"{question}  [{elapsed():.0f} s]", err=True)
