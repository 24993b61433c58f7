"""The end of a process: with its parent, or by a signal, and the reason."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

PARENT_DEATH = 1
"""The option PR_SET_PDEATHSIG of prctl."""


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends (Linux). `parent` is the parent's id."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def awaited_seconds(child: int) -> float | None:
    """Wait until a child has ended, and return its CPU seconds; None if they are not available."""
    if sys.platform != "linux":
        return None
    with suppress(OSError):
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        fields = Path(f"/proc/{child}/stat").read_text(encoding="ascii", errors="replace").rsplit(")", 1)[1]
        user, system = fields.split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return None


def children_of(process: int) -> list[int]:
    """Return the ids of the running children of a process; none if they are not available."""
    with suppress(OSError):
        return list(map(int, Path(f"/proc/{process}/task/{process}/children").read_text("ascii").split()))
    return []


def cpu_seconds(process: int) -> float | None:
    """Return the CPU seconds of a process and of its children that have ended; None if not available."""
    with suppress(OSError, IndexError, ValueError):
        stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace")
        return sum(map(int, stat.rsplit(")", 1)[1].split()[11:15])) / os.sysconf("SC_CLK_TCK")
    return None


def most_memory(process: int) -> int | None:
    """Return the most bytes that a running process has had in memory; None if that is not available."""
    with suppress(OSError, StopIteration):
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace").splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024
    return None


NEAR_LIMIT = 0.9
"""The share of the CPU limit above which a kill is attributed to it. The measured time is not exact."""


def limit_reached(code: int | None, seconds: float | None) -> str:
    """Return why the system ended a process, from its exit code and CPU seconds; empty if it did not.

    The kernel sends SIGKILL at the hard limit on CPU time, which `ulimit -t` also sets, and if memory runs
    out.
    """
    if code == -signal.SIGXCPU:
        return "CPU limit reached (SIGXCPU)"
    if code == -signal.SIGABRT:
        return "out of memory (SIGABRT)"
    if code != -signal.SIGKILL:
        return ""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if hard != resource.RLIM_INFINITY and seconds is not None and seconds >= NEAR_LIMIT * hard:
        return f"CPU limit of {hard} s reached (SIGKILL)"
    return "killed, or out of memory (SIGKILL)"
