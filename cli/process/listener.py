"""Messages of a process that works for a command, until it finishes or is cut short."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from fencepost.cli.process.handover import elapsed
from fencepost.encoding.errors import time_out
from fencepost.encoding.solving.crew import Crew, OutOfTime
from fencepost.encoding.solving.workers import Ended, Worker, reason_of

INTERRUPTED = "interrupted"
"""The reason if a signal cut a command short."""


def listen(
    worker: Worker,
    doing: str,
    timeout: float,
    hear: Callable[[Any], None],
    spare: float = 0.0,
    of_cpu: bool = False,
    gib: float | None = None,
) -> str | None:
    """Pass on the messages of a worker. Return why it did not finish, or None if it did.

    `doing` names its work, and `gib` is its memory limit, for the reason why it gave up. `timeout` bounds the
    whole command, in seconds. During `spare` more seconds the worker may report itself that time is up. With
    `of_cpu` the seconds are CPU seconds of the worker, if the system counts them.
    Raises the failure of the worker, and whatever `hear` raises. The worker is stopped in any case.
    """
    counted = of_cpu and worker.cpu_seconds is not None

    def spent() -> bool:
        return counted and (worker.cpu_seconds or 0.0) > timeout + spare

    with Crew(math.inf if counted else time.perf_counter() + timeout - elapsed() + spare) as crew:
        crew.start(worker)
        try:
            for _, event in crew.heard(spent):
                if isinstance(event, Ended):
                    return reason_of(event, doing, gib)
                hear(event)
            if crew.workers:
                return time_out(timeout)
        except OutOfTime:
            return time_out(timeout)
        except KeyboardInterrupt:
            return INTERRUPTED
    return None
