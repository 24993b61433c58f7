"""Messages of a process that works for a command, until it finishes or is cut short."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from fencepost.cli.process.handover import elapsed
from fencepost.encoding.errors import time_out
from fencepost.encoding.solving.crew import Crew, OutOfTime
from fencepost.encoding.solving.workers import Worker

INTERRUPTED = "interrupted"
"""The reason if a signal cut a command short."""


def listen(worker: Worker, timeout: float, hear: Callable[[Any], None], spare: float = 0.0) -> str | None:
    """Pass on the messages of a worker. Return why that was cut short, or None if the worker finished.

    `timeout` bounds the whole command, in seconds. During `spare` more seconds the worker may report itself
    that time is up. Raises whatever `hear` raises. The worker is stopped in any case.
    """
    with Crew(time.perf_counter() + timeout - elapsed() + spare) as crew:
        crew.start(worker)
        try:
            for _, event in crew.heard():
                hear(event)
        except OutOfTime:
            return time_out(timeout)
        except KeyboardInterrupt:
            return INTERRUPTED
    return None
