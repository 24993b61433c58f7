"""Making a certificate in a process of its own, in a folder that is there whole or not at all."""

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
from fencepost.encoding.errors import InternalError
from fencepost.encoding.language.protocol import Checkable
from fencepost.encoding.solving.answers import SolverGaveUpError
from fencepost.encoding.solving.workers import Ended, Worker


def make_certificate(
    folder: Path,
    instance: Checkable,
    limits: Limits,
    proved: Sequence[Result],
    left: float,
    hear: Callable[[PreparationPhase], None] = lambda phase: None,
) -> str | None:
    """Put a certificate of what is proved into `folder`, in `left` seconds; if that fails for lack of time or memory,
    say so. Raises FileExistsError if a certificate is there already.
    """
    from fencepost.encoding.evidence.contents import make
    from fencepost.encoding.evidence.manifests import claimed

    claims = [
        claimed(r.property, r.basis, r.by_actions, r.induction or r.rounds, r.invariants)
        for r in proved
        if r.basis is not None
    ]
    with _renamed(folder) as temporary:
        asked = (instance.system, instance.subject, limits.budgets, claims, temporary)
        lacking = _heard(Worker("certificate", make, *asked, gib=limits.memory), left, hear, limits.timeout)
        if lacking is None:
            _rename(temporary, folder)
    return lacking


@contextmanager
def _renamed(folder: Path) -> Iterator[Path]:
    """A folder beside the one given, which goes away unless it is renamed to that one."""
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


def _heard(
    worker: Worker, left: float, hear: Callable[[PreparationPhase], None], timeout: float
) -> str | None:
    """Wait until the worker is done; why it is not, if it is not."""
    end = time.perf_counter() + left
    try:
        while True:
            if not worker.connection.poll(max(0.0, end - time.perf_counter())):
                return f"time-out after {timeout:g} s, which is for the proof and its certificate"
            message = worker.receive()
            if not isinstance(message, Ended):
                hear(message)
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
