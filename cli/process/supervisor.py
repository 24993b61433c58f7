"""The process that a shell starts: it starts the process that does the work, and sees to its end.

- It passes a signal on. After a grace, or at the next signal, it kills the working process with its group.
- It kills them too when the time of the command and an overrun are over.
- It exits with the code that the working process reports, or with 128 and the number of the signal.
- Before the working process announces a violation, it hands over a conclusion: all that it would print and
  write if it ended then. If it is killed, a second process carries the newest conclusion out.

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
from functools import partial
from types import FrameType
from typing import Any, NoReturn

from fencepost.cli.error_document import error_document, wants_json
from fencepost.cli.exits import ExitCode
from fencepost.cli.process.worker import ENDING, carry_out, command, work
from fencepost.encoding.errors import time_out
from fencepost.encoding.solving.process_end import awaited_seconds, limit_reached

GRACE = 1.5
"""Seconds in which an interrupted command may report what it knows, before it is killed."""

OVERRUN, OVERRUN_SHARE = 5.0, 0.05
"""Seconds after its time, or the share of it if that is more, in which a command may report what it knows.

Its own clocks run out before that. On a starved machine five seconds were too few after ten minutes."""


def main() -> NoReturn:
    """Run the command line. Exit with a code of `ExitCode`, or with 128 and the number of a signal."""
    begun = time.perf_counter()
    while (spare := os.open(os.devnull, os.O_RDWR)) <= 2:  # a standard stream that is closed
        pass
    os.close(spare)
    supervision = _Supervision(begun)
    report = supervision.run(command)
    code, known = report.code, report.conclusion
    if known is not None and code in (None, ExitCode.INTERRUPTED):
        if code is None and supervision.signal is None:
            _complain(f"{report.why_ended()[0]}; what was known by then is reported")
        code = supervision.run(partial(carry_out, known)).code
        code = known["code"] if code is None else code
    elif code is None and supervision.signal is not None:
        _complain("interrupted", report, 128 + supervision.signal)
    elif code is None:
        why, code = report.why_ended()
        _complain(f"undecided: {why}" if code is ExitCode.UNDECIDED else why, report, code)
    sys.exit(code if supervision.signal is None else 128 + supervision.signal)


@dataclass
class _Report:
    """The newest of each kind of message from a working process, and the way in which it ended."""

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

    def receive(self, pipe: int) -> bool:
        """Read the messages that are there, and return whether there may be more."""
        with contextlib.suppress(BlockingIOError):
            while data := os.read(pipe, 1 << 16):
                *lines, self.unread = (self.unread + data).split(b"\n")
                for line in lines:
                    vars(self).update(json.loads(line))
            return False
        return True

    def why_ended(self) -> tuple[str, ExitCode]:
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


class _Supervision:
    """The signals and the clock of a command, over the process that works for it now."""

    def __init__(self, begun: float) -> None:
        self.signal: int | None = None
        """The first signal that was to end the command."""
        self._begun, self._worker, self._kill_at = begun, 0, math.inf
        ends = [n for n in (*ENDING, signal.SIGTSTP) if signal.getsignal(n) is not signal.SIG_IGN]
        self._heard = (*ends, signal.SIGCHLD)
        self._woken, waking = os.pipe()
        for end in (self._woken, waking):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        for number in self._heard:
            signal.signal(number, self._hear)

    def run(self, job: Callable[[], int]) -> _Report:
        """Run a job in a process group of its own, and return its report when the group has ended."""
        pipe, sending = os.pipe()
        os.set_blocking(pipe, False)
        self._kill_at = math.inf if self.signal is None else time.perf_counter() + OVERRUN
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        supervisor = os.getpid()
        self._worker = os.fork()
        if self._worker == 0:
            os.close(pipe)
            signal.set_wakeup_fd(-1)
            for number in self._heard:
                signal.signal(number, signal.SIG_DFL)
            sys.exit(work(supervisor, sending, self._begun, job))
        os.close(sending)
        with contextlib.suppress(OSError):  # it has done so itself, or has ended
            os.setpgid(self._worker, self._worker)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        report = _Report()
        self._watch(pipe, report)
        self._end(report)
        report.receive(pipe)
        os.close(pipe)
        return report

    def _watch(self, pipe: int, report: _Report) -> None:
        """Receive messages until the working process has ended or is to be killed."""
        reading = [self._woken, pipe]
        while not os.waitid(os.P_PID, self._worker, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            overrun = max(OVERRUN, OVERRUN_SHARE * report.limit)
            left = min(self._kill_at, self._begun + report.limit + overrun) - time.perf_counter()
            if left <= 0:
                report.timed_out = report.code is None
                return
            ready = select.select(reading, [], [], None if left == math.inf else left)[0]
            if self._woken in ready:
                os.read(self._woken, 512)
            if pipe in ready:
                if not report.receive(pipe):
                    reading.remove(pipe)
                if report.code is not None:
                    self._kill_at = time.perf_counter() + OVERRUN

    def _end(self, report: _Report) -> None:
        """Kill everybody who is left of the group, and see how the working process ended."""
        self._send(signal.SIGKILL, os.killpg)
        self._send(signal.SIGKILL, os.kill)
        report.cpu_seconds = awaited_seconds(self._worker)
        worker, self._worker = self._worker, 0
        report.status = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])

    def _send(self, number: int, how: Callable[[int, int], None]) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._worker:
                how(self._worker, number)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        """Act on a signal. The end of the working process only has to wake this process."""
        if number == signal.SIGTSTP:
            self._send(signal.SIGSTOP, os.killpg)
            os.kill(os.getpid(), signal.SIGSTOP)
            self._send(signal.SIGCONT, os.killpg)
        elif number != signal.SIGCHLD:
            self._kill_at = time.perf_counter() + (GRACE if self.signal is None else 0.0)
            self.signal = self.signal or number
            self._send(signal.SIGTERM, os.kill)


def _complain(message: str, ended: _Report | None = None, code: int = 0) -> None:
    """Print a line on stderr, and the document of an error if the command has ended without a result.

    A full disk there changes nothing.
    """
    with contextlib.suppress(OSError):
        os.write(2, f"fencepost: {message}\n".encode(errors="backslashreplace"))
    if ended is not None and not ended.printed and wants_json(sys.argv[1:]):
        with contextlib.suppress(OSError):
            os.write(1, error_document(message, code).encode(errors="backslashreplace"))
