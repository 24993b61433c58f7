"""A process that ends when the one that started it does, however that one ends."""

from __future__ import annotations

import os
import signal
import sys

PARENT_DEATH = 1  # PR_SET_PDEATHSIG


def die_with(parent: int) -> None:
    """Ask the kernel for a kill when that process, which has just started this one, is gone (Linux)."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
