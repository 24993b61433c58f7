"""The process that a shell starts: it starts the process that does the work, and sees to its end.

- It passes a signal on. After a grace, or at the next signal, it kills the working process with its group.
- It kills them too when the time of the command and an overrun are over.
- It exits with the code that the working process reports, or with 128 and the number of the signal.
- Before the working process announces a violation, it hands over a conclusion: all that it would print and
  write if it ended then. If it is killed, this process carries the newest conclusion out.

This process asks no solver and runs no protocol. So neither can keep a command from its end.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any, NoReturn

from fencepost.cli.error_document import error_document, wants_json
from fencepost.cli.exits import ExitCode
from fencepost.cli.process.worker import ENDING, work
from fencepost.encoding.errors import time_out
from fencepost.encoding.solving.process_end import awaited_seconds, limit_reached

GRACE = 1.5
"""Seconds in which an interrupted command may report what it knows, before it is killed."""

OVERRUN, OVERRUN_SHARE = 5.0, 0.05
"""Seconds after its time, or the share of it if that is more, in which a command may report what it knows.

Its own clocks run out before that. On a starved machine five seconds were too few after ten minutes."""

LOOK, LAST_LOOK = 0.1, 0.005
"""Seconds between two looks at the clock and at the working process; fewer once it has reported its code."""


def main() -> NoReturn:
    """Run the command line. Exit with a code of `ExitCode`, or with 128 and the number of a signal."""
    command = _Command(time.perf_counter())
    while (spare := os.open(os.devnull, os.O_RDWR)) <= 2:  # a standard stream that is closed
        pass
    os.close(spare)
    command.run()
    code = command.code
    if code is None or (code == ExitCode.INTERRUPTED and command.conclusion is not None):
        code = command.concluded()
    sys.exit(code if command.signal is None else 128 + command.signal)


@dataclass
class _Command:
    """The process that works for a command, the newest of each kind of its messages, and how it ended."""

    begun: float
    """The time of `time.perf_counter` when the command began."""
    worker: int = 0
    """The id of the working process; 0 once it has ended."""
    signal: int | None = None
    """The first signal that was to end the command."""
    limit: float = math.inf
    """Seconds that the command may take from its start."""
    protocol: str | None = None
    """The protocol file whose code is run."""
    conclusion: dict[str, Any] | None = None
    """A `Conclusion` that is to be carried out if the process is killed."""
    printed: bool = False
    """Whether the process printed a result."""
    code: int | None = None
    """The exit code; no message comes after it."""
    timed_out: bool = False
    status: int = 0
    cpu_seconds: float | None = None
    unread: bytes = b""

    def run(self) -> None:
        """Let a process in a group of its own do the work, and return when the group has ended."""
        pipe, sending = os.pipe()
        os.set_blocking(pipe, False)
        supervisor = os.getpid()
        self.worker = os.fork()
        if self.worker == 0:
            os.close(pipe)
            sys.exit(work(supervisor, sending, self.begun))
        os.close(sending)
        with contextlib.suppress(OSError):  # it has done so itself, or has ended
            os.setpgid(self.worker, self.worker)
        signal.signal(signal.SIGALRM, self._end)
        for number in (*ENDING, signal.SIGTSTP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._hear)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*ENDING, signal.SIGALRM))
        self._watch(pipe)
        self._end()
        self.cpu_seconds = awaited_seconds(self.worker)
        worker, self.worker = self.worker, 0
        self.status = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
        self._receive(pipe)

    def _watch(self, pipe: int) -> None:
        """Receive messages until the working process has ended or its time is over."""
        reading = [pipe]
        while not os.waitid(os.P_PID, self.worker, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            overrun = max(OVERRUN, OVERRUN_SHARE * self.limit)
            if time.perf_counter() > self.begun + self.limit + overrun:
                self.timed_out = self.code is None
                return
            if select.select(reading, [], [], LOOK if self.code is None else LAST_LOOK)[0]:
                reading = reading if self._receive(pipe) and self.code is None else []
                if self.code is not None:
                    signal.setitimer(signal.ITIMER_REAL, OVERRUN)

    def _receive(self, pipe: int) -> bool:
        """Read the messages that are there, and return whether there may be more."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(pipe, 1 << 16):
                *lines, self.unread = (self.unread + data).split(b"\n")
                for line in lines:
                    vars(self).update(json.loads(line))
            return False
        return True

    def _hear(self, number: int, frame: FrameType | None) -> None:
        """Act on a signal."""
        if number == signal.SIGTSTP:
            self._send(signal.SIGSTOP, os.killpg)
            os.kill(os.getpid(), signal.SIGSTOP)
            self._send(signal.SIGCONT, os.killpg)
            return
        if self.signal is not None:
            self._end()
        self.signal = self.signal or number
        self._send(signal.SIGTERM, os.kill)
        signal.setitimer(signal.ITIMER_REAL, GRACE)

    def _end(self, *heard: object) -> None:
        """Kill everybody who is left of the group, or end this process if it was to conclude for them."""
        if not self.worker:
            os._exit(128 + (self.signal or signal.SIGALRM))
        self._send(signal.SIGKILL, os.killpg)
        self._send(signal.SIGKILL, os.kill)

    def _send(self, number: int, how: Callable[[int, int], None]) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.worker:
                how(self.worker, number)

    def concluded(self) -> int:
        """Carry out the conclusion of a process that did not, or say why it ended; return the exit code."""
        why, code = self._why_ended()
        if self.conclusion is not None:
            if self.signal is not None:
                signal.setitimer(signal.ITIMER_REAL, OVERRUN)
            elif self.code is None:
                _complain(f"{why}; what was known by then is reported")
            from fencepost.cli.process.conclusion import conclude_for_another

            return conclude_for_another(self.conclusion, self.begun)
        message = f"undecided: {why}" if code == ExitCode.UNDECIDED else why
        if self.signal is not None:
            message, code = "interrupted", 128 + self.signal
        _complain(message)
        if not self.printed and wants_json(sys.argv[1:]):
            with contextlib.suppress(OSError):
                os.write(1, error_document(message, code).encode(errors="backslashreplace"))
        return code

    def _why_ended(self) -> tuple[str, int]:
        """Return why the process ended before it reported a code, and the exit code for that."""
        if self.timed_out:
            return time_out(self.limit), ExitCode.UNDECIDED
        limit = limit_reached(self.status, self.cpu_seconds)
        how = f"signal {-self.status}" if self.status < 0 else f"exit code {self.status}"
        if self.protocol is not None and "CPU" not in limit:
            said = f"{self.protocol}: its code ended the process ({how}); a protocol only describes"
            return said, ExitCode.BAD_INPUT
        if "CPU" in limit or self.status == -signal.SIGKILL:
            return limit, ExitCode.UNDECIDED
        said = f"internal error: the process ended without a result ({how})"
        return f"{said}. Please report this with the command you ran.", ExitCode.INTERNAL


def _complain(message: str) -> None:
    """Print a line on stderr; a full disk there changes nothing."""
    with contextlib.suppress(OSError):
        os.write(2, f"fencepost: {message}\n".encode(errors="backslashreplace"))
