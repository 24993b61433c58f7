"""The process that does the work of a command: its group, its streams, and the interrupt that ends it."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from types import FrameType

from fencepost.cli.exits import ExitCode
from fencepost.encoding.solving.process_end import die_with

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end a command in good order; one that is ignored when the command starts stays ignored."""


def work(supervisor: int, pipe: int, begun: float) -> int:
    """Run the command line, report its exit code to the supervisor on the pipe, and return it.

    The signals in `ENDING` are blocked at first.
    """
    with contextlib.suppress(OSError):  # the supervisor was faster
        os.setpgid(0, 0)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTTOU, signal.SIGTTIN):
        signal.signal(number, signal.SIG_IGN)
    die_with(supervisor)
    from fencepost.cli.process import handover

    handover.supervised_by(pipe, begun)
    interruptible()
    gc.set_threshold(50_000)  # imports and formulas make many objects that stay
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        from fencepost.cli.main import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = int(ExitCode.INTERRUPTED)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    handover.report(code=code)
    gc.freeze()  # the end of Python would look through all that was made, to free it
    return code


AGAIN = 0.01
"""Seconds after which an interrupt is repeated that came where Python cannot raise an exception."""


def interruptible() -> None:
    """Let SIGTERM raise KeyboardInterrupt in this process, once.

    Python only prints what is raised in a finalizer or in the callback of a weak reference. ctypes raises
    an error of its own for what is raised while it converts an argument. An interrupt in such a place prints
    nothing and is repeated. After an interrupt, no error in a finalizer is printed: objects may be half made.
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
