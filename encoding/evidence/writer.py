"""The writer of certificates: a process fills a folder, which appears when it is complete."""

from __future__ import annotations

import errno
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from fencepost.encoding.engine.events import PreparationPhase
from fencepost.encoding.engine.limits import Limits
from fencepost.encoding.engine.verdicts import Result
from fencepost.encoding.errors import InternalError, time_out
from fencepost.encoding.language.protocol import Instance
from fencepost.encoding.solving.answers import SolverGaveUpError
from fencepost.encoding.solving.workers import Ended, Worker


def make_certificate(
    folder: Path,
    instance: Instance,
    limits: Limits,
    proved: Sequence[Result],
    left: float,
    report: Callable[[PreparationPhase], None] = lambda phase: None,
) -> str | None:
    """Write a certificate of the proved results into `folder`, within `left` seconds.

    Returns why there is none if time, memory or disk space ran out, else None. Raises FileExistsError if the
    folder has a certificate already.
    """
    from fencepost.encoding.evidence.contents import contents_of, fill

    proves = contents_of(proved, limits.budgets, instance.drop_declared)
    with _temporary(folder) as temporary:
        asked = (instance.system, instance.subject, proves, temporary)
        lacking = _wait(
            Worker("certificate", fill, *asked, gib=limits.memory),
            left,
            report,
            limits.timeout,
        )
        if lacking is None:
            _rename(temporary, folder)
    return lacking


@contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """Yield a new folder beside the one given; it is removed unless it is renamed to that one."""
    temporary = folder.absolute().with_name(f".{folder.name}.{uuid.uuid4().hex}")
    temporary.mkdir(parents=True)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _rename(made: Path, folder: Path) -> None:
    try:
        os.replace(made, folder)
    except OSError as error:
        if error.errno == errno.ENOTEMPTY:
            raise FileExistsError(errno.EEXIST, "is there already", str(folder)) from error
        raise


def _wait(
    worker: Worker, left: float, report: Callable[[PreparationPhase], None], timeout: float
) -> str | None:
    """Wait until the worker is done, and return None, or why it failed."""
    end = time.perf_counter() + left
    try:
        while True:
            if not worker.connection.poll(max(0.0, end - time.perf_counter())):
                return f"{time_out(timeout)}, for the proof and its certificate together"
            message = worker.receive()
            if not isinstance(message, Ended):
                report(message)
            elif message.gave_up:
                return message.gave_up
            elif message.kind == OSError.__name__:
                return f"cannot be written ({message.says})"
            elif message.kind == SolverGaveUpError.__name__:
                return message.says
            elif message.error is not None:
                raise InternalError(f"{worker.name} failed: {message.error}")
            else:
                return None
    finally:
        worker.kill()
