"""What `check --certificates` adds: a certificate for what was proved, in a folder that is there whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from fencepost.cli.output import prepare_folder, umask
from fencepost.encoding.checking import Limits, Outcome, Phase
from fencepost.encoding.errors import BadInput, InternalError
from fencepost.encoding.system import System
from fencepost.encoding.traces import Subject
from fencepost.encoding.verdicts import Result, Verdict
from fencepost.encoding.workers import Ended, Worker


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
        lacking = _make(folder, system, subject, limits, proved, limits.timeout - outcome.seconds, hear)
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


def _make(
    folder: Path,
    system: System,
    subject: Subject,
    limits: Limits,
    proved: list[Result],
    left: float,
    hear: Callable[[Phase], None],
) -> str | None:
    """Make the certificate; if that fails for lack of time or memory, say so."""
    from fencepost.encoding.certificates import Claim, make

    claims = [
        Claim(result.property, result.basis, result.induction or result.rounds)
        for result in proved
        if result.basis is not None
    ]
    with _renamed(folder) as temporary:
        asked = (system, subject, limits.budgets, claims, temporary)
        lacking = _heard(Worker("certificate", make, *asked, gib=limits.memory), left, hear)
        if lacking is None:
            os.replace(temporary, folder)
    return lacking and lacking.format(timeout=limits.timeout)


@contextmanager
def _renamed(folder: Path) -> Iterator[Path]:
    """A folder beside the one given, which goes away unless it is renamed to that one."""
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.absolute().parent))
    os.chmod(temporary, 0o777 & ~umask())
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _heard(worker: Worker, left: float, hear: Callable[[Phase], None]) -> str | None:
    """Wait until the worker is done; why it is not, if it is not."""
    end = time.perf_counter() + left
    try:
        while True:
            if not worker.connection.poll(max(0.0, end - time.perf_counter())):
                return "time-out after {timeout:g} s, which is for the proof and its certificate"
            message = worker.receive()
            if not isinstance(message, Ended):
                hear(message)
            elif message.memory:
                return "out of memory"
            elif message.error is not None:
                raise InternalError(f"{worker.name} failed: {message.error}")
            else:
                return None
    finally:
        worker.kill()
