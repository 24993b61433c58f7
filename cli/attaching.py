"""What `check --certificates` adds: a certificate for what was proved."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from fencepost.cli.handing import at_home
from fencepost.cli.output import prepare_folder
from fencepost.encoding.checking.limits import Limits
from fencepost.encoding.checking.preparing import Phase
from fencepost.encoding.checking.verdicts import Outcome, Verdict
from fencepost.encoding.errors import BadInput
from fencepost.encoding.evidence.making import make_certificate
from fencepost.encoding.language.system import System
from fencepost.encoding.language.traces import Subject


def prepare_certificates(folder: Path) -> None:
    """Raise BadInput unless a certificate can be put there: its name is free, and so is the place for it."""
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise BadInput(f"{folder}: is there already; give the name of a new folder")
    prepare_folder(folder.absolute().parent)


def with_certificates(
    folder: Path,
    system: System,
    subject: Subject,
    limits: Limits,
    outcome: Outcome,
    hear: Callable[[Phase], None],
) -> Outcome:
    """The outcome with its proofs certified in `folder`; without a certificate if there is no time left for it.

    Says on stderr why there is none.
    """
    proved = [result for result in outcome.results if result.verdict is Verdict.PROVED]
    if not proved:
        click.echo("no certificate: nothing is proved", err=True)
        return outcome
    if outcome.interrupted:
        return outcome
    begun = time.perf_counter()
    try:
        left = limits.timeout - limits.gone - outcome.seconds
        lacking = make_certificate(at_home(folder), system, subject, limits, proved, left, hear)
    except KeyboardInterrupt:
        return replace(outcome, interrupted=True)
    seconds = time.perf_counter() - begun
    outcome = replace(
        outcome, spent={**outcome.spent, "certificate": seconds}, seconds=outcome.seconds + seconds
    )
    if lacking is not None:
        click.echo(f"no certificate: {lacking}", err=True)
        return outcome
    results = (replace(r, certificate=str(folder)) if r in proved else r for r in outcome.results)
    return replace(outcome, results=tuple(results))
