"""Waiting for workers: several side by side, until none has more to say, or time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait
from typing import Any, Self

from fencepost.encoding.solving.workers import Ended, Worker

TICK = 1.0
"""So many seconds of silence are told of."""


class OutOfTime(Exception):
    """The time for all of them is up."""


class Crew:
    """Workers that are listened to together.

    `until` is when time is up, as `time.perf_counter` tells it. `idle` is advanced while nobody has anything to say;
    once it is over, `tick` is called after each second of silence. Leaving the context stops every worker.
    """

    def __init__(
        self, until: float, idle: Iterator[object] | None = None, tick: Callable[[], None] = lambda: None
    ) -> None:
        self._until, self._idle, self._tick = until, idle or iter(()), tick
        self._workers: list[Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.dismiss()

    @property
    def workers(self) -> list[Worker]:
        """Those that are listened to now."""
        return list(self._workers)

    def start(self, worker: Worker) -> Worker:
        """Listen to this one too."""
        self._workers.append(worker)
        return worker

    def dismiss(self, *workers: Worker) -> None:
        """Stop these, or all if none is given."""
        for worker in workers or tuple(self._workers):
            worker.kill()
            self._workers.remove(worker)

    def heard(self) -> Iterator[tuple[Worker, Any]]:
        """What they say, the last thing of each being `Ended`; raises OutOfTime.

        Workers may be started and dismissed in between.
        """
        while self._workers:
            left = self._until - time.perf_counter()
            if left <= 0:
                raise OutOfTime
            ready = self._speaking(0)
            if not ready and next(self._idle, None) is None:
                ready = self._speaking(min(left, TICK))
                if not ready:
                    self._tick()
            yield from self._received(ready)

    def listen(self, seconds: float) -> list[tuple[Worker, Any]]:
        """What they say first within so many seconds, a thing of each; nothing if they say nothing."""
        return list(self._received(self._speaking(seconds)))

    def _received(self, ready: list[Worker]) -> Iterator[tuple[Worker, Any]]:
        for worker in ready:
            if worker in self._workers:
                message = worker.receive()
                if isinstance(message, Ended):
                    self.dismiss(worker)
                yield worker, message

    def _speaking(self, seconds: float) -> list[Worker]:
        connections = wait([worker.connection for worker in self._workers], timeout=seconds)
        return [worker for worker in self._workers if worker.connection in connections]
