"""Worker processes, which do the long work and can be stopped at any moment.

A worker sends what a generator yields. It ignores Ctrl-C, which its parent handles. It ends when its parent
ends, and a worker that has workers of its own ends them too.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from fencepost.encoding.errors import BadInput, InternalError, ModelError
from fencepost.encoding.solving.answers import SolverGaveUpError, SpentError
from fencepost.encoding.solving.process_end import (
    awaited_seconds,
    children_of,
    cpu_seconds,
    die_with,
    limit_reached,
    most_memory,
)

Some = TypeVar("Some")


@dataclass(frozen=True)
class Ended:
    """The last message of a worker.

    If it failed, `error` is the traceback, `kind` the class of the exception and `says` its message. If
    memory or CPU time ran out, `gave_up` says which. `memory` is the most bytes that it had, 0 if unknown.
    """

    error: str | None = None
    kind: str = ""
    says: str = ""
    gave_up: str = ""
    memory: int = 0


def failure(ended: Ended, doing: str, gib: float | None = None) -> Exception | None:
    """Return the exception that stands for the end of a worker in its parent, or None if it finished.

    `gib` is its memory limit. Under a limit, a failure without another cause counts as a lack of memory.
    """
    if ended.gave_up:
        return SolverGaveUpError(f"{ended.gave_up} ({doing})")
    if ended.error is None:
        return None
    for known in (BadInput, ModelError):
        if ended.kind == known.__name__:
            return known(ended.says)
    if ended.kind == SpentError.__name__:
        return SolverGaveUpError(ended.says)
    if gib is not None:
        return SolverGaveUpError(f"failed within {gib:g} GiB of memory ({doing}: {ended.says})")
    if ended.kind == SolverGaveUpError.__name__:
        return SolverGaveUpError(ended.says)
    return InternalError(f"{doing} failed: {ended.error}")


def reason_of(ended: Ended, doing: str, gib: float | None = None) -> str | None:
    """Return why a worker gave up, or None if it finished. Raises the failure of any other worker."""
    failed = failure(ended, doing, gib)
    if failed is None or isinstance(failed, SolverGaveUpError):
        return None if failed is None else str(failed)
    raise failed


_parent: Connection | None = None
"""The connection from this process to its parent, if it is a worker."""


def tell(message: object) -> None:
    """Send a message to the parent of this worker, in the middle of its work."""
    if _parent is not None:
        _parent.send(message)


def in_turn(generators: Iterable[Iterator[Some]]) -> Iterator[Some]:
    """Yield a message of each generator, again and again, until all have ended."""
    left = list(generators)
    while left:
        for generator in list(left):
            try:
                message = next(generator)
            except StopIteration:
                left.remove(generator)
            else:
                yield message


class Worker:
    """A process that sends the messages that `messages(*arguments)` yields.

    In the middle of a message it may call `tell`. With `with_children`, it may start workers of its own.
    """

    def __init__(
        self,
        name: str,
        messages: Callable[..., Iterator[Any]],
        *arguments: Any,
        gib: float | None,
        with_children: bool = False,
    ) -> None:
        """Start the process. `gib` limits its memory, in GiB."""
        methods = multiprocessing.get_all_start_methods()
        context: Any = multiprocessing.get_context(
            "fork" if sys.platform == "linux" and "fork" in methods else "spawn"
        )
        receiving, sending = context.Pipe(duplex=False)
        self.name = name
        self.connection: Connection = receiving
        self._process = context.Process(
            target=_serve,
            args=(sending, os.getpid(), gib, with_children, messages, arguments),
            name=name,
            daemon=not with_children,
        )
        self._process.start()
        self._begun, self._spent = time.perf_counter(), 0.0
        self._leads_group = with_children
        if with_children:
            with contextlib.suppress(OSError):  # the child did this itself, or has ended
                os.setpgid(self._process.pid, self._process.pid)
        sending.close()

    def receive(self) -> Any:
        """Return the next message; `Ended` if there are no more, however the process ended."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            assert self._process.pid is not None
            seconds = awaited_seconds(self._process.pid)
            self._process.join()
            code = self._process.exitcode
            return Ended(f"the process ended with code {code}", gave_up=limit_reached(code, seconds))

    @property
    def _processes(self) -> list[int]:
        """The ids of the process and of its children."""
        assert self._process.pid is not None
        return [self._process.pid, *children_of(self._process.pid)]

    @property
    def most_memory(self) -> int:
        """The most bytes that the process or a running child has had; 0 if that is not available."""
        return max(most_memory(process) or 0 for process in self._processes)

    @property
    def cpu_seconds(self) -> float | None:
        """The CPU seconds of the process and of its children; None if not available."""
        own, *children = map(cpu_seconds, self._processes)
        return None if own is None else own + sum(filter(None, children))

    @property
    def spent(self) -> float:
        """The CPU seconds so far, also after the end; the seconds since the start if nobody tells."""
        used = None if self.connection.closed else self.cpu_seconds
        if used is not None:
            self._spent = used
        elif self._process.exitcode is None:
            self._spent = time.perf_counter() - self._begun
        return self._spent

    def pause(self) -> None:
        """Stop the process and its children until `go_on`."""
        self._signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Continue the process and its children after `pause`."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.is_alive():
            assert self._process.pid is not None
            os.kill(self._process.pid, number)
            for child in children_of(self._process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, number)

    def kill(self) -> None:
        """Kill the process and its children."""
        self._spent = self.spent
        if self._leads_group:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.join()
        self.connection.close()


def _serve(
    connection: Connection,
    parent: int,
    gib: float | None,
    with_children: bool,
    messages: Callable[..., Iterator[Any]],
    arguments: tuple[Any, ...],
) -> None:
    if with_children:  # before it starts a child, which would stay in the parent's group
        os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    die_with(parent)
    if gib is not None:
        import resource

        limit = int(gib * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    gc.freeze()  # what the parent had made stays: no collection has to look through it again
    global _parent
    _parent = connection
    ended = Ended()
    try:
        for message in messages(*arguments):
            connection.send(message)
    except MemoryError:
        ended = Ended("out of memory", gave_up="out of memory")
    except BrokenPipeError:
        return
    except BaseException as error:  # noqa: BLE001 - the parent handles every failure
        ended = Ended(traceback.format_exc(), type(error).__name__, str(error))
    with contextlib.suppress(OSError):
        connection.send(replace(ended, memory=most_memory(os.getpid()) or 0))
