"""A crew of workers: processes that run side by side, until all have ended or the time is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait
from typing import Any, Self

from fencepost.encoding.solving.workers import Ended, Worker

TICK = 1.0
"""The seconds without a message after which `tick` is called."""


class OutOfTime(Exception):
    """The common time limit of the workers has passed."""


class Crew:
    """Workers whose messages arrive in one place.

    `until` is the time limit, as a value of `time.perf_counter`. `idle` is advanced while no worker has a
    message. Once `idle` has ended, `tick` is called after each second without a message. Leaving the context
    stops every worker.
    """

    def __init__(
        self, until: float, idle: Iterator[object] | None = None, tick: Callable[[], None] = lambda: None
    ) -> None:
        """Start without workers."""
        self._until, self._idle, self._tick = until, idle or iter(()), tick
        self._workers: list[Worker] = []

    def __enter__(self) -> Self:
        """Return the crew."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Stop all workers."""
        self.dismiss()

    @property
    def workers(self) -> list[Worker]:
        """The workers that have not ended."""
        return list(self._workers)

    def start(self, worker: Worker) -> Worker:
        """Add a worker and return it."""
        self._workers.append(worker)
        return worker

    def dismiss(self, *workers: Worker) -> None:
        """Stop these workers, or all if none is given."""
        for worker in workers or tuple(self._workers):
            worker.kill()
            self._workers.remove(worker)

    def heard(self, done: Callable[[], bool] = lambda: False) -> Iterator[tuple[Worker, Any]]:
        """Yield the messages with their workers, `Ended` as the last of each. Raises OutOfTime.

        Between two messages, workers may be started and dismissed. `done` is asked after each second without
        a message; the messages end if it is true.
        """
        while self._workers:
            left = self._until - time.perf_counter()
            if left <= 0:
                raise OutOfTime
            ready = self._ready(0)
            if not ready and next(self._idle, None) is None:
                ready = self._ready(min(left, TICK))
                if not ready:
                    self._tick()
                    if done():
                        return
            yield from self._received(ready)

    def listen(self, seconds: float) -> list[tuple[Worker, Any]]:
        """Return the first messages within so many seconds, at most one of each worker."""
        return list(self._received(self._ready(seconds)))

    def _received(self, ready: list[Worker]) -> Iterator[tuple[Worker, Any]]:
        for worker in ready:
            if worker in self._workers:
                message = worker.receive()
                if isinstance(message, Ended):
                    self.dismiss(worker)
                yield worker, message

    def _ready(self, seconds: float) -> list[Worker]:
        connections = wait([worker.connection for worker in self._workers], timeout=seconds)
        return [worker for worker in self._workers if worker.connection in connections]
