"""`fencepost advise`: what a configuration on a release can lose, by what that needs, and what to do."""

from __future__ import annotations

from importlib import import_module

from fencepost.advice.advice import Advice
from fencepost.advice.asked_setup import asked_setup
from fencepost.advice.losses import LEVELS
from fencepost.cli.exits import ExitCode
from fencepost.cli.options.completion import release_names
from fencepost.cli.options.grouped import CONFIGURATION, EXIT, OUTPUT, grouped_command, option
from fencepost.cli.options.sizes import SizesOptions, files_option
from fencepost.cli.rendering.advice_text import as_text
from fencepost.cli.rendering.check_text import WIDTH, text_width
from fencepost.cli.rendering.output import Result, ResultOptions, emit, form_option_of
from fencepost.encoding.errors import BadInput
from fencepost.protocols.bookkeeper.releases import NEWEST
from fencepost.quorums.storages import STORAGES

FORMS = {
    "json": "advice_document.document",
    "sarif": "advice_document.as_sarif",
    "prometheus-rules": "advice_rules.as_rules",
}
"""The functions that write the forms besides text, each imported when it is asked for."""


ON_OFF = ("on", "off")


class AdviseOptions(ResultOptions, SizesOptions):
    """The options of `fencepost advise`."""

    release: str | None = option(
        "--release R",
        f"Release of BookKeeper.  [default: {NEWEST}; with Pulsar's files that of the newest Pulsar]",
        CONFIGURATION,
        shell_complete=release_names,
    )
    pulsar: str | None = option(
        "--pulsar R", "Release of Pulsar, which has one of BookKeeper.", CONFIGURATION
    )
    files: tuple[str, ...] = files_option(".conf files, Helm values, compose or Kubernetes files")
    journal: str | None = option("--journal", "journalWriteData.  [default: on]", CONFIGURATION, ON_OFF)
    sync: str | None = option("--sync", "journalSyncData.  [default: on]", CONFIGURATION, ON_OFF)
    storage: str | None = option(
        "--storage",
        "How bookies store entries (ledgerStorageClass).  [default: db with Pulsar's files, else sorted]",
        CONFIGURATION,
        STORAGES,
    )
    form: str = form_option_of(("text", *FORMS))
    whole: bool = option("--all", "Print the steps too, by their time, and who does each.", OUTPUT)
    fail_on: str = option(
        "--fail-on LEVEL", "Exit with 1 if a loss needs LEVEL or less.", EXIT, LEVELS, default="operation"
    )
    ignore: str | None = option(
        "--ignore FILE",
        "Leave out the losses that this TOML file names, each with a reason and a last day.",
        EXIT,
    )


@grouped_command(example="fencepost advise -e 3 -w 3 -a 2 -n 4 --release 4.17.3")
def command(asked: AdviseOptions) -> int:
    """Say what a configuration on a release can lose, what each loss needs, and what to do.

    The conditions of the losses decide, for any sizes. The first screen ranks the losses by what they need.
    The levels are operation, slow-bookie, crash, two-crashes (or a crash and a disk) and operator.
    """
    if asked.whole and asked.form != "text":
        raise BadInput(f"--all: --format {asked.form} has all of it anyway; leave it out")
    given = asked.given("ensemble", "write_quorum", "ack_quorum", "bookies", "release", "pulsar", "files")
    for name, word in asked.given("journal", "sync").items():
        given[name] = None if word is None else word == "on"
    advice = asked_setup(**given, **asked.given("storage", "ignore"))
    width = text_width() if asked.output is None else WIDTH
    emit(
        as_text(advice, asked.whole, width) if asked.form == "text" else _in_form(advice, asked.form),
        asked.output,
    )
    return ExitCode.VIOLATED if advice.fails_on(asked.fail_on) else ExitCode.SUCCESS


def _in_form(advice: Advice, form: str) -> Result:
    module, name = FORMS[form].split(".")
    result: Result = getattr(import_module(f"fencepost.cli.rendering.{module}"), name)(advice)
    return result
