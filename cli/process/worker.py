"""The process that does the work of a command, and how it says what it has to say to the one that supervises it."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import struct
import sys
from types import FrameType
from typing import Any

from fencepost.cli.exits import ExitCode

HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a command in good order; one that is ignored when the command starts stays ignored."""

SAY, LIMIT, RUNS, KNOWN, CODE = b"s", b"l", b"r", b"k", b"c"
"""The kinds of messages: text to be printed, seconds, the name of a protocol file, a conclusion so far, an exit code."""

HEADER = struct.Struct(">cQ")
"""What stands before the text of a message: its kind, and how many bytes the text has."""


class Channel:
    """Where the working process sends its messages; a `fencepost.cli.process.handover.Supervisor`."""

    def __init__(self, sending: int) -> None:
        self._sending = sending

    def _send(self, kind: bytes, text: str) -> None:
        """Send a message whole: an interrupt that comes meanwhile is heard after it."""
        payload = text.encode("utf-8", "surrogatepass")
        left = memoryview(HEADER.pack(kind, len(payload)) + payload)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM, signal.SIGALRM))
        try:
            while left:
                left = left[os.write(self._sending, left) :]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def say(self, text: str) -> None:
        """Have this printed."""
        self._send(SAY, text)

    def may_take(self, seconds: float) -> None:
        """Be ended soon after so many seconds."""
        self._send(LIMIT, repr(seconds))

    def runs(self, path: str) -> None:
        """Whatever happens from now on may be the doing of this protocol file; what it prints is no result."""
        self._send(RUNS, path)
        sys.stdout = sys.stderr

    def knows(self, conclusion: str) -> None:
        """Have this carried out if the process is killed; it replaces the one before."""
        self._send(KNOWN, conclusion)

    def end(self, code: int) -> None:
        """The exit code; nothing comes after it."""
        self._send(CODE, str(code))


class _Said(io.RawIOBase):
    """The bytes below a standard output: each write is a result."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        text = bytes(data).decode("utf-8", "surrogatepass")
        self._channel.say(text)
        return len(data)


def _standard_output(channel: Channel) -> io.TextIOWrapper:
    """A standard output whose text and bytes go through the channel at once."""
    return io.TextIOWrapper(
        _Said(channel),  # type: ignore[arg-type]  # it buffers nothing, and is asked for nothing else
        "utf-8",
        "surrogatepass",
        newline="",
        write_through=True,
    )


class _Heedless(io.TextIOWrapper):
    """A standard error that nobody has to read: what cannot be written is dropped."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().flush()


def work(supervisor: int, channel: Channel, begun: float) -> int:
    """Run the command; its results go through the channel, and all else that is printed to standard error."""
    with contextlib.suppress(OSError):  # the supervisor was faster
        os.setpgid(0, 0)
    os.dup2(2, 1)
    sys.stderr = _Heedless(
        open(2, "wb", closefd=False),  # noqa: SIM115
        sys.stderr.encoding if sys.stderr else "utf-8",
        "backslashreplace",
        line_buffering=True,
    )
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTTOU, signal.SIGTTIN):
        signal.signal(number, signal.SIG_IGN)
    try:
        interruptible()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)
        from fencepost.encoding.solving.process_end import die_with

        die_with(supervisor)
        from fencepost.cli.main import run
        from fencepost.cli.process import handover

        handover.supervised_by(channel, begun)
        sys.stdout = _standard_output(channel)
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = int(ExitCode.INTERRUPTED)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    channel.end(code)
    return code


AGAIN = 0.01
"""Seconds after which an interrupt comes again that came where nothing can be raised."""


def interruptible() -> None:
    """Let SIGTERM be a KeyboardInterrupt in this process, once.

    In a finalizer or the callback of a weak reference Python prints whatever is raised and goes on, and where ctypes
    converts an argument it raises an error of its own instead: an interrupt that comes there says nothing and comes
    again. Nor is it of use to hear, once interrupted, of what was only half made.
    """
    complain = sys.unraisablehook

    def lost(unraisable: sys.UnraisableHookArgs) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
        elif signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN:
            complain(unraisable)

    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGALRM, _interrupt)
    sys.unraisablehook = lost


def _interrupt(number: int, frame: FrameType | None) -> None:
    if frame is not None and frame.f_code.co_name == "from_param":
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        return
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt
