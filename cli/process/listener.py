"""Listening to the process that works for a command, until it is done or is cut short."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from fencepost.cli.process.handover import elapsed
from fencepost.encoding.solving.crew import Crew, OutOfTime
from fencepost.encoding.solving.workers import Worker

INTERRUPTED = "interrupted"
"""Why somebody's Ctrl-C cut it short."""


def listen(worker: Worker, timeout: float, hear: Callable[[Any], None], spare: float = 0.0) -> str | None:
    """Pass on what a worker says; why that was cut short, or None if the worker came to its end.

    `timeout` is for the whole command, in seconds; `spare` are seconds after it in which the worker may say itself that
    time is up. Raises whatever `hear` raises. The worker is stopped in any case.
    """
    with Crew(time.perf_counter() + timeout - elapsed() + spare) as crew:
        crew.start(worker)
        try:
            for _, event in crew.heard():
                hear(event)
        except OutOfTime:
            return f"time-out after {timeout:g} s"
        except KeyboardInterrupt:
            return INTERRUPTED
    return None
