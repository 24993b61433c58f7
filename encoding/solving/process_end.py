"""How a process ends: with the one that started it, or by a signal, and then for which reason."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

PARENT_DEATH = 1  # PR_SET_PDEATHSIG


def die_with(parent: int) -> None:
    """Ask the kernel for a kill when that process, which has just started this one, is gone (Linux)."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def awaited_seconds(child: int) -> float | None:
    """Wait until a child has ended, and return its CPU seconds; None if somebody else has waited for it (Linux)."""
    if sys.platform != "linux":
        return None
    with suppress(OSError):
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        fields = Path(f"/proc/{child}/stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1]
        user, system = fields.split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return None


NEARLY = 0.9
"""The share of its CPU limit at which a process counts as ended by it: the kernel counts ticks, and shows a measured time."""


def limit_reached(code: int | None, seconds: float | None) -> str:
    """Return why the system ended a process of that exit code, after so many CPU seconds; empty if it did not.

    At the hard limit on CPU time, which `ulimit -t` sets too, and for want of memory, the kernel sends the same signal.
    """
    if code == -signal.SIGXCPU:
        return "CPU limit reached (SIGXCPU)"
    if code == -signal.SIGABRT:
        return "out of memory (SIGABRT)"
    if code != -signal.SIGKILL:
        return ""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if hard != resource.RLIM_INFINITY and seconds is not None and seconds >= NEARLY * hard:
        return f"CPU limit of {hard} s reached (SIGKILL)"
    return "killed, or out of memory (SIGKILL)"
