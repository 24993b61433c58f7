"""`fencepost advise`: what a configuration on a release can lose, by what that needs, and what to do."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from fencepost.advice.advice import Advice
from fencepost.advice.asked_setup import asked_setup
from fencepost.advice.losses import LEVELS
from fencepost.cli.exits import ExitCode
from fencepost.cli.options.completion import release_names
from fencepost.cli.options.grouped import CONFIGURATION, EXIT, Choice, grouped_command, option
from fencepost.cli.options.sizes import files_option, sizes_options
from fencepost.cli.rendering.advice_text import as_text
from fencepost.cli.rendering.check_text import WIDTH, text_width
from fencepost.cli.rendering.output import Result, emit, form_option_of, output_option
from fencepost.encoding.errors import BadInput
from fencepost.protocols.bookkeeper.releases import NEWEST
from fencepost.quorums.storages import STORAGES

FORMS = {
    "json": "advice_document.document",
    "sarif": "advice_document.as_sarif",
    "prometheus-rules": "advice_rules.as_rules",
}
"""The functions that write the forms besides text, each imported when it is asked for."""


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
@form_option_of(("text", *FORMS))
@output_option
@option("--all", "whole", is_flag=True, help="Print the steps too, by who does them and when.")
@option(
    "--fail-on",
    type=Choice(list(LEVELS)),
    default="operation",
    show_default=True,
    metavar="LEVEL",
    group=EXIT,
    help="Exit with 1 if a loss needs LEVEL or less.",
)
@option(
    "--ignore",
    type=click.Path(),
    metavar="FILE",
    group=EXIT,
    help="Leave out the losses that this TOML file names, each with a reason and a last day.",
)
def command(
    journal: str | None,
    sync: str | None,
    checks: str | None,
    whole: bool,
    fail_on: str,
    form: str,
    output: str | None,
    **asked: Any,
) -> int:
    """Say what a configuration on a release can lose, what each loss needs, and what to do.

    The conditions of the losses decide, for any sizes. The first screen ranks the losses by what they need.
    The levels are operation, slow-bookie, crash, two-crashes (or a crash and a disk) and operator.
    """
    if whole and form != "text":
        raise BadInput(f"--all: --format {form} has all of it anyway; leave it out")
    advice = asked_setup(journal=_on(journal), sync=_on(sync), checks=_on(checks), **asked)
    width = text_width() if output is None else WIDTH
    emit(as_text(advice, whole, width) if form == "text" else _in_form(advice, form), output)
    return int(ExitCode.VIOLATED if advice.fails_on(fail_on) else ExitCode.SUCCESS)


def _in_form(advice: Advice, form: str) -> Result:
    module, name = FORMS[form].split(".")
    result: Result = getattr(import_module(f"fencepost.cli.rendering.{module}"), name)(advice)
    return result


def _on(option: str | None) -> bool | None:
    return None if option is None else option == "on"
