"""The two processes of a command: one that hears signals and owns the time, and one that does the work.

The first is thin: it asks no solver and runs no protocol. It starts the second in a process group of its own, and gets
from it as data what is to be printed, the seconds that the command may take and, last, the exit code. So nothing that
a protocol file or a solver does to its own process changes what the command says, and whatever was started ends with it.

Before the second announces a violation, it hands over the conclusion so far: all that it would print and write if it
ended then. If it is killed, the first carries the newest conclusion out.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import signal
import sys
import time
from typing import NoReturn

from fencepost.cli.exits import ExitCode
from fencepost.cli.process.worker import CODE, HEADER, HEARD, KNOWN, LIMIT, RUNS, SAY, Channel, work
from fencepost.encoding.solving.process_end import awaited_seconds, limit_reached

GRACE = 1.5
"""Seconds in which an interrupted command may say what it knows, before it is killed."""

OVERRUN, OVERRUN_SHARE = 5.0, 0.05
"""Seconds after its time, or the share of it if that is more, in which a command may say what it knows; its own clocks
run out before that. After ten minutes on a starved machine five seconds were too few, and what was found went with it."""

LAST = 0.4
"""Seconds in which an interrupted command that was killed may have its conclusion read."""

_CHUNK = 4096
"""So much can be written to a pipe that takes anything at all."""

REPORT = "Please report this with the command you ran."


def main() -> NoReturn:
    """Run the command line and exit with one of the codes of `ExitCode`, or 128 and the number of a signal."""
    begun = time.perf_counter()
    _open_standard_streams()
    heard = [number for number in HEARD if signal.getsignal(number) is not signal.SIG_IGN]
    results, sending = os.pipe()
    supervisor = os.getpid()
    worker = os.fork()
    if worker == 0:
        os.close(results)
        sys.exit(work(supervisor, Channel(sending), begun))
    os.close(sending)
    sys.exit(_Supervision(worker, results, begun, heard).run())


def _open_standard_streams() -> None:
    """Whatever is opened next is none of the standard streams, closed as they may be."""
    while (spare := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(spare)


class _Supervision:
    """One command under way, as its supervisor sees it."""

    def __init__(self, worker: int, results: int, begun: float, heard: list[signal.Signals]) -> None:
        self._worker, self._results, self._begun = worker, results, begun
        self._buffer = bytearray()
        self._unprinted = bytearray()
        self._encoding = sys.stdout.encoding if sys.stdout else "utf-8"
        self._open = True
        self._running = True
        self._ends_at: float | None = None
        self._limit: float | None = None
        self._timed_out = False
        self._said = False
        self._protocol: str | None = None
        self._known: str | None = None
        self._code: int | None = None
        self._status: int | None = None
        self._cpu_seconds: float | None = None
        self._signal: int | None = None
        self._unwritable: str | None = None
        with contextlib.suppress(OSError):  # it has done so itself, or is over
            os.setpgid(worker, worker)
        self._woken = self._listen(heard)

    def _listen(self, heard: list[signal.Signals]) -> int:
        """Let every signal, and the end of the worker, be a byte that can be read here."""
        woken, waking = os.pipe()
        for end in (woken, waking, self._results):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        for number in (*heard, signal.SIGCHLD, signal.SIGTSTP):
            signal.signal(number, _heard)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
        return woken

    def run(self) -> int:
        """Pass on what the worker says until it is over, time is up or somebody interrupts it; the exit code."""
        self._pass_on()
        self._end()
        if self._known is None or self._concluded:
            return self._exit_code()
        code = self._conclude(self._known)
        self._ends_at = time.perf_counter() + LAST
        self._pass_on()
        return self._exit_code() if self._signal is not None or self._code is not None else code

    @property
    def _concluded(self) -> bool:
        """The worker came to its end; one that was interrupted while it concluded has printed nothing."""
        return self._code is not None and (self._said or self._code != ExitCode.INTERRUPTED)

    def _pass_on(self) -> None:
        while self._running or self._unprinted:
            reading = [self._woken, *([self._results] if self._open else [])]
            ready, writable, _ = select.select(reading, [1] if self._unprinted else [], [], self._left())
            if self._woken in ready:
                for number in os.read(self._woken, 512):
                    self._hear(number)
            if self._results in ready:
                self._receive()
            if writable:
                self._print()
            if self._left() == 0.0:
                self._timed_out = self._code is None
                self._end()
                if self._signal is not None:
                    break

    def _left(self) -> float | None:
        """Seconds until the worker is ended, or what it said is printed no further; None if there is no end to them."""
        if not self._running and self._signal is None:
            return None
        if self._ends_at is not None:
            return max(0.0, self._ends_at - time.perf_counter())
        if self._limit is not None and self._limit != math.inf:
            overrun = max(OVERRUN, OVERRUN_SHARE * self._limit)
            return max(0.0, self._begun + self._limit + overrun - time.perf_counter())
        return None

    def _hear(self, number: int) -> None:
        if number == signal.SIGCHLD:
            self._look()
        elif number == signal.SIGTSTP:
            self._stop()
        elif self._signal is None:
            self._ends_at = time.perf_counter() + GRACE
            if self._code is None:
                self._signal = number
            self._tell(signal.SIGTERM, os.kill)
        else:
            self._ends_at = time.perf_counter()

    def _tell(self, number: signal.Signals, how: object = None) -> None:
        """Send a signal to the worker, or with `os.killpg` to all of its group."""
        if self._status is not None:
            return
        send = os.kill if how is None else how
        assert callable(send)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            send(self._worker, number)

    def _look(self) -> None:
        """See whether the worker has ended: then what it said is all there, and those it started have no more to say."""
        ended = self._status is not None or os.waitid(
            os.P_PID, self._worker, os.WEXITED | os.WNOHANG | os.WNOWAIT
        )
        if ended and self._running:
            self._running = False
            if self._open:
                self._receive()

    def _stop(self) -> None:
        """Ctrl-Z: everybody stops, until the shell goes on with us."""
        self._tell(signal.SIGSTOP, os.killpg)
        os.kill(os.getpid(), signal.SIGSTOP)
        self._tell(signal.SIGCONT, os.killpg)

    # What the worker says.

    def _receive(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while True:
                data = os.read(self._results, 1 << 16)
                if not data:
                    self._open = False
                    break
                self._buffer += data
        while len(self._buffer) >= HEADER.size:
            kind, size = HEADER.unpack_from(self._buffer)
            end = HEADER.size + size
            if len(self._buffer) < end:
                break
            text = bytes(self._buffer[HEADER.size : end]).decode("utf-8", "surrogatepass")
            del self._buffer[:end]
            self._take(kind, text)

    def _take(self, kind: bytes, text: str) -> None:
        if kind == SAY:
            self._said = True
            self._unprinted += text.encode(self._encoding, "backslashreplace")
        elif kind == LIMIT:
            self._limit = float(text)
        elif kind == RUNS:
            self._protocol = text
        elif kind == KNOWN:
            self._known = text
        elif kind == CODE:
            self._code = int(text)
            self._ends_at = time.perf_counter() + OVERRUN

    def _print(self) -> None:
        """Print a part of what is to be printed; a reader who went away wants no more, and that is no error."""
        try:
            del self._unprinted[: os.write(1, self._unprinted[:_CHUNK])]
        except BrokenPipeError:
            self._unprinted.clear()
        except BlockingIOError:
            pass
        except OSError as error:
            self._unprinted.clear()
            self._unwritable = error.strerror

    # The end.

    def _end(self) -> None:
        """Kill whoever of the worker's group is left, and the worker."""
        if self._status is not None:
            return
        self._tell(signal.SIGKILL, os.killpg)
        self._tell(signal.SIGKILL)
        self._cpu_seconds = awaited_seconds(self._worker)
        self._status = os.waitstatus_to_exitcode(os.waitpid(self._worker, 0)[1])
        self._look()

    def _exit_code(self) -> int:
        if self._signal is not None:
            if self._code is None and not self._said and self._known is None:
                _complain("interrupted")
            return 128 + self._signal
        if self._unwritable is not None:
            _complain(f"stdout: cannot be written ({self._unwritable}); give --output FILE")
            return int(ExitCode.BAD_INPUT)
        if self._code is not None:
            return self._code
        why, code = self._why_ended()
        _complain(f"undecided: {why}" if code is ExitCode.UNDECIDED else why)
        return int(code)

    def _why_ended(self) -> tuple[str, ExitCode]:
        """Why the worker ended before it came to a result, and the exit code if nothing was known by then."""
        if self._timed_out:
            return f"time-out after {self._limit:g} s", ExitCode.UNDECIDED
        assert self._status is not None
        limit = limit_reached(self._status, self._cpu_seconds)
        if "CPU" in limit:
            return limit, ExitCode.UNDECIDED
        how = f"signal {-self._status}" if self._status < 0 else f"exit code {self._status}"
        if self._protocol is not None:
            said = f"{self._protocol}: its code ended the process ({how}); a protocol only describes"
            return said, ExitCode.BAD_INPUT
        if self._status == -signal.SIGKILL:
            return limit, ExitCode.UNDECIDED
        return f"internal error: the process ended without a result ({how}). {REPORT}", ExitCode.INTERNAL

    def _conclude(self, known: str) -> int:
        """Carry out the conclusion that a worker came to before it was killed; the exit code.

        Only the pipe that is waited for without blocking can be one that nobody reads: a file that is none is not opened.
        """
        from pathlib import Path

        from fencepost.cli.process.conclusion import Conclusion
        from fencepost.cli.rendering.output import renamed_into_place, write_whole
        from fencepost.encoding.errors import BadInput

        conclusion, code = Conclusion.of_json(known), None
        printed = "" if self._said else conclusion.printed
        for path, text in conclusion.files.items():
            try:
                if renamed_into_place(Path(path)):
                    write_whole(Path(path), text)
                else:
                    printed += text
            except BadInput as error:
                _complain(str(error))
                code = int(ExitCode.BAD_INPUT)
        if self._signal is None and self._code is None:
            _complain(f"{self._why_ended()[0]}; what was known by then is reported")
        _tell_people(conclusion.told)
        self._unprinted += printed.encode(self._encoding, "backslashreplace")
        return conclusion.code if code is None else code


def _heard(number: int, frame: object) -> None:
    """The byte that wakes the supervisor says it all."""


def _complain(message: str) -> None:
    _tell_people(f"fencepost: {message}")


def _tell_people(lines: str) -> None:
    """On stderr, if there is anything to say; a full disk there changes nothing."""
    if lines:
        with contextlib.suppress(OSError):
            os.write(2, f"{lines}\n".encode(errors="backslashreplace"))
