"""A crew of workers: processes that run side by side, until all have ended or the time is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from multiprocessing.connection import wait
from typing import Any, Self

from fencepost.encoding.solving.workers import Ended, Worker

TICK = 1.0
"""The seconds without a message after which `tick` is called."""

TURN = 0.2
"""The seconds for which a worker runs before another one that waits gets its place."""


class OutOfTime(Exception):
    """The common time limit of the workers has passed."""


class Crew:
    """Workers whose messages arrive in one place.

    `until` is the time limit, as a value of `time.perf_counter`. `tick` is called after each second without a
    message. `most` is the number of workers that run at the same moment; further workers wait, stopped, and
    take turns with those that run. Leaving the context ends every worker.
    """

    def __init__(
        self,
        until: float,
        tick: Callable[[], None] = lambda: None,
        most: int | None = None,
    ) -> None:
        """Start without workers."""
        self._until, self._tick, self._most = until, tick, most
        self._workers: list[Worker] = []
        self._steady: set[Worker] = set()
        self._waiting: list[Worker] = []
        """The workers that are stopped, the one that waits longest first."""
        self._held: set[Worker] = set()
        """The workers that are stopped and take no turns."""
        self._turned = self._heard = time.perf_counter()

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

    @property
    def running(self) -> list[Worker]:
        """The workers that have not ended and do not wait for their turn."""
        return [w for w in self._workers if w not in self._waiting and w not in self._held]

    def make_room(self) -> None:
        """Let a worker wait if as many run as may, so that another one can be started."""
        if self._most is None or len(self.running) < self._most:
            return
        longest = next(worker for worker in self.running if worker not in self._steady)
        longest.pause()
        self._waiting.append(longest)

    def hold(self, workers: Collection[Worker]) -> None:
        """Stop exactly these workers until they are held no more. They take no turns."""
        for worker in [w for w in self._workers if (w in workers) != (w in self._held)]:
            if worker in workers:
                worker.pause()
                self._held.add(worker)
                if worker in self._waiting:
                    self._waiting.remove(worker)
            else:
                self._held.remove(worker)
                self._waiting.append(worker)
        self._fill()

    def start(self, worker: Worker, steady: bool = False) -> Worker:
        """Add a worker and return it. A `steady` one, once it runs, never waits again.

        At least one place stays for the others. If the number of workers that run is limited, call
        `make_room` before the worker is made; without that, the worker waits for a place or for its turn.
        """
        self._workers.append(worker)
        if steady:
            self._steady.add(worker)
        if self._most is not None and len(self.running) > self._most:
            worker.pause()
            self._waiting.append(worker)
        return worker

    def dismiss(self, *workers: Worker) -> None:
        """End these workers, or all if none is given."""
        for worker in workers or tuple(self._workers):
            worker.kill()
            self._workers.remove(worker)
            self._steady.discard(worker)
            self._held.discard(worker)
            if worker in self._waiting:
                self._waiting.remove(worker)
        self._fill()

    def heard(self, done: Callable[[], bool] = lambda: False) -> Iterator[tuple[Worker, Any]]:
        """Yield the messages with their workers, `Ended` as the last of each. Raises OutOfTime.

        Between two messages, workers may be started and dismissed. `done` is asked after each second without
        a message; the messages end if it is true.
        """
        self._heard = time.perf_counter()
        while self._workers:
            left = self._until - time.perf_counter()
            if left <= 0:
                raise OutOfTime
            self._take_turns()
            pause = TURN if self._waiting or self._held else TICK
            ready = self._ready(min(left, pause))
            if not ready and time.perf_counter() - self._heard >= (TURN if self._held else TICK):
                self._heard = time.perf_counter()
                self._tick()
                if done():
                    return
            yield from self._received(ready)

    def listen(self, seconds: float) -> list[tuple[Worker, Any]]:
        """Return the first messages within so many seconds, at most one of each worker."""
        return list(self._received(self._ready(seconds)))

    def _received(self, ready: list[Worker]) -> Iterator[tuple[Worker, Any]]:
        for worker in ready:
            if worker in self.running:
                self._heard = time.perf_counter()
                message = worker.receive()
                if isinstance(message, Ended):
                    self.dismiss(worker)
                yield worker, message

    def _ready(self, seconds: float) -> list[Worker]:
        """Return the running workers that have a message.

        A worker that waits may have stopped in the middle of a message. Reading it would take for ever.
        """
        connections = wait([worker.connection for worker in self.running], timeout=seconds)
        return [worker for worker in self.running if worker.connection in connections]

    # Turns.

    def _fill(self) -> None:
        """Let workers that wait go on while there is room."""
        while self._waiting and (self._most is None or len(self.running) < self._most):
            worker = self._waiting.pop(0)
            self._workers.remove(worker)
            self._workers.append(worker)
            worker.go_on()

    def _take_turns(self) -> None:
        """After each turn, exchange a worker that runs for the one that waits longest."""
        if not self._waiting or time.perf_counter() - self._turned < TURN:
            return
        self._turned = time.perf_counter()
        for worker in self._waiting:  # Ctrl-Z and `fg` let them all go on
            worker.pause()
        self.make_room()
        self._fill()
